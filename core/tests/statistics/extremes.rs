//! Weights at the ends of what a number can be.

use pointsman::Instance;

use crate::common::{self, Hand, PLAIN, dense, plain_route, seeded, weighted};
use crate::harness::chi_square;
use crate::shares::counts;

#[test]
fn the_largest_weights_there_are_share_evenly() {
    let pool =
        seeded(9, weighted(&[("a", f64::MAX), ("b", f64::MAX), ("c", f64::MAX), ("d", f64::MAX / 2.0)]));
    for policy in common::by_weight() {
        let route = plain_route(&pool, policy);
        let told = dense(&route.shares(&PLAIN), &pool);
        for (told, share) in told.iter().zip([2.0 / 7.0, 2.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]) {
            assert!((told - share).abs() < 1e-12, "{told}");
        }
        for request in [PLAIN, PLAIN.exclude(&["b"])] {
            let told = dense(&route.shares(&request), &pool);
            for mut hand in Hand::both(&route, 10) {
                chi_square(&counts(&mut hand, &request, 4, 200_000), &told).assert_sound("extreme weights");
            }
        }
    }
    let many: Vec<Instance> = (0..1_000).map(|at| Instance::new(format!("i{at}")).weight(f64::MAX)).collect();
    let pool = seeded(9, many);
    for policy in common::by_weight() {
        let route = plain_route(&pool, policy);
        let told = dense(&route.shares(&PLAIN), &pool);
        assert!(told.iter().all(|share| (share - 0.001).abs() < 1e-12));
        chi_square(&counts(&mut Hand::Route(route), &PLAIN, 1_000, 200_000), &told)
            .assert_sound("extreme weights");
    }
}

#[test]
fn subnormal_weights_keep_their_shares() {
    let tiny = 5e-324;
    let pool = seeded(11, weighted(&[("a", tiny), ("b", 2.0 * tiny), ("c", 5.0 * tiny), ("d", 0.0)]));
    for policy in common::by_weight() {
        let route = plain_route(&pool, policy);
        let told = dense(&route.shares(&PLAIN), &pool);
        for (told, share) in told.iter().zip([0.125, 0.25, 0.625, 0.0]) {
            assert!((told - share).abs() < 1e-12, "{told}");
        }
        for request in [PLAIN, PLAIN.exclude(&["b"])] {
            let told = dense(&route.shares(&request), &pool);
            for mut hand in Hand::both(&route, 12) {
                chi_square(&counts(&mut hand, &request, 4, 200_000), &told).assert_sound("extreme weights");
            }
        }
    }
}

#[test]
fn a_weight_far_below_the_others_keeps_a_positive_share() {
    let pool = seeded(13, weighted(&[("light", 1.0), ("heavy", 1e18), ("lighter", 1e-3)]));
    for policy in common::by_weight() {
        let route = plain_route(&pool, policy);
        let told = dense(&route.shares(&PLAIN), &pool);
        assert!((told[0] * 1e18 - 1.0).abs() < 1e-9 && (told[2] * 1e21 - 1.0).abs() < 1e-9, "{told:?}");
        for mut hand in Hand::both(&route, 14) {
            let counts = counts(&mut hand, &PLAIN, 3, 200_000);
            assert!(counts[1] >= 199_998, "{counts:?}");
        }
        // What is left when the heavy one is excluded goes by the weights of those that stay.
        let request = PLAIN.exclude(&["heavy"]);
        let told = dense(&route.shares(&request), &pool);
        assert!((told[0] - 1.0 / 1.001).abs() < 1e-9, "{told:?}");
        for mut hand in Hand::both(&route, 14) {
            let counts = counts(&mut hand, &request, 3, 100_000);
            assert!(counts[0] > 0 && counts[2] > 0, "{counts:?}");
        }
    }
}
