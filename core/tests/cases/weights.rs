//! Zero, missing, invalid and extreme weights.

use pointsman::{Instance, Policy, Pool, PoolOptions, Reason, Route, UpdateError};

use crate::common::*;

#[test]
fn weight_zero_beside_positive_weights_is_never_picked() {
    for weights in [[0.0, 1.0, 3.0], [0.0, 0.25, 0.75]] {
        let pool = seeded(1, weighted(&[("A", weights[0]), ("B", weights[1]), ("C", weights[2])]));
        for mut hand in Hand::both(&plain_route(&pool, Policy::WeightedRandom), 2) {
            let tally = hand.tally(&PLAIN, 100_000);
            assert_eq!(tally.of("A"), 0);
            tally.assert_near("B", 25_000, 548);
        }
        for mut hand in Hand::both(&plain_route(&pool, Policy::WeightedRoundRobin), 2) {
            hand.tally(&PLAIN, 100_000).assert_exactly(&[("B", 25_000), ("C", 75_000)]);
        }
    }
}

/// The pick for a given 64-bit draw: the golden rotation maps turn t to the draw t · 2⁶⁴/φ, which has an inverse.
fn pick_for_draw(route: &Route, draw: u64) -> String {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    // Newton's iteration doubles the right bits each time.
    let inverse = (0..6).fold(1_u64, |x, _| x.wrapping_mul(2_u64.wrapping_sub(GOLDEN.wrapping_mul(x))));
    route.start_at(draw.wrapping_mul(inverse));
    route.pick(&PLAIN).expect("an instance").instance().id.to_string()
}

fn golden(list: &[(&str, f64)]) -> Route {
    let pool = seeded(1, weighted(list));
    let route = plain_route(&pool, Policy::WeightedRoundRobin);
    assert_eq!(route.explain(&PLAIN).branches[0].tiers[0].rotation, Some("golden"));
    route
}

#[test]
fn the_first_and_the_last_draw_pass_over_zero_weights() {
    let leading = golden(&[("A", 0.0), ("B", 1.0), ("C", std::f64::consts::PI)]);
    assert_eq!(pick_for_draw(&leading, 0), "B");
    assert_eq!(pick_for_draw(&leading, u64::MAX), "C");
    let trailing = golden(&[("A", 1.0), ("B", std::f64::consts::PI), ("C", 0.0)]);
    assert_eq!(pick_for_draw(&trailing, 0), "A");
    assert_eq!(pick_for_draw(&trailing, u64::MAX), "B");
}

#[test]
fn a_zero_weight_between_two_others_owns_no_draw_on_either_side_of_the_border() {
    let route = golden(&[("A", 1.0), ("B", 0.0), ("C", std::f64::consts::PI)]);
    let (mut of_a, mut of_c) = (0, u64::MAX);
    while of_c - of_a > 1 {
        let middle = of_a.midpoint(of_c);
        match pick_for_draw(&route, middle).as_str() {
            "A" => of_a = middle,
            "C" => of_c = middle,
            other => panic!("draw {middle} fell on {other}"),
        }
    }
    let share = of_c as f64 / 2_f64.powi(64);
    assert!((share - 1.0 / (1.0 + std::f64::consts::PI)).abs() < 1e-12);
}

#[test]
fn several_zero_weights_between_positive_ones_stay_out() {
    let pool = seeded(3, weighted(&[("A", 0.0), ("B", 1.0), ("C", 0.0), ("D", 1.0)]));
    for policy in by_weight() {
        for mut hand in Hand::both(&plain_route(&pool, policy), 4) {
            let tally = hand.tally(&PLAIN, 100_000);
            assert_eq!((tally.of("A"), tally.of("C")), (0, 0));
            tally.assert_near("B", 50_000, 632);
            tally.assert_near("D", 50_000, 632);
        }
    }
}

#[test]
fn all_weights_zero_is_drained_in_every_policy_until_one_is_raised() {
    for policy in policies() {
        let pool = seeded(5, weighted(&[("A", 0.0), ("B", 0.0)]));
        let route = plain_route(&pool, policy.clone());
        let hands = Hand::both(&route, 6);
        for mut hand in hands {
            pool.replace(weighted(&[("A", 0.0), ("B", 0.0)])).expect("zero drains");
            for _ in 0..1_000 {
                assert_eq!(hand.id(&PLAIN).expect_err("drained").reason, Reason::Drained, "{policy:?}");
            }
            pool.replace(weighted(&[("A", 0.0), ("B", 1.0)])).expect("a good list");
            hand.tally(&PLAIN, 1_000).assert_exactly(&[("B", 1_000)]);
        }
    }
}

