//! A build that fails at any of its steps has published nothing and lost nothing, and the next one succeeds.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use common::{PLAIN, policies};
use pointsman::fault::{Fault, arm, disarm};
use pointsman::{
    Edit, Ejection, Instance, Outcome, Pool, PoolOptions, PoolSpec, Request, Route, RouteSpec, Status, Tier,
    UpdateError,
};

const SECOND: u64 = 1_000_000_000;

/// A pool with a route of every policy, and what its host was told.
struct World {
    pool: Pool,
    routes: Vec<Route>,
    told: Arc<Mutex<Vec<u64>>>,
}

/// What can be seen of it without taking a turn.
#[derive(Debug, PartialEq)]
struct Picture {
    version: u64,
    instances: Vec<Instance>,
    stale: bool,
    routes: usize,
    available: usize,
    ejected: Vec<(String, &'static str, u32)>,
    due: bool,
    explanations: Vec<String>,
}

fn instance(at: u64) -> Instance {
    Instance::new(format!("i{at}"))
        .weight(1.0 + at as f64)
        .tag("version", if at.is_multiple_of(2) { "gray" } else { "stable" })
        .user_data(at)
}

fn spec(policy: pointsman::Policy) -> RouteSpec {
    RouteSpec::new(policy).tier(Tier::new().matching("version")).tier(Tier::new())
}

const GRAY: Request<'static> = Request::new().tags(&[("version", "gray")]);

impl World {
    fn new() -> Self {
        let told: Arc<Mutex<Vec<u64>>> = Arc::default();
        let hears = told.clone();
        let pool_spec = PoolSpec::new().ejection(Ejection::default()).slow_start(10.0, 1.0);
        let options = PoolOptions::new()
            .seed(1)
            .spec(pool_spec)
            .release(move |user_data| hears.lock().expect("no panic").push(user_data));
        let pool = Pool::with(options, (0..12).map(instance)).expect("a good list");
        let routes = policies().into_iter().map(|policy| pool.route(spec(policy)).expect("a good spec"));
        let routes = routes.collect();
        pool.tick_at(SECOND);
        Self { pool, routes, told }
    }

    fn picture(&self) -> Picture {
        let Status { version, stale, routes, available, ejected, .. } = self.pool.status();
        let explain = |route: &Route| {
            [PLAIN, GRAY].map(|request| {
                let mut told = route.explain(&request);
                // It decays with the time that a tick was told, whether it failed or not.
                told.live.iter_mut().for_each(|state| state.latency_s = None);
                format!("{told:?}")
            })
        };
        Picture {
            version,
            instances: self.pool.instances(),
            stale,
            routes,
            available,
            ejected: ejected.into_iter().map(|one| (one.id.to_string(), one.reason, one.times)).collect(),
            due: self.pool.tick_due(),
            explanations: self.routes.iter().flat_map(explain).collect(),
        }
    }

    /// Some picks of every route, in turn.
    fn picks(&self) -> Vec<usize> {
        let pick = |route: &Route, request| route.pick(request).expect("an instance").index();
        (0..30).flat_map(|_| self.routes.iter().flat_map(|r| [pick(r, &PLAIN), pick(r, &GRAY)])).collect()
    }

    /// Ends so many requests of one instance.
    fn end(&self, id: &str, outcome: Outcome, times: usize, now: u64) {
        let others: Vec<String> = (0..12).map(|at| format!("i{at}")).filter(|other| other != id).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        for _ in 0..times {
            let lease = self.routes[0].lease(&PLAIN.exclude(&others)).expect("it is up");
            assert_eq!(&*lease.instance().id, id);
            lease.done_at(outcome, None, now);
        }
    }

