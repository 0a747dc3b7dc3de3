//! Updates, and what outlives them.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use pointsman::{
    Instance, Policy, Pool, PoolOptions, PoolSpec, Reason, Request, Route, RouteSpec, Tags, Tier, ZoneRule,
};

use crate::common::*;

#[test]
fn publishing_the_same_list_again_restarts_no_rotation() {
    let ids = ["a", "b", "c", "d", "e", "f"];
    for policy in [Policy::RoundRobin, Policy::WeightedRoundRobin] {
        let pool = seeded(1, equal(&ids));
        let route = plain_route(&pool, policy);
        for mut hand in Hand::both(&route, 2) {
            let mut tally = Tally::default();
            for _ in 0..3_000 {
                tally.merge(hand.tally(&PLAIN, 2));
                assert_eq!(pool.replace(equal(&ids)), Ok(1), "an identical list is no new version");
            }
            ids.iter().for_each(|id| tally.assert_near(id, 1_000, 0));
        }
    }
}

#[test]
fn changes_that_touch_no_weight_restart_no_rotation() {
    let list = [("a", 5.0), ("b", 1.0), ("c", 1.0)];
    let pool = seeded(3, weighted(&list));
    let route = plain_route(&pool, Policy::WeightedRoundRobin);
    for mut hand in Hand::both(&route, 4) {
        let mut tally = Tally::default();
        for round in 0..700_u64 {
            tally.merge(hand.tally(&PLAIN, 1));
            let moved = Instance::new(format!("host-{round}")).id("b").user_data(round);
            pool.edit(|edit| edit.upsert(moved)).expect("a good instance");
        }
        tally.assert_exactly(&[("a", 500), ("b", 100), ("c", 100)]);
    }
}

#[test]
fn one_flapping_member_leaves_the_turns_of_the_others_alone() {
    for policy in [Policy::RoundRobin, Policy::WeightedRoundRobin] {
        let pool = seeded(5, equal(&["A", "B", "C", "D"]));
        let route = plain_route(&pool, policy);
        for mut hand in Hand::both(&route, 6) {
            let (mut order, mut tally) = (String::new(), Tally::default());
            for toggle in 0..4_000 {
                pool.edit(|edit| edit.set_healthy("D", toggle % 2 == 1)).expect("D is there");
                let id = hand.id(&PLAIN).expect("an instance");
                tally.add(&id);
                if id != "D" {
                    order.push_str(&id);
                }
            }
            let steady = [tally.of("A"), tally.of("B"), tally.of("C")];
            let (low, high) = (steady.iter().min().copied(), steady.iter().max().copied());
            assert!(high.unwrap_or(0) as f64 <= 1.05 * low.unwrap_or(0) as f64, "{steady:?}");
            let cycle = "ABC".repeat(order.len() / 3 + 2);
            let begin = cycle.find(&order[..1]).unwrap_or(0);
            assert_eq!(order, cycle[begin..begin + order.len()], "A, B and C in turn");
        }
    }
}

#[test]
fn health_never_touches_the_weight() {
    let pool = seeded(7, weighted(&[("A", 10_000_000.0), ("B", 0.0)]));
    for policy in by_weight() {
        let route = plain_route(&pool, policy);
        pool.edit(|edit| edit.set_healthy("A", false)).expect("A is there");
        assert_eq!(
            route.pick(&PLAIN).map(|pick| pick.index()).map_err(|none| none.reason),
            Err(Reason::Unavailable)
        );
        pool.edit(|edit| edit.set_healthy("A", true)).expect("A is there");
        assert_eq!(pool.get("A").map(|instance| instance.weight), Some(10_000_000.0));
        for mut hand in Hand::both(&route, 8) {
            hand.tally(&PLAIN, 1_000).assert_exactly(&[("A", 1_000)]);
        }
    }
}

#[test]
fn an_instance_that_was_drained_comes_back_with_its_new_weight() {
    for gone_between in [false, true] {
        let pool = seeded(9, weighted(&[("A", 1.0), ("B", 0.0)]));
        let route = plain_route(&pool, Policy::WeightedRoundRobin);
        let hands = Hand::both(&route, 10);
        if gone_between {
            pool.replace(weighted(&[("A", 1.0)])).expect("a good list");
        }
        pool.replace(weighted(&[("A", 1.0), ("B", 1.0)])).expect("a good list");
        for mut hand in hands {
            hand.tally(&PLAIN, 1_000).assert_near("B", 500, 1);
        }
    }
}

