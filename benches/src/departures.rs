//! Requests under way in simulated time, in the order in which they end.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A queue by time; of equal times what was put in first comes first.
pub(crate) struct Departures<T> {
    queue: BinaryHeap<Reverse<Departure<T>>>,
    put: u64,
}

struct Departure<T> {
    at: u64,
    number: u64,
    what: T,
}

impl<T> Departures<T> {
    pub(crate) fn new() -> Self {
        Self { queue: BinaryHeap::new(), put: 0 }
    }

    /// Puts in what ends at this time.
    pub(crate) fn put(&mut self, at: u64, what: T) {
        self.queue.push(Reverse(Departure { at, number: self.put, what }));
        self.put += 1;
    }

    /// Takes the next out, and its time.
    pub(crate) fn next(&mut self) -> Option<(u64, T)> {
        self.queue.pop().map(|Reverse(gone)| (gone.at, gone.what))
    }

    /// The next, if it ends by `now`.
    pub(crate) fn next_until(&mut self, now: u64) -> Option<(u64, T)> {
        if self.queue.peek().is_some_and(|Reverse(next)| next.at <= now) { self.next() } else { None }
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}

impl<T> Departure<T> {
    fn key(&self) -> (u64, u64) {
        (self.at, self.number)
    }
}

impl<T> PartialEq for Departure<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Departure<T> {}

impl<T> PartialOrd for Departure<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Departure<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_goes_first_and_equals_in_order() {
        let mut departures = Departures::new();
        for (at, what) in [(5, 'c'), (2, 'a'), (5, 'd'), (3, 'b')] {
            departures.put(at, what);
        }
        assert_eq!(departures.next_until(1), None);
        assert_eq!(departures.next_until(2), Some((2, 'a')));
        assert_eq!(
            std::iter::from_fn(|| departures.next()).collect::<Vec<_>>(),
            [(3, 'b'), (5, 'c'), (5, 'd')]
        );
        assert_eq!(departures.len(), 0);
    }
}
