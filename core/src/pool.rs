//! The pool: the instances of one service, and who may change them how.

mod commit;
mod edit;
mod next;
mod status;
mod tick;

use std::sync::Arc;
use std::time::Duration;

pub use edit::Edit;
pub use status::{Ejected, Refused, Status};

use commit::Update;
pub(crate) use commit::{Core, nothing};

use crate::error::{PoolError, RouteError, UpdateError};
use crate::instance::{Instance, check_number};
use crate::route::Route;
use crate::spec::{PoolSpec, RouteSpec};

/// The instances of one service, their live state, and the routes compiled for them.
///
/// Clones share the pool. Routes and pickers keep it alive; leases and kept picks outlive it.
///
/// # Updates
///
/// [`replace`](Self::replace) and [`edit`](Self::edit) publish all of their changes at once or nothing: a pick sees the
/// list from before or the list from after. A pick that begins after they have returned sees the new one. What an update
/// did not name is not disturbed: positions of rotations, reported loads and live state belong to ids and sets, not to
/// snapshots. A refused update changes nothing; its error names the instance, the field, the value and the limit.
///
/// # Limits
///
/// | what | limit |
/// |---|---|
/// | instances | [`crate::MAX_INSTANCES`] |
/// | id, address | at least one byte; ids differ |
/// | weight, load | finite, not negative |
/// | tags | [`crate::MAX_TAGS`] pairs of key and value |
/// | `max_in_flight` | at least 1 |
///
/// # Threads and processes
///
/// Everything may be called from any thread. Writers wait for each other; no reader ever waits. After a `fork` the child
/// draws other numbers than its parent, unless the pool has a seed. A fork waits for updates that are under way.
///
/// ```
/// use pointsman::{Instance, Policy, Pool, Request, RouteSpec, Tier};
///
/// let pool = Pool::new([
///     Instance::new("10.0.0.1:8080").weight(8.0).tag("version", "stable"),
///     Instance::new("10.0.0.2:8080").weight(2.0).tag("version", "gray"),
/// ])?;
/// let route = pool.route(RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().matching("version")).tier(Tier::new()))?;
///
/// let pick = route.pick(&Request::new().tags(&[("version", "gray")]))?;
/// assert_eq!(&*pick.instance().address, "10.0.0.2:8080");
///
/// pool.edit(|edit| {
///     edit.set_weight("10.0.0.1:8080", 4.0)?;
///     edit.remove("10.0.0.2:8080")
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    core: Arc<Core>,
}

/// What a pool is made with, besides its instances.
#[derive(Default)]
#[non_exhaustive]
pub struct PoolOptions {
    /// The settings that are the same JSON everywhere.
    pub spec: PoolSpec,
    /// Makes every choice reproducible: the same seed, commits and requests in the same order give the same picks, on every
    /// platform and in forked children. For tests. Routes then share one generator, at one more atomic addition for each
    /// number drawn.
    pub seed: Option<u64>,
    release: Option<Box<dyn Fn(u64) + Send + Sync>>,
}

impl PoolOptions {
    /// The default settings, no seed, no hook.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the settings that are the same JSON everywhere.
    pub fn spec(mut self, spec: PoolSpec) -> Self {
        self.spec = spec;
        self
    }

    /// Makes every choice reproducible.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Calls the hook exactly once for each instance value that nothing can return any more, with its user data: after the
    /// instance has left or its user data was replaced, and the last pick, picker or lease that could return it is done.
    ///
    /// An edit of other fields, or a list that gives the id the same user data again, keeps the value. The user data of a
    /// refused update stays the caller's. The hook runs on the thread of an update, a `tick` or the last drop, outside every
    /// lock, so that it may use the pool; never inside a pick. One that panics has had its call: the panic reaches that
    /// thread's caller, whose update is in force, and the next update goes on with the rest.
    pub fn release(mut self, hook: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.release = Some(Box::new(hook));
        self
    }
}

