//! From the second pick of a thread on, picks allocate nothing and free nothing, whatever the policy and the request, and
//! whatever other threads publish meanwhile.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, OnceCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use common::matrix::{IDS, MANY_VALUES, instances, requests, specs, variants};
use common::{PLAIN, policies, seeded, until};
use pointsman::{
    Ejection, Instance, Lease, NoInstance, Outcome, Picked, Picker, Policy, Pool, PoolOptions, PoolSpec,
    Reason, Request, Route, RouteSpec, Tags, Tier,
};

/// The system's allocator, which counts for each thread.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
    static FREED: Cell<u64> = const { Cell::new(0) };
}

fn count(counter: &'static thread::LocalKey<Cell<u64>>) {
    // A thread that ends may free after its counters are gone.
    let _ = counter.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator as it came; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(&ALLOCATED);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(&FREED);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(&ALLOCATED);
        count(&FREED);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn so_far() -> (u64, u64) {
    (ALLOCATED.with(Cell::get), FREED.with(Cell::get))
}

/// The first pick of the thread, of whatever pool.
fn first_pick() {
    thread_local!(static MADE: OnceCell<()> = const { OnceCell::new() });
    MADE.with(|made| {
        made.get_or_init(|| {
            let pool = seeded(0, vec![Instance::new("a")]);
            let route = pool.route(RouteSpec::new(Policy::Random).tier(Tier::new())).expect("a good spec");
            assert!(route.pick(&PLAIN).is_ok());
        });
    });
}

/// Holds to nothing what comes behind the first pick of the thread.
#[track_caller]
fn assert_silent(what: &dyn std::fmt::Debug, times: usize, mut picks: impl FnMut()) {
    first_pick();
    let before = so_far();
    (0..times).for_each(|_| picks());
    assert_eq!(so_far(), before, "allocations and deallocations: {what:?}");
}

#[test]
fn the_counters_count() {
    let before = so_far();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert_eq!(so_far(), (before.0 + 1, before.1 + 1));
}

#[test]
fn no_pick_allocates_or_frees() {
    for policy in variants() {
        // With a seed and without: the generators differ.
        for seed in [None, Some(1)] {
            let options = PoolOptions::new().spec(PoolSpec::new().zone("z1"));
            let options = match seed {
                Some(seed) => options.seed(seed),
                None => options,
            };
            let pool = Pool::with(options, instances()).expect("a good list");
            for spec in specs(&policy) {
                let route = pool.route(spec).expect("a good spec");
                let (mut own, mut seeded) = (route.picker(), route.picker_seeded(2));
                for request in requests() {
                    let mut out = [Picked::default(); 5];
                    assert_silent(&(&policy, route.spec(), request), 3, || {
                        let _ = std::hint::black_box(route.pick(&request).map(|pick| pick.index()));
                        let _ = std::hint::black_box(own.pick(&request).map(|pick| pick.index()));
                        let _ = std::hint::black_box(seeded.pick(&request).map(|pick| pick.version()));
                        let kept = route.pick(&request).map(|pick| pick.to_owned());
                        let _ = std::hint::black_box(kept.map(|kept| kept.instance().user_data));
                        let _ = std::hint::black_box(route.pick_distinct(&request, &mut out));
                        let _ = std::hint::black_box(own.pick_distinct(&request, &mut out));
                    });
                }
            }
        }
    }
}

/// Takes a lease, and ends it each time in another way.
fn lease_and_end(lease: Result<Lease, NoInstance>, turn: &mut usize) {
    *turn += 1;
    let Ok(lease) = lease else { return };
    match *turn % 4 {
        0 => lease.done(Outcome::Success, Duration::from_millis(3)),
        1 => lease.done_at(Outcome::Failure, None, *turn as u64 * 1_000_000),
        2 => lease.done(Outcome::Cancelled, Duration::from_millis(3)),
        _ => drop(lease),
    }
}

#[test]
fn no_lease_allocates_or_frees() {
    let limited =
        || instances().into_iter().enumerate().map(|(at, one)| one.max_in_flight(1 + at as u32 % 3));
    // Where limits are reached, and where there are none and failures are counted.
    let lists: [(PoolSpec, Vec<Instance>); 2] = [
        (PoolSpec::new().zone("z1"), limited().collect()),
        (PoolSpec::new().zone("z1").ejection(Ejection::default()).slow_start(30.0, 1.0), instances()),
    ];
    for policy in variants() {
        for (spec, list) in &lists {
            let options = PoolOptions::new().spec(spec.clone()).seed(6);
            let pool = Pool::with(options, list.clone()).expect("a good list");
            for spec in specs(&policy) {
                let route = pool.route(spec).expect("a good spec");
                let mut picker = route.picker();
                // Some of what the requests come to is full, and every other count differs from its neighbour's.
                let busy: Vec<Lease> =
                    (0..30).filter_map(|at| route.lease(&PLAIN.prefer(IDS[at % 20])).ok()).collect();
                assert!(!busy.is_empty());
                for request in requests() {
                    let mut turn = 0;
                    assert_silent(&(&policy, route.spec(), request), 4, || {
                        lease_and_end(route.lease(&request), &mut turn);
                        lease_and_end(picker.lease(&request), &mut turn);
                        let both = (route.lease(&request), picker.lease(&request));
                        lease_and_end(both.0, &mut turn);
                        lease_and_end(both.1, &mut turn);
                        let _ = std::hint::black_box(route.pick(&request).map(|pick| pick.index()));
                        let _ = std::hint::black_box(picker.pick(&request).map(|pick| pick.index()));
                    });
                }
            }
        }
    }
}

#[test]
fn leases_of_a_list_where_everybody_is_full_allocate_nothing() {
    let full = ["a", "b", "c"].map(|id| Instance::new(id).max_in_flight(1));
    for policy in variants() {
        let pool = seeded(7, full.to_vec());
        let route = pool.route(RouteSpec::new(policy.clone()).tier(Tier::new())).expect("a good spec");
        let mut picker = route.picker();
        let held: Vec<Lease> = (0..3).map(|_| route.lease(&PLAIN.key(b"k")).expect("room")).collect();
        for request in [PLAIN, PLAIN.key(b"k"), PLAIN.prefer("a"), PLAIN.exclude(&["a"]).relax(true)] {
            assert_silent(&(&policy, request), 3, || {
                assert!(route.lease(&request).is_err_and(|refused| refused.reason == Reason::Saturated));
                assert!(picker.lease(&request).is_err_and(|refused| refused.reason == Reason::Saturated));
            });
        }
        drop(held);
    }
}

#[test]
fn a_long_list_of_different_instances_allocates_nothing() {
    let pool = seeded(4, instances());
    for policy in policies() {
        let route = pool.route(RouteSpec::new(policy.clone()).tier(Tier::new())).expect("a good spec");
        let mut picker = route.picker();
        for request in [PLAIN, PLAIN.exclude(&IDS), PLAIN.require(&[("version", "gray")])] {
            let mut out = [Picked::default(); 100];
            assert_silent(&(&policy, request), 2, || {
                assert!(route.pick_distinct(&request, &mut out).is_ok_and(|picks| picks.len() > 50));
                assert!(picker.pick_distinct(&request, &mut out).is_ok_and(|picks| picks.len() > 50));
            });
        }
    }
}

#[test]
fn requests_with_more_values_than_are_looked_up_allocate_nothing() {
    let pool = seeded(5, instances());
    for policy in policies() {
        for spec in specs(&policy) {
            let route = pool.route(spec).expect("a good spec");
            let mut picker = route.picker();
            for request in [
                PLAIN.tags(&MANY_VALUES),
                PLAIN.require(&MANY_VALUES),
                PLAIN.require(&MANY_VALUES).exclude(&IDS),
            ] {
                assert_silent(&(&policy, request), 1, || {
                    let _ = std::hint::black_box(route.pick(&request).map(|pick| pick.index()));
                    let _ = std::hint::black_box(picker.pick(&request).map(|pick| pick.index()));
                });
            }
        }
    }
}

#[test]
fn picks_on_an_empty_a_drained_and_a_single_list_allocate_nothing() {
    let pool = seeded(3, Vec::new());
    let routes: Vec<Route> =
        policies().iter().flat_map(specs).map(|spec| pool.route(spec).expect("good")).collect();
    let mut pickers: Vec<Picker> = routes.iter().map(Route::picker).collect();
    for list in [vec![], vec![Instance::new("i1").weight(0.0)], vec![Instance::new("i1")]] {
        pool.replace(list).expect("a good list");
        for (route, picker) in routes.iter().zip(&mut pickers) {
            for request in requests() {
                assert_silent(&request, 3, || {
                    let _ = std::hint::black_box(route.pick(&request).map(|pick| pick.index()));
                    let _ = std::hint::black_box(picker.pick(&request).map(|pick| pick.index()));
                });
            }
        }
    }
}

/// Threads on which the release hook ran.
type Threads = Arc<Mutex<Vec<ThreadId>>>;

/// A pool that notes on which threads instances are released, and how many.
fn noting_pool() -> (Pool, Threads, Arc<AtomicU64>) {
    let threads: Threads = Arc::default();
    let released = Arc::new(AtomicU64::new(0));
    let (seen, counted) = (threads.clone(), released.clone());
    let hook = move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut seen = seen.lock().expect("the hook does not panic");
        if !seen.contains(&thread::current().id()) {
            seen.push(thread::current().id());
        }
    };
    let pool = Pool::with(PoolOptions::new().release(hook), instances()).expect("a good list");
    (pool, threads, released)
}