#[test]
fn changed_tags_are_found_under_their_new_values_only() {
    let versions = |a: &str| vec![Instance::new("A").tag("v", a), Instance::new("B").tag("v", "1")];
    let pool = seeded(11, versions("1"));
    let route = route(&pool, Policy::Random, [Tier::new().matching("v")]);
    let check = |hand: &mut Hand| {
        hand.tally(&Request::new().tags(&[("v", "2")]), 500).assert_exactly(&[("A", 500)]);
        hand.tally(&Request::new().tags(&[("v", "1")]), 500).assert_exactly(&[("B", 500)]);
        hand.tally(&Request::new().require(&[("v", "2")]), 500).assert_exactly(&[("A", 500)]);
    };
    for mut hand in Hand::both(&route, 12) {
        pool.replace(versions("1")).expect("a good list");
        assert_eq!(
            hand.id(&Request::new().tags(&[("v", "2")])).map_err(|none| none.reason),
            Err(Reason::NoMatch)
        );
        pool.replace(versions("2")).expect("a good list");
        check(&mut hand);
        pool.edit(|edit| edit.set_tags("A", Tags::from_iter([("v", "1")]))).expect("A is there");
        hand.tally(&Request::new().tags(&[("v", "1")]), 500).assert_near("A", 250, 45);
        pool.edit(|edit| edit.set_tags("A", Tags::from_iter([("v", "2")]))).expect("A is there");
        check(&mut hand);
    }
}

#[test]
fn an_instance_that_moves_to_another_zone_is_found_there_and_once() {
    let pool = seeded(13, vec![Instance::new("X").zone("primary"), Instance::new("Y").zone("secondary")]);
    let in_zone = |zone: &str| Tier::new().zone(ZoneRule::Named(vec![zone.to_owned()]));
    let primary = route(&pool, Policy::RoundRobin, [in_zone("primary")]);
    let secondary = route(&pool, Policy::RoundRobin, [in_zone("secondary")]);
    pool.replace([Instance::new("Y").zone("primary"), Instance::new("Z").zone("secondary")])
        .expect("a good list");
    Hand::Route(primary.clone()).tally(&PLAIN, 100).assert_exactly(&[("Y", 100)]);
    Hand::Route(secondary.clone()).tally(&PLAIN, 100).assert_exactly(&[("Z", 100)]);
    assert!(pool.get("X").is_none());
    assert_eq!(pool.instances().iter().filter(|instance| &*instance.id == "Y").count(), 1);
    pool.edit(|edit| edit.set_zone("Z", Some("primary"))).expect("Z is there");
    Hand::Route(primary).tally(&PLAIN, 100).assert_exactly(&[("Y", 50), ("Z", 50)]);
    assert_eq!(
        secondary.pick(&PLAIN).map(|pick| pick.index()).map_err(|none| none.reason),
        Err(Reason::NoMatch)
    );
}

#[test]
fn after_an_update_no_thread_picks_what_it_removed() {
    for policy in policies() {
        let pool = seeded(14, equal(&["A", "B", "C"]));
        let route = plain_route(&pool, policy);
        let removed = AtomicBool::new(false);
        thread::scope(|scope| {
            for seed in 0..8 {
                let [mut shared, mut own] = Hand::both(&route, seed);
                let removed = &removed;
                scope.spawn(move || {
                    // Warm: both hold the list that has B.
                    while !removed.load(Ordering::Acquire) {
                        let _ = (shared.id(&PLAIN), own.id(&PLAIN));
                        thread::yield_now();
                    }
                    for hand in [&mut shared, &mut own] {
                        assert_eq!(hand.tally(&PLAIN, 2_000).of("B"), 0);
                    }
                });
            }
            pool.replace(equal(&["A", "C"])).expect("a good list");
            removed.store(true, Ordering::Release);
        });
    }
}

