//! The one way a pool changes: build aside, publish, and free after the lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use super::edit::{self, Draft};
use crate::compile::roster::{Entry, Roster};
use crate::compile::{Change, CompiledRoute, Context, Snapshot};
use crate::error::UpdateError;
use crate::instance::Instance;
use crate::live::Live;
use crate::position::PositionBook;
use crate::publish::{CommitGate, Hold, Published, Retired, Waiting, watch_forks};
use crate::release::{Hook, Releases, Token};
use crate::rng::mix2;
use crate::route::{Route, RouteShared};
use crate::spec::{PoolSpec, RouteSpec};

/// What routes, pickers and leases share of a pool.
pub(crate) struct Core {
    pub(crate) published: Published<Snapshot>,
    pub(crate) live: Live,
    pub(crate) spec: PoolSpec,
    pub(crate) seed: Option<u64>,
    zone: Option<Arc<str>>,
    releases: Option<Arc<Releases>>,
    writer: Mutex<Writer>,
    retired: Arc<Retired>,
    /// Numbers not used before.
    stamps: AtomicU64,
    made: Instant,
}

/// What only writers touch.
struct Writer {
    /// The published snapshot.
    current: Hold<Snapshot>,
    waiting: Waiting<Snapshot>,
    routes: Vec<Option<Record>>,
    slots: Slots,
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

/// Slots of live state that are free.
#[derive(Clone, Default)]
struct Slots {
    free: Vec<u32>,
    made: u32,
}

/// A change of the list.
pub(crate) enum Update {
    First(Vec<Instance>),
    Replace(Vec<Instance>),
    Edit(Vec<edit::Change>),
}

/// The next list, before it is compiled.
struct Next {
    list: Vec<Hold<Entry>>,
    slots: Vec<u32>,
    change: Change,
    /// Whether anything is different at all.
    changed: bool,
    fresh: Vec<Arc<Token>>,
    /// Slots whose ids are new.
    reset: Vec<u32>,
    /// Slots whose ids have gone.
    gone: Vec<u32>,
    /// Reports that came with the list.
    loads: Vec<(u32, f64)>,
}

impl Core {
    pub(super) fn new(spec: PoolSpec, seed: Option<u64>, hook: Option<Hook>) -> Arc<Self> {
        watch_forks();
        let retired = Retired::new();
        let zone: Option<Arc<str>> = spec.zone.as_deref().map(Arc::from);
        let roster = Roster::build(Vec::new(), Arc::from([]), None, None, zone.clone());
        let first = Hold::new(Snapshot::new(0, roster, Vec::new()), &retired);
        let writer = Writer {
            current: first.clone(),
            waiting: Waiting::new(),
            routes: Vec::new(),
            slots: Slots::default(),
            accepted: 0,
            refused: None,
        };
        Arc::new(Self {
            published: Published::new(first),
            live: Live::new(spec.load.max_age_s),
            spec,
            seed,
            zone,
            releases: hook.map(Releases::new),
            writer: Mutex::new(writer),
            retired,
            stamps: AtomicU64::new(1),
            made: Instant::now(),
        })
    }

    /// Nanoseconds since the pool was made.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.made.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Publishes all of the update or nothing of it, and returns the version in force.
    pub(super) fn commit(&self, update: Update, now: u64) -> Result<u64, UpdateError> {
        let _after = Cleaner(self);
        let gate = CommitGate::enter();
        let mut writer = self.writer.lock();
        let outcome = self.commit_locked(&mut writer, update, now);
        match &outcome {
            Ok(_) => (writer.accepted, writer.refused) = (now, None),
            Err(error) => writer.refused = Some((error.to_string(), now)),
        }
        self.unlock(writer, gate);
        outcome
    }

    /// Notes an update that was refused before it got here.
    pub(super) fn refuse(&self, error: &UpdateError, now: u64) {
        self.writer.lock().refused = Some((error.to_string(), now));
    }

