//! Few candidates, many processes, many threads.

use std::collections::HashSet;
use std::process::Command;
use std::thread;

use pointsman::{Instance, Policy, Pool, Reason, Request};

use crate::common::*;

#[test]
fn one_candidate_is_taken_and_none_is_said_so() {
    for policy in policies() {
        let pool = seeded(1, equal(&["A"]));
        let route = plain_route(&pool, policy);
        for mut hand in Hand::both(&route, 2) {
            pool.replace(equal(&["A"])).expect("a good list");
            hand.tally(&PLAIN, 500).assert_exactly(&[("A", 500)]);
            pool.replace([]).expect("an empty list");
            assert_eq!(hand.id(&PLAIN).expect_err("nobody").reason, Reason::Empty);
            pool.replace([Instance::new("A").healthy(false), Instance::new("B")]).expect("a good list");
            hand.tally(&PLAIN, 500).assert_exactly(&[("B", 500)]);
            pool.replace(equal(&["A", "B"])).expect("a good list");
            hand.tally(&Request::new().exclude(&["B"]), 500).assert_exactly(&[("A", 500)]);
        }
    }
}

/// Set in the processes that the next test starts.
const CHILD: &str = "POINTSMAN_TEST_PRINTS_ITS_FIRST_PICK";

#[test]
fn processes_do_not_start_alike() {
    let first_picks = || -> Vec<usize> {
        let pool = Pool::new((0..10).map(|n| Instance::new(format!("i{n}")))).expect("a good list");
        let policies =
            [Policy::Random, Policy::WeightedRandom, Policy::RoundRobin, Policy::WeightedRoundRobin];
        let routes = policies.map(|policy| plain_route(&pool, policy));
        let own = routes.iter().map(|route| route.picker().pick(&PLAIN).map(|pick| pick.index()));
        let shared = routes.iter().map(|route| route.pick(&PLAIN).map(|pick| pick.index()));
        shared.chain(own).map(|index| index.expect("an instance")).collect()
    };
    if std::env::var_os(CHILD).is_some() {
        println!("\nfirst {:?}", first_picks());
        return;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let mut counts = [[0; 10]; 8];
    for _ in 0..50 {
        let child = Command::new(&program)
            .args(["--exact", "processes::processes_do_not_start_alike", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("the program runs again");
        let text = String::from_utf8_lossy(&child.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("first ")).expect("the child's picks");
        let picks: Vec<usize> = serde_json::from_str(line).expect("a list of numbers");
        picks.iter().zip(&mut counts).for_each(|(pick, counts)| counts[*pick] += 1);
    }
    for counts in counts {
        assert!(counts.iter().all(|count| *count < 18), "{counts:?}");
    }
}

fn ten(pool_seed: Option<u64>) -> Pool {
    let list: Vec<Instance> = (0..10).map(|n| Instance::new(format!("i{n}"))).collect();
    match pool_seed {
        Some(seed) => seeded(seed, list),
        None => Pool::new(list).expect("a good list"),
    }
}

#[test]
fn a_burst_of_picks_is_not_one_choice() {
    // Four standard deviations where the draws are fixed, seven where they are not.
    for (pool, slack) in [(ten(Some(3)), 120), (ten(None), 210)] {
        for policy in [Policy::Random, Policy::WeightedRandom, Policy::LeastLoad] {
            let route = plain_route(&pool, policy);
            let picker = if slack == 120 { route.picker_seeded(4) } else { route.picker() };
            for mut hand in [Hand::Route(route.clone()), Hand::Picker(picker)] {
                let tally = hand.tally(&PLAIN, 10_000);
                (0..10).for_each(|n| tally.assert_near(&format!("i{n}"), 1_000, slack));
            }
        }
    }
}

#[test]
fn many_threads_leave_every_generator_sound() {
    for (pool, wide, narrow) in [(ten(Some(5)), 1_518, 120), (ten(None), 2_657, 210)] {
        let route = plain_route(&pool, Policy::Random);
        let mut sum = [0_u64; 10];
        thread::scope(|scope| {
            let workers: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        let mut counts = [0_u64; 10];
                        for _ in 0..100_000 {
                            counts[route.pick(&PLAIN).expect("an instance").index()] += 1;
                        }
                        counts
                    })
                })
                .collect();
            for worker in workers {
                let counts = worker.join().expect("no panic");
                sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
        });
        assert!(sum.iter().all(|count| count.abs_diff(160_000) <= wide), "{sum:?}");
        let after = Hand::Route(route).tally(&PLAIN, 10_000);
        (0..10).for_each(|n| after.assert_near(&format!("i{n}"), 1_000, narrow));
    }
}

