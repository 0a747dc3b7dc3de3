//! Routes: a way to choose, made once and used for many requests.

use std::sync::Arc;

use crate::compile::Snapshot;
use crate::compile::explain::{self, Explanation, Share};
use crate::compile::lanes::Lane;
use crate::counters::{Counters, RouteCounters};
use crate::error::{NoInstance, Reason};
use crate::lease::Lease;
use crate::pick::{Pick, Picked, Picks};
use crate::picker::Picker;
use crate::policy::rotation::Rotation;
use crate::policy::table::Table;
use crate::pool::Core;
use crate::position::{Position, PositionBook};
use crate::publish::{process_offset, thread_draws, thread_shard};
use crate::request::{Request, Shape};
use crate::rng::{Draw, SharedDraw, mix2};
use crate::select::{Hand, select};
use crate::spec::RouteSpec;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// A way to choose: a policy and an ordered list of tiers, compiled for each list the pool publishes.
///
/// Clones are the same route and share its positions. Every call may come from any thread; none waits, locks or allocates,
/// but that a thread's first pick may allocate once.
///
/// # Rotations
///
/// `round_robin` and `weighted_round_robin` walk a position that all threads share and that survives updates, one for each
/// set (tier and matched values). Equal weights come in list order. Weights whose ratios are those of integers with a sum of
/// at most 4,096 get an exact cycle: every prefix of it is within 1 − 1/(2n−2) of each instance's ideal share, any window
/// within twice that. Other weights stay within 1 + 0.42 ln N after N picks from any start. A rotation starts at a random
/// turn, so that fresh pools and other processes do not march in step. Requests with exclusions or requirements take no turn;
/// they draw by weight among what is eligible.
#[derive(Clone)]
pub struct Route {
    shared: Arc<RouteShared>,
}

pub(crate) struct RouteShared {
    pub(crate) core: Arc<Core>,
    number: usize,
    pub(crate) spec: Arc<RouteSpec>,
    pub(crate) positions: Arc<PositionBook>,
    /// The generator that threads share in a seeded pool.
    generator: Option<AtomicU64>,
    /// Pickers made so far.
    pickers: AtomicU64,
    counters: Option<Counters>,
    alive: Arc<AtomicBool>,
}

/// The shared positions, and the generator of the thread or of the pool.
struct RouteHand<'a> {
    generator: Option<&'a AtomicU64>,
}

impl Draw for RouteHand<'_> {
    #[inline]
    fn draw(&mut self) -> u64 {
        match self.generator {
            None => {
                let [draw] = thread_draws();
                draw
            }
            Some(generator) => SharedDraw(generator).draw(),
        }
    }

    #[inline]
    fn draw_two(&mut self) -> [u64; 2] {
        match self.generator {
            None => thread_draws(),
            Some(generator) => [(); 2].map(|()| SharedDraw(generator).draw()),
        }
    }
}

impl Hand for RouteHand<'_> {
    #[inline]
    fn turn(&mut self, position: &Position, table: &Table, rotation: &Rotation) -> Option<u32> {
        rotation.at_ticket(table, self.ticket(position))
    }
}

impl RouteHand<'_> {
    #[inline]
    fn ticket(&self, position: &Position) -> u64 {
        let offset = if self.generator.is_none() { process_offset() } else { 0 };
        position.take().wrapping_add(offset)
    }
}

/// A hand whose rotations draw by weight instead of taking turns.
struct ByWeight<'a, H>(&'a mut H);

impl<H: Hand> Draw for ByWeight<'_, H> {
    fn draw(&mut self) -> u64 {
        self.0.draw()
    }
}

impl<H: Hand> Hand for ByWeight<'_, H> {
    fn turn(&mut self, _position: &Position, table: &Table, _rotation: &Rotation) -> Option<u32> {
        table.index(table.draw(self.draw()))
    }
}

impl RouteShared {
    pub(crate) fn new(
        core: Arc<Core>,
        number: usize,
        spec: Arc<RouteSpec>,
        positions: Arc<PositionBook>,
        seed: Option<u64>,
        alive: Arc<AtomicBool>,
    ) -> Self {
        let counters = spec.counters.then(|| Counters::new(&spec));
        let generator = seed.map(AtomicU64::new);
        Self { core, number, spec, positions, generator, pickers: AtomicU64::new(0), counters, alive }
    }

    /// Takes one instance from the snapshot, but none of `drawn`.
    pub(crate) fn choose(
        &self,
        snapshot: &Snapshot,
        request: &Request<'_>,
        drawn: &[Picked],
        hand: &mut impl Hand,
    ) -> Result<Picked, NoInstance> {
        let Some(Some(route)) = snapshot.routes.get(self.number) else { return Err(NOBODY) };
        let outcome = select(route, snapshot, &self.core.live, request, drawn, hand);
        self.count(&outcome);
        outcome
    }