    fn commit_locked(&self, writer: &mut Writer, update: Update, now: u64) -> Result<u64, UpdateError> {
        let roster = &writer.current.roster;
        let first = matches!(update, Update::First(_));
        let drafts = match update {
            Update::First(instances) | Update::Replace(instances) => edit::replace(roster, instances)?,
            Update::Edit(changes) => edit::apply(roster, changes)?,
        };
        if drafts.is_empty() && self.spec.keep_last && !first {
            return Err(UpdateError::whole("instances", "0", "must not be empty while keep_last is set"));
        }
        let mut slots = writer.slots.clone();
        let next = self.next(roster, drafts, &mut slots);
        self.live.grow(slots.made as usize);
        self.live.set_now(now);
        next.reset.iter().for_each(|slot| self.live.reset(*slot));
        if next.changed || first {
            let version = writer.current.version + 1;
            let snapshot = self.compile(writer, &next, version);
            self.publish(writer, snapshot);
            next.fresh.iter().for_each(|token| token.take());
            slots.free.extend(&next.gone);
            writer.slots = slots;
        }
        next.loads.iter().for_each(|(slot, load)| self.live.report(*slot, *load, self.live.now()));
        Ok(writer.current.version)
    }

    /// The list to be, with what is different in it.
    fn next(&self, roster: &Roster, drafts: Vec<Draft>, slots: &mut Slots) -> Next {
        let mut next = Next {
            list: Vec::with_capacity(drafts.len()),
            slots: Vec::with_capacity(drafts.len()),
            change: Change { same_list: drafts.len() == roster.len(), retagged: false, touched: Vec::new() },
            changed: drafts.len() != roster.len(),
            fresh: Vec::new(),
            reset: Vec::new(),
            gone: Vec::new(),
            loads: Vec::new(),
        };
        let mut stays = vec![false; roster.len()];
        for (index, draft) in drafts.into_iter().enumerate() {
            let was = draft.was();
            let slot = match was {
                Some(was) => {
                    stays[was as usize] = true;
                    roster.slot(was)
                }
                None => {
                    let slot = slots.take();
                    next.reset.push(slot);
                    slot
                }
            };
            let moved = was != Some(index as u32);
            next.change.same_list &= !moved;
            next.changed |= moved;
            let old = was.map(|was| &roster.list[was as usize]);
            let entry = match (draft, old) {
                (Draft::Changed(_, instance) | Draft::New(instance), old) => {
                    if let Some(load) = instance.load {
                        next.loads.push((slot, load));
                    }
                    self.entry(instance, old, index as u32, &mut next)
                }
                (Draft::Kept(was), _) => roster.list[was as usize].clone(),
            };
            next.list.push(entry);
            next.slots.push(slot);
        }
        next.change.retagged |= !next.change.same_list;
        let gone = stays.iter().enumerate().filter(|(_, stays)| !**stays);
        next.gone = gone.map(|(index, _)| roster.slot(index as u32)).collect();
        next
    }

    /// The entry of an instance that an update named: the old one where it is the same.
    fn entry(
        &self,
        instance: Instance,
        old: Option<&Hold<Entry>>,
        index: u32,
        next: &mut Next,
    ) -> Hold<Entry> {
        if let Some(old) = old {
            // A list without a load leaves the last report, so it is no difference.
            let same = Instance { load: old.instance.load, ..instance.clone() } == old.instance;
            if same && (instance.load.is_none() || instance.load == old.instance.load) {
                return old.clone();
            }
            next.change.retagged |= instance.tags != old.instance.tags || instance.zone != old.instance.zone;
        }
        next.changed = true;
        next.change.touched.push(index);
        let carried =
            old.and_then(|old| old.token.clone()).filter(|token| token.user_data() == instance.user_data);
        let token = match (&self.releases, carried) {
            (Some(_), Some(token)) => Some(token),
            (Some(releases), None) => {
                let token = releases.token(instance.user_data);
                next.fresh.push(token.clone());
                Some(token)
            }
            (None, _) => None,
        };
        Hold::new(Entry { instance, token }, &self.retired)
    }

