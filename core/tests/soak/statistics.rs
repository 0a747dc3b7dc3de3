//! A thousand fresh seeds of everything that draws: their p-values are uniform, so that a bias too slight for one seed shows.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pointsman::{Instance, Policy};

use crate::Order;
use crate::common::{Hand, PLAIN, plain_route, seeded};
use crate::drawn::{self, Drawn};
use crate::harness::{Dice, LEAST_P_UNSEEDED, Reading, chi_square, discrepancy, repeats, serial, uniformity};

const SEEDS: usize = 1_000;

/// Kolmogorov–Smirnov's p below which the p-values are not uniform.
const LEAST_UNIFORMITY: f64 = 1e-6;

pub(crate) fn run(order: Order) -> Vec<String> {
    let picks = if order.long { 10_000 } else { 2_000 };
    let all = drawn::all(order.seed);
    let (next, lines) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(drawn) = all.get(at) else { return };
                    // Each its own seeds, so that no two see the same numbers.
                    let line = uniform_over_seeds(drawn, order.seed.wrapping_add(at as u64), picks);
                    lines.lock().expect("no panic").push(line);
                }
            });
        }
    });
    let mut lines = lines.into_inner().expect("no panic");
    lines.sort();
    lines.push(golden_rotations(order.seed));
    lines
}

/// The p-values of three instruments over as many seeds as there are.
fn uniform_over_seeds(drawn: &Drawn, seed: u64, picks: usize) -> String {
    let mut dice = Dice::new(seed);
    let mut p_values: [Vec<f64>; 3] = Default::default();
    let mut names = [""; 3];
    for _ in 0..SEEDS {
        let of_picker = dice.bits();
        let mut hand = Hand::Picker(drawn.route.picker_seeded(of_picker));
        let picks: Vec<usize> =
            (0..picks).map(|_| hand.index(&drawn.request).expect("an instance")).collect();
        let mut counts = vec![0; drawn.shares.len()];
        picks.iter().for_each(|at| counts[*at] += 1);
        let readings: [Reading; 3] = [
            chi_square(&counts, &drawn.shares),
            repeats(&picks, &drawn.shares),
            serial(&picks, &drawn.shares, 1),
        ];
        for (reading, (p_values, name)) in readings.into_iter().zip(p_values.iter_mut().zip(&mut names)) {
            let p = reading.probability();
            assert!(
                p >= LEAST_P_UNSEEDED,
                "{}, picker_seeded({of_picker}): {reading}, {counts:?}",
                drawn.name
            );
            p_values.push(p);
            *name = reading.instrument;
        }
    }
    let told = names.iter().zip(&p_values).map(|(name, p_values)| {
        let p = uniformity(p_values).probability();
        assert!(
            p > LEAST_UNIFORMITY,
            "{}, {name}: the p-values of {SEEDS} seeds are not uniform, p = {p:e}",
            drawn.name
        );
        format!("{name} {p:.3}")
    });
    let told: Vec<String> = told.collect();
    format!("{}: p-values of {SEEDS} seeds uniform: {}", drawn.name, told.join(", "))
}

/// The golden form's bound holds from any start.
fn golden_rotations(seed: u64) -> String {
    const STARTS: usize = 200;
    let mut dice = Dice::new(seed);
    let mut worst = 0.0_f64;
    for _ in 0..STARTS {
        let weights: Vec<f64> = (0..2 + dice.below(20)).map(|_| dice.unit() * 10.0 + 1e-3).collect();
        let list =
            weights.iter().enumerate().map(|(at, weight)| Instance::new(format!("i{at}")).weight(*weight));
        let pool = seeded(seed, list.collect());
        let start = dice.bits();
        let mut picker = plain_route(&pool, Policy::WeightedRoundRobin).picker_seeded(1).start_at(start);
        let turns = (0..5_000).map(|_| picker.pick(&PLAIN).expect("an instance").index());
        let reading =
            discrepancy(turns, &drawn::by_weight(&weights), |turn| 1.0 + 0.42 * f64::from(turn).ln());
        assert!(reading.is_sound(), "{weights:?} from turn {start}: {reading}");
        let crate::harness::Measure::Distance { is, .. } = reading.measure else { unreachable!() };
        worst = worst.max(is);
    }
    format!("golden rotations: {STARTS} starts within the bound, the worst at {worst:.2} of it")
}
