//! Sequences of leases, updates and ticks: counts are the open leases, and ejections and ramps are what the rules give.

use std::time::Duration;

use pointsman::{
    Ejection, Instance, InstanceState, Lease, Outcome, Picker, Pool, PoolOptions, PoolSpec, Reason, Request,
    Route,
};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseResult;

use crate::common::{PLAIN, plain_route, policies};
use crate::oracle::live::{EJECTION, FAILURES, INTERVAL, LONGEST, Lives, PERCENT, SECOND, WINDOW_S};

const IDS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// One step of a sequence.
#[derive(Clone, Debug)]
enum Step {
    /// By which policy, by a picker or the route, and all but whom.
    Lease(Index, bool, Option<Index>),
    Done(Index, Outcome, Option<u64>, When),
    Drop(Index),
    Replace(Vec<Instance>),
    Edit(Vec<Change>),
    Tick(When),
    Report(Index, f64, When),
}

/// A change of an edit.
#[derive(Clone, Debug)]
enum Change {
    Weight(Index, f64),
    Healthy(Index, bool),
    Enabled(Index, bool),
    Remove(Index),
    Upsert(Instance),
    /// Out and in again in one edit: another instance of the same name.
    Anew(Index),
}

/// A time in relation to the pool's latest.
#[derive(Clone, Copy, Debug)]
enum When {
    Now,
    After(u64),
    Before(u64),
    /// When the last tick said that there would be something to do, or just before.
    AsTold,
    JustBefore,
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        3 => Just(When::Now),
        2 => (0..3 * SECOND).prop_map(When::After),
        2 => (0..60_u64).prop_map(|seconds| When::After(seconds * SECOND)),
        1 => (0..2_000 * SECOND).prop_map(When::Before),
        4 => Just(When::AsTold),
        2 => Just(When::JustBefore),
    ]
}

fn body() -> impl Strategy<Value = Instance> {
    let state = (weighted(0.15, Just(())), weighted(0.1, Just(())), weighted(0.3, 1..4_u32));
    (select(&IDS[..]), select(vec![0.0, 1.0, 1.0, 2.0, 0.5]), state).prop_map(
        |(id, weight, (down, off, most))| {
            let instance = Instance::new(id).weight(weight).healthy(down.is_none()).enabled(off.is_none());
            most.into_iter().fold(instance, Instance::max_in_flight)
        },
    )
}

