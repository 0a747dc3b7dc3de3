//! Dubbo's least active: a pass over all invokers for the fewest calls in flight, ties drawn by weight. Each invoker is an
//! object of its own, with its counter in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rand::RngExt;

struct Invoker {
    active: AtomicU32,
    weight: f64,
}

/// The invokers, shared by its clones.
#[derive(Clone)]
pub struct LeastActive {
    invokers: Vec<Arc<Invoker>>,
}

impl LeastActive {
    /// Over instances of these weights.
    pub fn new(weights: &[f64]) -> Self {
        let invoker = |weight: &f64| Arc::new(Invoker { active: AtomicU32::new(0), weight: *weight });
        Self { invokers: weights.iter().map(invoker).collect() }
    }

    /// One of the least active.
    pub fn pick(&self) -> usize {
        let (mut least, mut tied, mut total) = (u32::MAX, Vec::new(), 0.0);
        for (at, invoker) in self.invokers.iter().enumerate() {
            let active = invoker.active.load(Ordering::Relaxed);
            if active < least {
                (least, total) = (active, 0.0);
                tied.clear();
            }
            if active == least {
                tied.push(at);
                total += invoker.weight;
            }
        }
        let mut left = rand::rng().random_range(0.0..total);
        for at in &tied {
            left -= self.invokers[*at].weight;
            if left < 0.0 {
                return *at;
            }
        }
        tied.last().copied().unwrap_or(usize::MAX)
    }

    /// A call: picked, counted, ended.
    pub fn call(&self) -> usize {
        let at = self.pick();
        self.invokers[at].active.fetch_add(1, Ordering::Relaxed);
        self.invokers[at].active.fetch_sub(1, Ordering::Relaxed);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::counts;

    #[test]
    fn the_least_active_is_taken_and_ties_by_weight() {
        let least = LeastActive::new(&[1.0, 3.0, 9.0]);
        least.invokers[2].active.store(1, Ordering::Relaxed);
        let counts = counts(3, 10_000, || least.call());
        assert!(counts[2] == 0 && (counts[1] as f64 / 10_000.0 - 0.75).abs() < 0.03, "{counts:?}");
    }
}
