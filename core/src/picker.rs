//! Pickers: one thread's private hand.

use std::sync::Arc;

use crate::compile::Snapshot;
use crate::error::NoInstance;
use crate::pick::{Pick, Picked, Picks};
use crate::policy::rotation::Rotation;
use crate::policy::table::Table;
use crate::position::{Cursors, Position, Start};
use crate::publish::{Guarded, Hold, fork_generation};
use crate::request::Request;
use crate::rng::{Draw, Xoshiro, entropy, mix2};
use crate::route::Route;
use crate::select::Hand;

/// One thread's private hand: its own generator, its own rotation cursor for each set, and the list it last saw. The fastest
/// way to pick, and deterministic from a seed.
///
/// It may move between threads and serves one at a time. Each pick compares one pointer to see whether there is a newer list.
/// While it is idle it keeps one list from being freed, until it picks again or [`refresh`](Self::refresh) is called.
///
/// Its generator is xoshiro256++ and its cursors walk the same rotations as [`Route`]'s shared positions, each from a turn
/// made of the seed. After an update a cursor goes on where it was: the exact cycle if it is the same, the golden one
/// always, and through a changed list of equal weights with the instance behind the last one. A picker without a seed draws
/// afresh in a forked child.
///
/// Cost of a pick: that of the policy, without atomics that other threads write to. The first one after an update takes two
/// atomic operations more; no pick allocates.
pub struct Picker {
    hand: PickerHand,
    // Before the route, whose pool frees it.
    snapshot: Hold<Snapshot>,
    route: Route,
}

struct PickerHand {
    rng: Xoshiro,
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
    fn turn(&mut self, position: &Position, table: &Table, rotation: &Rotation) -> usize {
        match self.cursors.of(position) {
            Some(cursor) => cursor.next(position, table, rotation, self.start),
            // Room is made before a position is published, so there is always one.
            None => table.draw(self.rng.draw()),
        }
    }
}

impl Picker {
    pub(crate) fn new(route: &Route, seed: u64, seeded: bool) -> Self {
        let shared = route.shared();
        let hand = PickerHand {
            rng: Xoshiro::from_seed(seed),
            start: Start { seed, turn: None },
            cursors: shared.positions.cursors(),
            seeded,
            generation: fork_generation(),
        };
        Self { hand, snapshot: shared.core.published.hold(), route: route.clone() }
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
    #[inline]
    pub fn pick(&mut self, request: &Request<'_>) -> Result<Pick<'_>, NoInstance> {
        self.refresh();
        let shared = &**self.route.shared();
        let picked = shared.choose(&self.snapshot, request, &mut self.hand)?;
        Ok(Pick::new(Guarded::held(&*self.snapshot), shared, picked))
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
        let shared = self.route.shared();
        let count = shared.choose_distinct(&self.snapshot, request, out, &mut self.hand)?;
        Ok(Picks::new(Guarded::held(&*self.snapshot), &out[..count]))
    }

    /// Takes up the list in force, and lets go of the one it held.
    #[inline]
    pub fn refresh(&mut self) {
        let core = &self.route.shared().core;
        if !core.published.is_current(&self.snapshot) {
            self.snapshot = core.published.hold();
        }
        if self.hand.generation != fork_generation() {
            self.hand.reseed();
        }
    }
}

impl PickerHand {
    /// In a forked child: other numbers than the parent's, unless the seed is a promise.
    #[cold]
    fn reseed(&mut self) {
        self.generation = fork_generation();
        if !self.seeded {
            let seed = mix2(self.start.seed, entropy());
            self.rng = Xoshiro::from_seed(seed);
            self.start = Start { seed, turn: None };
        }
    }
}

impl std::fmt::Debug for Picker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Picker").field("route", &self.route).field("version", &self.snapshot.version).finish()
    }
}