impl Pool {
    /// A pool with default settings.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub fn new(instances: impl IntoIterator<Item = Instance>) -> Result<Self, UpdateError> {
        let pool = Self::empty(PoolOptions::new());
        pool.core.commit(Update::First(instances.into_iter().collect()), pool.core.now())?;
        Ok(pool)
    }

    /// A pool with the given options.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace); and a pool spec outside its limits, with the field's path in the spec.
    pub fn with(
        options: PoolOptions,
        instances: impl IntoIterator<Item = Instance>,
    ) -> Result<Self, PoolError> {
        options.spec.check()?;
        let pool = Self::empty(options);
        pool.core.commit(Update::First(instances.into_iter().collect()), pool.core.now())?;
        Ok(pool)
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    fn empty(options: PoolOptions) -> Self {
        Self { core: Core::new(options.spec, options.seed, options.release) }
    }

    /// Replaces the list. Returns the version that is in force afterwards; an identical list leaves it, and every position.
    ///
    /// Cost: O(n + tag pairs) and the tables of all routes, on the calling thread; what did not change is shared.
    ///
    /// # Errors
    ///
    /// A value outside its limits, an id that comes twice, too many instances, or an empty list while `keep_last` is set.
    /// The pool is as it was, and [`status`](Self::status) tells of the refusal.
    pub fn replace(&self, instances: impl IntoIterator<Item = Instance>) -> Result<u64, UpdateError> {
        let update = Update::Replace(instances.into_iter().collect());
        self.core.commit(update, self.core.now())
    }

    /// Applies several changes in one publish. Returns the version that is in force afterwards.
    ///
    /// The closure runs outside every lock and records what is to be done: values are checked at the call, ids at the
    /// commit, against the list of then. If it returns an error or panics, nothing happened.
    ///
    /// Cost: O(n) with a small constant, and the tables of the sets that a change touches.
    ///
    /// # Errors
    ///
    /// The closure's own; an id that is not in the pool; otherwise as [`replace`](Self::replace).
    pub fn edit(
        &self,
        changes: impl FnOnce(&mut Edit) -> Result<(), UpdateError>,
    ) -> Result<u64, UpdateError> {
        let mut edit = Edit::default();
        match changes(&mut edit) {
            Ok(()) => self.core.commit(Update::Edit(edit.into_changes()), self.core.now()),
            Err(error) => {
                self.core.refuse(&error, self.core.now());
                Err(error)
            }
        }
    }

    /// Compiles a route for the current list. It follows every later update.
    ///
    /// # Errors
    ///
    /// A spec outside its limits, with the field's path. No list refuses a route, and no route refuses a list.
    pub fn route(&self, spec: RouteSpec) -> Result<Route, RouteError> {
        spec.check()?;
        Ok(self.core.add_route(spec))
    }

    /// Sets an instance's reported load, without a publish. O(1), atomics only.
    ///
    /// # Errors
    ///
    /// A load that is negative or not finite; an id that is not in the pool.
    pub fn report_load(&self, id: &str, load: f64) -> Result<(), UpdateError> {
        self.report_load_at(id, load, self.core.now())
    }

    /// The same at a given time, in nanoseconds since the pool was made. A step back is ignored.
    ///
    /// # Errors
    ///
    /// As [`report_load`](Self::report_load).
    pub fn report_load_at(&self, id: &str, load: f64, now_ns: u64) -> Result<(), UpdateError> {
        check_number(id, None, "load", load)?;
        let snapshot = self.core.published.load();
        let Some(index) = snapshot.roster.index_of(id) else { return Err(edit::unknown(id)) };
        self.core.live.set_now(now_ns);
        self.core.live.report(snapshot.roster.slot(index), load, self.core.live.now());
        Ok(())
    }

    /// The same for several ids. All or nothing: an error sets none.
    ///
    /// # Errors
    ///
    /// As [`report_load`](Self::report_load).
    pub fn report_loads<'a>(
        &self,
        loads: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), UpdateError> {
        let snapshot = self.core.published.load();
        let slot = |(id, load): (&str, f64)| {
            check_number(id, None, "load", load)?;
            let index = snapshot.roster.index_of(id).ok_or_else(|| edit::unknown(id))?;
            Ok((snapshot.roster.slot(index), load))
        };
        let loads: Vec<(u32, f64)> = loads.into_iter().map(slot).collect::<Result<_, UpdateError>>()?;
        let now = self.core.live.set_now(self.core.now());
        loads.into_iter().for_each(|(slot, load)| self.core.live.report(slot, load, now));
        Ok(())
    }

    /// Brings about what time has made due: ejections, returns and ramps. Also frees what waits to be freed. Returns how long
    /// there will be nothing to do; `None` where only leases can bring something about. Publishes only when the standing of an
    /// instance changed, and never raises the version.
    ///
    /// Call it from a timer, once a second say, and whenever [`tick_due`](Self::tick_due) is true.
    pub fn tick(&self) -> Option<Duration> {
        let now = self.core.now();
        self.tick_at(now).map(|due| Duration::from_nanos(due.saturating_sub(now)))
    }

    /// The same at a given time, in nanoseconds since the pool was made; a step back is ignored. Returns the time of the next
    /// work.
    pub fn tick_at(&self, now_ns: u64) -> Option<u64> {
        self.core.tick(now_ns)
    }

    /// Whether an instance has reached its limit of consecutive failures since the last tick. One relaxed load.
    #[inline]
    pub fn tick_due(&self) -> bool {
        self.core.live.is_due()
    }

    /// Number of instances.
    pub fn len(&self) -> usize {
        self.core.published.load().roster.len()
    }

    /// Whether there are no instances.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version in force: 1 at creation, one more for each commit that changed the list.
    pub fn version(&self) -> u64 {
        self.core.published.load().version
    }

    /// A copy of the instance, as the list in force has it.
    pub fn get(&self, id: &str) -> Option<Instance> {
        let snapshot = self.core.published.load();
        let index = snapshot.roster.index_of(id)?;
        snapshot.roster.instance(index).cloned()
    }

    /// A copy of the list in force, in its order.
    pub fn instances(&self) -> Vec<Instance> {
        self.core.published.load().roster.list.iter().map(|entry| entry.instance.clone()).collect()
    }

    /// The pool's settings.
    pub fn spec(&self) -> &PoolSpec {
        &self.core.spec
    }

    /// Version, age, staleness, and the last refused update.
    pub fn status(&self) -> Status {
        self.core.status(self.core.now())
    }

    /// Values that wait to be freed: snapshots and instances that some pick or picker may still be reading, and those that
    /// the next update frees. A pick that is held, of whatever pool of the process, holds up what was replaced since.
    pub fn retired(&self) -> usize {
        self.core.retired()
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("version", &self.version()).field("instances", &self.len()).finish()
    }
}