    #[inline(never)]
    fn choose_along_tiers(&self, snapshot: &Snapshot, request: &Request<'_>) -> Result<Picked, NoInstance> {
        if let Some(picked) = self.take_except(snapshot, request, &mut self.hand()) {
            return Ok(picked);
        }
        self.choose(snapshot, request, &[], &mut self.hand())
    }

    #[inline(never)]
    fn lease_by_request(&self, snapshot: &Snapshot, request: &Request<'_>) -> Result<Lease, NoInstance> {
        Lease::take(&self.core.live, snapshot, |full| self.choose(snapshot, request, full, &mut self.hand()))
    }

    /// The lane of requests without constraints.
    #[inline]
    pub(crate) fn plain_lane<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a Lane> {
        snapshot.lanes.get(self.number)?.plain.as_ref()
    }

    /// The lane of a request with nothing but tags.
    #[inline]
    pub(crate) fn tagged_lane<'a>(&self, snapshot: &'a Snapshot, request: &Request<'_>) -> Option<&'a Lane> {
        if request.shape != Shape::Tags {
            return None;
        }
        snapshot.lanes.get(self.number)?.tagged(request.tags)
    }

    /// Whether what the request has is no constraint in this route.
    pub(crate) fn is_open(&self, snapshot: &Snapshot, request: &Request<'_>) -> bool {
        let ignored = || snapshot.lanes.get(self.number).is_some_and(|lanes| lanes.ignores_tags);
        request.shape.is_open() || request.shape == Shape::Tags && ignored()
    }

    /// Takes one for a request with exclusions from the lane that it would have without them; `None` where the long way has to
    /// decide, with no number drawn.
    #[inline]
    pub(crate) fn take_except(
        &self,
        snapshot: &Snapshot,
        request: &Request<'_>,
        hand: &mut impl Hand,
    ) -> Option<Picked> {
        let lanes = snapshot.lanes.get(self.number).filter(|_| request.shape == Shape::Except)?;
        let lane = if request.tags.is_empty() { lanes.plain.as_ref() } else { lanes.tagged(request.tags) };
        lane?.take_except(&snapshot.roster, request.exclude, hand)
    }

    /// The lane of the request, where it has one.
    #[inline]
    pub(crate) fn lane<'a>(&self, snapshot: &'a Snapshot, request: &Request<'_>) -> Option<&'a Lane> {
        if request.shape.is_open() { self.plain_lane(snapshot) } else { self.tagged_lane(snapshot, request) }
    }

    /// Takes several different ones, each as if those before were excluded. Returns how many there were.
    pub(crate) fn choose_distinct(
        &self,
        snapshot: &Snapshot,
        request: &Request<'_>,
        out: &mut [Picked],
        hand: &mut impl Hand,
    ) -> Result<usize, NoInstance> {
        let Some(Some(route)) = snapshot.routes.get(self.number) else { return Err(NOBODY) };
        let mut hand = ByWeight(hand);
        for at in 0..out.len() {
            let (drawn, rest) = out.split_at_mut(at);
            let outcome = select(route, snapshot, &self.core.live, request, drawn, &mut hand);
            if at == 0 || outcome.is_ok() {
                self.count(&outcome);
            }
            match (outcome, rest.first_mut()) {
                (Ok(picked), Some(place)) => *place = picked,
                (Err(refused), _) if at == 0 => return Err(refused),
                _ => return Ok(at),
            }
        }
        Ok(out.len())
    }

    #[inline]
    pub(crate) fn count(&self, outcome: &Result<Picked, NoInstance>) {
        if let Some(counters) = &self.counters {
            counters.add(outcome, thread_shard());
        }
    }

    fn hand(&self) -> RouteHand<'_> {
        RouteHand { generator: self.generator.as_ref() }
    }
}

impl Drop for RouteShared {
    fn drop(&mut self) {
        self.alive.store(false, Ordering::Relaxed);
    }
}

const NOBODY: NoInstance = NoInstance { reason: Reason::Empty, tier: 0, branch: 0 };

