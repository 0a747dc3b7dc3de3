//! The one way a pool changes: build aside, publish, and free after the lock.

use std::sync::{Arc, LazyLock};

use super::edit;
use super::next::Next;
use super::tick::Clock;
use crate::compile::roster::{Entry, Roster};
use crate::compile::{Change, CompiledRoute, Context, Snapshot};
use crate::error::UpdateError;
use crate::fault;
use crate::instance::Instance;
use crate::live::Live;
use crate::position::PositionBook;
use crate::publish::{CommitGate, Hold, Published, Retired, Waiting, watch_forks};
use crate::release::{Hook, Releases};
use crate::rng::mix2;
use crate::route::{Route, RouteShared};
use crate::spec::{PoolSpec, RouteSpec};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, global};

/// What routes and pickers share of a pool.
pub(crate) struct Core {
    pub(crate) published: Published<Snapshot>,
    pub(crate) live: Arc<Live>,
    pub(crate) spec: PoolSpec,
    pub(crate) seed: Option<u64>,
    pub(super) releases: Option<Arc<Releases>>,
    pub(super) retired: Arc<Retired>,
    writer: Mutex<Writer>,
    /// Numbers not used before.
    stamps: AtomicU64,
}

/// What only writers touch.
pub(super) struct Writer {
    /// The published snapshot.
    pub(super) current: Hold<Snapshot>,
    pub(super) clock: Clock,
    waiting: Waiting<Snapshot>,
    routes: Vec<Option<Record>>,
    accepted: u64,
    refused: Option<(String, u64)>,
}

/// What compiling a route takes.
#[derive(Clone)]
struct Record {
    spec: Arc<RouteSpec>,
    positions: Arc<PositionBook>,
    seed: Option<u64>,
    /// Turned off when the last handle is dropped; the next publish leaves the route out.
    alive: Arc<AtomicBool>,
}

/// A change of the list.
pub(super) enum Update {
    First(Vec<Instance>),
    Replace(Vec<Instance>),
    Edit(Vec<edit::Change>),
}

/// What the writer remembers of updates, for the status.
pub(super) struct History {
    /// When the last one was accepted.
    pub(super) accepted: u64,
    /// The one refused since, and when.
    pub(super) refused: Option<(String, u64)>,
    pub(super) routes: usize,
}

impl Core {
    pub(super) fn new(spec: PoolSpec, seed: Option<u64>, hook: Option<Hook>) -> Arc<Self> {
        watch_forks();
        let releases = hook.map(Releases::new);
        let told = releases.clone();
        let retired = Retired::new(move || {
            if let Some(releases) = &told {
                releases.tell();
            }
        });
        let zone: Option<Arc<str>> = spec.zone.as_deref().map(Arc::from);
        let first = Hold::new(Snapshot::new(0, Roster::empty(zone), Vec::new()), &retired);
        let writer = Writer {
            current: first.clone(),
            clock: Clock::default(),
            waiting: Waiting::new(),
            routes: Vec::new(),
            accepted: 0,
            refused: None,
        };
        Arc::new(Self {
            published: Published::new(first),
            live: Arc::new(Live::new(&spec)),
            spec,
            seed,
            releases,
            retired,
            writer: Mutex::new(writer),
            stamps: AtomicU64::new(1),
        })
    }

    /// Nanoseconds since the pool was made.
    pub(crate) fn now(&self) -> u64 {
        self.live.clock()
    }

    /// Runs `change` as the only writer. What it lets go of is freed, and the host told, after the lock.
    pub(super) fn write<T>(&self, change: impl FnOnce(&mut Writer) -> T) -> T {
        let _after = Cleaner(self);
        // Held longer than the lock, so that a fork finds the lock free.
        let _gate = CommitGate::enter();
        let mut writer = self.writer.lock();
        let outcome = change(&mut writer);
        let quiet = writer.waiting.take_quiet();
        drop(writer);
        drop(quiet);
        outcome
    }

    /// Publishes all of the update or nothing of it, and returns the version in force.
    pub(super) fn commit(&self, update: Update, now: u64) -> Result<u64, UpdateError> {
        self.write(|writer| {
            let outcome = self.commit_locked(writer, update, now);
            match &outcome {
                Ok(_) => (writer.accepted, writer.refused) = (now, None),
                Err(error) => writer.refused = Some((error.to_string(), now)),
            }
            outcome
        })
    }

    /// Notes an update that was refused before it got here.
    pub(super) fn refuse(&self, error: &UpdateError, now: u64) {
        self.write(|writer| writer.refused = Some((error.to_string(), now)));
    }

