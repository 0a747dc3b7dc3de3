//! Round robin.

use std::thread;

use pointsman::{Policy, Request};

use crate::common::*;

#[test]
fn the_order_is_cyclic_across_the_ends_of_32_and_64_bit_counters() {
    let ids = ["a", "b", "c", "d", "e", "f", "g"];
    for n in [3, 5, 7] {
        let pool = seeded(1, equal(&ids[..n]));
        let route = plain_route(&pool, Policy::RoundRobin);
        for preset in [i32::MAX as u64 - 1, u64::from(u32::MAX) - 1, i64::MAX as u64 - 1, u64::MAX - 1] {
            for mut hand in Hand::both_at(&route, preset) {
                let first = (preset % n as u64) as usize;
                for step in 0..10 {
                    assert_eq!(hand.index(&PLAIN), Ok((first + step) % n), "{n} from {preset}");
                }
            }
        }
    }
}

#[test]
fn the_golden_rotation_passes_the_end_of_its_counter_without_a_step() {
    let pool = seeded(1, weighted(&[("A", 1.0), ("B", std::f64::consts::PI), ("C", std::f64::consts::E)]));
    let route = plain_route(&pool, Policy::WeightedRoundRobin);
    let shares = dense(&route.shares(&PLAIN), &pool);
    for mut hand in Hand::both_at(&route, u64::MAX - 500) {
        let mut counts = [0_u32; 3];
        for turn in 1..=1_000_u32 {
            counts[hand.index(&PLAIN).expect("an instance")] += 1;
            let bound = 1.0 + 0.42 * f64::from(turn).ln();
            for (count, share) in counts.iter().zip(&shares) {
                assert!((f64::from(*count) - share * f64::from(turn)).abs() <= bound);
            }
        }
    }
}

#[test]
fn a_list_that_shrinks_goes_on_in_turns() {
    for policy in [Policy::RoundRobin, Policy::WeightedRoundRobin] {
        for which in 0..2 {
            let pool = seeded(2, equal(&["a", "b", "c", "d", "e"]));
            let route = plain_route(&pool, policy.clone());
            let mut hand = Hand::both_at(&route, 0).into_iter().nth(which).expect("two hands");
            assert_eq!(hand.text(4), "abcd");
            pool.replace(equal(&["a", "b", "c"])).expect("a good list");
            hand.tally(&PLAIN, 300).assert_exactly(&[("a", 100), ("b", 100), ("c", 100)]);
        }
    }
}

#[test]
fn threads_that_share_a_route_lose_no_turn() {
    let pool = seeded(3, equal(&["a", "b", "c", "d"]));
    let route = plain_route(&pool, Policy::RoundRobin);
    let pick_all = |mut hand: Hand| {
        let mut counts = [0_u64; 4];
        for _ in 0..100_000 {
            counts[hand.index(&PLAIN).expect("an instance")] += 1;
        }
        counts
    };
    let total = |hands: Vec<Hand>| {
        thread::scope(|scope| {
            let workers: Vec<_> = hands.into_iter().map(|hand| scope.spawn(move || pick_all(hand))).collect();
            workers.into_iter().fold([0; 4], |mut sum, worker| {
                let counts = worker.join().expect("no panic");
                sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                sum
            })
        })
    };
    assert_eq!(total((0..8).map(|_| Hand::Route(route.clone())).collect()), [200_000; 4]);
    let counts = total((0..8).map(|seed| Hand::Picker(route.picker_seeded(seed))).collect());
    assert!(counts.iter().all(|count| count.abs_diff(200_000) <= 8), "{counts:?}");
}

#[test]
fn fresh_pools_do_not_all_start_with_the_first_instance() {
    for policy in [Policy::RoundRobin, Policy::WeightedRoundRobin] {
        let (mut routes, mut pickers) = (Tally::default(), Tally::default());
        for seed in 0..300 {
            let pool = seeded(seed, equal(&["A", "B", "C"]));
            let route = plain_route(&pool, policy.clone());
            routes.add(&route.pick(&PLAIN).expect("an instance").instance().id);
            pickers.add(&route.picker().pick(&Request::new()).expect("an instance").instance().id);
        }
        for tally in [routes, pickers] {
            ["A", "B", "C"].iter().for_each(|id| tally.assert_near(id, 100, 33));
        }
    }
}

#[test]
fn a_picker_begins_at_the_turn_it_is_given_whatever_its_seed() {
    for policy in [Policy::RoundRobin, Policy::WeightedRoundRobin] {
        let pool = seeded(4, equal(&["a", "b", "c", "d", "e"]));
        let route = plain_route(&pool, policy);
        for seed in 0..50 {
            for turn in 0..5 {
                let first = route.picker_seeded(seed).start_at(turn).pick(&PLAIN).map(|pick| pick.index());
                assert_eq!(first, Ok(turn as usize), "seed {seed}");
            }
        }
    }
}
