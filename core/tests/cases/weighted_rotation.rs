//! Weighted rotation: no bursts, no starvation, no herd.

use std::time::{Duration, Instant};

use pointsman::{Instance, Policy};

use crate::common::*;

/// Weighted round robin over a list.
fn rotation(seed: u64, list: &[(&str, f64)]) -> (pointsman::Pool, pointsman::Route) {
    let pool = seeded(seed, weighted(list));
    let route = plain_route(&pool, Policy::WeightedRoundRobin);
    (pool, route)
}

#[test]
fn every_prefix_of_a_cycle_is_within_the_best_bound_there_is() {
    for (list, bound) in [
        (&[("A", 5.0), ("B", 1.0), ("C", 1.0)][..], 0.75),
        (&[("A", 11.0), ("B", 3.0)][..], 0.5),
        (&[("A", 21.0), ("B", 11.0)][..], 0.5),
    ] {
        let (pool, route) = rotation(1, list);
        let sum: f64 = list.iter().map(|(_, weight)| weight).sum();
        for mut hand in Hand::both_at(&route, 0) {
            let mut counts = vec![0.0; pool.len()];
            for turn in 1..=sum as u32 {
                counts[hand.index(&PLAIN).expect("an instance")] += 1.0;
                for (count, (id, weight)) in counts.iter().zip(list) {
                    let distance: f64 = count - f64::from(turn) * weight / sum;
                    assert!(distance.abs() <= bound + 1e-9, "{id} is off by {distance} at {turn}");
                }
            }
            assert!(counts.iter().zip(list).all(|(count, (_, weight))| count == weight), "{counts:?}");
        }
    }
}

#[test]
fn the_first_pick_of_a_fresh_pool_goes_by_weight() {
    let list = [("A", 5.0), ("B", 1.0), ("C", 1.0), ("D", 1.0), ("E", 1.0)];
    let mut tally = Tally::default();
    for seed in 0..900 {
        let (_pool, route) = rotation(seed, &list);
        tally.add(&route.pick(&PLAIN).expect("an instance").instance().id);
    }
    tally.assert_near("A", 500, 60);
    ["B", "C", "D", "E"].iter().for_each(|id| tally.assert_near(id, 100, 38));
}

#[test]
fn fresh_pools_that_step_together_do_not_choose_together() {
    let fleet: Vec<_> = (0..200).map(|seed| rotation(seed, &[("A", 5.0), ("B", 1.0), ("C", 1.0)])).collect();
    for _ in 0..7 {
        let mut tally = Tally::default();
        for (_, route) in &fleet {
            tally.add(&route.pick(&PLAIN).expect("an instance").instance().id);
        }
        tally.assert_near("A", 143, 26);
        tally.assert_near("B", 29, 20);
        tally.assert_near("C", 29, 20);
    }
}

#[test]
fn equal_weights_alternate_in_list_order() {
    let (_pool, route) = rotation(2, &[("A", 1.0), ("B", 1.0)]);
    for mut hand in Hand::both_at(&route, 0) {
        assert_eq!(hand.text(10), "ABABABABAB");
    }
    let (_pool, route) = rotation(2, &[("A", 7.0), ("B", 7.0), ("C", 7.0)]);
    for mut hand in Hand::both_at(&route, 0) {
        assert_eq!(hand.text(9), "ABCABCABC");
    }
}

#[test]
fn weights_near_zero_cost_no_more_than_others() {
    let (pool, route) = rotation(3, &[("A", 1.0), ("B", 1e-9)]);
    let (_level_pool, level) = rotation(3, &[("A", 1.0), ("B", std::f64::consts::PI)]);
    let picks = 1_000_000;
    let time = |route: &pointsman::Route| {
        let begin = Instant::now();
        let tally = Hand::Route(route.clone()).tally(&PLAIN, picks);
        (tally, begin.elapsed())
    };
    let (tally, took) = time(&route);
    let (_, usual) = time(&level);
    assert!(tally.of("B") as f64 <= 1.0 + 0.42 * (picks as f64).ln());
    assert!(took < usual * 20 + Duration::from_millis(500), "{took:?}, others {usual:?}");
    assert!(dense(&route.shares(&PLAIN), &pool)[1] > 0.9e-9);

    let (_pool, route) = rotation(3, &[("A", 1e-12), ("B", 1e-12)]);
    for mut hand in Hand::both(&route, 4) {
        hand.tally(&PLAIN, picks).assert_exactly(&[("A", 500_000), ("B", 500_000)]);
    }
}