#[test]
fn a_zero_weight_does_not_hold_up_later_updates() {
    for policy in policies() {
        let pool = seeded(7, weighted(&[("A", 1.0)]));
        let route = plain_route(&pool, policy.clone());
        assert_eq!(pool.replace(weighted(&[("A", 1.0), ("B", 0.0)])), Ok(2));
        let keys: Vec<String> = (0..2_000).map(|key| format!("key-{key}")).collect();
        for mut hand in Hand::both(&route, 8) {
            keys.iter().for_each(|key| {
                assert_eq!(hand.id(&PLAIN.key(key.as_bytes())).as_deref(), Ok("A"), "{policy:?}");
            });
        }
        assert_eq!(pool.replace(weighted(&[("A", 1.0), ("C", 1.0)])), Ok(3));
        for mut hand in Hand::both(&route, 8) {
            let mut tally = Tally::default();
            keys.iter().for_each(|key| tally.add(&hand.id(&PLAIN.key(key.as_bytes())).expect("an instance")));
            tally.assert_near("C", 1_000, 200);
        }
    }
}

fn assert_names(error: &UpdateError, instance: &str, value: f64) {
    assert_eq!((error.instance(), error.field()), (Some(instance), "weight"));
    assert_eq!(error.offending(), value.to_string());
    assert!(error.to_string().contains(instance) && error.to_string().contains(&value.to_string()));
}

#[test]
fn a_weight_that_is_negative_or_not_finite_refuses_the_update_and_names_the_instance() {
    let pool = seeded(9, weighted(&[("A", 1.0)]));
    let routes: Vec<Route> = policies().into_iter().map(|policy| plain_route(&pool, policy)).collect();
    for bad in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-9] {
        let list = weighted(&[("A", 2.0), ("B", bad), ("C", 1.0)]);
        let error = pool.replace(list).expect_err("a bad weight");
        assert_names(&error, "B", bad);
        assert_eq!(error.index(), Some(1));
        assert_names(&pool.edit(|edit| edit.set_weight("A", bad)).expect_err("a bad weight"), "A", bad);
        let upsert = pool.edit(|edit| edit.upsert(Instance::new("A").weight(bad)));
        assert_names(&upsert.expect_err("a bad weight"), "A", bad);
        assert!(Pool::new(weighted(&[("A", bad)])).is_err());
        assert!(Pool::with(PoolOptions::new(), weighted(&[("A", bad)])).is_err());
        assert_eq!((pool.version(), pool.instances()), (1, weighted(&[("A", 1.0)])));
        for route in &routes {
            for mut hand in Hand::both(route, 1) {
                hand.tally(&PLAIN, 1_000).assert_exactly(&[("A", 1_000)]);
            }
        }
    }
}

#[test]
fn negative_zero_drains_like_zero() {
    let pool = seeded(10, weighted(&[("A", -0.0), ("B", 1.0)]));
    for policy in policies() {
        for mut hand in Hand::both(&plain_route(&pool, policy), 1) {
            hand.tally(&PLAIN, 1_000).assert_exactly(&[("B", 1_000)]);
        }
    }
}

#[test]
fn fractional_weights_keep_their_shares() {
    for policy in by_weight() {
        let pool = seeded(11, weighted(&[("A", 0.995), ("B", 0.005)]));
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 12) {
            hand.tally(&PLAIN, 200_000).assert_near("B", 1_000, 126);
        }
        let pool = seeded(11, weighted(&[("A", 0.002), ("B", 0.006)]));
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 12) {
            hand.tally(&PLAIN, 40_000).assert_near("A", 10_000, 346);
        }
        let ids: Vec<String> = (0..128).map(|at| format!("i{at}")).collect();
        let list = ids.iter().map(|id| Instance::new(id.as_str()).weight(1.0 / 128.0)).collect();
        let pool = seeded(11, list);
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 12) {
            let tally = hand.tally(&PLAIN, 128 * 100);
            assert!(ids.iter().all(|id| tally.of(id) > 0), "{tally:?}");
        }
    }
}

#[test]
fn a_missing_weight_is_one() {
    for policy in by_weight() {
        let pool = seeded(13, equal(&["A", "B"]));
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 14) {
            hand.tally(&PLAIN, 10_000).assert_near("A", 5_000, 200);
        }
        let pool = seeded(13, vec![Instance::new("A"), Instance::new("B").weight(3.0)]);
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 14) {
            hand.tally(&PLAIN, 10_000).assert_near("A", 2_500, 173);
        }
    }
}

#[test]
fn a_weight_of_zero_is_not_a_missing_one() {
    let pool = seeded(15, weighted(&[("A", 0.0), ("B", 1.0)]));
    for policy in policies() {
        for mut hand in Hand::both(&plain_route(&pool, policy), 16) {
            hand.tally(&PLAIN, 10_000).assert_exactly(&[("B", 10_000)]);
        }
    }
    assert_eq!(pool.get("A").map(|instance| instance.weight), Some(0.0));
}

#[test]
fn weights_beyond_32_and_63_bits_neither_wrap_nor_vanish() {
    for heavy in [4_294_967_295.0, i64::MAX as f64] {
        let pool = seeded(17, weighted(&[("A", heavy), ("B", 1.0)]));
        for policy in by_weight() {
            let route = plain_route(&pool, policy);
            for mut hand in Hand::both(&route, 18) {
                assert!(hand.tally(&PLAIN, 100_000).of("A") >= 99_999);
            }
            let shares = dense(&route.shares(&PLAIN), &pool);
            assert!((shares[1] * heavy - 1.0).abs() < 1e-9, "{shares:?}");
        }
    }
}
