//! Threads that pick by every policy while writers publish as fast as they can: health, weights, lists, what is leased;
//! while routes come and go, builds fail, the clock steps back and forth, and the process forks.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pointsman::fault::{Fault, arm, disarm};
use pointsman::{
    Edit, Instance, Outcome, Picked, Picker, Pool, PoolOptions, PoolSpec, Request, Route, RouteSpec, Tier,
    UpdateError,
};

use crate::Order;
use crate::clock::{Clock, ejection};
use crate::common::{PLAIN, policies, until};
use crate::control::{Control, limit_in};
use crate::harness::Dice;
use crate::memory;
use crate::truth::{IDS, Seen, State, Truth};

const READERS: u64 = 2;
const WRITERS: u64 = 2;

/// What the release hook and the writers count.
#[derive(Default)]
pub(crate) struct Counts {
    /// User data that was handed to the engine in updates that were accepted, in sum and number.
    published: (AtomicU64, AtomicU64),
    /// User data that came back.
    released: (AtomicU64, AtomicU64),
    picks: AtomicU64,
    faults: AtomicU64,
    routes: AtomicU64,
    forks: AtomicU64,
    pub(crate) ejections: AtomicU64,
}

fn add(to: &(AtomicU64, AtomicU64), user_data: u64) {
    to.0.fetch_add(user_data, Ordering::Relaxed);
    to.1.fetch_add(1, Ordering::Relaxed);
}

fn ids() -> Vec<String> {
    (0..IDS).map(|number| format!("i{number}")).collect()
}

fn number(instance: &Instance) -> usize {
    instance.id[1..].parse().expect("ids are numbered")
}

fn is_gray(number: usize) -> bool {
    number.is_multiple_of(2)
}

fn instance(number: usize, user_data: u64) -> Instance {
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
    assert!(left < 128 << 10, "{left} bytes are left after {rounds} rounds");
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
                points: [50; 8],
            };
            control.spawn(scope, format!("updates {thread}"), move || writer.step());
        }
        let mut dice = Dice::new(seed ^ 1 << 24);
        control.spawn(scope, "routes".into(), move || {
            let policy = policies().swap_remove(dice.below(routes.len()));
            let route = pool.route(RouteSpec::new(policy).tier(Tier::new())).expect("a good spec");
            let mut picker = route.picker();
            (0..10).for_each(|_| assert!(route.pick(&PLAIN).is_ok() && picker.pick(&PLAIN).is_ok()));
            counts.routes.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
        });
        let mut clock = Clock { dice: Dice::new(seed ^ 1 << 25), latest: 0, pool, truth, routes, counts };
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
    let ejections = counts.ejections.load(Ordering::Relaxed);
    assert!(
        ejections > 0 || time < Duration::from_secs(5),
        "nobody was ejected, so that no share was looked at"
    );
    let told = format!(
        "{} picks, {} versions, {} builds that failed, {} routes made and dropped, {} forks, {ejections} ejections",
        counts.picks.load(Ordering::Relaxed),
        truth.versions(),
        counts.faults.load(Ordering::Relaxed),
        counts.routes.load(Ordering::Relaxed),
        counts.forks.load(Ordering::Relaxed),
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

/// Picks by every policy, and looks at what it is given.
struct Reader<'a> {
    dice: Dice,
    truth: &'a Truth,
    hands: Vec<(&'a Route, Picker)>,
    names: &'a [String],
    held: VecDeque<pointsman::Lease>,
    seen: Vec<Seen>,
    counts: &'a Counts,
}

/// Picks that a reader keeps at most, while it finds writers at work whenever it would look them up.
const MOST_UNCHECKED: usize = 1 << 18;

const GRAY: &[(&str, &str)] = &[("version", "gray")];

impl<'a> Reader<'a> {
    fn new(
        seed: u64,
        truth: &'a Truth,
        routes: &'a [Route],
        names: &'a [String],
        counts: &'a Counts,
    ) -> Self {
        let hands = routes.iter().map(|route| (route, route.picker())).collect();
        Self { dice: Dice::new(seed), truth, hands, names, held: VecDeque::new(), seen: Vec::new(), counts }
    }

    fn step(&mut self) {
        let dice = &mut self.dice;
        let mut id = || 2 + dice.below(IDS - 2);
        // Never the first two, so that there is always somebody.
        let excluded = [id(), id()];
        let ids = excluded.map(|number| &*self.names[number]);
        let key = dice.bits().to_le_bytes();
        let mut request = Request::new();
        let asks_for_gray = dice.once_in(2);
        if asks_for_gray {
            request = if dice.once_in(4) { request.require(GRAY) } else { request.tags(GRAY) };
        }
        let excludes = dice.once_in(3);
        if excludes {
            request = request.exclude(&ids);
        }
        if dice.once_in(2) {
            request = request.key(&key);
        }
        let at_least = self.truth.published();
        let at = dice.below(self.hands.len());
        let (route, picker) = &mut self.hands[at];
        let seen = match dice.below(8) {
            0 => {
                let lease = route.lease(&request).expect("somebody is always there");
                let seen = look(lease.instance(), lease.version());
                self.held.push_back(lease);
                seen
            }
            1 => {
                let mut out = [Picked::default(); 3];
                let picks = route.pick_distinct(&request, &mut out).expect("somebody is always there");
                let drawn: Vec<usize> = picks.picked().iter().map(|picked| picked.index()).collect();
                let differ = drawn.iter().enumerate().all(|(at, index)| !drawn[..at].contains(index));
                assert!(differ, "{drawn:?} are not distinct");
                return;
            }
            2..=4 => {
                let pick = picker.pick(&request).expect("somebody is always there");
                look(pick.instance(), pick.version())
            }
            _ => {
                let pick = route.pick(&request).expect("somebody is always there");
                look(pick.instance(), pick.version())
            }
        };
        let (version, number) = seen;
        assert!(version >= at_least, "version {version} in a pick that began after {at_least} was published");
        assert!(!(excludes && excluded.contains(&number)), "i{number} was excluded");
        assert!(!asks_for_gray || is_gray(number), "i{number} is not gray");
        self.seen.push(seen);
        if self.seen.len() > MOST_UNCHECKED {
            self.truth.check(&mut self.seen);
        } else if self.seen.len().is_multiple_of(256) {
            self.truth.try_check(&mut self.seen);
        }
        if self.held.len() > 8 {
            let lease = self.held.pop_front().expect("eight are held");
            let (number, latency) = (number_of(&lease), Duration::from_micros(dice.below(5_000) as u64));
            match dice.below(3) {
                0 => drop(lease),
                // Those that are always to be there never fail, so that they are not ejected.
                1 if number > 1 => lease.done(Outcome::Failure, None),
                _ => lease.done(Outcome::Success, latency),
            }
        }
        self.counts.picks.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.truth.check(&mut self.seen);
        }
    }
}

