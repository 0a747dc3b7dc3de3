//! Picks that depend on what they should not depend on.

use pointsman::Policy;

use super::choosing::{lower, reported};
use super::{Dice, Sampler, at_point};
use crate::common::{Hand, PLAIN, plain_route, seeded};
use crate::drawn::{LOADS, WEIGHTS, by_weight, six, winners};
use crate::harness::{Reading, lagged, repeats, serial, together};
use crate::independence::LAG;
use crate::one_pick::{FIRST, distinct, one_of_twelve, place, split, twelve, two_sets};
use crate::points::list;

const PICKS: usize = 200_000;

/// The picks of two threads, by pickers of their own; of the second one behind so many that nobody sees.
fn of_two_threads(seeds: [u64; 2], unseen: usize) -> (Vec<usize>, Vec<usize>) {
    let route = plain_route(&six(81), Policy::WeightedRandom);
    let of_thread = |seed: u64, unseen: usize| -> Vec<usize> {
        let mut hand = Hand::Picker(route.picker_seeded(seed));
        (0..PICKS + unseen).map(|_| hand.index(&PLAIN).expect("an instance")).skip(unseen).collect()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| of_thread(seeds[1], unseen));
        (of_thread(seeds[0], 0), other.join().expect("no panic"))
    })
}

pub(super) fn copied_generator(which: Sampler) -> Reading {
    let seeds = if which == Sampler::Wrong { [82, 82] } else { [82, 83] };
    let (one, other) = of_two_threads(seeds, 0);
    let shares = by_weight(&WEIGHTS);
    together(one.into_iter().zip(other), &shares, &shares)
}

/// Each pick takes one draw.
pub(super) fn copied_late(which: Sampler) -> Reading {
    let seeds = if which == Sampler::Wrong { [82, 82] } else { [82, 83] };
    let (one, other) = of_two_threads(seeds, 1);
    lagged(&one, &other, &by_weight(&WEIGHTS), LAG)
}

/// The set and the place in it of picks in a split, against their independence.
fn of_split(
    which: Sampler,
    policy: Policy,
    shares: &[f64],
    mut wrong: impl FnMut(&mut Dice) -> (usize, usize),
) -> Reading {
    let mut hand = Hand::Picker(split(&two_sets(84), policy).picker_seeded(85));
    let mut dice = Dice::new(86);
    let pairs = (0..PICKS).map(|_| match which {
        Sampler::Engine => place(hand.index(&PLAIN).expect("an instance")),
        Sampler::Wrong => wrong(&mut dice),
    });
    together(pairs, &SETS, shares)
}

const SETS: [f64; 2] = [FIRST, 1.0 - FIRST];

pub(super) fn same_bits(which: Sampler) -> Reading {
    of_split(which, Policy::WeightedRandom, &by_weight(&WEIGHTS), |dice| {
        let point = dice.unit();
        (at_point(&SETS, point), at_point(&WEIGHTS, point))
    })
}

pub(super) fn candidate_by_the_branch(which: Sampler) -> Reading {
    of_split(which, reported(), &winners(&WEIGHTS, &LOADS, 2), |dice| {
        let point = dice.unit();
        let first = dice.by_weight(&WEIGHTS);
        let mut rest = WEIGHTS;
        rest[first] = 0.0;
        (at_point(&SETS, point), lower(first, at_point(&rest, point)))
    })
}

pub(super) fn distinct_in_one_branch(which: Sampler) -> Reading {
    let mut hand = Hand::Picker(split(&two_sets(84), Policy::WeightedRandom).picker_seeded(85));
    let mut dice = Dice::new(86);
    let pairs = (0..PICKS).map(|_| match which {
        Sampler::Engine => {
            let [first, second] = distinct(&mut hand);
            (one_of_twelve(first), second.0)
        }
        // Every tenth stays where the first is.
        Sampler::Wrong => {
            let first = (dice.by_weight(&SETS), dice.by_weight(&WEIGHTS));
            let set = if dice.once_in(10) { first.0 } else { dice.by_weight(&SETS) };
            (one_of_twelve(first), set)
        }
    });
    together(pairs, &twelve(SETS), &SETS)
}

pub(super) fn low_bits(which: Sampler) -> Reading {
    let mut hand = Hand::Picker(plain_route(&seeded(87, list(&[1.0; 8])), Policy::Random).picker_seeded(88));
    // The constants of "Numerical Recipes"; the lowest three bits have a period of eight.
    let mut state = 89_u32;
    let mut congruence = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state % 8) as usize
    };
    let picks: Vec<usize> = match which {
        Sampler::Engine => (0..PICKS).map(|_| hand.index(&PLAIN).expect("an instance")).collect(),
        Sampler::Wrong => (0..PICKS).map(|_| congruence()).collect(),
    };
    serial(&picks, &[0.125; 8], 1)
}

pub(super) fn raw_seeds(which: Sampler) -> Reading {
    let route = plain_route(&six(90), Policy::WeightedRandom);
    let first = |seed: u64| match which {
        Sampler::Engine => Hand::Picker(route.picker_seeded(seed)).index(&PLAIN).expect("an instance"),
        // The first step of a generator begun at the seed, without its output function.
        Sampler::Wrong => {
            let state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            at_point(&WEIGHTS, state as f64 * 2_f64.powi(-64))
        }
    };
    repeats(&(0..20_000).map(first).collect::<Vec<_>>(), &by_weight(&WEIGHTS))
}

pub(super) fn sticky(which: Sampler) -> Reading {
    let mut hand = Hand::Picker(plain_route(&six(91), Policy::WeightedRandom).picker_seeded(92));
    let mut dice = Dice::new(93);
    let mut last = 0;
    let mut again = || {
        if !dice.once_in(50) {
            last = dice.by_weight(&WEIGHTS);
        }
        last
    };
    let picks: Vec<usize> = match which {
        Sampler::Engine => (0..PICKS).map(|_| hand.index(&PLAIN).expect("an instance")).collect(),
        Sampler::Wrong => (0..PICKS).map(|_| again()).collect(),
    };
    repeats(&picks, &by_weight(&WEIGHTS))
}
