//! Picks that depend on what they should not depend on.

use pointsman::{Branch, Instance, Policy, RouteSpec, Tier};

use super::{Dice, Sampler, at_point};
use crate::common::{Hand, PLAIN, plain_route, seeded};
use crate::drawn::{WEIGHTS, by_weight, six};
use crate::harness::{Reading, repeats, serial, together};
use crate::points::list;

const PICKS: usize = 200_000;

pub(super) fn copied_generator(which: Sampler) -> Reading {
    let route = plain_route(&six(81), Policy::WeightedRandom);
    let of_thread = |seed: u64| -> Vec<usize> {
        let mut hand = Hand::Picker(route.picker_seeded(seed));
        (0..PICKS).map(|_| hand.index(&PLAIN).expect("an instance")).collect()
    };
    let seeds = if which == Sampler::Wrong { [82, 82] } else { [82, 83] };
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| of_thread(seeds[1]));
        (of_thread(seeds[0]), other.join().expect("no panic"))
    });
    let shares = by_weight(&WEIGHTS);
    together(one.into_iter().zip(other), &shares, &shares)
}

pub(super) fn same_bits(which: Sampler) -> Reading {
    let of_set = |set: &'static str| {
        (0..6).map(move |at| Instance::new(format!("{set}{at}")).weight(WEIGHTS[at]).tag("set", set))
    };
    let pool = seeded(84, of_set("a").chain(of_set("b")).collect());
    let spec = RouteSpec::new(Policy::WeightedRandom)
        .branch(Branch::new("a", 30.0).tier(Tier::new().tag("set", "a")))
        .branch(Branch::new("b", 70.0).tier(Tier::new().tag("set", "b")));
    let mut hand = Hand::Picker(pool.route(spec).expect("a good spec").picker_seeded(85));
    let mut dice = Dice::new(86);
    let pairs = (0..PICKS).map(|_| match which {
        Sampler::Engine => {
            let index = hand.index(&PLAIN).expect("an instance");
            (index / 6, index % 6)
        }
        Sampler::Wrong => {
            let point = dice.unit();
            (usize::from(point >= 0.3), at_point(&WEIGHTS, point))
        }
    });
    together(pairs, &[0.3, 0.7], &by_weight(&WEIGHTS))
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
