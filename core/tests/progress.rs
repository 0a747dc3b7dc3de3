//! Picks go on whatever writers do, and every pick belongs to a list that was in force while it was made.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use common::{Hand, PLAIN, plain_route, policies, route, until, within};
use pointsman::{Instance, Policy, Pool, PoolOptions, RouteSpec, Tier};

/// More than any of these takes, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(60);

fn ten() -> Vec<Instance> {
    (0..10).map(|at| Instance::new(format!("i{at}")).weight(1.0 + at as f64)).collect()
}

/// Every policy, by routes and pickers, many times.
fn pick_by_every_policy(pool: &Pool) {
    for policy in policies() {
        for mut hand in Hand::both(&plain_route(pool, policy), 1) {
            assert_eq!(hand.tally(&PLAIN, 2_000).total(), 2_000);
        }
    }
}

/// Picks by hands that were made before.
fn pick_by(hands: &mut [Hand]) {
    hands.iter_mut().for_each(|hand| assert_eq!(hand.tally(&PLAIN, 2_000).total(), 2_000));
}

fn hands(pool: &Pool) -> Vec<Hand> {
    policies().into_iter().flat_map(|policy| Hand::both(&plain_route(pool, policy), 1)).collect()
}

#[test]
fn picks_and_other_updates_go_on_while_an_edit_is_being_recorded() {
    within(LIMIT, || {
        let pool = Pool::new(ten()).expect("a good list");
        let (started, has_started) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let pool = &pool;
            let writer = scope.spawn(move || {
                pool.edit(|edit| {
                    edit.set_weight("i0", 100.0)?;
                    started.send(()).expect("the test listens");
                    may_go_on.recv().expect("the test goes on");
                    edit.set_weight("i1", 100.0)
                })
            });
            has_started.recv().expect("the edit began");
            pick_by_every_policy(pool);
            assert_eq!(pool.edit(|edit| edit.set_weight("i2", 50.0)), Ok(2));
            assert_eq!(pool.replace(ten()), Ok(3));
            assert_eq!(pool.get("i0").map(|instance| instance.weight), Some(1.0), "not committed yet");
            go_on.send(()).expect("the edit waits");
            assert_eq!(writer.join().expect("no panic"), Ok(4));
        });
        assert_eq!(["i0", "i1"].map(|id| pool.get(id).map(|i| i.weight)), [Some(100.0); 2]);
    });
}

#[test]
fn picks_and_other_updates_go_on_while_a_release_hook_does_not_return() {
    within(LIMIT, || {
        let (started, has_started) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let waiting = std::sync::Mutex::new(Some((started, may_go_on)));
        let told = Arc::new(AtomicBool::new(false));
        let telling = told.clone();
        let hook = move |user_data| {
            if user_data == 7 {
                telling.store(true, Ordering::Release);
                let taken = waiting.lock().expect("no panic").take();
                let (started, may_go_on) = taken.expect("told once");
                started.send(()).expect("the test listens");
                may_go_on.recv().expect("the test goes on");
            }
        };
        let list = ten().into_iter().chain([Instance::new("leaves").user_data(7)]);
        let pool = Pool::with(PoolOptions::new().release(hook), list).expect("a good list");
        thread::scope(|scope| {
            let (pool, told) = (&pool, &told);
            let blocked = scope.spawn(move || {
                pool.edit(|edit| edit.remove("leaves")).expect("it is there");
                // A thread that reads just then, of another test, may hold it up.
                let mut weight = 20.0;
                while !told.load(Ordering::Acquire) {
                    weight += 1.0;
                    pool.edit(|edit| edit.set_weight("i9", weight)).expect("a good weight");
                }
            });
            has_started.recv().expect("the hook was called");
            pick_by_every_policy(pool);
            let before = pool.version();
            assert_eq!(pool.edit(|edit| edit.set_weight("i2", 50.0)), Ok(before + 1));
            assert_eq!(pool.edit(|edit| edit.set_healthy("i2", false)), Ok(before + 2));
            assert_eq!(pool.status().instances, 10);
            go_on.send(()).expect("the hook waits");
            blocked.join().expect("no panic");
        });
    });
}

