//! Threads that pick, lease and hold while others update, in few steps: for Miri, which runs them with many schedules and
//! lets each load see what a weak memory could show it. It has no `membarrier(2)`, so that pins are the exchanges of the
//! systems without. ThreadSanitizer and AddressSanitizer run the same steps with the system's barrier.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use pointsman::{Instance, Outcome, Policy, Pool, PoolOptions, Request, Route, RouteSpec, Tier};

const PLAIN: Request<'static> = Request::new();

/// Steps of each thread. Miri takes some hundred times as long for one, and is run with many seeds.
const ROUNDS: u64 = if cfg!(miri) { 3 } else { 2_000 };

/// The user data that the release hook was told of.
#[derive(Clone, Default)]
struct Released(Arc<Mutex<Vec<u64>>>);

/// The list of version v: one instance with user data v.
fn list(version: u64) -> [Instance; 1] {
    let mut instance = Instance::new(if version.is_multiple_of(2) { "even" } else { "odd" });
    instance.user_data = version;
    [instance]
}

fn pool() -> (Pool, Released) {
    let released = Released::default();
    let told = released.clone();
    let note = move |user_data| told.0.lock().expect("no panic").push(user_data);
    (Pool::with(PoolOptions::new().release(note), list(1)).expect("a good list"), released)
}

fn route(pool: &Pool, policy: Policy) -> Route {
    pool.route(RouteSpec::new(policy).tier(Tier::new())).expect("a good spec")
}

/// Publishes versions 2 to `ROUNDS` + 1, one after the other, and tells of each that is in force.
fn publish(pool: &Pool, in_force: &AtomicU64) {
    for version in 2..=ROUNDS + 1 {
        assert_eq!(pool.replace(list(version)), Ok(version));
        in_force.store(version, Ordering::Relaxed);
    }
}

impl Released {
    /// Of every version once, when the pool and all that held its instances are gone.
    fn check(&self) {
        let mut told = self.0.lock().expect("no panic").clone();
        told.sort_unstable();
        assert!(told.into_iter().eq(1..=ROUNDS + 1), "each instance is told of once");
    }
}

#[test]
fn picks_see_one_whole_list_that_is_no_older_than_the_last_update() {
    for policy in [Policy::WeightedRandom, Policy::WeightedRoundRobin] {
        let (pool, released) = pool();
        let route = route(&pool, policy);
        let in_force = AtomicU64::new(1);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut picker = route.picker();
                    for _ in 0..ROUNDS {
                        let since = in_force.load(Ordering::Relaxed);
                        let pick = route.pick(&PLAIN).expect("an instance");
                        assert_eq!(pick.instance().user_data, pick.version());
                        let seen = pick.version();
                        drop(pick);
                        let pick = picker.pick(&PLAIN).expect("an instance");
                        assert_eq!(pick.instance().user_data, pick.version());
                        // A picker's one comparison is relaxed: what the same thread has seen, it sees.
                        assert!(
                            since <= seen && seen <= pick.version(),
                            "a list replaced before the pick began"
                        );
                    }
                });
            }
            publish(&pool, &in_force);
        });
        pool.tick();
        assert_eq!(pool.retired(), 0, "something waits for nobody");
        drop((pool, route));
        released.check();
    }
}

#[test]
fn an_update_waits_for_the_first_pick_of_a_thread_that_begins_meanwhile() {
    let (pool, released) = pool();
    let route = route(&pool, Policy::WeightedRandom);
    for version in 2..=ROUNDS.min(200) + 1 {
        thread::scope(|scope| {
            // More threads than ended before, so that one has a new slot.
            for _ in 0..version.min(4) {
                scope.spawn(|| {
                    let pick = route.pick(&PLAIN).expect("an instance");
                    assert_eq!(pick.instance().user_data, pick.version());
                });
            }
            assert_eq!(pool.replace(list(version)), Ok(version));
        });
    }
    drop((pool, route));
    assert_eq!(released.0.lock().expect("no panic").len() as u64, ROUNDS.min(200) + 1);
}

#[test]
fn leases_are_counted_and_keep_their_instance() {
    let (pool, released) = pool();
    let route = route(&pool, Policy::LeastRequest);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let lease = route.lease(&PLAIN).expect("no limit");
                    let user_data = lease.instance().user_data;
                    assert_eq!(user_data, lease.version());
                    assert!(
                        !released.0.lock().expect("no panic").contains(&user_data),
                        "told of during a lease"
                    );
                    let outcome = if round % 2 == 0 { Outcome::Success } else { Outcome::Failure };
                    lease.done(outcome, None);
                }
            });
        }
        publish(&pool, &AtomicU64::new(1));
    });
    assert!(
        route.explain(&PLAIN).live.iter().all(|state| state.in_flight == 0),
        "a lease that is over counts"
    );
    drop((pool, route));
    released.check();
}

#[test]
fn routes_pickers_and_threads_come_and_go() {
    let (pool, released) = pool();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS.min(200) {
                    let route = route(&pool, Policy::RoundRobin);
                    let owned = route.pick(&PLAIN).expect("an instance").to_owned();
                    let mut picker = route.picker();
                    drop(route);
                    // A thread of its own, whose slot the next one takes.
                    let seen = thread::spawn(move || picker.pick(&PLAIN).expect("an instance").version());
                    let seen = seen.join().expect("no panic");
                    assert!(owned.version() <= seen && owned.instance().user_data == owned.version());
                }
            });
        }
        publish(&pool, &AtomicU64::new(1));
    });
    drop(pool);
    released.check();
}