impl Route {
    pub(crate) fn new(shared: RouteShared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn shared(&self) -> &Arc<RouteShared> {
        &self.shared
    }

    /// The spec it was made from.
    pub fn spec(&self) -> &RouteSpec {
        &self.shared.spec
    }

    /// Picks an instance from the list in force. The pick borrows it: look, and let go soon, since what it borrows cannot be
    /// freed meanwhile.
    ///
    /// # Errors
    ///
    /// No instance can take the request; the reason is the furthest that any tier came.
    #[inline(always)]
    pub fn pick<'a>(&'a self, request: &Request<'_>) -> Result<Pick<'a>, NoInstance> {
        let shared = &*self.shared;
        let snapshot = shared.core.published.load();
        let picked = if let Some(lane) = shared.lane(&snapshot, request)
            && let Some(picked) = lane.take(&shared.core.live, request.key, &mut shared.hand())
        {
            picked
        } else {
            shared.choose_along_tiers(&snapshot, request)?
        };
        Ok(Pick::new(snapshot, shared, picked))
    }

    /// Picks an instance and counts it as in flight until the lease ends. For load-aware policies, limits and ejection, which
    /// know of leases only.
    ///
    /// ```
    /// # use pointsman::{Instance, Outcome, Policy, Pool, Request, RouteSpec, Tier};
    /// # use std::time::Duration;
    /// let pool = Pool::new([Instance::new("10.0.0.1:80"), Instance::new("10.0.0.2:80")])?;
    /// let route = pool.route(RouteSpec::new(Policy::LeastRequest).tier(Tier::new()))?;
    ///
    /// let first = route.lease(&Request::new())?;
    /// let second = route.lease(&Request::new())?;
    /// assert_ne!(first.instance().id, second.instance().id);
    /// first.done(Outcome::Success, Duration::from_millis(12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No instance can take the request; the reason is the furthest that any tier came.
    // Inline, so that a lease is made where the caller keeps it.
    #[inline]
    pub fn lease(&self, request: &Request<'_>) -> Result<Lease, NoInstance> {
        let shared = &*self.shared;
        let snapshot = shared.core.published.load();
        if let Some(lane) = shared.lane(&snapshot, request)
            && let Some(picked) = lane.take(&shared.core.live, request.key, &mut shared.hand())
            // Nobody in a lane has a limit.
            && let Some(lease) = Lease::of(&shared.core.live, &snapshot, picked, None)
        {
            return Ok(lease);
        }
        shared.lease_by_request(&snapshot, request)
    }

    /// Fills `out` with different instances in the order of drawing without replacement, for failover lists and hedged
    /// requests: the first as [`pick`](Self::pick) draws it by weight, each further one as if those before it were excluded,
    /// through the tiers in their order. Rotations take no turn. Fewer than asked for where there are no more.
    ///
    /// # Errors
    ///
    /// There is not even one.
    pub fn pick_distinct<'a>(
        &'a self,
        request: &Request<'_>,
        out: &'a mut [Picked],
    ) -> Result<Picks<'a>, NoInstance> {
        let snapshot = self.shared.core.published.load();
        let count = self.shared.choose_distinct(&snapshot, request, out, &mut self.shared.hand())?;
        Ok(Picks::new(snapshot, out.get(..count).unwrap_or(&[])))
    }

    /// A hand for one thread: its own generator and rotation cursors, from a seed that nobody else has.
    pub fn picker(&self) -> Picker {
        let count = self.shared.pickers.fetch_add(1, Ordering::Relaxed);
        match self.shared.generator.as_ref().and(self.shared.core.seed) {
            Some(seed) => self.picker_seeded(mix2(mix2(seed, self.shared.number as u64), count)),
            None => Picker::new(self, crate::rng::entropy(), false),
        }
    }

    /// The same, deterministic: the same seed, commits and requests give the same picks, in every language.
    pub fn picker_seeded(&self, seed: u64) -> Picker {
        Picker::new(self, seed, true)
    }

    /// Puts the shared positions of every set at a turn of their cycles: turn 0 is the canonical start. For tests and for
    /// measuring; a position that other threads use meanwhile goes on from there.
    pub fn start_at(&self, turn: u64) {
        let snapshot = self.shared.core.published.load();
        if let Some(Some(route)) = snapshot.routes.get(self.shared.number) {
            route.groups().for_each(|group| group.start_at(turn));
        }
    }

    /// Tier by tier, what the request finds and why. Allocates; O(n).
    pub fn explain(&self, request: &Request<'_>) -> Explanation {
        let snapshot = self.shared.core.published.load();
        match snapshot.routes.get(self.shared.number) {
            Some(Some(route)) => explain::explain(route, &snapshot, &self.shared.core.live, request),
            _ => Explanation::nothing(&snapshot),
        }
    }

    /// The exact share of every instance that such requests can be given, in list order; of `least_load` at the loads of
    /// now. Empty where there is none. Allocates; O(n).
    pub fn shares(&self, request: &Request<'_>) -> Vec<Share> {
        self.explain(request).shares
    }

    /// How often each tier was used and each reason given, if the spec asks for counters.
    pub fn counters(&self) -> Option<RouteCounters> {
        self.shared.counters.as_ref().map(|counters| counters.sum(&self.shared.spec))
    }
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("spec", &self.shared.spec).finish()
    }
}
