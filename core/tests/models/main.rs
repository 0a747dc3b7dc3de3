//! Models of the engine's concurrency: the engine itself, through its public interface, with every atomic and lock replaced
//! by loom's, run through each order of steps and each value that a load may see, up to a number of preemptions. Built by
//! `make loom` only.
//!
//! What a model is not told:
//!
//! - loom knows no `membarrier(2)` and takes sequentially consistent accesses for acquire and release. Where the engine has the
//!   writer's barrier, readers and writers of the model have a sequentially consistent fence each. Without a barrier readers
//!   exchange, and the writer's scan does so too; that orders no more than the barrier does, and `mutants` runs the models of
//!   pins again so. Miri, which knows such accesses, runs the readers' exchange with the scan that it has.
//! - `std`'s `Arc`, `OnceLock` and `Weak` are taken for granted.
//! - Nobody forks, so the fork gate is left out. The tests that fork are in `cases/processes.rs`.
//!
//! `mutants` shows what the models would catch: each operation that an argument stands on, with a flaw.
#![cfg(loom)]

mod leases;
mod mutants;
mod pickers;
mod picks;
mod routes;
mod threads;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pointsman::{Instance, Policy, Pool, PoolOptions, Request, Route, RouteSpec, Tier};

/// A request without constraints.
const PLAIN: Request<'static> = Request::new();

/// Runs the model in every way there is with so many preemptions, or with `LOOM_MAX_PREEMPTIONS`.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 10_000;
    let counted = executions.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{} executions", executions.load(Ordering::Relaxed));
}

fn instance(id: &str, user_data: u64) -> Instance {
    let mut instance = Instance::new(id);
    instance.user_data = user_data;
    instance
}

/// A pool of one instance, whose release hook notes the user data.
fn pool_of(first: Instance) -> (Pool, Released) {
    let released = Released::default();
    let told = released.clone();
    let options = PoolOptions::new().release(move |user_data| told.note(user_data));
    (Pool::with(options, [first]).expect("a good list"), released)
}

/// A route on which who is picked takes no atomics but the pin's.
fn route_of(pool: &Pool) -> Route {
    pool.route(RouteSpec::new(Policy::WeightedRandom).tier(Tier::new())).expect("a good spec")
}

fn replace(pool: &Pool, with: Instance) -> u64 {
    pool.replace([with]).expect("a good list")
}

/// The picked instance, held to the version that it came from: version v is the list of user data v.
fn pick_one(route: &Route) -> u64 {
    let pick = route.pick(&PLAIN).expect("every list has an instance");
    assert_eq!(pick.instance().user_data, pick.version(), "a pick of one list with the version of another");
    pick.version()
}

/// The user data that the hook was told of.
#[derive(Clone, Default)]
struct Released(Arc<Mutex<Vec<u64>>>);

impl Released {
    fn note(&self, user_data: u64) {
        let mut told = self.0.lock().expect("no panic");
        assert!(!told.contains(&user_data), "told twice of {user_data}");
        told.push(user_data);
    }

    fn has(&self, user_data: u64) -> bool {
        self.0.lock().expect("no panic").contains(&user_data)
    }

    /// With nobody reading any more but who began after the last update: what was replaced is freed by the next, and all
    /// the rest with the pool.
    fn settle(&self, pool: Pool, route: Route, last: u64) {
        let pick = route.pick(&PLAIN);
        pool.tick();
        assert_eq!(pool.retired(), 0, "something waits for nobody");
        drop(pick);
        assert!(!self.has(last), "told of an instance in the list");
        drop((pool, route));
        let mut told = self.0.lock().expect("no panic").clone();
        told.sort_unstable();
        assert_eq!(told, (1..=last).collect::<Vec<u64>>(), "each instance is told of once");
    }
}