#[test]
fn picks_go_on_while_writers_queue() {
    within(LIMIT, || {
        let list = (0..5_000).map(|at| Instance::new(format!("i{at}")).tag("k", &format!("{}", at % 100)));
        let pool = Pool::new(list).expect("a good list");
        // What makes a commit long: many sets to compile.
        let _matched = route(&pool, Policy::WeightedRandom, [Tier::new().matching("k")]);
        let mut hands = hands(&pool);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for writer in 0..6 {
                let (pool, done) = (&pool, &done);
                scope.spawn(move || {
                    let mut weight = 1.0;
                    while !done.load(Ordering::Relaxed) {
                        weight += 1.0;
                        pool.edit(|edit| edit.set_weight(&format!("i{writer}"), weight))
                            .expect("a good weight");
                    }
                });
            }
            for _ in 0..3 {
                pick_by(&mut hands[..8]);
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn a_pick_that_is_held_holds_up_no_writer_and_no_reader() {
    within(LIMIT, || {
        let pool = Pool::new(ten()).expect("a good list");
        let route = plain_route(&pool, Policy::WeightedRandom);
        let held = route.pick(&PLAIN).expect("an instance");
        let mut idle = route.picker();
        assert!(idle.pick(&PLAIN).is_ok());
        for version in 2..100 {
            assert_eq!(pool.edit(|edit| edit.set_weight("i0", version as f64)), Ok(version));
            assert_eq!(route.pick(&PLAIN).map(|pick| pick.version()), Ok(version));
        }
        assert_eq!(held.version(), 1);
        assert_eq!(*held.instance().id, format!("i{}", held.index()));
        assert!(pool.retired() > 0, "what the pick may be reading is still there");
        drop(held);
        idle.refresh();
        until("the old lists are freed", || {
            let weight = pool.version() as f64;
            pool.edit(|edit| edit.set_weight("i0", weight)).expect("a good weight");
            pool.retired() <= 2
        });
    });
}

/// The list of a version is known from the version alone: an instance's address names the version that it came with, and
/// it is in the lists of versions whose remainder its number does not divide.
fn list_of(version: u64) -> Vec<Instance> {
    let is_in = |at: &u64| *at == 0 || !version.is_multiple_of(at + 1);
    let instance = |at| Instance::new(format!("at-{version}")).id(format!("i{at}")).weight(1.0 + at as f64);
    (0..12).filter(is_in).map(|at| instance(at).user_data(version)).collect()
}

#[test]
fn every_pick_is_from_one_list_that_was_in_force_during_the_call() {
    within(2 * LIMIT, || {
        let pool = Pool::new(list_of(1)).expect("a good list");
        let (published, done) = (AtomicU64::new(1), AtomicBool::new(false));
        let next = std::sync::Mutex::new(2);
        let picks = AtomicU64::new(0);
        thread::scope(|scope| {
            for thread in 0..8 {
                let (pool, published, done, picks) = (&pool, &published, &done, &picks);
                scope.spawn(move || {
                    let mut hands = hands(pool);
                    let count = hands.len();
                    let mut at = thread;
                    while !done.load(Ordering::Relaxed) {
                        at += 1;
                        let at_least = published.load(Ordering::Acquire);
                        let (version, id, user_data) = match &mut hands[at % count] {
                            Hand::Route(route) => told(&route.pick(&PLAIN).expect("one is always there")),
                            Hand::Picker(picker) => told(&picker.pick(&PLAIN).expect("one is always there")),
                        };
                        assert!(version >= at_least, "version {version} after {at_least} was published");
                        assert!(version <= at_least + 2 || version <= published.load(Ordering::Acquire) + 2);
                        assert_eq!(user_data, version, "the instance is of another list");
                        let number: u64 = id[1..].parse().expect("a number");
                        assert!(
                            number == 0 || !version.is_multiple_of(number + 1),
                            "{id} is not in list {version}"
                        );
                        picks.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..200 {
                            // One at a time, so that versions are the lists they stand for.
                            let mut next = next.lock().expect("no panic");
                            assert_eq!(pool.replace(list_of(*next)), Ok(*next));
                            published.store(*next, Ordering::Release);
                            *next += 1;
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
            done.store(true, Ordering::Relaxed);
        });
        assert!(picks.load(Ordering::Relaxed) > 1_000);
    });
}

fn told(pick: &pointsman::Pick<'_>) -> (u64, String, u64) {
    assert_eq!(*pick.instance().address, format!("at-{}", pick.version()));
    (pick.version(), pick.instance().id.to_string(), pick.instance().user_data)
}

#[test]
fn memory_stays_flat_through_twenty_thousand_updates_with_routes_and_pickers_coming_and_going() {
    within(Duration::from_secs(60), || {
        let released = Arc::new(AtomicU64::new(0));
        let counted = released.clone();
        let hook = move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        let pool = Pool::with(PoolOptions::new().release(hook), ten()).expect("a good list");
        let lasting = plain_route(&pool, Policy::WeightedRoundRobin);
        let bytes = pool.status().bytes;
        let writing = AtomicUsize::new(2);
        let begin = Barrier::new(7);
        thread::scope(|scope| {
            for thread in 0..4 {
                let (pool, lasting, writing, begin) = (&pool, &lasting, &writing, &begin);
                scope.spawn(move || {
                    let own = plain_route(pool, policies()[thread % policies().len()].clone());
                    let mut picker = own.picker();
                    begin.wait();
                    while writing.load(Ordering::Relaxed) > 0 {
                        assert!(lasting.pick(&PLAIN).is_ok() && own.pick(&PLAIN).is_ok());
                        assert!(picker.pick(&PLAIN).is_ok());
                    }
                });
            }
            scope.spawn(|| {
                begin.wait();
                while writing.load(Ordering::Relaxed) > 0 {
                    let spec = RouteSpec::new(Policy::RoundRobin).tier(Tier::new().matching("k"));
                    let route = pool.route(spec).expect("a good spec");
                    let mut pickers = [route.picker(), lasting.picker(), route.picker()];
                    pickers.iter_mut().for_each(|picker| assert!(picker.pick(&PLAIN).is_ok()));
                    thread::sleep(Duration::from_micros(200));
                }
            });
            for writer in 0..2 {
                let (pool, writing, begin) = (&pool, &writing, &begin);
                scope.spawn(move || {
                    begin.wait();
                    let id = format!("comes-{writer}");
                    for update in 0..5_000_u64 {
                        let instance = Instance::new(id.as_str()).tag("k", &format!("{}", update % 50));
                        pool.edit(|edit| edit.upsert(instance.user_data(update))).expect("a good instance");
                        pool.edit(|edit| edit.remove(&id)).expect("it is there");
                    }
                    writing.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(pool.version(), 20_001);
        until("the old lists are freed", || {
            let weight = pool.version() as f64;
            pool.edit(|edit| edit.set_weight("i0", weight)).expect("a good weight");
            pool.retired() <= 2
        });
        assert_eq!(released.load(Ordering::Relaxed), 10_000, "once for each instance that left");
        let status = pool.status();
        assert_eq!(status.routes, 1);
        // Live state has room for the instances that left while some reader was looking.
        assert!(
            status.bytes <= bytes + bytes / 4 + 64 * 1_024,
            "{} bytes, at the start {bytes}",
            status.bytes
        );
    });
}

#[test]
fn routes_and_pickers_keep_the_pool_alive_and_a_kept_pick_its_instance() {
    let released = Arc::new(AtomicU64::new(0));
    let counted = released.clone();
    let hook = move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let pool = Pool::with(PoolOptions::new().release(hook), ten()).expect("a good list");
    let route = plain_route(&pool, Policy::WeightedRandom);
    let mut picker = route.picker();
    drop(pool);
    assert!(route.pick(&PLAIN).is_ok());
    let kept = route.pick(&PLAIN).map(|pick| pick.to_owned()).expect("an instance");
    drop(route);
    assert!(picker.pick(&PLAIN).is_ok());
    // A picker may move to another thread.
    thread::scope(|scope| drop(scope.spawn(move || assert!(picker.pick(&PLAIN).is_ok()))));
    assert_eq!(*kept.instance().id, format!("i{}", kept.picked().index()));
    assert_eq!(released.load(Ordering::Relaxed), 9, "with the last handle, all but the kept one");
    drop(kept);
    assert_eq!(released.load(Ordering::Relaxed), 10);
}

#[test]
fn a_picker_at_rest_keeps_nothing_and_picks_again() {
    let pool = Pool::new(list_of(1)).expect("a good list");
    let route = plain_route(&pool, Policy::WeightedRoundRobin);
    let mut picker = route.picker_seeded(1).start_at(0);
    let first = picker.pick(&PLAIN).map(|pick| pick.index());
    picker.rest();
    until("the old lists are freed", || {
        pool.edit(|edit| edit.set_weight("i0", pool.version() as f64)).expect("a good weight");
        pool.retired() <= 2
    });
    pool.edit(|edit| edit.set_weight("i0", 1.0)).expect("a good weight");
    assert!(first.is_ok() && picker.pick(&PLAIN).is_ok());
}
