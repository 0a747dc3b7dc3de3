//! Threads that pick by every policy while writers publish as fast as they can: health, weights, lists, what is leased;
//! while routes come and go, builds, routes and ticks fail, the clock steps back and forth, and the process forks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pointsman::{Instance, Pool, PoolOptions, PoolSpec, Route, RouteSpec, Tier};

use crate::Order;
use crate::clock::{Clock, ejection};
use crate::common::{PLAIN, policies, until};
use crate::control::{Control, limit_in};
use crate::harness::Dice;
use crate::memory;
use crate::reader::Reader;
use crate::routes::Comings;
use crate::truth::{IDS, State, Truth};
use crate::writer::Writer;

const READERS: u64 = 2;
const WRITERS: u64 = 2;

/// Bytes that rounds may leave, whatever their length. What failed in a round, some tens of times at least, would leave more.
const MOST_LEFT: isize = 16 << 10;

/// What the release hook and the writers count.
#[derive(Default)]
pub(crate) struct Counts {
    /// User data that was handed to the engine in updates that were accepted, in sum and number.
    pub(crate) published: (AtomicU64, AtomicU64),
    /// User data that came back.
    released: (AtomicU64, AtomicU64),
    pub(crate) picks: AtomicU64,
    pub(crate) failed_builds: AtomicU64,
    pub(crate) failed_routes: AtomicU64,
    pub(crate) failed_ticks: AtomicU64,
    /// Those that were made and dropped.
    pub(crate) routes: AtomicU64,
    forks: AtomicU64,
    pub(crate) ejections: AtomicU64,
}

pub(crate) fn add(to: &(AtomicU64, AtomicU64), user_data: u64) {
    to.0.fetch_add(user_data, Ordering::Relaxed);
    to.1.fetch_add(1, Ordering::Relaxed);
}

fn ids() -> Vec<String> {
    (0..IDS).map(|number| format!("i{number}")).collect()
}

pub(crate) fn number(instance: &Instance) -> usize {
    instance.id[1..].parse().expect("ids are numbered")
}

pub(crate) fn is_gray(number: usize) -> bool {
    number.is_multiple_of(2)
}

pub(crate) fn instance(number: usize, user_data: u64) -> Instance {
    let version = if is_gray(number) { "gray" } else { "stable" };
    Instance::new(format!("i{number}"))
        .tag("version", version)
        .weight(1.0 + (number % 7) as f64)
        .user_data(user_data)
}

pub(crate) fn run(order: Order) -> Vec<String> {
    // The first registers what the process needs once; after it a round leaves nothing behind.
    round(order.seed, Duration::from_millis(100));
    let rounds = if order.long { 3 } else { 2 };
    let before = memory::live();
    let mut lines = Vec::new();
    for at in 0..rounds {
        lines = round(order.seed.wrapping_add(at), order.time / rounds as u32);
    }
    let left = memory::live() - before;
    assert!(left < MOST_LEFT, "{left} bytes are left after {rounds} rounds");
    lines.insert(0, format!("{left} bytes left after {rounds} rounds, of which the last:"));
    lines
}

