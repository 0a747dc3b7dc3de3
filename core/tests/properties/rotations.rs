//! Rotations of random weights against brute force and against their bounds.

use pointsman::{Instance, Policy, Pool, PoolOptions, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{Hand, PLAIN, plain_route};
use crate::oracle::rotation::{cycle, prefix_deviation, window_deviation};

fn pool(weights: impl IntoIterator<Item = f64>) -> Pool {
    let list =
        weights.into_iter().enumerate().map(|(at, weight)| Instance::new(format!("i{at}")).weight(weight));
    Pool::with(PoolOptions::new().seed(1), list).expect("good weights")
}

fn form(route: &pointsman::Route) -> Option<&'static str> {
    route.explain(&Request::new()).branches[0].tiers[0].rotation
}

fn turns(hand: &mut Hand, count: u64) -> Vec<usize> {
    (0..count).map(|_| hand.index(&PLAIN).expect("an instance")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn an_exact_cycle_is_tijdemans_and_within_the_bound_at_every_prefix(
        weights in vec(1..40_u64, 2..20),
        // What integers come from: themselves, their multiples, decimal fractions of them.
        unit in select(vec![1.0, 1_000_000.0, 0.25, 0.01, 0.001]),
        start in any::<u64>(),
    ) {
        prop_assume!(weights.iter().any(|weight| *weight != weights[0]));
        let pool = pool(weights.iter().map(|weight| *weight as f64 * unit));
        let route = plain_route(&pool, Policy::WeightedRoundRobin);
        prop_assert_eq!(form(&route), Some("exact"));
        let total: u64 = weights.iter().sum();
        let unit = 2 * weights.len() as u64 - 2;
        for mut hand in Hand::both_at(&route, 0) {
            let turns = turns(&mut hand, 2 * total);
            for (member, weight) in weights.iter().enumerate() {
                let count = turns[..total as usize].iter().filter(|at| **at == member).count();
                prop_assert_eq!(count as u64, *weight);
            }
            prop_assert_eq!(&turns[..total as usize], &turns[total as usize..]);
            prop_assert!(prefix_deviation(&weights, &turns) * unit <= total * (unit - 1));
            let divisor = weights.iter().copied().reduce(gcd).unwrap_or(1);
            let reduced: Vec<u64> = weights.iter().map(|weight| weight / divisor).collect();
            prop_assert_eq!(&turns[..(total / divisor) as usize], &cycle(&reduced)[..]);
        }
        for mut hand in Hand::both_at(&route, start) {
            let turns = turns(&mut hand, total + 13);
            prop_assert!(window_deviation(&weights, &turns) * unit <= 2 * total * (unit - 1));
        }
    }

    #[test]
    fn equal_weights_come_in_list_order_from_any_turn(
        n in 1..40_usize,
        weight in 1e-300..1e300_f64,
        start in any::<u64>(),
    ) {
        let pool = pool((0..n).map(|_| weight));
        for policy in [Policy::RoundRobin, Policy::WeightedRoundRobin] {
            let route = plain_route(&pool, policy);
            prop_assert_eq!(form(&route), Some("equal"));
            for mut hand in Hand::both_at(&route, start) {
                let first = (start % n as u64) as usize;
                let turns = turns(&mut hand, 2 * n as u64 + 1);
                prop_assert!(turns.iter().enumerate().all(|(step, at)| *at == (first + step) % n));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn golden_counts_stay_within_the_logarithmic_bound_at_every_prefix(
        weights in vec(prop_oneof![0.01..10.0_f64, 1e-6..1e6_f64], 2..24),
        start in any::<u64>(),
    ) {
        let pool = pool(weights.iter().copied());
        let route = plain_route(&pool, Policy::WeightedRoundRobin);
        prop_assume!(form(&route) == Some("golden"));
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        for mut hand in Hand::both_at(&route, start) {
            let mut counts = vec![0_u32; weights.len()];
            for turn in 1..=5_000_u32 {
                counts[hand.index(&PLAIN).expect("an instance")] += 1;
                let bound = 1.0 + 0.42 * f64::from(turn).ln();
                for (count, share) in counts.iter().zip(&shares) {
                    let distance = (f64::from(*count) - share * f64::from(turn)).abs();
                    prop_assert!(distance <= bound, "{} at {}", distance, turn);
                }
            }
        }
    }

    #[test]
    fn a_rotation_survives_random_edits_of_what_does_not_concern_it(
        weights in vec(1..12_u64, 2..8),
        bursts in vec((0..4_usize, 0..3_u8), 1..40),
    ) {
        let pool = pool(weights.iter().map(|weight| *weight as f64));
        let route = plain_route(&pool, Policy::WeightedRoundRobin);
        let total: u64 = weights.iter().sum();
        let unit = 2 * weights.len() as u64 - 2;
        for mut hand in Hand::both_at(&route, 0) {
            let mut turns_taken = Vec::new();
            for (round, (picks, what)) in bursts.iter().enumerate() {
                turns_taken.extend(turns(&mut hand, *picks as u64));
                match what {
                    0 => drop(pool.replace(pool.instances())),
                    1 => drop(pool.edit(|edit| edit.set_zone("i0", Some(&format!("z{round}"))))),
                    _ => drop(plain_route(&pool, Policy::Random)),
                }
            }
            if weights.iter().any(|weight| *weight != weights[0]) {
                prop_assert!(prefix_deviation(&weights, &turns_taken) * unit <= total * (unit - 1));
            } else {
                prop_assert!(turns_taken.iter().enumerate().all(|(step, at)| *at == step % weights.len()));
            }
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
