//! Wrong ways from a draw to its owner.

use pointsman::Policy;

use super::{Dice, Sampler, tally};
use crate::common::{Hand, PLAIN, plain_route, seeded};
use crate::drawn::{WEIGHTS, by_weight, six};
use crate::harness::{Reading, binomial, borders, chi_square, enumeration};
use crate::points::{list, owner};

/// The engine's owner of each draw of so many bits.
fn enumerated(bits: u32, weights: &[f64], wrong: Option<&dyn Fn(u64) -> usize>) -> Reading {
    let route = plain_route(&seeded(51, list(weights)), Policy::WeightedRandom);
    let of_engine = |draw: u64| owner(&route, &PLAIN, draw << (64 - bits));
    enumeration(bits, &by_weight(weights), |draw| {
        Some(wrong.map_or_else(|| of_engine(draw), |wrong| wrong(draw)))
    })
}

/// Where the engine's owners of 64-bit draws end.
fn bordered(weights: &[f64], wrong: Option<&dyn Fn(u64) -> usize>) -> Reading {
    let route = plain_route(&seeded(51, list(weights)), Policy::WeightedRandom);
    borders(&by_weight(weights), |draw| {
        wrong.map_or_else(|| owner(&route, &PLAIN, draw), |wrong| wrong(draw))
    })
}

fn if_wrong<T>(which: Sampler, wrong: T) -> Option<T> {
    (which == Sampler::Wrong).then_some(wrong)
}

pub(super) fn modulo(which: Sampler, bits: u32) -> Reading {
    // As many as do not divide the number of draws.
    let weights: [u64; 2] = if bits == 8 { [120, 80] } else { [30_000, 20_000] };
    let wrong = |draw: u64| usize::from(draw % (weights[0] + weights[1]) >= weights[0]);
    enumerated(bits, &weights.map(|weight| weight as f64), if_wrong(which, &wrong as &dyn Fn(u64) -> usize))
}

pub(super) fn at_the_border(which: Sampler, bits: u32) -> Reading {
    let quarter = 1_u64 << (bits - 2);
    let wrong = |draw: u64| usize::from(draw > quarter);
    enumerated(bits, &[1.0, 3.0], if_wrong(which, &wrong as &dyn Fn(u64) -> usize))
}

pub(super) fn last_slot(which: Sampler) -> Reading {
    let wrong = |draw: u64| ((draw * 15) >> 8) as usize;
    enumerated(8, &[1.0; 16], if_wrong(which, &wrong as &dyn Fn(u64) -> usize))
}

pub(super) fn rounded_up(which: Sampler) -> Reading {
    const PICKS: u64 = 2_000_000;
    let weights = [1e6 - 1.0, 1.0];
    let mut hand =
        Hand::Picker(plain_route(&seeded(52, list(&weights)), Policy::WeightedRandom).picker_seeded(53));
    let mut dice = Dice::new(54);
    let rounded = weights.map(|weight| (weight / 1e6 * 65_536.0).ceil());
    let rare = match which {
        Sampler::Engine => (0..PICKS).filter(|_| hand.index(&PLAIN) == Ok(1)).count(),
        Sampler::Wrong => (0..PICKS).filter(|_| dice.by_weight(&rounded) == 1).count(),
    };
    binomial(rare as u64, PICKS, 1e-6)
}

pub(super) fn rounded(which: Sampler) -> Reading {
    let weights = [1e6, 1.0];
    let first = (1e6_f64 / 1_000_001.0 * 65_536.0).round() / 65_536.0;
    let wrong = |draw: u64| usize::from(draw as f64 >= first * 2_f64.powi(64));
    bordered(&weights, if_wrong(which, &wrong as &dyn Fn(u64) -> usize))
}

pub(super) fn short_draw(which: Sampler) -> Reading {
    let weights = [1e6, 1.0];
    let border = (1e6 / 1_000_001.0 * 2_f64.powi(32)) as u64;
    let wrong = |draw: u64| usize::from(draw >> 32 >= border);
    bordered(&weights, if_wrong(which, &wrong as &dyn Fn(u64) -> usize))
}

pub(super) fn single_precision(which: Sampler) -> Reading {
    let weights = [0.1, 0.2, 0.7];
    let ends: Vec<f64> = weights
        .iter()
        .scan(0.0_f32, |sum, weight| {
            *sum += *weight as f32;
            Some(f64::from(*sum))
        })
        .collect();
    let wrong = |draw: u64| ends[..2].iter().filter(|end| draw as f64 >= **end * 2_f64.powi(64)).count();
    bordered(&weights, if_wrong(which, &wrong as &dyn Fn(u64) -> usize))
}

pub(super) fn stale_sums(which: Sampler) -> Reading {
    let pool = six(55);
    let mut hand = Hand::Picker(plain_route(&pool, Policy::WeightedRandom).picker_seeded(56));
    hand.index(&PLAIN).expect("an instance");
    pool.edit(|edit| edit.set_weight("i3", 5.0)).expect("a good weight");
    let mut now = WEIGHTS;
    now[3] = 5.0;
    // The end of the changed one has moved, those behind it have not: what it gained the next one lost.
    let mut stale = now;
    stale[4] -= 1.0;
    let mut dice = Dice::new(57);
    let counts: [u64; 6] = match which {
        Sampler::Engine => tally(100_000, || hand.index(&PLAIN).expect("an instance")),
        Sampler::Wrong => tally(100_000, || dice.by_weight(&stale)),
    };
    chi_square(&counts, &by_weight(&now))
}

/// Of each slot the alias, and the part of the slot that belongs to its owner. A. J. Walker's table, by M. D. Vose's way to
/// build it.
fn alias_table(weights: &[f64]) -> Vec<(usize, f64)> {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let mut table: Vec<(usize, f64)> =
        weights.iter().enumerate().map(|(at, weight)| (at, weight / mean)).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..weights.len()).partition(|at| table[*at].1 < 1.0);
    while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
        table[poor].0 = rich;
        table[rich].1 -= 1.0 - table[poor].1;
        if table[rich].1 < 1.0 { small.push(rich) } else { large.push(rich) }
    }
    table
}

pub(super) fn swapped_alias(which: Sampler) -> Reading {
    let table = alias_table(&WEIGHTS);
    let mut hand = Hand::Picker(plain_route(&six(58), Policy::WeightedRandom).picker_seeded(59));
    let mut dice = Dice::new(60);
    let mut swapped = || {
        let slot = (dice.unit() * 6.0) as usize;
        let (alias, own) = table[slot];
        if dice.unit() < own { alias } else { slot }
    };
    let counts: [u64; 6] = match which {
        Sampler::Engine => tally(100_000, || hand.index(&PLAIN).expect("an instance")),
        Sampler::Wrong => tally(100_000, &mut swapped),
    };
    chi_square(&counts, &by_weight(&WEIGHTS))
}