    /// Drops it all, and tells what the host was told from first to last.
    fn end_of_all(self) -> Vec<u64> {
        let told = self.told.clone();
        drop(self);
        let mut told = told.lock().expect("no panic").clone();
        told.sort_unstable();
        told
    }
}

/// Lets the change fail at each of its points in turn, every time in a new world. Returns how many there are.
fn at_every_point(prepare: impl Fn(&World), change: impl Fn(&mut World)) -> usize {
    let prepared = || {
        let world = World::new();
        prepare(&world);
        world
    };
    let (mut changed, untouched) = (prepared(), prepared());
    let before = untouched.picture();
    change(&mut changed);
    let (after, turns) = (changed.picture(), untouched.picks());
    let told = changed.end_of_all();
    assert_ne!(before, after, "the change is one");
    for points in 0.. {
        let mut world = prepared();
        arm(points);
        let failed = catch_unwind(AssertUnwindSafe(|| change(&mut world)));
        if disarm().is_some() {
            assert!(failed.is_ok());
            return points as usize;
        }
        let fault = failed.expect_err("armed").downcast::<Fault>().expect("no other panic");
        assert_eq!(world.picture(), before, "after a failure at {fault:?}, the {points}th");
        assert_eq!(world.picks(), turns, "after a failure at {fault:?}, the {points}th");
        change(&mut world);
        assert_eq!(world.picture(), after, "after the next try behind {fault:?}, the {points}th");
        let heard = world.end_of_all();
        assert_eq!(heard, told, "what the host was told, after {fault:?}, the {points}th");
    }
    unreachable!("a change has an end");
}

fn nothing(_: &World) {}

#[test]
fn a_replace_that_fails_has_done_nothing() {
    let list = || (4..20).map(|at| instance(at).weight(20.0 - at as f64).user_data(100 + at));
    let points = at_every_point(nothing, |world| {
        world.pool.replace(list()).expect("a good list");
    });
    assert!(points > 100, "{points}");
}

#[test]
fn an_edit_that_fails_has_done_nothing() {
    type Change = fn(&mut Edit) -> Result<(), UpdateError>;
    let edits: [Change; 5] = [
        |edit| edit.set_weight("i3", 7.0),
        |edit| edit.set_healthy("i3", false),
        |edit| edit.upsert(instance(12).user_data(112)),
        |edit| {
            edit.remove("i3")?;
            edit.upsert(instance(3).user_data(103))?;
            edit.set_enabled("i4", false)
        },
        |edit| edit.set_zone("i3", Some("elsewhere")),
    ];
    for edit in edits {
        let points = at_every_point(nothing, |world| {
            world.pool.edit(edit).expect("a good edit");
        });
        assert!(points > 20, "{points}");
    }
}

#[test]
fn an_instance_that_comes_back_in_an_edit_that_fails_has_not_come_back() {
    let down = |world: &World| {
        world.pool.edit(|edit| edit.set_healthy("i3", false)).expect("it is there");
    };
    let points = at_every_point(down, |world| {
        world.pool.edit(|edit| edit.set_healthy("i3", true)).expect("it is there");
    });
    assert!(points > 20, "{points}");
}

#[test]
fn a_route_that_fails_is_none() {
    let points = at_every_point(nothing, |world| {
        let policy = pointsman::Policy::WeightedRoundRobin;
        let route = world.pool.route(spec(policy)).expect("a good spec");
        world.routes.push(route);
    });
    assert!(points > 10, "{points}");
}

#[test]
fn a_tick_that_fails_ejects_at_the_next() {
    let failing = |world: &World| world.end("i3", Outcome::Failure, 5, 2 * SECOND);
    let points = at_every_point(failing, |world| {
        world.pool.tick_at(2 * SECOND);
        assert_eq!(world.pool.status().ejected.len(), 1);
    });
    assert!(points > 20, "{points}");
}

#[test]
fn a_tick_that_fails_looks_at_the_same_interval_again() {
    let failing = |world: &World| {
        world.pool.tick_at(10 * SECOND);
        (0..12).for_each(|at| world.end(&format!("i{at}"), Outcome::Success, 50, 11 * SECOND));
        // The share of them ejects; the success behind them ends the row.
        world.end("i3", Outcome::Failure, 400, 12 * SECOND);
        world.end("i3", Outcome::Success, 1, 12 * SECOND);
    };
    let points = at_every_point(failing, |world| {
        world.pool.tick_at(20 * SECOND);
        assert_eq!(world.pool.status().ejected[0].reason, "failure_percentage");
    });
    assert!(points > 20, "{points}");
}

#[test]
fn a_tick_that_fails_lets_an_ejected_instance_return_at_the_next() {
    let ejected = |world: &World| {
        world.end("i3", Outcome::Failure, 5, 2 * SECOND);
        world.pool.tick_at(2 * SECOND);
    };
    let points = at_every_point(ejected, |world| {
        world.pool.tick_at(40 * SECOND);
        assert!(world.pool.status().ejected.is_empty());
    });
    assert!(points > 20, "{points}");
}

#[test]
fn a_tick_that_fails_moves_a_ramp_at_the_next() {
    let ramping = |world: &World| {
        world.pool.edit(|edit| edit.upsert(instance(12))).expect("a good instance");
    };
    let points = at_every_point(ramping, |world| {
        world.pool.tick_at(6 * SECOND);
    });
    assert!(points > 20, "{points}");
}