    fn commit_locked(&self, writer: &mut Writer, update: Update, now: u64) -> Result<u64, UpdateError> {
        let before = &writer.current.roster;
        let first = matches!(update, Update::First(_));
        let drafts = match update {
            Update::First(instances) | Update::Replace(instances) => edit::replace(before, instances)?,
            Update::Edit(changes) => edit::apply(before, changes)?,
        };
        if drafts.is_empty() && self.spec.keep_last && !first {
            return Err(UpdateError::whole("instances", "0", "must not be empty while keep_last is set"));
        }
        fault::point("drafts");
        let next = Next::of(self, before, drafts);
        fault::point("next list");
        self.live.grow(self.live.slots());
        let now = self.live.set_now(now);
        if next.changed || first {
            // Slots that arrived are nobody's yet, so that all of this is undone by dropping it.
            next.arrived.iter().for_each(|slot| self.live.reset(*slot));
            let ramps = self.spec.slow_start.is_some() && !first;
            next.arrived.iter().for_each(|slot| writer.clock.arrived(*slot, ramps, now));
            next.back.iter().for_each(|slot| writer.clock.back(*slot, ramps, now));
            fault::point("live state");
            let same = next.change.same_list;
            let slots: Arc<[u32]> = if same { before.slots.clone() } else { next.slots.as_slice().into() };
            let ids = same.then(|| before.ids.clone());
            let tags = (!next.change.retagged).then(|| before.tags.clone());
            let standing = |entry: &Entry| writer.clock.standing(entry);
            let roster = Roster::build(next.list, slots, ids, tags, before.zone.clone(), &standing);
            let snapshot = self.compile(writer, roster, &next.change, writer.current.version + 1);
            fault::point("before the swap");
            self.publish(writer, snapshot);
            next.fresh.iter().for_each(|token| token.take());
        }
        next.loads.iter().for_each(|(slot, load)| self.live.report(*slot, *load, now));
        Ok(writer.current.version)
    }

    /// The snapshot of a roster, every route compiled.
    pub(super) fn compile(&self, writer: &Writer, roster: Roster, change: &Change, version: u64) -> Snapshot {
        let compile = |(number, record): (usize, &Option<Record>)| {
            let record = record.as_ref().filter(|record| record.is_alive())?;
            let before = writer.current.routes.get(number).and_then(Option::as_deref);
            Some(Arc::new(self.compile_route(record, before, &roster, change)))
        };
        let routes = writer.routes.iter().enumerate().map(compile).collect();
        Snapshot::new(version, roster, routes)
    }

    fn compile_route(
        &self,
        record: &Record,
        before: Option<&CompiledRoute>,
        roster: &Roster,
        change: &Change,
    ) -> CompiledRoute {
        let positions = &record.positions;
        let context = Context { roster, change, positions, stamps: &self.stamps, seed: record.seed };
        let compiled = CompiledRoute::compile(&record.spec, before, &context);
        fault::point("route");
        positions.make_room();
        fault::point("room for cursors");
        compiled
    }

    /// Swaps the snapshot in. Nothing here can fail.
    pub(super) fn publish(&self, writer: &mut Writer, snapshot: Snapshot) {
        let next = Hold::new(snapshot, &self.retired);
        self.published.swap(next.clone(), &mut writer.waiting);
        writer.current = next;
        writer.routes.iter_mut().for_each(|record| {
            if record.as_ref().is_some_and(|record| !record.is_alive()) {
                *record = None;
            }
        });
    }

    /// Makes a route part of the snapshot.
    pub(super) fn add_route(self: &Arc<Self>, spec: RouteSpec) -> Route {
        let (number, record) = self.write(|writer| {
            let number = writer.routes.iter().position(Option::is_none).unwrap_or(writer.routes.len());
            let record = Record {
                spec: Arc::new(spec),
                positions: Arc::default(),
                seed: self.seed.map(|seed| mix2(seed, number as u64)),
                alive: Arc::new(AtomicBool::new(true)),
            };
            let current = &writer.current;
            let everything = Change { same_list: true, retagged: true, touched: Vec::new() };
            let compiled = Arc::new(self.compile_route(&record, None, &current.roster, &everything));
            let mut routes: Vec<Option<Arc<CompiledRoute>>> = current.routes.clone();
            let count = writer.routes.len().max(number + 1);
            routes.resize(count, None);
            for (route, record) in routes.iter_mut().zip(&writer.routes) {
                if !record.as_ref().is_some_and(Record::is_alive) {
                    *route = None;
                }
            }
            routes[number] = Some(compiled);
            fault::point("new route");
            let snapshot = Snapshot::new(current.version, current.roster.share(), routes);
            fault::point("before the swap");
            writer.routes.resize(count, None);
            writer.routes[number] = Some(record.clone());
            self.publish(writer, snapshot);
            (number, record)
        });
        let Record { spec, positions, seed, alive } = record;
        Route::new(RouteShared::new(self.clone(), number, spec, positions, seed, alive))
    }