fn number_of(lease: &pointsman::Lease) -> usize {
    number(lease.instance())
}

/// An instance as it was in the list of its version, which says that it may be picked.
fn look(instance: &Instance, version: u64) -> Seen {
    assert!(
        instance.enabled && instance.healthy && instance.weight > 0.0,
        "{instance:?} in version {version}"
    );
    (version, number(instance))
}

/// Changes the list at random, and keeps the truth of it.
struct Writer<'a> {
    dice: Dice,
    pool: &'a Pool,
    truth: &'a Truth,
    names: &'a [String],
    user_data: &'a AtomicU64,
    counts: &'a Counts,
    /// Points of a build, by the kind of change, as far as is known.
    points: [u64; 8],
}

impl Writer<'_> {
    fn step(&mut self) {
        let number = 2 + self.dice.below(IDS - 2);
        let (id, bit) = (&*self.names[number], 1_u64 << number);
        let (what, on) = (self.dice.below(8), self.dice.once_in(2));
        let weight = (self.dice.below(5) as f64) * 1.5;
        // Anywhere, or at the last point, or behind it.
        let known = self.points[what];
        let fails_at = match self.dice.below(16) {
            0 => self.dice.below(known as usize + 1) as u64,
            1 => known.saturating_sub(1),
            2 => known,
            _ => u64::MAX,
        };
        let (pool, counts) = (self.pool, self.counts);
        self.truth.change(|state, version| {
            let mut next = state;
            let is_there = state.present & bit > 0;
            let mut fresh = Vec::new();
            let mut new = |number: usize| {
                let user_data = self.user_data.fetch_add(1, Ordering::Relaxed);
                fresh.push(user_data);
                instance(number, user_data)
            };
            arm(fails_at);
            type Change<'a> = Box<dyn FnOnce(&mut Edit) -> Result<(), UpdateError> + 'a>;
            let change: Option<Change<'_>> = match what {
                0 if is_there => {
                    set(&mut next.healthy, bit, on);
                    Some(Box::new(move |edit| edit.set_healthy(id, on)))
                }
                1 if is_there => {
                    set(&mut next.enabled, bit, on);
                    Some(Box::new(move |edit| edit.set_enabled(id, on)))
                }
                2 | 3 if is_there => {
                    set(&mut next.weighty, bit, weight > 0.0);
                    Some(Box::new(move |edit| edit.set_weight(id, weight)))
                }
                4 if is_there => {
                    next.present &= !bit;
                    Some(Box::new(move |edit| edit.remove(id)))
                }
                // The same id at once again: another instance, with a count of its own.
                5 if is_there => {
                    up(&mut next, bit);
                    let again = new(number);
                    Some(Box::new(move |edit| {
                        edit.remove(id)?;
                        edit.upsert(again)
                    }))
                }
                6 | 7 if what == 6 || !is_there => {
                    up(&mut next, bit);
                    let instance = new(number);
                    Some(Box::new(move |edit| edit.upsert(instance)))
                }
                _ => None,
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| match change {
                Some(change) => pool.edit(change),
                // The whole list in another order, without an eighth of the rest.
                None => {
                    let keep = self.dice.bits() | self.dice.bits() | self.dice.bits() | 0b11;
                    next = State { present: state.present & keep, ..state };
                    let mut list: Vec<Instance> = pool.instances();
                    list.retain(|instance| keep >> crate::load::number(instance) & 1 == 1);
                    list.reverse();
                    pool.replace(list)
                }
            }));
            if let Some(left) = disarm() {
                self.points[what] = fails_at - left;
            }
            match outcome {
                Ok(version) => {
                    fresh.into_iter().for_each(|user_data| add(&counts.published, user_data));
                    (next, version.expect("a good update"))
                }
                Err(fault) => {
                    assert!(fault.is::<Fault>(), "a panic that is not ours");
                    counts.faults.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(pool.version(), version, "a build that failed has published");
                    (state, version)
                }
            }
        });
    }
}

fn set(bits: &mut u64, bit: u64, on: bool) {
    if on { *bits |= bit } else { *bits &= !bit }
}

/// A new instance is up in every respect.
fn up(state: &mut State, bit: u64) {
    [&mut state.present, &mut state.enabled, &mut state.healthy, &mut state.weighty]
        .into_iter()
        .for_each(|bits| *bits |= bit);
}
