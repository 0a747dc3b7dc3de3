//! Instruments that tell a right distribution from a wrong one. All statistics of the tests are here.
//!
//! | instrument | what it sees |
//! |---|---|
//! | [`chi_square`] | counts that do not come from the shares, many cells at once |
//! | [`binomial`] | one rare instance, by the exact distribution of its count |
//! | [`never`] | what has no share and was picked all the same |
//! | [`repeats`], [`serial`] | picks that depend on picks before |
//! | [`together`] | two choices that depend on each other |
//! | [`lagged`] | two sequences that depend on each other, be one of them some picks late |
//! | [`discrepancy`] | a rotation that is not even at every turn |
//! | [`enumeration`] | who owns each of all draws of 8 or 16 bits |
//! | [`borders`] | where on the circle of 64-bit draws one instance ends, to the point |
//! | [`uniformity`] | a bias too slight for one seed, in the p-values of many |
//!
//! Rendezvous and ketama with a key are not read. Nothing is drawn there: a table gives each key its owner, and its shares
//! differ from the weights' by an error of its own, which no number of keys averages out. The exact shares of a table cannot be
//! had from outside, where a request with a key is told its one owner; so there is nothing to hold counts against. Their error
//! is bounded in `tests/hashing.rs`, and their owners are held to those of an independent program by `tests/vectors`. Maglev
//! with keys is read for equal weights, where its error is less than so many keys show; picks without a key are read as draws.

// Each test target uses its own part of it.
#![allow(dead_code, unused_imports)]

mod counts;
mod dice;
mod draws;
mod sequence;

pub(crate) use counts::{binomial, chi_square, never, uniformity};
pub(crate) use dice::{Dice, at_point};
pub(crate) use draws::{borders, enumeration, seed_that_draws, seed_that_draws_behind};
pub(crate) use sequence::{discrepancy, lagged, repeats, serial, together};

/// Below this the numbers do not come from what was expected. Some thousand readings are taken in a run, of fixed seeds.
pub(crate) const LEAST_P: f64 = 1e-5;

/// The same where seeds are not fixed, so that a sound engine fails less than once in a million runs.
pub(crate) const LEAST_P_UNSEEDED: f64 = 1e-9;

/// What an instrument reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) instrument: &'static str,
    pub(crate) measure: Measure,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// The probability of something as far from what is expected, or farther.
    P(f64),
    /// Sound up to its bound.
    Distance { is: f64, at_most: f64 },
}

impl Reading {
    pub(crate) fn p(instrument: &'static str, p: f64) -> Self {
        Self { instrument, measure: Measure::P(p) }
    }

    pub(crate) fn distance(instrument: &'static str, is: f64, at_most: f64) -> Self {
        Self { instrument, measure: Measure::Distance { is, at_most } }
    }

    /// The probability, of an instrument that has one; of others 0 or 1.
    pub(crate) fn probability(self) -> f64 {
        match self.measure {
            Measure::P(p) => p,
            Measure::Distance { is, at_most } => f64::from(u8::from(is <= at_most)),
        }
    }

    pub(crate) fn is_sound(self) -> bool {
        self.probability() >= LEAST_P
    }

    /// Wrong beyond any doubt: far below what a sound sampler comes to, so that the verdict does not hang on the seed.
    pub(crate) fn is_caught(self) -> bool {
        self.probability() < LEAST_P_UNSEEDED
    }

    #[track_caller]
    pub(crate) fn assert_sound(self, what: &str) {
        assert!(self.is_sound(), "{what}: {self}");
    }

    /// For numbers that differ from run to run.
    #[track_caller]
    pub(crate) fn assert_sound_unseeded(self, what: &str) {
        assert!(self.probability() >= LEAST_P_UNSEEDED, "{what}: {self}");
    }
}

impl std::fmt::Display for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.measure {
            Measure::P(p) => write!(f, "{} p = {p:.1e}", self.instrument),
            Measure::Distance { is, at_most } => write!(f, "{} {is:.4} of {at_most}", self.instrument),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_sound_or_caught_or_neither_never_both() {
        for p in [0.0, 1e-12, 1e-7, 1e-5, 0.5, 1.0] {
            let reading = Reading::p("any", p);
            assert!(!(reading.is_sound() && reading.is_caught()), "{reading}");
        }
        assert!(Reading::distance("any", 1.0, 1.0).is_sound());
        assert!(Reading::distance("any", 1.1, 1.0).is_caught());
        assert!(Reading::distance("any", f64::NAN, 1.0).is_caught() && !Reading::p("any", 1e-7).is_sound());
    }
}