    /// The snapshot of the next list, every route compiled.
    fn compile(&self, writer: &Writer, next: &Next, version: u64) -> Snapshot {
        let before = &writer.current.roster;
        let ids = next.change.same_list.then(|| before.ids.clone());
        let tags = (!next.change.retagged).then(|| before.tags.clone());
        let slots: Arc<[u32]> =
            if next.change.same_list { before.slots.clone() } else { next.slots.as_slice().into() };
        let roster = Roster::build(next.list.clone(), slots, ids, tags, self.zone.clone());
        let compile = |(number, record): (usize, &Option<Record>)| {
            let record = record.as_ref().filter(|record| record.is_alive())?;
            let before = writer.current.routes.get(number).and_then(Option::as_deref);
            Some(Arc::new(self.compile_route(record, before, &roster, &next.change)))
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
        positions.make_room();
        compiled
    }

    /// Swaps the snapshot in. Nothing here can fail.
    fn publish(&self, writer: &mut Writer, snapshot: Snapshot) {
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
        let _after = Cleaner(self);
        let gate = CommitGate::enter();
        let mut writer = self.writer.lock();
        let number = writer.routes.iter().position(Option::is_none).unwrap_or(writer.routes.len());
        let record = Record {
            spec: Arc::new(spec),
            positions: Arc::default(),
            seed: self.seed.map(|seed| mix2(seed, number as u64)),
            alive: Arc::new(AtomicBool::new(true)),
        };
        let current = &writer.current;
        let nothing = Change { same_list: true, retagged: true, touched: Vec::new() };
        let compiled = Arc::new(self.compile_route(&record, None, &current.roster, &nothing));
        let mut routes: Vec<Option<Arc<CompiledRoute>>> = current.routes.clone();
        routes.resize(routes.len().max(number + 1), None);
        routes[number] = Some(compiled);
        for (number, record) in writer.routes.iter().enumerate() {
            if record.as_ref().is_some_and(|record| !record.is_alive()) {
                routes[number] = None;
            }
        }
        let roster = current.roster.share();
        let snapshot = Snapshot::new(current.version, roster, routes);
        let count = writer.routes.len().max(number + 1);
        writer.routes.resize(count, None);
        writer.routes[number] = Some(record.clone());
        self.publish(&mut writer, snapshot);
        self.unlock(writer, gate);
        let Record { spec, positions, seed, alive } = record;
        Route::new(RouteShared::new(self.clone(), number, spec, positions, seed, alive))
    }

    /// Takes out what no reader can see any more, gives back the lock, and only then lets go of it.
    fn unlock(&self, mut writer: MutexGuard<'_, Writer>, gate: CommitGate) {
        let quiet = writer.waiting.take_quiet();
        drop(writer);
        drop(gate);
        drop(quiet);
    }

    pub(super) fn retired(&self) -> usize {
        self.writer.lock().waiting.len() + self.retired.len()
    }

    /// When the last update was accepted, the one refused since, and the number of routes.
    pub(super) fn history(&self) -> (u64, Option<(String, u64)>, usize) {
        let writer = self.writer.lock();
        let routes = writer.routes.iter().flatten().filter(|record| record.is_alive()).count();
        (writer.accepted, writer.refused.clone(), routes)
    }

    /// Frees what nobody holds and tells the host. Not under a lock: destructors and the hook run here.
    fn clean(&self) {
        self.retired.empty();
        if let Some(releases) = &self.releases {
            releases.tell();
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // No handle is left, so no pick is under way and the last snapshots are nobody's.
        let writer = self.writer.get_mut();
        drop(std::mem::replace(&mut writer.waiting, Waiting::new()));
        let last = Hold::new(
            Snapshot::new(0, Roster::build(Vec::new(), Arc::from([]), None, None, None), Vec::new()),
            &self.retired,
        );
        let mut waiting = Waiting::new();
        writer.current = last.clone();
        self.published.swap(last, &mut waiting);
        drop(waiting);
        self.clean();
    }
}

/// Cleans up when a commit is over, also one that panicked.
struct Cleaner<'a>(&'a Core);

impl Drop for Cleaner<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.clean();
        }
    }
}

impl Record {
    fn is_alive(&self) -> bool {
        // Relaxed: a route compiled once more than needed does no harm.
        self.alive.load(Ordering::Relaxed)
    }
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        })
    }
}
