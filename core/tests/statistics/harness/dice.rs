//! Random numbers for samplers that are compared with the engine, and for what tests choose.

use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Random numbers that have nothing to do with the engine's.
pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2_f64.powi(-53)
    }

    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.bits() < u64::MAX / times
    }

    /// Below so many.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// One by weight.
    pub(crate) fn by_weight(&mut self, weights: &[f64]) -> usize {
        at_point(weights, self.unit())
    }
}

/// The owner of a point between 0 and 1.
pub(crate) fn at_point(weights: &[f64], point: f64) -> usize {
    let mut left = point * weights.iter().sum::<f64>();
    let owner = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    owner.unwrap_or(weights.len() - 1)
}
