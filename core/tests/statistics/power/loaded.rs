//! Wrong ways to look at what is in flight.

use pointsman::{Policy, PowerOfTwo};

use super::choosing::two;
use super::{Dice, Sampler, tally};
use crate::common::{Hand, PLAIN, plain_route};
use crate::drawn::{IN_FLIGHT, WEIGHTS, costs, hold, six, winners};
use crate::harness::{Reading, chi_square, never};

const PICKS: usize = 100_000;

/// Counts of the six instances under load, by the engine or by a wrong sampler.
fn six_by(which: Sampler, policy: Policy, mut wrong: impl FnMut(&mut Dice) -> usize) -> [u64; 6] {
    let pool = six(111);
    let _held = hold(&pool, &IN_FLIGHT);
    let mut hand = Hand::Picker(plain_route(&pool, policy).picker_seeded(112));
    let mut dice = Dice::new(117);
    match which {
        Sampler::Engine => tally(PICKS, || hand.index(&PLAIN).expect("an instance")),
        Sampler::Wrong => tally(PICKS, || wrong(&mut dice)),
    }
}

/// `power_of_two` by a wrong way to choose between the first drawn and the second.
fn of_two(which: Sampler, second_wins: impl Fn(usize, usize) -> bool) -> Reading {
    let counts = six_by(which, Policy::PowerOfTwo(PowerOfTwo::new()), |dice| {
        let (first, second) = two(dice, &WEIGHTS);
        if second_wins(first, second) { second } else { first }
    });
    chi_square(&counts, &winners(&WEIGHTS, &costs(&IN_FLIGHT, &WEIGHTS), 2))
}

pub(super) fn without_weights(which: Sampler) -> Reading {
    of_two(which, |first, second| IN_FLIGHT[second] < IN_FLIGHT[first])
}

pub(super) fn last_of_equals(which: Sampler) -> Reading {
    let costs = costs(&IN_FLIGHT, &WEIGHTS);
    of_two(which, |first, second| costs[second] <= costs[first])
}

pub(super) fn busier(which: Sampler) -> Reading {
    let counts = six_by(which, Policy::LeastRequest, |dice| {
        let lowest = dice.by_weight(&[0.0, 0.0, 0.0, 4.0, 0.0, 8.0]);
        if dice.once_in(2_000) { 4 } else { lowest }
    });
    never(counts[0] + counts[1] + counts[2] + counts[4], PICKS as u64)
}

pub(super) fn ties_without_weights(which: Sampler) -> Reading {
    let counts = six_by(which, Policy::LeastRequest, |dice| [3, 5][dice.below(2)]);
    chi_square(&counts, &[0.0, 0.0, 0.0, 1.0 / 3.0, 0.0, 2.0 / 3.0])
}