fn round(seed: u64, time: Duration) -> Vec<String> {
    let counts = Arc::new(Counts::default());
    let hears = counts.clone();
    let spec = PoolSpec::new().ejection(ejection()).slow_start(5.0, 1.0);
    let options = PoolOptions::new().spec(spec).release(move |user_data| add(&hears.released, user_data));
    let first = (0..IDS).map(|number| instance(number, number as u64 + 1));
    (1..=IDS as u64).for_each(|user_data| add(&counts.published, user_data));
    let pool = Pool::with(options, first).expect("a good list");
    let all = (1_u64 << IDS) - 1;
    let truth = Truth::new(State { present: all, enabled: all, healthy: all, weighty: all });
    let route = |policy| {
        let spec = RouteSpec::new(policy).tier(Tier::new().matching("version")).tier(Tier::new());
        pool.route(spec).expect("a good spec")
    };
    let routes: Vec<Route> = policies().into_iter().map(route).collect();
    let names = ids();
    let user_data = AtomicU64::new(1_000);
    let control = Control::new(limit_in(time));
    std::thread::scope(|scope| {
        let (pool, truth, routes, names, counts) = (&pool, &truth, &*routes, &*names, &*counts);
        for thread in 0..READERS {
            let mut reader = Reader::new(seed ^ thread << 8, truth, routes, names, counts);
            control.spawn(scope, format!("picks {thread}"), move || reader.step());
        }
        for thread in 0..WRITERS {
            let mut writer = Writer {
                dice: Dice::new(seed ^ thread << 16),
                pool,
                truth,
                names,
                user_data: &user_data,
                counts,
                aims: Default::default(),
            };
            control.spawn(scope, format!("updates {thread}"), move || writer.step());
        }
        let dice = Dice::new(seed ^ 1 << 24);
        let mut comings = Comings { dice, pool, lasting: routes.len(), counts, aims: Vec::new() };
        control.spawn(scope, "routes".into(), move || comings.step());
        let (dice, aim) = (Dice::new(seed ^ 1 << 25), Default::default());
        let mut clock = Clock { dice, aim, latest: 0, pool, truth, routes, counts };
        control.spawn(scope, "clock".into(), move || clock.step(names));
        #[cfg(unix)]
        let mut forked = Instant::now();
        let begin = Instant::now();
        control.run_while(|| {
            #[cfg(unix)]
            if forked.elapsed() > Duration::from_millis(250) {
                crate::fork::child_updates_and_picks(pool, routes, names);
                counts.forks.fetch_add(1, Ordering::Relaxed);
                forked = Instant::now();
            }
            begin.elapsed() < time
        });
    });
    all_is_given_back(&pool, &truth, &routes, &counts);
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let rare =
        [&counts.ejections, &counts.failed_builds, &counts.failed_routes, &counts.failed_ticks].map(of);
    assert!(
        rare.iter().all(|count| *count > 0) || time < Duration::from_secs(5),
        "of ejections, and of builds, routes and ticks that fail: {rare:?}, so that something was not looked at"
    );
    let [ejections, builds, failed_routes, ticks] = rare;
    let told = format!(
        "{} picks, {} versions, {} routes made and dropped, {} forks, {ejections} ejections; {builds} builds, \
         {failed_routes} routes and {ticks} ticks that failed",
        of(&counts.picks),
        truth.versions(),
        of(&counts.routes),
        of(&counts.forks),
    );
    drop((pool, routes));
    assert_eq!(totals(&counts.published), totals(&counts.released), "each user data came back once");
    [told].into_iter().chain(control.told()).collect()
}

fn totals(count: &(AtomicU64, AtomicU64)) -> (u64, u64) {
    (count.0.load(Ordering::Relaxed), count.1.load(Ordering::Relaxed))
}

/// With nobody left at work: no lease counts, the list is the last one, and what waited is freed.
fn all_is_given_back(pool: &Pool, truth: &Truth, routes: &[Route], counts: &Counts) {
    let state = truth.last();
    assert_eq!(pool.len(), state.present.count_ones() as usize);
    assert!(pool.instances().iter().all(|instance| state.present >> number(instance) & 1 == 1));
    for route in routes {
        let told = route.explain(&PLAIN);
        assert!(told.live.iter().all(|state| state.in_flight == 0), "leases that never end: {:?}", told.live);
    }
    until("the old lists are freed", || {
        let weight = pool.version() as f64;
        pool.edit(|edit| edit.set_weight("i0", weight)).expect("a good weight");
        pool.retired() <= 2
    });
    assert_eq!(pool.status().routes, routes.len(), "dropped routes are gone");
    let (published, released) = (totals(&counts.published).1, totals(&counts.released).1);
    assert_eq!(published - released, pool.len() as u64, "what left has been released");
}
