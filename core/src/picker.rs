//! Pickers: one thread's private hand.

use std::sync::Arc;

use crate::compile::Snapshot;
use crate::compile::lanes::Lane;
use crate::error::{NoInstance, Reason};
use crate::lease::Lease;
use crate::live::Live;
use crate::pick::{Pick, Picked, Picks};
use crate::policy::rotation::Rotation;
use crate::policy::roulette::{Guide, scale};
use crate::policy::table::Table;
use crate::policy::{Plan, power_of_two};
use crate::pool::{Core, nothing};
use crate::position::{Cursors, Position, Start};
use crate::publish::{Guarded, Hold, fork_generation};
use crate::request::Request;
use crate::rng::{Draw, GOLDEN, PickerRng, entropy, mix2};
use crate::route::Route;
use crate::select::Hand;
use crate::spec::Load;

/// One thread's private hand: its own generator, its own rotation cursor for each set, and the list it last saw. The fastest
/// way to pick, and deterministic from a seed.
///
/// It may move between threads and serves one at a time. Each pick compares one pointer to see whether there is a newer list.
/// While it is idle it keeps one list from being freed, until it picks again, or [`rest`](Self::rest) lets go of it.
///
/// Its generator is SplitMix64 and its cursors walk the same rotations as [`Route`]'s shared positions, each from a turn
/// made of the seed. After an update a cursor goes on where it was: the exact cycle if it is the same, the golden one
/// always, and through a changed list of equal weights with the instance behind the last one. A picker without a seed draws
/// afresh in a forked child.
///
/// Those of two threads share no cache line, wherever they lie: each fills lines of its own, in pairs, since processors fetch
/// them so.
///
/// Cost of a pick: that of the policy, without atomics that other threads write to. The first one after an update takes two
/// atomic operations more; no pick allocates.
#[repr(align(128))]
pub struct Picker {
    /// What a request without constraints comes to in the snapshot.
    lane: Option<PickerLane>,
    /// Whether that was looked up. Entering a lane settles where its cursor begins.
    entered: bool,
    hand: PickerHand,
    // Before the route, whose pool frees it.
    snapshot: Hold<Snapshot>,
    route: Route,
    /// The route's, one step nearer.
    core: Arc<Core>,
}

/// A lane with the cursor at hand. The handles are the snapshot's too, so that dropping them frees nothing.
struct PickerLane {
    take: Take,
    lane: Lane,
}

/// How a lane takes an instance.
enum Take {
    /// A draw that the guide decides, over members without gaps; the list position of the first.
    Guided(Guide, u32),
    /// A draw over members alike, without gaps: how many, and the list position of the first.
    Alike(u32, u32),
    /// The rotation's order and the next turn.
    Turn(Arc<[u32]>, usize),
    Draw,
    /// Two draws, and the less loaded of the two.
    OfTwo(Load),
    /// The next turn of the golden form.
    Golden(u64),
}

struct PickerHand {
    rng: PickerRng,
    start: Start,
    cursors: Arc<Cursors>,
    seeded: bool,
    /// The fork generation that the generator belongs to.
    generation: u32,
}

impl Draw for PickerHand {
    #[inline]
    fn draw(&mut self) -> u64 {
        self.rng.draw()
    }
}

impl Hand for PickerHand {
    #[inline]
    fn turn(&mut self, position: &Position, table: &Table, rotation: &Rotation) -> Option<u32> {
        match self.cursors.of(position) {
            Some(cursor) => cursor.next(position, table, rotation, self.start),
            // Room is made before a position is published, so there is always one.
            None => table.index(table.draw(self.rng.draw())),
        }
    }
}

impl Picker {
    pub(crate) fn new(route: &Route, seed: u64, seeded: bool) -> Self {
        let shared = route.shared();
        let hand = PickerHand {
            rng: PickerRng::from_seed(seed),
            start: Start { seed, turn: None },
            cursors: shared.positions.cursors(),
            seeded,
            generation: fork_generation(),
        };
        Self {
            lane: None,
            entered: false,
            hand,
            snapshot: shared.core.published.hold(),
            route: route.clone(),
            core: shared.core.clone(),
        }
    }

    /// Lets every cursor that was not used yet begin at this turn of its cycle; turn 0 is the canonical start, from which
    /// every prefix is within the bound.
    pub fn start_at(mut self, turn: u64) -> Self {
        self.hand.start.turn = Some(turn);
        self
    }

