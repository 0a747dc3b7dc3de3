//! How long single picks take while a writer publishes: the share above 5 µs and the longest, beside the same picks at rest.
//!
//! ```text
//! make latency                                          a few seconds for each of them
//! cargo bench -p pointsman-bench --bench latency -- 60  so many seconds
//! ```
//!
//! The two alternate in one run, so that whatever else the machine does meets both. A pick's time holds that of reading the
//! clock twice, which is told too. As a test it runs for a moment and looks at no time, but at what must hold: picks see new
//! lists, and no reader ever runs a destructor.

mod common;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use common::route;
use hdrhistogram::Histogram;
use pointsman::{Instance, Outcome, Policy, Pool, PoolOptions, PowerOfTwo, Request, Route};
use pointsman_bench::lists::{address, instances, weights};

const N: usize = 1_000;
/// Time between two publishes.
const PERIOD: Duration = Duration::from_millis(1);
/// Picks above it are counted.
const LONG: u64 = 5_000;
const TURNS: usize = 6;
const PLAIN: Request<'static> = Request::new();

/// A way to pick, and what its picks took in nanoseconds: at rest, and under updates.
struct Path {
    name: &'static str,
    pick: Box<dyn FnMut() -> u64>,
    taken: [Histogram<u64>; 2],
}

fn path(name: &'static str, pick: impl FnMut() -> u64 + 'static) -> Path {
    let histogram = || Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("good bounds");
    Path { name, pick: Box::new(pick), taken: [histogram(), histogram()] }
}

fn paths(pool: &Pool) -> Vec<Path> {
    let by_weight = route(pool, Policy::WeightedRandom);
    let rotation = route(pool, Policy::WeightedRoundRobin);
    let two = route(pool, Policy::PowerOfTwo(PowerOfTwo::new()));
    let lease = |route: &Route| {
        let lease = route.lease(black_box(&PLAIN)).expect("an instance");
        let version = lease.version();
        lease.done(Outcome::Success, Duration::from_millis(2));
        version
    };
    let mut picker = by_weight.picker();
    let mut leasing = two.picker();
    vec![
        path("the clock", || 0),
        path("weighted_random, route", move || version(&by_weight)),
        path("weighted_random, picker", move || {
            picker
                .pick(black_box(&PLAIN))
                .map(|pick| black_box(pick.instance()).user_data)
                .expect("an instance")
        }),
        path("weighted_round_robin, route", move || version(&rotation)),
        path("power_of_two, lease of a route", move || lease(&two)),
        path("power_of_two, lease of a picker", move || {
            leasing.lease(black_box(&PLAIN)).expect("an instance").version()
        }),
    ]
}

fn version(route: &Route) -> u64 {
    route
        .pick(black_box(&PLAIN))
        .map(|pick| (black_box(pick.instance()), pick.version()).1)
        .expect("an instance")
}

/// Publishes every period until it is told to stop: a weight each time, and now and then an instance leaves and comes.
/// Goes on behind the `before` updates of the turns before, and returns how many there were in all.
fn publish(pool: &Pool, stop: &AtomicBool, before: u32) -> u32 {
    let (begin, mut published) = (Instant::now(), before);
    while !stop.load(Ordering::Relaxed) {
        published += 1;
        let at = published as usize % N;
        pool.edit(|edit| match published % 10 {
            3 => edit.remove(&address(at)),
            4 => edit.upsert(Instance::new(address(at - 1)).weight(2.0).user_data(published.into())),
            _ => edit.set_weight(&address(N - 1), f64::from(published)),
        })
        .expect("a good change");
        thread::sleep((begin + PERIOD * (published - before)).saturating_duration_since(Instant::now()));
    }
    published
}

/// Picks by every path in turns, for so long.
fn measure(paths: &mut [Path], updating: usize, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        for path in &mut *paths {
            for _ in 0..1_000 {
                let begin = Instant::now();
                black_box((path.pick)());
                let taken = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
                path.taken[updating].saturating_record(taken.max(1));
            }
        }
    }
}

fn print(paths: &[Path]) {
    println!(
        "{:34} {:>12} {:>9} {:>9} {:>12} {:>12}",
        "n = 1,000", "picks", "median", "99.9 %", "above 5 µs", "longest"
    );
    for path in paths {
        println!("{}", path.name);
        for (taken, when) in path.taken.iter().zip(["at rest", "1,000 updates a second"]) {
            let above = taken.len() - taken.count_between(0, LONG);
            println!(
                "  {when:32} {:>12} {:>6} ns {:>6} ns {:>10.5} % {:>9.1} µs",
                taken.len(),
                taken.value_at_quantile(0.5),
                taken.value_at_quantile(0.999),
                above as f64 / taken.len().max(1) as f64 * 100.0,
                taken.max() as f64 / 1_000.0,
            );
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let is_test = args.iter().any(|arg| arg == "--test");
    let seconds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(12.0);
    let time = Duration::from_secs_f64(if is_test { 0.3 } else { seconds }) / (2 * TURNS as u32);

    let released: Arc<(AtomicU64, Mutex<Vec<ThreadId>>)> = Arc::default();
    let telling = released.clone();
    let hook = move |_| {
        telling.0.fetch_add(1, Ordering::Relaxed);
        telling.1.lock().expect("nothing panics").push(thread::current().id());
    };
    let pool = Pool::with(PoolOptions::new().release(hook), instances(&weights(N))).expect("a good list");
    let mut paths = paths(&pool);
    let reader = thread::current().id();
    let mut published = 0;
    for _ in 0..TURNS {
        measure(&mut paths, 0, time);
        let stop = AtomicBool::new(false);
        published = thread::scope(|scope| {
            let writer = scope.spawn(|| publish(&pool, &stop, published));
            measure(&mut paths, 1, time);
            stop.store(true, Ordering::Relaxed);
            writer.join().expect("no panic")
        });
    }
    let seen = (paths[1].pick)();
    assert_eq!(seen, pool.version(), "the pick saw an old list");
    assert!(seen > u64::from(published), "each update made a list");
    assert!(released.0.load(Ordering::Relaxed) > 0, "no instance left");
    assert!(!released.1.lock().expect("nothing panics").contains(&reader), "a reader ran a destructor");
    if !is_test {
        println!(
            "{published} updates while picking, {:.0} a second",
            f64::from(published) / (time * TURNS as u32).as_secs_f64()
        );
        print(&paths);
    }
}
