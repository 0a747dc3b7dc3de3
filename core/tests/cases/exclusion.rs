//! Retries: exclusions, relaxed ones too, and ordered lists.

use std::thread;

use pointsman::{Instance, Picked, Policy, Reason, Request};

use crate::common::*;

#[test]
fn a_retry_never_lands_on_what_it_excludes_however_threads_interleave() {
    for policy in policies() {
        let pool = seeded(1, equal(&["A", "B"]));
        let route = plain_route(&pool, policy);
        route.start_at(0);
        let first = route.pick(&PLAIN).expect("an instance").instance().id.clone();
        let _other_thread = route.pick(&PLAIN).expect("an instance");
        let retry = route.pick(&Request::new().exclude(&[&first])).expect("the other");
        assert_ne!(retry.instance().id, first);
        assert!(!retry.relaxed());
        thread::scope(|scope| {
            for seed in 0..8 {
                let hands = Hand::both(&route, seed);
                scope.spawn(move || {
                    for mut hand in hands {
                        for _ in 0..5_000 {
                            let failed = hand.id(&PLAIN).expect("an instance");
                            let retry = hand.id(&Request::new().exclude(&[&failed])).expect("the other");
                            assert_ne!(retry, failed);
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn an_instance_is_excluded_by_its_whole_id_and_not_by_how_it_ends() {
    let ids = ["east-10.0.0.1:80", "west-10.0.0.1:80", "10.0.0.1:80", "10.0.0.2:80", "b"];
    for policy in by_weight().into_iter().chain([Policy::Random, Policy::RoundRobin]) {
        let route = plain_route(&seeded(4, equal(&ids)), policy);
        for excluded in ids {
            for mut hand in Hand::both(&route, 5) {
                let tally = hand.tally(&Request::new().exclude(&[excluded, "nobody-10.0.0.1:80"]), 1_000);
                for id in ids {
                    // A quarter of the picks, give or take seven standard deviations.
                    let (share, slack) = if id == excluded { (0, 0) } else { (250, 96) };
                    tally.assert_near(id, share, slack);
                }
            }
        }
    }
}

#[test]
fn exclusions_of_everyone_fail_unless_relaxed_and_that_shows() {
    for policy in policies() {
        let pool = seeded(2, equal(&["A"]));
        let route = plain_route(&pool, policy);
        let strict = Request::new().exclude(&["A"]);
        for mut hand in Hand::both(&route, 3) {
            assert_eq!(hand.id(&strict).expect_err("excluded").reason, Reason::Excluded);
            assert_eq!(hand.id(&strict.relax(true)).as_deref(), Ok("A"));
        }
        assert!(route.pick(&strict.relax(true)).is_ok_and(|pick| pick.relaxed()));
        assert!(route.picker().pick(&strict.relax(true)).is_ok_and(|pick| pick.relaxed()));
        assert!(route.pick(&PLAIN.relax(true)).is_ok_and(|pick| !pick.relaxed()));
        assert!(route.explain(&strict.relax(true)).relaxed);

        pool.replace([Instance::new("A"), Instance::new("B").healthy(false)]).expect("a good list");
        for mut hand in Hand::both(&route, 3) {
            assert_eq!(hand.id(&strict).expect_err("the other is down").reason, Reason::Excluded);
            assert_eq!(hand.id(&strict.relax(true)).as_deref(), Ok("A"));
        }
    }
}

#[test]
fn an_ordered_list_holds_no_drained_instance_and_none_stands_in() {
    let pool = seeded(4, weighted(&[("A", 1.0), ("B", 1.0), ("C", 0.0)]));
    for policy in policies() {
        let route = plain_route(&pool, policy);
        let mut picker = route.picker_seeded(5);
        let mut out = [Picked::default(); 3];
        for _ in 0..500 {
            let picks = route.pick_distinct(&PLAIN, &mut out).expect("two");
            let mut ids: Vec<String> = picks.iter().map(|instance| instance.id.to_string()).collect();
            ids.sort();
            assert_eq!(ids, ["A", "B"]);
            assert_eq!(picker.pick_distinct(&PLAIN, &mut out).map(|picks| picks.len()), Ok(2));
        }
        let both = Request::new().exclude(&["A", "B"]);
        assert_eq!(route.pick(&both).map(|pick| pick.index()).expect_err("nobody").reason, Reason::Excluded);
        assert_eq!(route.pick_distinct(&both, &mut out).expect_err("nobody").reason, Reason::Excluded);
        let relaxed = route.pick(&both.relax(true)).map(|pick| pick.index());
        assert!(relaxed.is_ok_and(|index| index < 2), "never the drained one");
    }
}