#[test]
fn threads_draw_different_numbers() {
    let pool = ten(None);
    let route = plain_route(&pool, Policy::Random);
    let sequences: HashSet<Vec<usize>> = thread::scope(|scope| {
        let draw =
            || -> Vec<usize> { (0..30).map(|_| route.pick(&PLAIN).expect("an instance").index()).collect() };
        let workers: Vec<_> = (0..16).map(|_| scope.spawn(draw)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    assert_eq!(sequences.len(), 16);
}

#[cfg(unix)]
mod forks {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use pointsman::Picker;

    use super::*;

    /// Picks a child makes.
    const PICKS: usize = 20;

    /// Forks, runs `work` in the child, and returns the bytes it gave. The child may use what is allowed between fork and
    /// exec, and the engine. One that hangs is ended by its alarm.
    fn in_child<const N: usize>(work: impl FnOnce() -> [u8; N]) -> Option<[u8; N]> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for the two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: the child calls `work`, writes, and leaves without running anything else of this process.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "no fork");
        if child == 0 {
            // SAFETY: plain system calls; the buffer is as long as is said.
            unsafe {
                libc::alarm(10);
                let bytes = work();
                let wrote = libc::write(ends[1], bytes.as_ptr().cast(), N);
                libc::_exit(i32::from(wrote != N as isize));
            }
        }
        let mut bytes = [0_u8; N];
        let mut status = 0;
        // SAFETY: the descriptors are this function's own, the buffer is as long as is said, the child is not waited for
        // elsewhere.
        unsafe {
            libc::close(ends[1]);
            let got = libc::read(ends[0], bytes.as_mut_ptr().cast(), N);
            libc::close(ends[0]);
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            (status == 0 && got == N as isize).then_some(bytes)
        }
    }

    /// The list positions of so many picks; 255 for none.
    fn picks(hand: &mut Hand) -> [u8; PICKS] {
        std::array::from_fn(|_| hand.index(&PLAIN).map_or(255, |index| index as u8))
    }

    fn hundred(seed: Option<u64>) -> Pool {
        let list: Vec<Instance> = (0..100).map(|n| Instance::new(format!("i{n}"))).collect();
        match seed {
            Some(seed) => seeded(seed, list),
            None => Pool::new(list).expect("a good list"),
        }
    }

    #[test]
    fn forked_children_repeat_neither_each_other_nor_their_parent() {
        for policy in [Policy::Random, Policy::WeightedRandom, Policy::RoundRobin, Policy::WeightedRoundRobin]
        {
            for warm in [false, true] {
                let pool = hundred(None);
                let route = plain_route(&pool, policy.clone());
                for mut hand in [Hand::Route(route.clone()), Hand::Picker(route.picker())] {
                    if warm {
                        picks(&mut hand);
                    }
                    let children = (0..4).map(|_| in_child(|| picks(&mut hand)).expect("a sound child"));
                    let mut sequences: Vec<_> = children.collect();
                    sequences.push(picks(&mut hand));
                    assert!(sequences.iter().flatten().all(|index| *index < 100));
                    let different: HashSet<_> = sequences.iter().collect();
                    // Two rotations over 100 may begin at the same turn; draws may not agree twenty times.
                    let least =
                        if matches!(policy, Policy::RoundRobin | Policy::WeightedRoundRobin) { 3 } else { 5 };
                    assert!(different.len() >= least, "{policy:?}: {sequences:?}");
                }
            }
        }
    }

    #[test]
    fn a_seed_is_kept_by_forked_children() {
        let pool = hundred(Some(7));
        for policy in policies() {
            let route = plain_route(&pool, policy);
            let expected = picks(&mut Hand::Picker(route.picker_seeded(8)));
            let children = (0..4).map(|_| in_child(|| picks(&mut Hand::Picker(route.picker_seeded(8)))));
            assert!(children.flatten().filter(|sequence| *sequence == expected).count() == 4);
            let shared: HashSet<_> =
                (0..4).map(|_| in_child(|| picks(&mut Hand::Route(route.clone())))).collect();
            assert_eq!(shared.len(), 1);
            assert!(!shared.contains(&None));
        }
    }

    #[test]
    fn a_child_can_update_and_pick_though_other_threads_were_updating_and_picking() {
        let pool = hundred(None);
        let route = plain_route(&pool, Policy::WeightedRandom);
        let done = AtomicBool::new(false);
        within(Duration::from_secs(20), move || {
            thread::scope(|scope| {
                for writer in 0..2 {
                    let (pool, done) = (&pool, &done);
                    scope.spawn(move || {
                        let mut weight = 1.0;
                        while !done.load(Ordering::Relaxed) {
                            weight = if weight > 9.0 { 1.0 } else { weight + 1.0 };
                            let id = format!("i{writer}");
                            pool.edit(|edit| edit.set_weight(&id, weight)).expect("a good weight");
                        }
                    });
                }
                scope.spawn(|| {
                    let mut picker: Picker = route.picker();
                    while !done.load(Ordering::Relaxed) {
                        assert!(route.pick(&PLAIN).is_ok() && picker.pick(&PLAIN).is_ok());
                    }
                });
                let children: Vec<_> = (0..25)
                    .map(|_| {
                        in_child(|| {
                            let updated = pool.edit(|edit| {
                                (0..99).try_for_each(|n| edit.set_enabled(&format!("i{n}"), false))
                            });
                            let picked = route.pick(&PLAIN).map(|pick| pick.index());
                            let own = route.picker().pick(&PLAIN).map(|pick| pick.index());
                            [u8::from(updated.is_ok() && picked == Ok(99) && own == Ok(99))]
                        })
                    })
                    .collect();
                done.store(true, Ordering::Relaxed);
                assert!(children.iter().all(|child| *child == Some([1])), "{children:?}");
            });
        });
    }
    /// How many lists wait after so many updates.
    fn waiting_after(pool: &Pool, updates: u32) -> usize {
        (0..updates).for_each(|at| {
            pool.edit(|edit| edit.set_weight("i0", f64::from(at) + 2.0)).expect("a good weight");
        });
        pool.retired()
    }

    #[test]
    fn a_child_waits_for_its_own_pick_and_not_for_those_of_threads_that_it_does_not_have() {
        let pool = hundred(None);
        let route = plain_route(&pool, Policy::Random);
        let (parked, release) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let held = route.pick(&PLAIN).expect("an instance");
                parked.wait();
                release.wait();
                drop(held);
            });
            parked.wait();
            let others = in_child(|| [u8::from(waiting_after(&pool, 20) <= 2)]);
            let held = route.pick(&PLAIN).expect("an instance");
            let own = in_child(|| {
                let waits = waiting_after(&pool, 20) >= 20;
                drop(held);
                [u8::from(waits && waiting_after(&pool, 1) <= 2)]
            });
            release.wait();
            assert_eq!((others, own), (Some([1]), Some([1])));
        });
    }
}
