//! Leases: picks that are held until the request ends.

use std::time::Duration;

use crate::compile::Snapshot;
use crate::compile::roster::Entry;
use crate::error::{NoInstance, Reason};
use crate::instance::Instance;
use crate::live::Live;
use crate::pick::Picked;
use crate::publish::{Hold, fork_generation};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The instance answered.
    Success,
    /// It did not, or with an error that speaks against it.
    Failure,
    /// The caller lost interest: the instance is not counted as in flight any more, and nothing is learned.
    Cancelled,
}

/// A pick that is held until the request ends, and counts as in flight meanwhile.
///
/// Owned and `Send`; safe to hold across updates, after its instance has left the pool, and after the pool is gone. It still
/// names the same instance then, and its end never touches another, not even a new one with the same id. Dropping it is
/// [`Outcome::Cancelled`].
///
/// Cost: a handful of atomic operations, no allocation, no lock.
pub struct Lease {
    entry: Hold<Entry>,
    picked: Picked,
    version: u64,
    /// The entry's slot of live state.
    slot: u32,
    /// The fork generation that counted it: a child releases nothing that its parent counted.
    generation: u32,
    open: bool,
}

impl Lease {
    /// Takes what `choose` finds in the snapshot. It is told whom not to choose: those that were found and turned out full.
    pub(crate) fn take(
        live: &Live,
        snapshot: &Snapshot,
        mut choose: impl FnMut(&[Picked]) -> Result<Picked, NoInstance>,
    ) -> Result<Self, NoInstance> {
        let mut full = arrayvec::ArrayVec::<Picked, 16>::new();
        loop {
            let picked = choose(&full).map_err(|refused| match full.last() {
                // Somebody else took the last room between the look and the count.
                Some(last) if refused.reason == Reason::Excluded => {
                    NoInstance { reason: Reason::Saturated, tier: last.tier, branch: last.branch }
                }
                _ => refused,
            })?;
            let limit = snapshot.roster.instance(picked.index).and_then(|instance| instance.max_in_flight);
            if let Some(lease) = Self::of(live, snapshot, picked, limit) {
                return Ok(lease);
            }
            if full.try_push(picked).is_err() {
                return Err(NoInstance {
                    reason: Reason::Saturated,
                    tier: picked.tier,
                    branch: picked.branch,
                });
            }
        }
    }

    /// A lease of the picked instance; `None` where as many as `limit` are open.
    #[inline]
    pub(crate) fn of(live: &Live, snapshot: &Snapshot, picked: Picked, limit: Option<u32>) -> Option<Self> {
        let entry = snapshot.roster.list.get(picked.index())?;
        let slot = snapshot.roster.slot(picked.index);
        live.acquire(slot, limit).then(|| Self {
            entry: entry.clone(),
            picked,
            version: snapshot.version,
            slot,
            generation: fork_generation(),
            open: true,
        })
    }

    /// The instance, as it was when it was picked.
    pub fn instance(&self) -> &Instance {
        &self.entry.instance
    }

    /// How it was found.
    pub fn picked(&self) -> Picked {
        self.picked
    }

    /// The version of the list it was picked from.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Ends the lease. `latency` is the caller's measure, best the time to the first byte of the response; `None` teaches
    /// nothing of speed, but that a failure counts as a slow request in any case.
    #[inline]
    pub fn done(mut self, outcome: Outcome, latency: impl Into<Option<Duration>>) {
        let now = self.entry.live.clock();
        self.end(outcome, latency.into(), now);
    }

    /// The same at a given time, in nanoseconds since the pool was made. A step back is ignored.
    pub fn done_at(mut self, outcome: Outcome, latency: impl Into<Option<Duration>>, now_ns: u64) {
        self.end(outcome, latency.into(), now_ns);
    }

    fn end(&mut self, outcome: Outcome, latency: Option<Duration>, now: u64) {
        if std::mem::replace(&mut self.open, false) {
            let live = &*self.entry.live;
            if outcome != Outcome::Cancelled {
                live.learn(self.slot, outcome, latency, now);
            }
            live.release(self.slot, self.generation);
        }
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        self.end(Outcome::Cancelled, None, 0);
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("instance", self.instance()).field("picked", &self.picked).finish()
    }
}