#[test]
fn a_weight_set_to_zero_counts_from_the_next_pick_on_however_often_threads_pick() {
    let pool = seeded(15, weighted(&[("A", 1.0), ("B", 1.0)]));
    let route = plain_route(&pool, Policy::WeightedRandom);
    // Odd while B is drained for certain: set after the update returned, cleared before the next begins.
    let phase = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for seed in 0..4 {
            let [mut shared, mut own] = Hand::both(&route, seed);
            let (phase, done) = (&phase, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for hand in [&mut shared, &mut own] {
                        let before = phase.load(Ordering::SeqCst);
                        let index = hand.index(&PLAIN).expect("an instance");
                        let drained = before % 2 == 1 && phase.load(Ordering::SeqCst) == before;
                        assert!(!(drained && index == 1), "a drained instance was picked");
                    }
                }
            });
        }
        for _ in 0..2_000 {
            pool.replace(weighted(&[("A", 1.0), ("B", 0.0)])).expect("a good list");
            phase.fetch_add(1, Ordering::SeqCst);
            thread::yield_now();
            phase.fetch_add(1, Ordering::SeqCst);
            pool.replace(weighted(&[("A", 1.0), ("B", 1.0)])).expect("a good list");
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn while_one_instance_is_in_every_list_there_is_always_one_to_pick() {
    let pool = seeded(16, equal(&["A", "B"]));
    let route = plain_route(&pool, Policy::RoundRobin);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for seed in 0..4 {
            let [mut shared, mut own] = Hand::both(&route, seed);
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    assert!(shared.id(&PLAIN).is_ok() && own.id(&PLAIN).is_ok());
                }
            });
        }
        for _ in 0..2_000 {
            pool.replace(equal(&["A", "C"])).expect("a good list");
            pool.replace(equal(&["A", "B"])).expect("a good list");
        }
        done.store(true, Ordering::Relaxed);
    });
    pool.replace([]).expect("an empty list is honoured");
    for mut hand in Hand::both(&route, 17) {
        pool.replace([]).expect("an empty list is honoured");
        assert_eq!(hand.id(&PLAIN).expect_err("nobody").reason, Reason::Empty);
        pool.replace(equal(&["A"])).expect("a good list");
        hand.tally(&PLAIN, 10).assert_exactly(&[("A", 10)]);
    }
}

#[test]
fn an_empty_list_is_honoured_unless_the_last_one_is_to_be_kept() {
    let pool = seeded(18, equal(&["A"]));
    let route = plain_route(&pool, Policy::Random);
    assert_eq!(pool.replace([]), Ok(2));
    assert_eq!(route.pick(&PLAIN).map(|pick| pick.index()).map_err(|none| none.reason), Err(Reason::Empty));
    assert!(!pool.status().stale);

    let options = PoolOptions::new().spec(PoolSpec::new().keep_last(true));
    let pool = Pool::with(options, equal(&["A"])).expect("a good list");
    let route = plain_route(&pool, Policy::Random);
    let error = pool.replace([]).expect_err("the last list is kept");
    assert_eq!((error.field(), error.offending()), ("instances", "0"));
    assert!(pool.edit(|edit| edit.remove("A")).is_err());
    let status = pool.status();
    assert!(status.stale && status.version == 1 && status.instances == 1);
    assert!(status.refused.is_some_and(|refused| refused.message.contains("keep_last")));
    Hand::Route(route.clone()).tally(&PLAIN, 10).assert_exactly(&[("A", 10)]);
    pool.replace(equal(&["A"])).expect("a good list");
    assert!(!pool.status().stale && pool.status().refused.is_none());
}

#[test]
fn a_thread_that_never_stops_picking_sees_an_update_with_its_next_pick() {
    let pool = seeded(19, equal(&["A"]));
    let route = plain_route(&pool, Policy::Random);
    let published = AtomicU64::new(1);
    thread::scope(|scope| {
        let picking = scope.spawn(|| {
            let mut picker = route.picker_seeded(20);
            loop {
                let at_least = published.load(Ordering::Acquire);
                let own = picker.pick(&PLAIN).map(|pick| pick.version());
                let shared = route.pick(&PLAIN).map(|pick| pick.version());
                assert!(own.is_ok_and(|version| version >= at_least));
                assert!(shared.is_ok_and(|version| version >= at_least));
                if at_least > 5_000 {
                    return;
                }
            }
        });
        while !picking.is_finished() {
            let next =
                pool.edit(|edit| edit.set_weight("A", pool.version() as f64 + 1.0)).expect("a good weight");
            published.store(next, Ordering::Release);
        }
    });
}