    /// Values that wait to be freed.
    pub(super) fn retired(&self) -> usize {
        self.write(|writer| writer.waiting.len()) + self.retired.len()
    }

    pub(super) fn history(&self) -> History {
        self.write(|writer| History {
            accepted: writer.accepted,
            refused: writer.refused.clone(),
            routes: writer.routes.iter().flatten().filter(|record| record.is_alive()).count(),
        })
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // No handle is left, so no pick is under way and the last snapshots are nobody's.
        let writer = self.writer.get_mut();
        writer.current = nothing();
        self.published.swap(nothing(), &mut writer.waiting);
        drop(std::mem::replace(&mut writer.waiting, Waiting::new()));
        // Leases may be left, whose instances hold nothing else.
        self.retired.close();
    }
}

global! {
    static NOTHING: LazyLock<Hold<Snapshot>> =
        LazyLock::new(|| Hold::new(Snapshot::new(0, Roster::empty(None), Vec::new()), &Retired::new(|| ())));
}

/// The snapshot of no list, for who must hold one and wants none. One for the whole process, never freed.
pub(crate) fn nothing() -> Hold<Snapshot> {
    NOTHING.clone()
}

/// Frees what nobody holds and tells the host, when a change is over, but where it panicked.
struct Cleaner<'a>(&'a Core);

impl Drop for Cleaner<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.retired.empty();
        }
    }
}

impl Record {
    fn is_alive(&self) -> bool {
        // Relaxed: a route compiled once more than needed does no harm.
        self.alive.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
#[allow(dead_code, reason = "it serves other tests too")]
#[path = "../../tests/common/matrix.rs"]
mod matrix;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::matrix::{instances, requests, specs, variants};
    use super::*;
    use crate::{Lease, NoInstance, Outcome, Picked, Pool, PoolOptions};

    fn end(lease: Result<Lease, NoInstance>, outcome: Outcome) {
        if let Ok(lease) = lease {
            lease.done(outcome, Duration::from_millis(2));
        }
    }

    #[test]
    fn every_pick_and_every_lease_goes_on_while_every_lock_of_the_pool_is_held() {
        for limit in [None, Some(2)] {
            let list = instances().into_iter().map(|instance| Instance { max_in_flight: limit, ..instance });
            let options = PoolOptions::new()
                .spec(PoolSpec::new().zone("z1").ejection(Default::default()))
                .release(|_| ());
            let pool = Pool::with(options, list).expect("a good list");
            let of = |policy| specs(&policy).into_iter().map(|spec| pool.route(spec).expect("a good spec"));
            let mut hands: Vec<_> =
                variants().into_iter().flat_map(of).map(|route| (route.picker(), route)).collect();
            let (done, finished) = mpsc::channel();
            let core = pool.core();
            let held = core.writer.lock();
            let books: Vec<_> = held.routes.iter().flatten().map(|record| record.positions.clone()).collect();
            let positions: Vec<_> = books.iter().map(|book| book.keep_locked()).collect();
            let slots = core.live.keep_slots_locked();
            let releases = core.releases.clone().expect("there is a hook");
            let due = releases.keep_locked();
            let reader = std::thread::spawn(move || {
                let mut picks = 0;
                for (picker, route) in &mut hands {
                    for request in requests() {
                        picks += usize::from(route.pick(&request).is_ok());
                        picks += usize::from(picker.pick(&request).is_ok());
                        let kept = route.pick(&request).map(|pick| pick.to_owned());
                        let mut out = [Picked::default(); 5];
                        let _ = route.pick_distinct(&request, &mut out);
                        let _ = picker.pick_distinct(&request, &mut out);
                        end(route.lease(&request), Outcome::Success);
                        end(picker.lease(&request), Outcome::Failure);
                        drop((kept, route.lease(&request), picker.lease(&request)));
                    }
                    picker.rest();
                }
                done.send(picks).expect("the test waits");
                // The handles go when the lock is free again: the last of a pool frees it.
                hands
            });
            let waited = finished.recv_timeout(Duration::from_secs(300));
            assert_eq!(positions.len(), books.len());
            drop((due, slots, positions, held));
            assert!(waited.is_ok_and(|picks| picks > 1_000), "readers waited for a lock");
            assert!(reader.join().is_ok());
        }
    }
}