#[test]
fn picks_and_leases_across_updates_allocate_and_free_nothing_and_release_on_writers_threads_only() {
    let (pool, threads, released) = noting_pool();
    let routes: Vec<Route> = policies()
        .into_iter()
        .flat_map(|policy| specs(&policy).into_iter().take(3).collect::<Vec<_>>())
        .map(|spec| pool.route(spec).expect("a good spec"))
        .collect();
    let done = AtomicBool::new(false);
    let readers: Vec<ThreadId> = thread::scope(|scope| {
        let reading = || {
            let mut pickers: Vec<Picker> = routes.iter().map(Route::picker).collect();
            let mut out = [Picked::default(); 3];
            let gray = PLAIN.tags(&[("version", "gray"), ("rack", "new-3")]);
            let mut versions = 0;
            let (mut last, mut turn) = (0, 0);
            let mut kept = VecDeque::with_capacity(60);
            kept.extend((0..50).map(|_| routes[0].lease(&PLAIN)));
            let mut pick_all = |versions: &mut u64| {
                for (route, picker) in routes.iter().zip(&mut pickers) {
                    for request in [PLAIN, gray, PLAIN.exclude(&["i1"]), PLAIN.require(&[("rack", "new-5")])]
                    {
                        let _ = std::hint::black_box(route.pick(&request).map(|pick| pick.index()));
                        let version = picker.pick(&request).map_or(0, |pick| pick.version());
                        // A lease that is kept across updates ends as the last holder of an instance that left.
                        lease_and_end(kept.pop_front().expect("as many as at the start"), &mut turn);
                        kept.push_back(route.lease(&request));
                        lease_and_end(picker.lease(&request), &mut turn);
                        *versions += u64::from(version > last);
                        last = last.max(version);
                    }
                    let _ = std::hint::black_box(picker.pick_distinct(&gray, &mut out));
                }
            };
            pick_all(&mut versions);
            let before = so_far();
            while !done.load(Ordering::Relaxed) {
                pick_all(&mut versions);
            }
            assert_eq!(so_far(), before, "allocations and deallocations across {versions} versions");
            assert!(versions > 1, "the reader saw no update");
            thread::current().id()
        };
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(reading)).collect();
        // New combinations of tags: new sets, new positions, room for new cursors in every picker.
        for round in 0..150_usize {
            let id = format!("i{}", 1 + round % 50);
            let tags = [("version", "gray".to_owned()), ("rack", format!("new-{round}"))];
            pool.edit(|edit| {
                edit.set_tags(&id, Tags::from_iter(tags))?;
                edit.upsert(Instance::new("comes").tag("version", "stable").user_data(round as u64))
            })
            .expect("good changes");
            if round % 3 == 0 {
                pool.edit(|edit| edit.remove("comes")).expect("it is there");
            }
        }
        done.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().expect("no panic")).collect()
    });
    until("what left is released", || {
        let weight = 1.0 + pool.version() as f64;
        pool.edit(|edit| edit.set_weight("i1", weight)).expect("a good weight");
        released.load(Ordering::Relaxed) > 50
    });
    let threads = threads.lock().expect("the hook does not panic");
    assert!(readers.iter().all(|reader| !threads.contains(reader)), "a reader released an instance");
}