#[test]
fn an_instance_raised_from_zero_takes_its_turns_at_once() {
    let (pool, route) = rotation(5, &[("A", 0.0), ("B", 2.0), ("C", 4.0)]);
    for mut hand in Hand::both(&route, 6) {
        pool.edit(|edit| edit.set_weight("A", 0.0)).expect("a good weight");
        hand.tally(&PLAIN, 6).assert_exactly(&[("B", 2), ("C", 4)]);
        pool.edit(|edit| edit.set_weight("A", 3.0)).expect("a good weight");
        hand.tally(&PLAIN, 9).assert_exactly(&[("A", 3), ("B", 2), ("C", 4)]);
    }
}

#[test]
fn the_size_of_weights_makes_neither_bursts_nor_tables() {
    let (_pool, route) = rotation(7, &[("A", 1_000_000.0), ("B", 1_000_000.0)]);
    for mut hand in Hand::both_at(&route, 0) {
        assert_eq!(hand.text(10), "ABABABABAB");
    }
    let (_pool, route) = rotation(7, &[("A", 100.0), ("B", 200.0), ("C", 400.0)]);
    for mut hand in Hand::both(&route, 8) {
        let period = hand.text(7);
        assert_eq!(hand.text(7), period);
        assert_eq!(["A", "B", "C"].map(|id| period.matches(id).count()), [1, 2, 4]);
    }
    let of_weight = |weight: &dyn Fn(u32) -> f64| {
        let list = (0..1_000).map(|at| Instance::new(format!("i{at}")).weight(weight(at))).collect();
        let begin = Instant::now();
        let pool = seeded(9, list);
        let route = plain_route(&pool, Policy::WeightedRoundRobin);
        assert!(begin.elapsed() < Duration::from_secs(2));
        (pool.status().bytes, route)
    };
    let (small, _) = of_weight(&|at| f64::from(at % 2 + 1));
    let (large, route) = of_weight(&|at| 1e6 + f64::from(at));
    assert!(large < small + 64 * 1_000, "{large} bytes, with small weights {small}");
    let tally = Hand::Route(route).tally(&PLAIN, 100_000);
    assert!(tally.0.len() == 1_000 && tally.0.values().all(|count| count.abs_diff(100) <= 10));
}

#[test]
fn picks_behind_an_update_pay_nothing_for_it() {
    let list = |shift: f64| {
        (0..10_000).map(move |at| Instance::new(format!("i{at}")).weight(1.5 + shift + f64::from(at) / 7.0))
    };
    let pool = seeded(10, list(0.0).collect());
    let route = plain_route(&pool, Policy::WeightedRoundRobin);
    let hundred = || {
        let begin = Instant::now();
        for _ in 0..100 {
            assert!(route.pick(&PLAIN).is_ok());
        }
        begin.elapsed()
    };
    let mut behind = Vec::new();
    for round in 1..=5 {
        pool.replace(list(f64::from(round))).expect("a good list");
        behind.push(hundred());
    }
    let _warm: Vec<Duration> = (0..100).map(|_| hundred()).collect();
    let mut steady: Vec<Duration> = (0..101).map(|_| hundred()).collect();
    steady.sort_unstable();
    // The best of five: what is left over is not the scheduler's.
    let behind = behind.into_iter().min().unwrap_or_default();
    assert!(behind < steady[50] * 10 + Duration::from_micros(50), "{behind:?}, steady {:?}", steady[50]);
}

#[test]
fn the_weight_is_the_share_in_turns() {
    let (_pool, route) = rotation(11, &[("A", 1.0), ("B", 2.0)]);
    for mut hand in Hand::both(&route, 12) {
        hand.tally(&PLAIN, 3_000).assert_exactly(&[("A", 1_000), ("B", 2_000)]);
    }
}
