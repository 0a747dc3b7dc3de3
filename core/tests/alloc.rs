//! From the second pick of a thread on, picks allocate nothing and free nothing, whatever the policy and the request, and
//! whatever other threads publish meanwhile.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use common::{PLAIN, policies, seeded, until};
use pointsman::{
    Branch, Instance, Picked, Picker, Policy, Pool, PoolOptions, Request, Route, RouteSpec, Tags, Tier,
    WhenAbsent, ZoneRule,
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

/// Runs it once to warm the thread, and then holds it to nothing.
#[track_caller]
fn assert_silent(what: &dyn std::fmt::Debug, times: usize, mut picks: impl FnMut()) {
    picks();
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

/// Enough instances for sparse and dense tags, and for more than one word of a set.
fn instances() -> Vec<Instance> {
    let one = |at: usize| {
        Instance::new(format!("i{at}"))
            .weight([1.0, 2.0, 5.0, 0.0, 1.3][at % 5])
            .zone(["z1", "z2", "z3"][at % 3])
            .tag("version", ["stable", "gray"][at % 2])
            .tag("rack", &format!("r{}", at % 7))
            .tag("pod", &format!("p{at}"))
            .load((at % 11) as f64)
            .healthy(!at.is_multiple_of(13))
            .user_data(at as u64)
    };
    (0..200).map(one).collect()
}

fn specs(policy: &Policy) -> Vec<RouteSpec> {
    let spec = || RouteSpec::new(policy.clone());
    let matched = || Tier::new().matching("version").matching("rack");
    vec![
        spec().tier(Tier::new()),
        spec().tier(matched()).tier(Tier::new().matching("version")).tier(Tier::new()).counters(true),
        spec().tier(matched().when_absent(WhenAbsent::Untagged)).tier(Tier::new().zone(ZoneRule::Local)),
        spec()
            .branch(Branch::new("gray", 10.0).tier(Tier::new().tag("version", "gray")))
            .branch(Branch::new("stable", 90.0).tier(matched()).tier(Tier::new()))
            .spill(true)
            .counters(true),
        spec().tier(Tier::new().tag("rack", "r1").overflow(0.7)).tier(Tier::new().not_tag("rack", "r1")),
        spec().tier(Tier::new().min_available(10_000)).tier(Tier::new().tag("pod", "p4").overflow(0.5)),
    ]
}

/// Ids to exclude, more than are skipped by rank.
const IDS: [&str; 40] = [
    "i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9", "i10", "i11", "i12", "i13", "i14", "i15",
    "i16", "i17", "i18", "i19", "i20", "i21", "i22", "i23", "i24", "i25", "i26", "i27", "i28", "i29", "i30",
    "i31", "i32", "i33", "i34", "nobody", "i36", "i37", "i38", "i39",
];

/// One key with more values than are looked up in the index.
const MANY_VALUES: [(&str, &str); 25] = {
    let mut values = [("rack", "elsewhere"); 25];
    values[24] = ("rack", "r3");
    values
};

fn requests() -> Vec<Request<'static>> {
    let ids: &'static [&'static str] = &IDS;
    let both = PLAIN.tags(&[("version", "gray"), ("rack", "r2")]);
    vec![
        PLAIN,
        PLAIN.key(b"somebody"),
        both,
        PLAIN.tags(&[("version", "gray")]),
        PLAIN.tags(&[("version", "gray"), ("version", "stable"), ("rack", "r2")]),
        PLAIN.tags(&[("version", "none"), ("rack", "none")]),
        PLAIN.exclude(&ids[..3]),
        PLAIN.exclude(&ids[..32]),
        PLAIN.exclude(ids),
        both.exclude(ids).relax(true),
        PLAIN.require(&[("version", "stable")]),
        PLAIN.require(&[("pod", "p17")]),
        PLAIN.require(&[("pod", "nobody")]),
        PLAIN.require(&[("pod", "p2"), ("pod", "p4"), ("version", "stable")]).exclude(&ids[2..3]),
        PLAIN.require(&[("pod", "p4")]).exclude(&ids[4..5]),
        PLAIN.require(&[("pod", "p4")]).exclude(&ids[4..5]).relax(true),
        PLAIN.prefer("i7"),
        PLAIN.prefer("i7").exclude(&ids[7..8]),
        PLAIN.prefer("nobody"),
        both.require(&[("rack", "r2")]).prefer("i9").exclude(&ids[..33]),
    ]
}

#[test]
fn no_pick_allocates_or_frees() {
    for policy in policies() {
        // With a seed and without: the generators differ.
        for seed in [None, Some(1)] {
            let options = PoolOptions::new().spec(pointsman::PoolSpec::new().zone("z1"));
            let options = seed.map_or(PoolOptions::new(), |seed| options.seed(seed));
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
fn picks_across_updates_allocate_and_free_nothing_and_release_on_writers_threads_only() {
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
            let mut last = 0;
            let mut pick_all = |versions: &mut u64| {
                for (route, picker) in routes.iter().zip(&mut pickers) {
                    for request in [PLAIN, gray, PLAIN.exclude(&["i1"]), PLAIN.require(&[("rack", "new-5")])]
                    {
                        let _ = std::hint::black_box(route.pick(&request).map(|pick| pick.index()));
                        let version = picker.pick(&request).map_or(0, |pick| pick.version());
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
    assert!(released.load(Ordering::Relaxed) > 50);
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