fn list() -> impl Strategy<Value = Vec<Instance>> {
    vec(body(), 0..12).prop_map(|mut list| {
        let ids: Vec<_> = list.iter().map(|instance| instance.id.clone()).collect();
        let mut at = 0;
        list.retain(|instance| {
            at += 1;
            !ids[..at - 1].contains(&instance.id)
        });
        list
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<Index>;
    let outcome = select(vec![
        Outcome::Failure,
        Outcome::Failure,
        Outcome::Failure,
        Outcome::Success,
        Outcome::Cancelled,
    ]);
    let change = prop_oneof![
        2 => (index(), select(vec![0.0, 1.0, 3.0])).prop_map(|(at, weight)| Change::Weight(at, weight)),
        3 => (index(), any::<bool>()).prop_map(|(at, healthy)| Change::Healthy(at, healthy)),
        1 => (index(), any::<bool>()).prop_map(|(at, enabled)| Change::Enabled(at, enabled)),
        1 => index().prop_map(Change::Remove),
        2 => body().prop_map(Change::Upsert),
        1 => index().prop_map(Change::Anew),
    ];
    let latency = proptest::option::of(0..5_000_u64);
    let step = prop_oneof![
        // Some all on one instance, so that rows of failures and limits are reached.
        8 => (index(), any::<bool>(), weighted(0.5, index())).prop_map(|(by, own, only)| Step::Lease(by, own, only)),
        8 => (index(), outcome, latency, when()).prop_map(|(at, outcome, latency, when)| {
            Step::Done(at, outcome, latency, when)
        }),
        1 => index().prop_map(Step::Drop),
        1 => list().prop_map(Step::Replace),
        2 => vec(change, 1..3).prop_map(Step::Edit),
        5 => when().prop_map(Step::Tick),
        1 => (index(), 0.0..5.0_f64, when()).prop_map(|(at, load, when)| Step::Report(at, load, when)),
    ];
    vec(step, 1..120)
}

/// The engine and the plain rules side by side.
struct World {
    pool: Pool,
    hands: Vec<(Route, Picker)>,
    lives: Lives,
    /// The list, each with its life.
    list: Vec<(Instance, usize)>,
    leases: Vec<(Lease, Instance, usize)>,
    /// What the last tick said.
    told: Option<u64>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_the_open_leases_and_ejections_and_ramps_follow_the_rules(
        first in list(),
        seed in any::<u64>(),
        steps in steps(),
    ) {
        let mut world = World::new(first, seed);
        for step in steps {
            world.step(step)?;
            world.agrees()?;
        }
        let World { hands, leases, mut lives, .. } = world;
        for (lease, _, life) in leases {
            drop(lease);
            lives.ends(life, None);
        }
        prop_assert!(hands[0].0.explain(&PLAIN).live.iter().all(|state| state.in_flight == 0), "a count sticks");
    }
}

impl World {
    fn new(first: Vec<Instance>, seed: u64) -> Self {
        let mut ejection = Ejection::default();
        ejection.consecutive_failures = Some(FAILURES);
        ejection.failure_percentage = None;
        ejection.interval_s = (INTERVAL / SECOND) as f64;
        ejection.base_ejection_s = (EJECTION / SECOND) as f64;
        ejection.max_ejection_s = (LONGEST / SECOND) as f64;
        ejection.max_ejection_percent = PERCENT as f64;
        let spec = PoolSpec::new().ejection(ejection).slow_start(WINDOW_S, 1.0);
        let pool = Pool::with(PoolOptions::new().seed(seed).spec(spec), first.clone()).expect("a good list");
        let hands = policies().into_iter().map(|policy| plain_route(&pool, policy));
        let hands = hands.map(|route| (route.clone(), route.picker())).collect();
        let mut lives = Lives::default();
        let list = first.into_iter().map(|instance| (instance, lives.comes(false))).collect();
        let mut world = Self { pool, hands, lives, list, leases: Vec::new(), told: None };
        // Far ahead of the clock of the machine, whose times are steps back from here on.
        world.tick(1_000_000 * SECOND).expect("nothing is due");
        world
    }

    fn at(&self, when: When) -> u64 {
        let now = self.lives.now;
        match when {
            When::Now => now,
            When::After(time) => now + time,
            When::Before(time) => now - time,
            When::AsTold => self.told.unwrap_or(now),
            When::JustBefore => self.told.map_or(now, |told| told - 1),
        }
    }

    fn step(&mut self, step: Step) -> TestCaseResult {
        match step {
            Step::Lease(by, own, only) => return self.lease(by, own, only),
            Step::Done(at, outcome, latency, when) if !self.leases.is_empty() => {
                let now = self.at(when);
                let (lease, was, life) = self.leases.swap_remove(at.index(self.leases.len()));
                prop_assert_eq!(lease.instance(), &was, "a lease names the same instance to its end");
                lease.done_at(outcome, latency.map(Duration::from_micros), now);
                let failed = match outcome {
                    Outcome::Success => Some(false),
                    Outcome::Failure => Some(true),
                    _ => None,
                };
                if failed.is_some() {
                    self.lives.passes(now);
                }
                self.lives.ends(life, failed);
            }
            Step::Drop(at) if !self.leases.is_empty() => {
                let (lease, _, life) = self.leases.swap_remove(at.index(self.leases.len()));
                drop(lease);
                self.lives.ends(life, None);
            }
            Step::Replace(list) => {
                self.pool.replace(list.clone()).expect("a good list");
                let before = std::mem::take(&mut self.list);
                for instance in list {
                    let was = before.iter().find(|(old, _)| old.id == instance.id);
                    self.put(instance, was.cloned());
                }
            }
            Step::Edit(changes) => self.edit(changes),
            Step::Tick(when) => return self.tick(self.at(when)),
            Step::Report(at, load, when) if !self.list.is_empty() => {
                let now = self.at(when);
                let id = &self.list[at.index(self.list.len())].0.id;
                prop_assert_eq!(self.pool.report_load_at(id, load, now), Ok(()));
                self.lives.passes(now);
            }
            Step::Done(..) | Step::Drop(_) | Step::Report(..) => {}
        }
        Ok(())
    }

    /// The next of the list, which was `was`.
    fn put(&mut self, instance: Instance, was: Option<(Instance, usize)>) {
        let life = match was {
            Some((old, life)) => {
                let can_be_used = |instance: &Instance| instance.healthy && instance.enabled;
                if can_be_used(&instance) && !can_be_used(&old) {
                    self.lives.is_up_again(life);
                }
                life
            }
            None => self.lives.comes(true),
        };
        self.list.push((instance, life));
    }

    fn edit(&mut self, changes: Vec<Change>) {
        let before = self.list.clone();
        let mut next: Vec<(Instance, bool)> =
            before.iter().map(|(instance, _)| (instance.clone(), true)).collect();
        let changed = self.pool.edit(|edit| {
            for change in changes {
                let mut of = |at: Index, set: &dyn Fn(&mut Instance)| {
                    let at = (!next.is_empty()).then(|| at.index(next.len()))?;
                    set(&mut next[at].0);
                    Some(next[at].0.id.to_string())
                };
                match change {
                    Change::Weight(at, weight) => {
                        let id = of(at, &|held| held.weight = weight);
                        id.map_or(Ok(()), |id| edit.set_weight(&id, weight))?;
                    }
                    Change::Healthy(at, healthy) => {
                        let id = of(at, &|held| held.healthy = healthy);
                        id.map_or(Ok(()), |id| edit.set_healthy(&id, healthy))?;
                    }
                    Change::Enabled(at, enabled) => {
                        let id = of(at, &|held| held.enabled = enabled);
                        id.map_or(Ok(()), |id| edit.set_enabled(&id, enabled))?;
                    }
                    Change::Remove(at) if !next.is_empty() => {
                        let (gone, _) = next.remove(at.index(next.len()));
                        edit.remove(&gone.id)?;
                    }
                    Change::Anew(at) if !next.is_empty() => {
                        let (gone, _) = next.remove(at.index(next.len()));
                        edit.remove(&gone.id)?;
                        edit.upsert(gone.clone())?;
                        next.push((gone, false));
                    }
                    Change::Upsert(instance) => {
                        edit.upsert(instance.clone())?;
                        match next.iter_mut().find(|(held, _)| held.id == instance.id) {
                            Some(held) => held.0 = instance,
                            None => next.push((instance, false)),
                        }
                    }
                    Change::Remove(_) | Change::Anew(_) => {}
                }
            }
            Ok(())
        });
        changed.expect("a good edit");
        self.list.clear();
        for (instance, stays) in next {
            let was = before.iter().find(|(old, _)| stays && old.id == instance.id).cloned();
            self.put(instance, was);
        }
    }

    fn tick(&mut self, now: u64) -> TestCaseResult {
        self.told = self.pool.tick_at(now);
        let list: Vec<usize> = self.list.iter().map(|(_, life)| *life).collect();
        self.lives.tick(now, &list);
        prop_assert!(self.told.is_some_and(|told| told > self.lives.now), "{:?} is to be next", self.told);
        for life in list {
            let until = self.lives.lives[life].ejected_until;
            prop_assert!(
                until.is_none_or(|until| self.told <= Some(until)),
                "later than a return, {:?}",
                until
            );
        }
        Ok(())
    }

    fn lease(&mut self, by: Index, own: bool, only: Option<Index>) -> TestCaseResult {
        let target = only
            .filter(|_| !self.list.is_empty())
            .map(|at| self.list[at.index(self.list.len())].0.id.clone());
        let others: Vec<&str> = match &target {
            Some(target) => IDS.into_iter().filter(|id| **id != **target).collect(),
            None => Vec::new(),
        };
        let request = Request::new().exclude(&others);
        let at = by.index(self.hands.len());
        let (route, picker) = &mut self.hands[at];
        let outcome = if own { picker.lease(&request) } else { route.lease(&request) };
        let is_asked_for = |instance: &Instance| target.as_ref().is_none_or(|target| *target == instance.id);
        let is_up = |(instance, life): &&(Instance, usize)| {
            let out = self.lives.lives[*life].ejected_until.is_some();
            instance.healthy && instance.enabled && instance.weight > 0.0 && !out
        };
        let is_full = |(instance, life): &&(Instance, usize)| {
            instance.max_in_flight.is_some_and(|most| self.lives.lives[*life].open >= most)
        };
        let asked = || self.list.iter().filter(|(instance, _)| is_asked_for(instance)).filter(is_up);
        match outcome {
            Ok(lease) => {
                let found =
                    asked().filter(|held| !is_full(held)).find(|(held, _)| held.id == lease.instance().id);
                prop_assert!(found.is_some(), "{:?} may not be leased", lease.instance());
                if let Some((instance, life)) = found.cloned() {
                    prop_assert_eq!(instance.weight, lease.instance().weight);
                    self.lives.lives[life].open += 1;
                    let was = lease.instance().clone();
                    self.leases.push((lease, was, life));
                }
            }
            Err(refused) => {
                prop_assert!(asked().all(|held| is_full(&held)), "{:?} though there is room", refused);
                let expected = if self.list.is_empty() {
                    Reason::Empty
                } else if asked().next().is_some() {
                    Reason::Saturated
                } else if self.list.iter().any(|held| is_up(&held)) {
                    Reason::Excluded
                } else if self.list.iter().all(|(instance, _)| instance.weight == 0.0) {
                    Reason::Drained
                } else {
                    Reason::Unavailable
                };
                prop_assert_eq!(refused.reason, expected);
            }
        }
        Ok(())
    }

    /// Everything that is told of live state.
    fn agrees(&self) -> TestCaseResult {
        let status = self.pool.status();
        let ejected: Vec<(&str, u32)> = status.ejected.iter().map(|one| (&*one.id, one.times)).collect();
        let out = |life: &usize| self.lives.lives[*life].ejected_until.is_some();
        let expected: Vec<(&str, u32)> = self
            .list
            .iter()
            .filter(|(_, life)| out(life))
            .map(|(instance, life)| (&*instance.id, self.lives.lives[*life].times))
            .collect();
        prop_assert_eq!(ejected, expected, "who is ejected, and how often");
        prop_assert_eq!(self.pool.tick_due(), self.lives.due, "whether a tick is due");
        let told = self.hands[0].0.explain(&PLAIN).live;
        for (instance, life) in &self.list {
            let state: Option<&InstanceState> = told.iter().find(|state| state.id == instance.id);
            let open = state.map_or(0, |state| state.in_flight);
            prop_assert_eq!(open, self.lives.lives[*life].open, "leases of {}", &instance.id);
            let ramp = state.map_or(1.0, |state| state.ramp);
            let follows = match self.lives.ramp(*life) {
                None => ramp == 1.0,
                Some(part) => ramp <= part + 1e-9 && part - ramp < 0.05 + 1e-9,
            };
            prop_assert!(
                out(life) || follows,
                "{} ramps at {}, {:?}",
                instance.id,
                ramp,
                self.lives.ramp(*life)
            );
        }
        prop_assert_eq!(told.iter().filter(|state| state.ejected).count(), status.ejected.len());
        Ok(())
    }
}
