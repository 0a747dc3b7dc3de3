//! Threads that pick while others update, and panics in the caller's code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pointsman::{Instance, Policy, Pool, PoolOptions, Route};

use crate::common::*;

#[test]
fn a_list_that_shrinks_and_grows_never_gives_an_index_outside_it() {
    let list = |n: usize| (0..n).map(|at| Instance::new(format!("i{at}")).healthy(at % 2 == 0));
    let pool = Pool::new(list(10)).expect("a good list");
    let routes: Vec<Route> = policies().into_iter().map(|policy| plain_route(&pool, policy)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..16 {
            let (routes, done) = (&routes, &done);
            scope.spawn(move || {
                let route = &routes[thread % routes.len()];
                let mut picker = route.picker();
                while !done.load(Ordering::Relaxed) {
                    for pick in [route.pick(&PLAIN), picker.pick(&PLAIN)] {
                        let pick = pick.expect("half are up");
                        // Odd versions hold 10 instances, even ones 2, of which the first alone is up.
                        let n = if pick.version() % 2 == 1 { 10 } else { 2 };
                        assert!(pick.index() < n && pick.index() % 2 == 0);
                        assert_eq!(*pick.instance().id, format!("i{}", pick.index()));
                        assert!(pick.instance().healthy);
                    }
                }
            });
        }
        let end = Instant::now() + Duration::from_millis(1_500);
        while Instant::now() < end {
            pool.replace(list(2)).expect("a good list");
            pool.replace(list(10)).expect("a good list");
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// What a hook reaches of its own pool. Taken out at the end, since neither would ever be freed otherwise.
type Inside<T> = Arc<Mutex<Option<T>>>;

fn inside_of<T: Clone>(inside: &Inside<T>) -> Option<T> {
    inside.lock().expect("nobody panics in it").clone()
}

/// A pool whose release hook picks and reads the pool it belongs to.
fn pool_with_a_busy_hook(calls: Arc<AtomicU64>) -> (Pool, Inside<(Pool, Route)>) {
    let inside: Inside<(Pool, Route)> = Arc::default();
    let seen = inside.clone();
    let hook = move |_| {
        calls.fetch_add(1, Ordering::Relaxed);
        if let Some((pool, route)) = inside_of(&seen) {
            assert!(route.pick(&PLAIN).is_ok() && route.picker().pick(&PLAIN).is_ok());
            assert!(pool.status().instances > 0 && pool.get("stays").is_some());
        }
    };
    let pool = Pool::with(PoolOptions::new().release(hook), equal(&["stays"])).expect("a good list");
    let route = plain_route(&pool, Policy::WeightedRandom);
    *inside.lock().expect("nobody panics in it") = Some((pool.clone(), route));
    (pool, inside)
}

#[test]
fn picks_updates_and_a_hook_that_picks_make_progress_together() {
    within(Duration::from_secs(60), || {
        let calls = Arc::new(AtomicU64::new(0));
        let (pool, inside) = pool_with_a_busy_hook(calls.clone());
        let (_, route) = inside_of(&inside).expect("it was set");
        let writing = AtomicUsize::new(2);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (mut picker, mut picks) = (route.picker(), 0_u64);
                    while writing.load(Ordering::Relaxed) > 0 || picks < 1_000 {
                        assert!(route.pick(&PLAIN).is_ok() && picker.pick(&PLAIN).is_ok());
                        picks += 1;
                    }
                });
            }
            for writer in 0..2 {
                let (pool, writing) = (&pool, &writing);
                scope.spawn(move || {
                    let id = format!("comes-{writer}");
                    for round in 0..1_000 {
                        pool.edit(|edit| edit.upsert(Instance::new(id.as_str()).user_data(round)))
                            .expect("a good instance");
                        pool.edit(|edit| edit.remove(&id)).expect("it is there");
                    }
                    writing.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        // Nobody reads any more: updates free what is left.
        until("everything is released", || {
            let weight = pool.version() as f64;
            pool.edit(|edit| edit.set_weight("stays", weight)).expect("a good weight");
            pool.retired() <= 2
        });
        assert_eq!(calls.load(Ordering::Relaxed), 2_000, "once for each instance that left");
        let taken = inside.lock().expect("nobody panics in it").take();
        drop(taken);
    });
}

#[test]
fn a_hook_may_update_the_pool_it_belongs_to() {
    within(Duration::from_secs(10), || {
        let inside: Inside<Pool> = Arc::default();
        let seen = inside.clone();
        let hook = move |user_data| {
            if let (Some(pool), 1) = (inside_of(&seen), user_data) {
                pool.edit(|edit| edit.upsert(Instance::new("B").user_data(2))).expect("a good instance");
            }
        };
        let pool = Pool::with(PoolOptions::new().release(hook), [Instance::new("A").user_data(1)])
            .expect("a good list");
        *inside.lock().expect("nobody panics in it") = Some(pool.clone());
        pool.edit(|edit| edit.remove("A")).expect("A is there");
        until("A is released", || {
            pool.edit(|edit| edit.upsert(Instance::new("C"))).expect("a good instance");
            pool.edit(|edit| edit.remove("C")).expect("C is there");
            pool.get("B").is_some_and(|instance| instance.user_data == 2)
        });
        let taken = inside.lock().expect("nobody panics in it").take();
        drop(taken);
    });
}

#[test]
fn a_panic_in_an_edit_reaches_its_caller_and_leaves_nothing_behind() {
    let pool = seeded(1, equal(&["A", "B"]));
    let routes: Vec<Route> = policies().into_iter().map(|policy| plain_route(&pool, policy)).collect();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        pool.edit(|edit| {
            edit.remove("A")?;
            panic!("the caller's own")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!((pool.version(), pool.instances()), (1, equal(&["A", "B"])));
    for weight in 2..1_002 {
        pool.edit(|edit| edit.set_weight("A", f64::from(weight))).expect("a good weight");
    }
    assert_eq!(pool.version(), 1_001);
    for route in &routes {
        Hand::both(route, 2).iter_mut().for_each(|hand| drop(hand.tally(&PLAIN, 1_000)));
    }
}

#[test]
fn a_panic_in_the_list_that_is_handed_over_leaves_nothing_behind() {
    let pool = seeded(1, equal(&["A", "B"]));
    let broken =
        (0..3).map(|at| if at < 2 { Instance::new(format!("i{at}")) } else { panic!("the caller's") });
    assert!(catch_unwind(AssertUnwindSafe(|| pool.replace(broken))).is_err());
    assert_eq!((pool.version(), pool.instances()), (1, equal(&["A", "B"])));
    assert_eq!(pool.replace(equal(&["C"])), Ok(2));
}

#[test]
fn a_panic_in_the_release_hook_reaches_the_update_and_later_calls_work() {
    let told: Arc<std::sync::Mutex<Vec<u64>>> = Arc::default();
    let heard = told.clone();
    let hook = move |user_data| {
        heard.lock().expect("never held in a panic").push(user_data);
        assert!(user_data != 7, "the caller's own");
    };
    let list = (1..=20).map(|n| Instance::new(format!("i{n}")).user_data(n));
    let pool = Pool::with(PoolOptions::new().release(hook), list).expect("a good list");
    let route = plain_route(&pool, Policy::WeightedRandom);
    let mut panics = 0;
    let replaced = || pool.replace([Instance::new("new").user_data(100)]).map(drop);
    panics += u32::from(catch_unwind(AssertUnwindSafe(replaced)).is_err());
    assert_eq!((pool.version(), pool.len()), (2, 1), "the update is in force");
    let mut weight = 1.0;
    until("the hook was told", || {
        weight += 1.0;
        let edited = || pool.edit(|edit| edit.set_weight("new", weight)).map(drop);
        panics += u32::from(catch_unwind(AssertUnwindSafe(edited)).is_err());
        told.lock().expect("never held in a panic").len() == 20
    });
    assert_eq!(panics, 1, "it reaches the thread on which the hook ran");
    for mut hand in Hand::both(&route, 3) {
        hand.tally(&PLAIN, 1_000).assert_exactly(&[("new", 1_000)]);
    }
    for _ in 0..1_000 {
        weight += 1.0;
        pool.edit(|edit| edit.set_weight("new", weight)).expect("a good weight");
    }
    let mut told = told.lock().expect("never held in a panic").clone();
    told.sort_unstable();
    assert_eq!(told, (1..=20).collect::<Vec<_>>(), "each once, that of the panic too");
}
