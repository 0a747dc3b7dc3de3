//! Wrong ways to choose among instances.

use pointsman::{Load, Picked, Policy, PowerOfTwo, Request, Tier};

use super::{Dice, Sampler, tally};
use crate::common::{Hand, PLAIN, plain_route, route};
use crate::drawn::{LOADS, WEIGHTS, by_weight, six, winners};
use crate::harness::{Reading, chi_square, never, uniformity};

const PICKS: usize = 100_000;

/// Counts of the six instances by the engine or by a wrong sampler, against the shares.
fn six_by(
    which: Sampler,
    policy: Policy,
    request: &Request<'_>,
    shares: &[f64],
    mut wrong: impl FnMut(&mut Dice) -> usize,
) -> Reading {
    let mut hand = Hand::Picker(plain_route(&six(61), policy).picker_seeded(62));
    let mut dice = Dice::new(63);
    let counts: [u64; 6] = match which {
        Sampler::Engine => tally(PICKS, || hand.index(request).expect("an instance")),
        Sampler::Wrong => tally(PICKS, || wrong(&mut dice)),
    };
    chi_square(&counts, shares)
}

pub(super) fn ignored_tag(which: Sampler) -> Reading {
    let route = route(&six(64), Policy::WeightedRandom, [Tier::new().matching("version")]);
    let mut hand = Hand::Picker(route.picker_seeded(65));
    let mut dice = Dice::new(66);
    let gray = [1.0, 0.0, 3.0, 0.0, 6.0, 0.0];
    let request = PLAIN.tags(&[("version", "gray")]);
    let counts: [u64; 6] = match which {
        Sampler::Engine => tally(PICKS, || hand.index(&request).expect("an instance")),
        Sampler::Wrong => tally(PICKS, || {
            let weights = if dice.once_in(1_000) { &WEIGHTS } else { &gray };
            dice.by_weight(weights)
        }),
    };
    never(counts[1] + counts[3] + counts[5], PICKS as u64)
}

pub(super) fn neighbour(which: Sampler) -> Reading {
    let pool = six(67);
    pool.edit(|edit| edit.set_healthy("i2", false)).expect("it is there");
    let mut hand = Hand::Picker(plain_route(&pool, Policy::WeightedRandom).picker_seeded(68));
    let mut dice = Dice::new(69);
    let counts: [u64; 6] = match which {
        Sampler::Engine => tally(PICKS, || hand.index(&PLAIN).expect("an instance")),
        Sampler::Wrong => tally(PICKS, || match dice.by_weight(&WEIGHTS) {
            2 => 3,
            other => other,
        }),
    };
    let mut left = WEIGHTS;
    left[2] = 0.0;
    chi_square(&counts, &by_weight(&left))
}

pub(super) fn drained(which: Sampler) -> Reading {
    const MANY: usize = 3_000_000;
    let pool = six(70);
    pool.edit(|edit| edit.set_weight("i2", 0.0)).expect("it is there");
    let mut hand = Hand::Picker(plain_route(&pool, Policy::WeightedRandom).picker_seeded(71));
    let mut dice = Dice::new(72);
    let hits = match which {
        Sampler::Engine => (0..MANY).filter(|_| hand.index(&PLAIN) == Ok(2)).count(),
        Sampler::Wrong => (0..MANY).filter(|_| dice.once_in(100_000)).count(),
    };
    never(hits as u64, MANY as u64)
}

pub(super) fn impatient(which: Sampler) -> Reading {
    let mut left = WEIGHTS;
    (left[4], left[5]) = (0.0, 0.0);
    let request = PLAIN.exclude(&["i4", "i5"]);
    six_by(which, Policy::WeightedRandom, &request, &by_weight(&left), |dice| {
        (0..4).map(|_| dice.by_weight(&WEIGHTS)).find(|drawn| *drawn < 4).unwrap_or(0)
    })
}

/// The lower of two by load.
pub(super) fn lower(one: usize, other: usize) -> usize {
    if LOADS[other] < LOADS[one] { other } else { one }
}

pub(super) fn reported() -> Policy {
    Policy::PowerOfTwo(PowerOfTwo::new().load(Load::Reported))
}

pub(super) fn candidates_with_replacement(which: Sampler) -> Reading {
    six_by(which, reported(), &PLAIN, &winners(&WEIGHTS, &LOADS, 2), |dice| {
        lower(dice.by_weight(&WEIGHTS), dice.by_weight(&WEIGHTS))
    })
}

/// Two different ones by these weights.
pub(super) fn two(dice: &mut Dice, weights: &[f64; 6]) -> (usize, usize) {
    let first = dice.by_weight(weights);
    let mut rest = *weights;
    rest[first] = 0.0;
    (first, dice.by_weight(&rest))
}

