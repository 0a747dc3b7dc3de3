//! Zones.

use pointsman::{Branch, Instance, Policy, Reason, Request, RouteSpec, Tier, ZoneRule};

use crate::common::*;

fn at(id: &str, zone: &str) -> Instance {
    Instance::new(id).zone(zone)
}

fn prefer_local() -> [Tier; 2] {
    [Tier::new().zone(ZoneRule::Local), Tier::new()]
}

#[test]
fn health_is_looked_at_before_the_zone_is_chosen() {
    let pool = seeded_in("z1", 1, vec![at("A", "z1").healthy(false), at("B", "z2")]);
    for policy in policies() {
        for mut hand in Hand::both(&route(&pool, policy.clone(), prefer_local()), 2) {
            hand.tally(&PLAIN, 500).assert_exactly(&[("B", 500)]);
        }
        let strict = route(&pool, policy, [Tier::new().zone(ZoneRule::Local)]);
        for mut hand in Hand::both(&strict, 2) {
            assert_eq!(hand.id(&PLAIN).expect_err("nobody").reason, Reason::Unavailable);
        }
    }
}

#[test]
fn a_retry_leaves_the_zone_when_nobody_else_is_in_it() {
    let pool = seeded_in("z1", 3, vec![at("A", "z1"), at("B", "z2")]);
    for policy in policies() {
        for mut hand in Hand::both(&route(&pool, policy, prefer_local()), 4) {
            hand.tally(&PLAIN, 100).assert_exactly(&[("A", 100)]);
            hand.tally(&Request::new().exclude(&["A"]), 100).assert_exactly(&[("B", 100)]);
        }
    }
}

#[test]
fn zones_are_matched_by_name_whatever_the_order_and_the_other_zones() {
    for zones in [["b", "a", "c"], ["a", "b", "c"], ["c", "b", "a"]] {
        let list = || zones.iter().flat_map(|zone| [1, 2].map(|n| at(&format!("{zone}{n}"), zone))).collect();
        for policy in policies() {
            for own in ["a", "b"] {
                let pool = seeded_in(own, 5, list());
                for mut hand in Hand::both(&route(&pool, policy.clone(), prefer_local()), 6) {
                    let tally = hand.tally(&PLAIN, 400);
                    assert!(tally.0.keys().all(|id| id.starts_with(own)) && tally.0.len() == 2, "{tally:?}");
                }
            }
        }
    }
}

#[test]
fn local_traffic_stays_local_also_beside_a_zone_without_callers() {
    for (own, id) in [("a", "A"), ("b", "B")] {
        let pool = seeded_in(own, 7, vec![at("A", "a"), at("B", "b"), at("C", "c")]);
        for policy in policies() {
            let route = route(&pool, policy, prefer_local());
            assert_eq!(dense(&route.shares(&PLAIN), &pool).iter().sum::<f64>(), 1.0);
            for mut hand in Hand::both(&route, 8) {
                hand.tally(&PLAIN, 3_000).assert_exactly(&[(id, 3_000)]);
            }
        }
    }
}

#[test]
fn no_zone_is_not_a_zone_and_unknown_is_a_name() {
    let list = || vec![Instance::new("A"), at("B", "UNKNOWN"), at("C", "z1")];
    let pool = seeded(9, list());
    for mut hand in Hand::both(&route(&pool, Policy::Random, prefer_local()), 10) {
        let tally = hand.tally(&PLAIN, 9_000);
        ["A", "B", "C"].iter().for_each(|id| tally.assert_near(id, 3_000, 179));
    }
    for (own, id) in [("UNKNOWN", "B"), ("z1", "C")] {
        let pool = seeded_in(own, 9, list());
        for mut hand in Hand::both(&route(&pool, Policy::Random, prefer_local()), 10) {
            hand.tally(&PLAIN, 1_000).assert_exactly(&[(id, 1_000)]);
        }
    }
}

#[test]
fn a_zone_may_be_literally_named_local() {
    let pool = seeded_in("z1", 11, vec![at("A", "local"), at("B", "z1")]);
    let spec = |zone: &str| {
        let text = format!(r#"{{"policy": "random", "tiers": [{{"zone": {zone}}}]}}"#);
        pool.route(RouteSpec::from_json(&text).expect("a good spec")).expect("a good spec")
    };
    Hand::Route(spec(r#"["local"]"#)).tally(&PLAIN, 100).assert_exactly(&[("A", 100)]);
    Hand::Route(spec(r#""local""#)).tally(&PLAIN, 100).assert_exactly(&[("B", 100)]);
    let both = Hand::Route(spec(r#"["local", "z1"]"#)).tally(&PLAIN, 1_000);
    assert_eq!(both.0.len(), 2);
}

#[test]
fn a_split_by_zone_goes_first_and_weights_count_inside_the_zone() {
    let region = |id: &str, weight: f64, zone: &str| at(id, zone).weight(weight);
    let list =
        vec![region("a", 3.0, "r1"), region("b", 1.0, "r1"), region("c", 2.0, "r1"), region("d", 4.0, "r2")];
    let pool = seeded(12, list);
    let in_zone = |zone: &str| Tier::new().zone(ZoneRule::Named(vec![zone.to_owned()]));
    for policy in by_weight() {
        let spec = RouteSpec::new(policy)
            .branch(Branch::new("r1", 50.0).tier(in_zone("r1")))
            .branch(Branch::new("r2", 50.0).tier(in_zone("r2")));
        let route = pool.route(spec).expect("a good spec");
        let shares = dense(&route.shares(&PLAIN), &pool);
        for (share, expected) in shares.iter().zip([0.25, 1.0 / 12.0, 1.0 / 6.0, 0.5]) {
            assert!((share - expected).abs() < 1e-12, "{shares:?}");
        }
        for mut hand in Hand::both(&route, 13) {
            let tally = hand.tally(&PLAIN, 1_000);
            for (id, count, slack) in [("a", 250, 55), ("b", 83, 35), ("c", 167, 47), ("d", 500, 63)] {
                tally.assert_near(id, count, slack);
            }
        }
    }
}

#[test]
fn the_dead_get_nothing_however_many_they_are_unless_the_last_tier_says_so() {
    let list = |down: usize| -> Vec<Instance> {
        (0..10).map(|n| Instance::new(format!("i{n}")).healthy(n >= down)).collect()
    };
    let pool = seeded(14, list(6));
    let careful = plain_route(&pool, Policy::Random);
    for mut hand in Hand::both(&careful, 15) {
        let tally = hand.tally(&PLAIN, 10_000);
        assert_eq!(tally.0.len(), 4);
        ["i6", "i7", "i8", "i9"].iter().for_each(|id| tally.assert_near(id, 2_500, 173));
    }
    let open = route(&pool, Policy::Random, [Tier::new(), Tier::new().health(pointsman::Health::Any)]);
    Hand::Route(open.clone()).tally(&PLAIN, 1_000).assert_near("i0", 0, 0);
    pool.replace(list(10)).expect("a good list");
    for mut hand in Hand::both(&careful, 15) {
        assert_eq!(hand.id(&PLAIN).expect_err("nobody").reason, Reason::Unavailable);
    }
    for mut hand in Hand::both(&open, 15) {
        let tally = hand.tally(&PLAIN, 10_000);
        (0..10).for_each(|n| tally.assert_near(&format!("i{n}"), 1_000, 120));
    }
}
