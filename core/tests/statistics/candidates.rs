//! Draws without replacement, and rare instances.

use pointsman::{Instance, Outcome, PeakEwma, Picked, Policy, PowerOfTwo};

use crate::common::{Hand, PLAIN, plain_route, seeded, weighted};
use crate::drawn::{LOADS, WEIGHTS, six, winners};
use crate::harness::{binomial, chi_square, never};
use crate::shares::counts;

/// Every ordered draw of three of six by weight without replacement, with its probability.
fn triples(weights: &[f64]) -> Vec<f64> {
    let n = weights.len();
    let sum: f64 = weights.iter().sum();
    let mut shares = vec![0.0; n * n * n];
    for (first, second, third) in (0..n * n * n)
        .map(|at| (at / n / n, at / n % n, at % n))
        .filter(|(a, b, c)| a != b && b != c && a != c)
    {
        let [a, b, c] = [first, second, third].map(|at| weights[at]);
        shares[(first * n + second) * n + third] = a / sum * b / (sum - a) * c / (sum - a - b);
    }
    shares
}

#[test]
fn pick_distinct_is_drawing_by_weight_without_replacement() {
    let pool = six(31);
    let shares = triples(&WEIGHTS);
    for policy in [Policy::WeightedRandom, Policy::WeightedRoundRobin] {
        for mut hand in Hand::both(&plain_route(&pool, policy), 32) {
            let mut counts = vec![0_u64; shares.len()];
            for _ in 0..200_000 {
                let mut out = [Picked::default(); 3];
                let picks = match &mut hand {
                    Hand::Route(route) => route.pick_distinct(&PLAIN, &mut out),
                    Hand::Picker(picker) => picker.pick_distinct(&PLAIN, &mut out),
                };
                let drawn = picks.expect("six are there").picked().to_vec();
                assert_eq!(drawn.len(), 3);
                counts[drawn.iter().fold(0, |at, picked| at * 6 + picked.index())] += 1;
            }
            chi_square(&counts, &shares).assert_sound("ordered triples");
        }
    }
}

#[test]
fn the_candidates_of_peak_ewma_are_drawn_by_weight_without_replacement() {
    let pool = six(33);
    for choices in [2, 3] {
        let route = plain_route(&pool, Policy::PeakEwma(PeakEwma::new().choices(choices)));
        for (at, latency) in LOADS.into_iter().enumerate() {
            let others: Vec<String> =
                (0..6).filter(|other| *other != at).map(|at| format!("i{at}")).collect();
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let lease = route.lease(&PLAIN.exclude(&others)).expect("one is left");
            lease.done_at(Outcome::Success, std::time::Duration::from_secs_f64(latency), 0);
        }
        for mut hand in Hand::both(&route, 34) {
            let mut counts = [0; 6];
            (0..200_000).for_each(|_| counts[hand.index(&PLAIN).expect("an instance")] += 1);
            chi_square(&counts, &winners(&WEIGHTS, &LOADS, choices as usize)).assert_sound("by latency");
        }
    }
}

#[test]
fn one_in_a_million_is_picked_once_in_a_million() {
    let pool = seeded(35, weighted(&[("common", 1e6 - 1.0), ("rare", 1.0), ("excluded", 1e6)]));
    let idle = [Policy::WeightedRandom, Policy::LeastRequest, Policy::PowerOfTwo(PowerOfTwo::new())];
    for (policy, picks) in idle.into_iter().zip([8_000_000, 2_000_000, 2_000_000]) {
        let route = plain_route(&pool, policy.clone());
        let request = PLAIN.exclude(&["excluded"]);
        for mut hand in Hand::both(&route, 36) {
            let counts = counts(&mut hand, &request, 3, picks as usize);
            binomial(counts[1], picks, 1e-6).assert_sound(&format!("{policy:?}: {counts:?}"));
            never(counts[2], picks).assert_sound(&format!("{policy:?}: {counts:?}"));
        }
    }
    // A tail that the other policies' instances are too few for: one weight in a hundred thousand of many.
    let many =
        (0..1_000).map(|at| Instance::new(format!("i{at}")).weight(if at == 500 { 0.01 } else { 1.0 }));
    let pool = seeded(37, many.collect());
    let picks = 4_000_000;
    for mut hand in Hand::both(&plain_route(&pool, Policy::WeightedRandom), 38) {
        let rare = (0..picks).filter(|_| hand.index(&PLAIN) == Ok(500)).count();
        binomial(rare as u64, picks, 0.01 / 999.01).assert_sound(&format!("{rare}"));
    }
}
