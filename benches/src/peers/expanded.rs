//! A list in which each instance stands as often as its weight says, as Pingora and Spring have it; weights are rounded.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The list, and whose turn it is.
pub struct Expanded {
    list: Vec<u32>,
    next: AtomicUsize,
}

impl Expanded {
    /// Over instances of these weights.
    pub fn new(weights: &[f64]) -> Self {
        let times =
            |(at, weight): (usize, &f64)| std::iter::repeat_n(at as u32, weight.round().max(1.0) as usize);
        Self { list: weights.iter().enumerate().flat_map(times).collect(), next: AtomicUsize::new(0) }
    }

    /// The next in turn.
    #[inline]
    pub fn next(&self) -> usize {
        self.at(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// One for a random number.
    #[inline]
    pub fn at(&self, number: usize) -> usize {
        self.list[number % self.list.len()] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::order;

    #[test]
    fn turns_come_in_bursts() {
        let expanded = Expanded::new(&[3.0, 1.0, 2.0]);
        assert_eq!(order(12, || expanded.next()), [0, 0, 0, 1, 2, 2].repeat(2));
    }
}