#[test]
fn the_last_reader_of_an_instance_leaves_its_release_to_a_writer() {
    let (pool, threads, released) = noting_pool();
    let route = pool.route(RouteSpec::new(Policy::Random).tier(Tier::new())).expect("a good spec");
    let mut picker = route.picker();
    let reader = thread::scope(|scope| {
        let pool = &pool;
        let picker = &mut picker;
        let reader = scope.spawn(move || {
            let kept = route.pick(&Request::new().prefer("i1")).map(|pick| pick.to_owned());
            let kept = kept.expect("an instance");
            assert!(picker.pick(&PLAIN).is_ok());
            // The list goes while this thread holds a part of it, on another thread.
            thread::scope(|scope| {
                scope.spawn(|| pool.replace([Instance::new("only").user_data(1_000)]).expect("a good list"));
            });
            assert_eq!(kept.instance().user_data, 1);
            let before = so_far();
            assert_eq!(picker.pick(&PLAIN).map(|pick| pick.instance().user_data), Ok(1_000));
            drop(kept);
            assert_eq!(so_far(), before, "letting go is not freeing");
            thread::current().id()
        });
        reader.join().expect("no panic")
    });
    until("everything is released", || {
        let weight = pool.version() as f64;
        pool.edit(|edit| edit.set_weight("only", weight)).expect("a good weight");
        released.load(Ordering::Relaxed) == 200
    });
    assert!(!threads.lock().expect("the hook does not panic").contains(&reader));
}
