//! What the tests share: lists in a compact form, tallies of picks, and what they wait by.

// Each test target uses its own part of it.
#![allow(dead_code)]

pub(crate) mod matrix;

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use pointsman::{
    Instance, NoInstance, Picker, Policy, Pool, PoolOptions, PoolSpec, Request, Route, RouteSpec, Share, Tier,
};

/// A request without constraints.
pub(crate) const PLAIN: Request<'static> = Request::new();

/// Instances by id and weight.
pub(crate) fn weighted(list: &[(&str, f64)]) -> Vec<Instance> {
    list.iter().map(|(id, weight)| Instance::new(*id).weight(*weight)).collect()
}

/// Instances of weight 1.
pub(crate) fn equal(ids: &[&str]) -> Vec<Instance> {
    ids.iter().map(|id| Instance::new(*id)).collect()
}

/// A pool whose choices are reproducible.
pub(crate) fn seeded(seed: u64, instances: Vec<Instance>) -> Pool {
    Pool::with(PoolOptions::new().seed(seed), instances).expect("a good list")
}

/// The same, in a zone.
pub(crate) fn seeded_in(zone: &str, seed: u64, instances: Vec<Instance>) -> Pool {
    let options = PoolOptions::new().seed(seed).spec(PoolSpec::new().zone(zone));
    Pool::with(options, instances).expect("a good list")
}

/// A route with one tier that takes everyone available.
pub(crate) fn plain_route(pool: &Pool, policy: Policy) -> Route {
    route(pool, policy, [Tier::new()])
}

/// A route with these tiers.
pub(crate) fn route(pool: &Pool, policy: Policy, tiers: impl IntoIterator<Item = Tier>) -> Route {
    pool.route(tiers.into_iter().fold(RouteSpec::new(policy), RouteSpec::tier)).expect("a good spec")
}

/// Every policy; hashing over few slots, so that tests that publish often do not spend their time on its table.
pub(crate) fn policies() -> Vec<Policy> {
    let few_slots = |policy| match policy {
        Policy::ConsistentHash(options) => Policy::ConsistentHash(options.slots(1_009)),
        policy => policy,
    };
    Policy::all().into_iter().map(few_slots).collect()
}

/// The policies that go by weight.
pub(crate) fn by_weight() -> [Policy; 2] {
    [Policy::WeightedRandom, Policy::WeightedRoundRobin]
}

/// Picks by id.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally(pub(crate) BTreeMap<String, u64>);

impl Tally {
    pub(crate) fn add(&mut self, id: &str) {
        match self.0.get_mut(id) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(id.to_owned(), 1)),
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(id, count)| *self.0.entry(id).or_default() += count);
    }

    pub(crate) fn of(&self, id: &str) -> u64 {
        self.0.get(id).copied().unwrap_or(0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The id has this count, to within `slack`.
    #[track_caller]
    pub(crate) fn assert_near(&self, id: &str, count: u64, slack: u64) {
        assert!(self.of(id).abs_diff(count) <= slack, "{id} should have {count}±{slack}: {:?}", self.0);
    }

    /// These counts and no others.
    #[track_caller]
    pub(crate) fn assert_exactly(&self, counts: &[(&str, u64)]) {
        let expected: BTreeMap<String, u64> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(id, n)| ((*id).to_owned(), *n)).collect();
        assert_eq!(self.0, expected);
    }
}

/// Something that picks: a route's shared position, or a picker of its own.
#[allow(clippy::large_enum_variant, reason = "few, and seldom moved")]
pub(crate) enum Hand {
    Route(Route),
    Picker(Picker),
}

impl Hand {
    /// Both ways to pick over the same route.
    pub(crate) fn both(route: &Route, seed: u64) -> [Self; 2] {
        [Self::Route(route.clone()), Self::Picker(route.picker_seeded(seed))]
    }

    /// Both, from the canonical start of every cycle.
    pub(crate) fn both_at(route: &Route, turn: u64) -> [Self; 2] {
        route.start_at(turn);
        [Self::Route(route.clone()), Self::Picker(route.picker_seeded(0x5EED).start_at(turn))]
    }

    /// The position in the list.
    pub(crate) fn index(&mut self, request: &Request<'_>) -> Result<usize, NoInstance> {
        match self {
            Self::Route(route) => route.pick(request).map(|pick| pick.index()),
            Self::Picker(picker) => picker.pick(request).map(|pick| pick.index()),
        }
    }

    pub(crate) fn id(&mut self, request: &Request<'_>) -> Result<String, NoInstance> {
        match self {
            Self::Route(route) => route.pick(request).map(|pick| pick.instance().id.to_string()),
            Self::Picker(picker) => picker.pick(request).map(|pick| pick.instance().id.to_string()),
        }
    }

    /// The ids of so many picks, one behind the other.
    pub(crate) fn text(&mut self, picks: usize) -> String {
        (0..picks).map(|_| self.id(&PLAIN).expect("an instance")).collect()
    }

    #[track_caller]
    pub(crate) fn tally(&mut self, request: &Request<'_>, picks: usize) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..picks {
            match self {
                Self::Route(route) => tally.add(&route.pick(request).expect("an instance").instance().id),
                Self::Picker(picker) => tally.add(&picker.pick(request).expect("an instance").instance().id),
            }
        }
        tally
    }
}

/// Shares by position in the list.
pub(crate) fn dense(shares: &[Share], pool: &Pool) -> Vec<f64> {
    let share_of = |instance: &Instance| {
        shares.iter().find(|share| share.id == instance.id).map_or(0.0, |share| share.share)
    };
    pool.instances().iter().map(share_of).collect()
}

/// Runs on a thread of its own and gives up when it takes longer.
#[track_caller]
pub(crate) fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    let worker = std::thread::spawn(move || drop(done.send(work())));
    match result.recv_timeout(limit) {
        Ok(value) => {
            worker.join().expect("the work is done");
            value
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(worker.join().expect_err("it ended without a result"))
        }
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("no progress within {limit:?}"),
    }
}

/// Tries again until it is so, for what another thread may hold up for a moment.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < end, "never so: {what}");
        std::thread::yield_now();
    }
}