#[test]
fn two_entries_with_one_id_refuse_the_list_and_name_it() {
    let pool = seeded(21, weighted(&[("x", 1.0), ("y", 4.0)]));
    let error = pool.replace(weighted(&[("x", 1.0), ("x", 3.0), ("y", 4.0)])).expect_err("x comes twice");
    assert_eq!((error.instance(), error.field(), error.index()), (Some("x"), "id", Some(1)));
    assert_eq!((pool.version(), pool.instances()), (1, weighted(&[("x", 1.0), ("y", 4.0)])));
    assert!(Pool::new(equal(&["x", "x"])).is_err());
    let one_address = [Instance::new("host").id("1"), Instance::new("host").id("2")];
    assert_eq!(pool.replace(one_address), Ok(2), "the id alone is the identity");
}

/// Set in the processes that the next test starts.
const CHILD: &str = "POINTSMAN_TEST_PRINTS_ITS_ORDER";

#[test]
fn list_order_and_seeded_picks_are_the_same_in_every_process() {
    let pool = seeded(22, equal(&["c", "a", "b"]));
    let tagged = (0..40).map(|at| Instance::new(format!("i{at}")).tag("k", ["x", "y", "z"][at % 3]));
    let many = seeded(23, tagged.collect());
    let of = |route: &Route, request: &Request<'_>| -> Vec<usize> {
        let [mut shared, mut own] = Hand::both(route, 24);
        (0..20).flat_map(|_| [shared.index(request), own.index(request)]).map(|at| at.expect("one")).collect()
    };
    let mut seen = vec![of(&plain_route(&pool, Policy::RoundRobin), &PLAIN)];
    for policy in policies() {
        let spec = RouteSpec::new(policy).tier(Tier::new().matching("k"));
        seen.push(of(&many.route(spec).expect("a good spec"), &PLAIN.tags(&[("k", "y")])));
    }
    let ids: Vec<String> = pool.instances().iter().map(|instance| instance.id.to_string()).collect();
    assert_eq!(ids, ["c", "a", "b"]);
    let line = format!("order {ids:?} {seen:?}");
    if std::env::var_os(CHILD).is_some() {
        println!("{line}");
        return;
    }
    let program = std::env::current_exe().expect("this program has a path");
    for _ in 0..20 {
        let child = Command::new(&program)
            .args(["--exact", "updates::list_order_and_seeded_picks_are_the_same_in_every_process"])
            .arg("--nocapture")
            .env(CHILD, "1")
            .output()
            .expect("the program runs again");
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(text.lines().any(|other| other.ends_with(&line)), "{line}\nelsewhere: {text}");
    }
}

#[test]
fn memory_stays_flat_however_many_updates_and_however_large_the_weights() {
    let list = |shift: f64| -> Vec<Instance> {
        (0..10).map(|at| Instance::new(format!("i{at}")).weight(1_000.0 + shift)).collect()
    };
    let pool = seeded(25, list(0.0));
    let routes: Vec<Route> = policies().into_iter().map(|policy| plain_route(&pool, policy)).collect();
    let bytes = pool.status().bytes;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for seed in 0..4 {
            let (routes, done) = (&routes, &done);
            scope.spawn(move || {
                let mut pickers: Vec<_> = routes.iter().map(|route| route.picker_seeded(seed)).collect();
                while !done.load(Ordering::Relaxed) {
                    for (route, picker) in routes.iter().zip(&mut pickers) {
                        assert!(route.pick(&PLAIN).is_ok() && picker.pick(&PLAIN).is_ok());
                    }
                }
            });
        }
        for update in 1..=1_000 {
            pool.replace(list(f64::from(update % 7))).expect("a good list");
        }
        done.store(true, Ordering::Relaxed);
    });
    // What threads of other pools are reading just now may hold things up for a moment.
    until("old lists are freed", || {
        pool.replace(list(0.0)).expect("a good list");
        pool.replace(list(1.0)).expect("a good list");
        pool.retired() <= 2
    });
    let after = pool.status().bytes;
    assert!(after <= bytes + bytes / 4, "{after} bytes, at the start {bytes}");
    assert!(after < 64 * 1024, "{after} bytes for ten instances");
}