pub(super) fn candidates_without_weights(which: Sampler) -> Reading {
    six_by(which, reported(), &PLAIN, &winners(&WEIGHTS, &LOADS, 2), |dice| {
        let (one, other) = two(dice, &[1.0; 6]);
        lower(one, other)
    })
}

pub(super) fn last_of_equals(which: Sampler) -> Reading {
    let idle = Policy::PowerOfTwo(PowerOfTwo::new());
    six_by(which, idle, &PLAIN, &by_weight(&WEIGHTS), |dice| two(dice, &WEIGHTS).1)
}

pub(super) fn first_of_equals(which: Sampler) -> Reading {
    let pool = six(73);
    let loads = ["i0", "i1", "i2", "i3", "i4", "i5"].map(|id| (id, if id < "i4" { 1.0 } else { 2.0 }));
    pool.report_loads(loads).expect("good loads");
    let mut hand = Hand::Picker(plain_route(&pool, Policy::LeastLoad).picker_seeded(74));
    let counts: [u64; 6] = match which {
        Sampler::Engine => tally(PICKS, || hand.index(&PLAIN).expect("an instance")),
        Sampler::Wrong => tally(PICKS, || 0),
    };
    chi_square(&counts, &[0.25, 0.25, 0.25, 0.25, 0.0, 0.0])
}

/// Ordered pairs against drawing two by weight without replacement.
fn pairs(which: Sampler, mut wrong: impl FnMut(&mut Dice) -> (usize, usize)) -> Reading {
    let route = plain_route(&six(75), Policy::WeightedRandom);
    let mut picker = route.picker_seeded(76);
    let mut dice = Dice::new(77);
    let mut shares = [0.0; 36];
    for (first, second) in (0..36).map(|at| (at / 6, at % 6)).filter(|(first, second)| first != second) {
        shares[first * 6 + second] = WEIGHTS[first] / 24.0 * WEIGHTS[second] / (24.0 - WEIGHTS[first]);
    }
    let mut of_engine = || {
        let mut out = [Picked::default(); 2];
        let picks = picker.pick_distinct(&PLAIN, &mut out).expect("two of six");
        picks.picked()[0].index() * 6 + picks.picked()[1].index()
    };
    let counts: [u64; 36] = match which {
        Sampler::Engine => tally(PICKS, &mut of_engine),
        Sampler::Wrong => tally(PICKS, || {
            let (first, second) = wrong(&mut dice);
            first * 6 + second
        }),
    };
    chi_square(&counts, &shares)
}

pub(super) fn distinct_with_replacement(which: Sampler) -> Reading {
    pairs(which, |dice| (dice.by_weight(&WEIGHTS), dice.by_weight(&WEIGHTS)))
}

pub(super) fn distinct_by_neighbour(which: Sampler) -> Reading {
    pairs(which, |dice| {
        let first = dice.by_weight(&WEIGHTS);
        (first, (first + 1) % 6)
    })
}

/// The p-values of so many picks each, over as many seeds as the soak takes, where the heaviest weighs one part in `part` too
/// much.
fn biased(which: Sampler, part: f64, picks: usize) -> Reading {
    const SEEDS: u64 = 1_000;
    let route = plain_route(&six(78), Policy::WeightedRandom);
    let mut biased = WEIGHTS;
    biased[5] *= 1.0 + 1.0 / part;
    let of_seed = |seed: u64| {
        let mut hand = Hand::Picker(route.picker_seeded(seed));
        let mut dice = Dice::new(seed);
        let counts: [u64; 6] = match which {
            Sampler::Engine => tally(picks, || hand.index(&PLAIN).expect("an instance")),
            Sampler::Wrong => tally(picks, || dice.by_weight(&biased)),
        };
        chi_square(&counts, &by_weight(&WEIGHTS)).probability()
    };
    uniformity(&(0..SEEDS).map(of_seed).collect::<Vec<_>>())
}

/// What the soak of `make test` sees. Twenty sets of seeds all come below 10⁻²¹; at one part in twenty some of them come only
/// to the border of 10⁻⁹.
pub(super) fn slight_bias(which: Sampler) -> Reading {
    biased(which, 16.0, 2_000)
}

/// What `make soak` sees, by five times as many picks. Twenty sets of seeds all come below 10⁻¹⁴; at one part in fifty some of
/// them come only to 10⁻⁶.
pub(super) fn slighter_bias(which: Sampler) -> Reading {
    biased(which, 40.0, 10_000)
}
