//! Rotations: whole cycles, and every prefix.

use pointsman::{Policy, Request, Route};

use crate::common::{Hand, dense, seeded};
use crate::harness::discrepancy;
use crate::shares::{FEWER, PICKS, SHAPES, counts, golden_instances, instances};

fn form(route: &Route, request: &Request<'_>) -> Option<&'static str> {
    route.explain(request).branches[0].tiers[0].rotation
}

#[test]
fn every_cycle_of_an_exact_rotation_has_the_exact_counts() {
    for (policy, expected) in [(Policy::RoundRobin, "equal"), (Policy::WeightedRoundRobin, "exact")] {
        let pool = seeded(3, instances());
        for shape in SHAPES.iter().filter(|shape| shape.in_turn) {
            let route = pool.route((shape.spec)(policy.clone())).expect("a good spec");
            assert_eq!(form(&route, &shape.request), Some(expected));
            let told = dense(&route.shares(&shape.request), &pool);
            // The smallest number of turns of which every share is a whole number.
            let whole = |turns: &usize| {
                told.iter().all(|share| {
                    (share * *turns as f64).fract().abs().min(1.0 - (share * *turns as f64).fract()) < 1e-6
                })
            };
            let cycle = (1..5_000).find(whole).expect("a short cycle");
            for mut hand in Hand::both(&route, 4) {
                for _ in 0..PICKS / cycle {
                    let counts = counts(&mut hand, &shape.request, pool.len(), cycle);
                    for (count, share) in counts.iter().zip(&told) {
                        assert_eq!(
                            *count as f64,
                            (share * cycle as f64).round(),
                            "{policy:?}, {}",
                            shape.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn every_prefix_of_a_rotation_is_within_its_bound() {
    for (list, expected) in [(instances(), "exact"), (golden_instances(), "golden")] {
        let pool = seeded(5, list);
        for shape in SHAPES.iter().filter(|shape| shape.in_turn) {
            let route = pool.route((shape.spec)(Policy::WeightedRoundRobin)).expect("a good spec");
            assert_eq!(form(&route, &shape.request), Some(expected));
            let told = dense(&route.shares(&shape.request), &pool);
            let members = told.iter().filter(|share| **share > 0.0).count() as f64;
            let [shared, own] = Hand::both_at(&route, 0);
            let anywhere = Hand::Picker(route.picker_seeded(6));
            let golden = expected == "golden";
            let hands = [(shared, if golden { PICKS } else { FEWER }), (own, FEWER), (anywhere, FEWER)];
            // Only the golden form's bound holds from any start.
            for (mut hand, picks) in hands.into_iter().take(if golden { 3 } else { 2 }) {
                let turns = (0..picks).map(|_| hand.index(&shape.request).expect("an instance"));
                let reading = discrepancy(turns, &told, |turn| match expected {
                    "exact" => 1.0 - 1.0 / (2.0 * members - 2.0) + 1e-6,
                    _ => 1.0 + 0.42 * f64::from(turn).ln(),
                });
                reading.assert_sound(shape.name);
            }
        }
    }
}
