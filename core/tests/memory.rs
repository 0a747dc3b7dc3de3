//! What a pool takes of memory, by the allocator's own count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicIsize, Ordering};

use pointsman::{Algorithm, ConsistentHash, Instance, Policy, Pool, RouteSpec, Tier};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Tests of this file count in turn.
static TURN: Mutex<()> = Mutex::new(());

// SAFETY: every call is the system allocator's; the count changes nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const N: usize = 10_000;

fn instance(at: usize) -> Instance {
    Instance::new(format!("10.{}.{}.{}:8080", at >> 16, at >> 8 & 255, at & 255))
        .weight((at % 97) as f64 + 0.5)
        .zone(["eu-a", "eu-b", "eu-c"][at % 3])
        .tag("version", if at.is_multiple_of(10) { "gray" } else { "stable" })
        .tag("env", "prod")
        .tag("rack", &format!("r{}", at % 40))
        .tag("build", "2026.11.3")
}

fn live_after<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    let made = make();
    (made, usize::try_from(LIVE.load(Ordering::Relaxed) - before).unwrap_or(0))
}

#[test]
fn an_instance_with_four_tags_and_two_routes_takes_less_than_a_thousand_bytes() {
    let _turn = TURN.lock().expect("no panic");
    let (held, bytes) = live_after(|| {
        let pool = Pool::new((0..N).map(instance)).expect("a good list");
        let weighted =
            pool.route(RouteSpec::new(Policy::WeightedRandom).tier(Tier::new())).expect("a good spec");
        let tiers = [Tier::new().matching("version"), Tier::new()];
        let spec = tiers.into_iter().fold(RouteSpec::new(Policy::WeightedRoundRobin), RouteSpec::tier);
        let rotation = pool.route(spec).expect("a good spec");
        // The snapshots that making routes replaced go with the next update.
        pool.tick();
        (pool, weighted, rotation)
    });
    assert!(bytes / N <= 1_000, "{} bytes an instance", bytes / N);
    let told = held.0.status().bytes;
    assert!(told <= bytes + bytes / 10 && told * 2 >= bytes, "{told} told, {bytes} counted");
}

#[test]
fn the_bytes_that_status_tells_are_those_that_the_allocator_gave() {
    let _turn = TURN.lock().expect("no panic");
    let algorithm = |algorithm| {
        let mut options = ConsistentHash::default();
        options.algorithm = algorithm;
        Policy::ConsistentHash(options)
    };
    let policies = [
        Policy::Random,
        Policy::WeightedRandom,
        Policy::RoundRobin,
        Policy::WeightedRoundRobin,
        Policy::LeastRequest,
        Policy::LeastLoad,
        algorithm(Algorithm::Rendezvous),
        algorithm(Algorithm::Maglev),
        algorithm(Algorithm::Ketama),
    ];
    // With how many sets they have: one for each combination of values there is, and what requests without tags get.
    let tiers = [
        (Tier::new(), 1),
        (Tier::new().tag("rack", "r7"), 1),
        (Tier::new().matching("version"), 3),
        (Tier::new().matching("rack").matching("version"), 41),
    ];
    for (policy, (tier, sets)) in
        policies.iter().flat_map(|policy| tiers.iter().map(move |tier| (policy, tier)))
    {
        // What an update replaced goes with the next one.
        let (pool, counted) = live_after(|| {
            let pool = Pool::new((0..1_000).map(instance)).expect("a good list");
            pool.tick();
            pool
        });
        let told = pool.status().bytes;
        assert!(told <= counted && told * 5 >= counted * 4, "{told} told, {counted} counted");

        let spec = RouteSpec::new(policy.clone()).tier(tier.clone());
        let (_route, counted) = live_after(|| {
            let route = pool.route(spec.clone()).expect("a good spec");
            pool.tick();
            route
        });
        let told = pool.status().bytes - told;
        // What names the route and its sets' positions is not told.
        let untold = 2_048 + 256 * sets;
        assert!(
            told <= counted && counted <= told + untold,
            "{told} told, {counted} counted of {}",
            spec.to_json()
        );
    }
}

#[test]
fn eight_tags_of_which_one_is_unique_stay_under_ten_megabytes() {
    let _turn = TURN.lock().expect("no panic");
    let (pool, bytes) = live_after(|| {
        let with_eight = |at: usize| {
            instance(at)
                .tag("pod", &format!("orders-6d5b7c9f4-{at:05}"))
                .tag("node", &format!("n{}", at % 200))
                .tag("team", "shop")
                .tag("arch", "x86")
        };
        Pool::new((0..N).map(with_eight)).expect("a good list")
    });
    assert!(bytes < 10 << 20, "{bytes} bytes");
    assert_eq!(pool.len(), N);
}

#[test]
fn a_hundred_thousand_updates_that_swap_one_of_ten_ids_leave_memory_flat() {
    let _turn = TURN.lock().expect("no panic");
    let pool = Pool::new((0..10).map(instance)).expect("a good list");
    let spec = RouteSpec::new(Policy::LeastRequest).tier(Tier::new().matching("version")).tier(Tier::new());
    let route = pool.route(spec).expect("a good spec");
    let swap = |at: usize| {
        let gone = instance(at).id;
        pool.edit(|edit| {
            edit.remove(&gone)?;
            edit.upsert(instance(at + 10))
        })
        .expect("a good edit");
        drop(route.lease(&pointsman::Request::new()).expect("an instance"));
    };
    (0..1_000).for_each(swap);
    let before = LIVE.load(Ordering::Relaxed);
    (1_000..100_000).for_each(swap);
    let grown = LIVE.load(Ordering::Relaxed) - before;
    assert!(grown < 16 << 10, "{grown} bytes more");
}

#[test]
fn a_pool_that_is_dropped_gives_everything_back() {
    let _turn = TURN.lock().expect("no panic");
    let make = || {
        let pool = Pool::new((0..100).map(instance)).expect("a good list");
        let route = pool.route(RouteSpec::new(Policy::RoundRobin).tier(Tier::new())).expect("a good spec");
        let lease = route.lease(&pointsman::Request::new()).expect("an instance");
        let mut picker = route.picker();
        assert!(picker.pick(&pointsman::Request::new()).is_ok());
        drop((pool, route, picker));
        drop(lease);
    };
    // The first registers the thread and what the process needs once. What the test harness allocates meanwhile counts too,
    // but not each time.
    make();
    let left = (0..8).map(|_| live_after(make).1).min();
    assert_eq!(left, Some(0), "{left:?} bytes are left");
}
