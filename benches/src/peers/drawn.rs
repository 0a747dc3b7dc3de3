//! Draws by weight with the crates that a Rust programmer finds first.

use arc_swap::ArcSwap;
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_distr::weighted::WeightedAliasIndex;
use rand_xoshiro::SplitMix64;

/// `rand`'s cumulative table with a binary search, bare, with a generator of its own.
#[derive(Clone)]
pub struct Bare {
    index: WeightedIndex<f64>,
    rng: SplitMix64,
}

impl Bare {
    /// Over instances of these weights; `None` where the crate refuses them.
    pub fn new(weights: &[f64]) -> Option<Self> {
        Some(Self { index: WeightedIndex::new(weights).ok()?, rng: SplitMix64::seed_from_u64(1) })
    }

    /// Draws one.
    #[inline]
    pub fn pick(&mut self) -> usize {
        self.index.sample(&mut self.rng)
    }
}

/// `rand_distr`'s alias table, bare, with a generator of its own.
#[derive(Clone)]
pub struct Alias {
    index: WeightedAliasIndex<f64>,
    rng: SplitMix64,
}

impl Alias {
    /// Over instances of these weights; `None` where the crate refuses them.
    pub fn new(weights: &[f64]) -> Option<Self> {
        let index = WeightedAliasIndex::new(weights.to_vec()).ok()?;
        Some(Self { index, rng: SplitMix64::seed_from_u64(1) })
    }

    /// Draws one.
    #[inline]
    pub fn pick(&mut self) -> usize {
        self.index.sample(&mut self.rng)
    }
}

/// What is written by hand: a list and its `WeightedIndex` behind an `ArcSwap`, drawn from with the thread's generator.
pub struct Swapped {
    list: ArcSwap<(Vec<f64>, WeightedIndex<f64>)>,
}

impl Swapped {
    /// Over instances of these weights; `None` where the crate refuses them.
    pub fn new(weights: &[f64]) -> Option<Self> {
        let index = WeightedIndex::new(weights).ok()?;
        Some(Self { list: ArcSwap::from_pointee((weights.to_vec(), index)) })
    }

    /// Draws one, from any thread.
    #[inline]
    pub fn pick(&self) -> usize {
        self.list.load().1.sample(&mut rand::rng())
    }

    /// Builds the table anew with one weight changed, and swaps it in.
    pub fn set_weight(&self, at: usize, weight: f64) {
        let mut weights = self.list.load().0.clone();
        weights[at] = weight;
        self.replace(weights);
    }

    /// Builds the table anew, and swaps it in; weights that the crate refuses leave it as it was.
    pub fn replace(&self, weights: Vec<f64>) {
        if let Ok(index) = WeightedIndex::new(&weights) {
            self.list.store((weights, index).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::counts;

    const WEIGHTS: [f64; 3] = [6.0, 3.0, 1.0];

    #[track_caller]
    fn follows(counts: &[usize]) {
        let near = |(count, weight): (&usize, &f64)| (*count as f64 / 1e5 - weight / 10.0).abs() < 0.01;
        assert!(counts.iter().zip(&WEIGHTS).all(near), "{counts:?}");
    }

    #[test]
    fn shares_follow_the_weights() {
        let mut bare = Bare::new(&WEIGHTS).unwrap();
        follows(&counts(3, 100_000, || bare.pick()));
        let mut alias = Alias::new(&WEIGHTS).unwrap();
        follows(&counts(3, 100_000, || alias.pick()));
        let swapped = Swapped::new(&[1.0, 3.0, 1.0]).unwrap();
        swapped.set_weight(0, 6.0);
        follows(&counts(3, 100_000, || swapped.pick()));
    }
}