    /// The route it picks for.
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// Picks an instance from the list in force.
    ///
    /// # Errors
    ///
    /// No instance can take the request; the reason is the furthest that any tier came.
    #[inline(always)]
    pub fn pick(&mut self, request: &Request<'_>) -> Result<Pick<'_>, NoInstance> {
        self.refresh();
        // What either way gives is small, and what is made of it comes behind both: a pick that came whole out of the slow one
        // would be taken apart and put together again on the quick one.
        let picked = if request.shape.is_open()
            && let Some(lane) = &mut self.lane
            && let Some(picked) = lane.take(&mut self.hand.rng, &self.core.live)
        {
            picked
        } else {
            self.choose_by_request(request)?
        };
        Ok(Pick::new(Guarded::held(&*self.snapshot), self.route.shared(), picked))
    }

    #[cold]
    #[inline(never)]
    fn choose_by_request(&mut self, request: &Request<'_>) -> Result<Picked, NoInstance> {
        if let Some(picked) = self.route.shared().take_except(&self.snapshot, request, &mut self.hand) {
            return Ok(picked);
        }
        self.choose_by_lane(request)
    }

    #[inline(never)]
    fn choose_by_lane(&mut self, request: &Request<'_>) -> Result<Picked, NoInstance> {
        if !self.entered {
            self.enter_lane();
        }
        let open = self.route.shared().is_open(&self.snapshot, request);
        if open
            && let Some(lane) = &mut self.lane
            && let Some(picked) = lane.take(&mut self.hand.rng, &self.core.live)
        {
            return Ok(picked);
        }
        // Positions of combinations are none of the plain lane's, so that its cursor may stay where it is. Of the plain lanes,
        // those that are left are of policies without a cursor.
        let lane = self.route.shared().lane(&self.snapshot, request);
        if let Some(lane) = lane.filter(|_| self.lane.is_none() || !open)
            && let Some(picked) = lane.take(&self.core.live, request.key, &mut self.hand)
        {
            return Ok(picked);
        }
        self.choose_along_tiers(request)
    }

    #[inline(never)]
    fn choose_along_tiers(&mut self, request: &Request<'_>) -> Result<Picked, NoInstance> {
        self.leave_lane();
        let outcome = self.route.shared().choose(&self.snapshot, request, &[], &mut self.hand);
        self.enter_lane();
        outcome
    }

    /// Picks an instance and counts it as in flight until the lease ends.
    ///
    /// # Errors
    ///
    /// No instance can take the request; the reason is the furthest that any tier came.
    pub fn lease(&mut self, request: &Request<'_>) -> Result<Lease, NoInstance> {
        self.refresh();
        if request.shape.is_open()
            && let Some(lane) = &mut self.lane
        {
            // Nobody in a lane has a limit, so the first is never full.
            let (rng, live) = (&mut self.hand.rng, &self.core.live);
            let nobody = NoInstance { reason: Reason::Empty, tier: 0, branch: 0 };
            return Lease::take(live, &self.snapshot, |_| lane.take(rng, live).ok_or(nobody));
        }
        self.leave_lane();
        let (shared, snapshot, hand) = (self.route.shared(), &self.snapshot, &mut self.hand);
        let outcome =
            Lease::take(&self.core.live, snapshot, |full| shared.choose(snapshot, request, full, hand));
        self.enter_lane();
        outcome
    }

    /// Fills `out` with different instances, as [`Route::pick_distinct`].
    ///
    /// # Errors
    ///
    /// There is not even one.
    pub fn pick_distinct<'a>(
        &'a mut self,
        request: &Request<'_>,
        out: &'a mut [Picked],
    ) -> Result<Picks<'a>, NoInstance> {
        self.refresh();
        self.leave_lane();
        let outcome = self.route.shared().choose_distinct(&self.snapshot, request, out, &mut self.hand);
        self.enter_lane();
        let count = outcome?;
        Ok(Picks::new(Guarded::held(&*self.snapshot), out.get(..count).unwrap_or(&[])))
    }

    /// Takes up the list in force, and lets go of the one it held.
    #[inline(always)]
    pub fn refresh(&mut self) {
        let is_current = self.core.published.is_current(&self.snapshot);
        if !is_current || self.hand.generation != fork_generation() {
            self.take_up();
        }
    }

    /// Lets go of the list it held, which the pool can free then. The next pick takes up the list in force.
    pub fn rest(&mut self) {
        self.leave_lane();
        (self.lane, self.entered) = (None, false);
        self.snapshot = nothing();
    }

    #[cold]
    fn take_up(&mut self) {
        self.leave_lane();
        if self.hand.generation != fork_generation() {
            self.hand.reseed();
        }
        self.snapshot = self.core.published.hold();
        self.enter_lane();
    }

    fn enter_lane(&mut self) {
        self.entered = true;
        self.lane = self.route.shared().plain_lane(&self.snapshot).and_then(|lane| {
            let take = self.hand.take(lane)?;
            Some(PickerLane { take, lane: lane.clone() })
        });
    }

    /// Gives the cursor back what the lane has taken. The lane must be entered again before it is used.
    fn leave_lane(&mut self) {
        let Some(PickerLane { take, lane }) = &self.lane else { return };
        let turn = match *take {
            Take::Guided(..) | Take::Alike(..) | Take::Draw | Take::OfTwo(_) => return,
            Take::Turn(_, turn) => turn as u64,
            Take::Golden(turn) => turn,
        };
        if let (Plan::Rotation(rotation), Some(position)) = (&lane.set.plan, &lane.position)
            && let Some(cursor) = self.hand.cursors.of(position)
        {
            cursor.put(turn, &lane.set.table, rotation);
        }
    }
}

