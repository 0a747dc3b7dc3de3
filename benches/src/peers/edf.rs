//! Earliest deadline first, O(log n), as Envoy's weighted round robin has it: the earliest goes, and comes back 1 / weight
//! later; of equal deadlines the one that was queued first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A queue by deadline.
#[derive(Clone)]
pub struct Edf {
    queue: BinaryHeap<Reverse<Entry>>,
    queued: u64,
    weights: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Entry {
    deadline: f64,
    queued: u64,
    at: usize,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.deadline.total_cmp(&other.deadline).then(self.queued.cmp(&other.queued))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl Edf {
    /// Over instances of these weights.
    pub fn new(weights: &[f64]) -> Self {
        let mut edf = Self { queue: BinaryHeap::new(), queued: 0, weights: weights.to_vec() };
        (0..weights.len()).for_each(|at| edf.push(at, 0.0));
        edf
    }

    fn push(&mut self, at: usize, now: f64) {
        let deadline = now + 1.0 / self.weights[at];
        self.queue.push(Reverse(Entry { deadline, queued: self.queued, at }));
        self.queued += 1;
    }

    /// Takes the earliest, and queues it again.
    #[inline]
    pub fn pick(&mut self) -> usize {
        let Some(Reverse(first)) = self.queue.pop() else { return usize::MAX };
        self.push(first.at, first.deadline);
        first.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{counts, order};

    #[test]
    fn one_two_goes_heavy_light_heavy() {
        let mut edf = Edf::new(&[1.0, 2.0]);
        assert_eq!(order(6, || edf.pick()), [1, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn equal_weights_keep_the_order_of_the_list() {
        let mut edf = Edf::new(&[1.0; 4]);
        assert_eq!(order(8, || edf.pick()), [0, 1, 2, 3].repeat(2));
    }

    #[test]
    fn a_heavy_one_among_light_ones_bursts() {
        let mut edf = Edf::new(&[&[100.0][..], &[1.0; 20]].concat());
        assert_eq!(order(99, || edf.pick()), [0].repeat(99));
        assert_eq!(counts(21, 21, || edf.pick()).iter().filter(|count| **count == 1).count(), 21);
    }
}