impl PickerLane {
    /// Takes one of the set.
    #[inline(always)]
    fn take(&mut self, rng: &mut PickerRng, live: &Live) -> Option<Picked> {
        let index = match &mut self.take {
            Take::Guided(guide, first) => {
                let draw = rng.draw();
                match guide.find(draw) {
                    Some(rank) => *first + rank as u32,
                    None => *first + self.lane.set.table.draw(draw) as u32,
                }
            }
            Take::Turn(order, turn) => {
                let index = match order.get(*turn) {
                    Some(index) => *index,
                    None => begin(order, turn)?,
                };
                *turn += 1;
                index
            }
            Take::Alike(count, first) => *first + scale(rng.draw(), u64::from(*count)) as u32,
            _ => self.take_by_table(rng, live)?,
        };
        Some(self.lane.picked(index))
    }

    /// The list position of one that is taken in another way, which is apart so that the most frequent ones stay short.
    #[inline(never)]
    fn take_by_table(&mut self, rng: &mut PickerRng, live: &Live) -> Option<u32> {
        let table = &self.lane.set.table;
        let rank = match &mut self.take {
            Take::Draw => table.draw(rng.draw()),
            Take::OfTwo(load) => power_of_two::pick_of_two(*load, table, live, rng)?,
            Take::Golden(turn) => {
                let point = turn.wrapping_mul(GOLDEN);
                *turn = turn.wrapping_add(1);
                table.draw(point)
            }
            Take::Guided(..) | Take::Alike(..) | Take::Turn(..) => return None,
        };
        table.index(rank)
    }
}

/// The turn behind the last. A call of something rare makes the compiler branch, which is foreseen, where it would compute the
/// next turn from the comparison and lengthen what each pick waits for.
#[cold]
fn begin(order: &[u32], turn: &mut usize) -> Option<u32> {
    *turn = 0;
    order.first().copied()
}

impl PickerHand {
    /// How this hand takes from a lane; `None` where it cannot do so quickly.
    fn take(&self, lane: &Lane) -> Option<Take> {
        match (&lane.set.plan, &lane.position) {
            (Plan::Roulette, _) => Some(match (lane.set.table.guide(), lane.set.table.alike()) {
                (Some((guide, first)), _) => Take::Guided(guide.clone(), first),
                (None, Some((count, first))) => Take::Alike(count, first),
                (None, None) => Take::Draw,
            }),
            (Plan::PowerOfTwo(options), _) if options.choices == 2 => Some(Take::OfTwo(options.load)),
            (Plan::Rotation(rotation), Some(position)) => {
                let turn = self.cursors.of(position)?.turn(position, &lane.set.table, rotation, self.start);
                Some(match rotation.order() {
                    Some(order) => Take::Turn(order.clone(), turn as usize),
                    None => Take::Golden(turn),
                })
            }
            _ => None,
        }
    }

    /// In a forked child: other numbers than the parent's, unless the seed is a promise.
    #[cold]
    fn reseed(&mut self) {
        self.generation = fork_generation();
        if !self.seeded {
            let seed = mix2(self.start.seed, entropy());
            self.rng = PickerRng::from_seed(seed);
            self.start = Start { seed, turn: None };
        }
    }
}

impl std::fmt::Debug for Picker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Picker").field("route", &self.route).field("version", &self.snapshot.version).finish()
    }
}
