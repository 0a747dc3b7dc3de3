//! Live state: what the pool has learned of each instance, by id, outliving snapshots.
//!
//! Each id has a slot in an arena that only grows. A slot is given to another id once nothing can reach the first any more:
//! no snapshot, no picker and no lease; see [`slots`]. Everything here is atomics that readers and reporters touch without a
//! lock and without a publish.

mod arena;
pub(crate) mod ejection;
pub(crate) mod latency;
pub(crate) mod load;
pub(crate) mod slots;
pub(crate) mod slow_start;

use std::time::Duration;

pub(crate) use arena::{Arena, CHUNKS};
use coarsetime::Instant;
use ejection::Failures;
use latency::Latency;
pub(crate) use load::InFlight;
use load::Reported;
use slots::SlotBook;

use crate::lease::Outcome;
use crate::spec::PoolSpec;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// Nanoseconds in a second.
pub(crate) const SECOND: f64 = 1e9;

/// The live state of a pool's instances.
pub(crate) struct Live {
    /// Apart from the gauges, so that a policy that reads all of them reads few lines.
    in_flight: Arena<InFlight>,
    gauges: Arena<Gauge>,
    failures: Arena<Failures>,
    slots: SlotBook,
    made: Instant,
    /// The latest time that the pool was told, in nanoseconds since it was made. Never falls.
    now: AtomicU64,
    /// Age in nanoseconds beyond which a report counts as none.
    max_age: u64,
    half_life_s: f64,
    default_s: f64,
    /// The peak of what successes took anywhere in the pool.
    slowest: Latency,
    /// Failures in a row that call for a tick; `u32::MAX` where nothing is ejected.
    consecutive_failures: u32,
    count_failures: bool,
    /// Whether a limit was reached since the last tick.
    due: AtomicBool,
}

/// What policies read of one instance.
#[derive(Default)]
struct Gauge {
    reported: Reported,
    latency: Latency,
}

impl Live {
    pub(crate) fn new(spec: &PoolSpec) -> Self {
        let ejection = spec.ejection.as_ref();
        Self {
            in_flight: Arena::new(),
            gauges: Arena::new(),
            failures: Arena::new(),
            slots: SlotBook::default(),
            made: Instant::now(),
            now: AtomicU64::new(0),
            max_age: (spec.load.max_age_s * SECOND) as u64,
            half_life_s: spec.latency.half_life_s,
            default_s: spec.latency.default_s,
            slowest: Latency::default(),
            consecutive_failures: ejection.and_then(|spec| spec.consecutive_failures).unwrap_or(u32::MAX),
            count_failures: ejection.is_some(),
            due: AtomicBool::new(false),
        }
    }

    /// Keeps the lock of the slots, for a test to see who waits for it.
    #[cfg(test)]
    pub(crate) fn keep_slots_locked(&self) -> impl Sized + '_ {
        self.slots.keep_locked()
    }

    /// Nanoseconds since the pool was made, by the system's coarse monotonic clock: some milliseconds are no matter for
    /// anything here, and a precise clock is a good part of what a lease costs.
    pub(crate) fn clock(&self) -> u64 {
        // What a model checker runs again must come out the same.
        if cfg!(loom) {
            return 0;
        }
        // Not the call that notes the time for others: it writes to one place from all threads.
        Instant::now_without_cache_update().duration_since(self.made).as_nanos()
    }

    /// Slots ever given out: every number is below.
    pub(crate) fn slots(&self) -> usize {
        self.slots.made()
    }

    /// Makes room for slots below `count`. For writers.
    pub(crate) fn grow(&self, count: usize) {
        self.in_flight.grow(count);
        self.gauges.grow(count);
        if self.count_failures {
            self.failures.grow(count);
        }
    }

    /// The pool's latest time.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Sets the pool's latest time, and returns it; a step back is ignored.
    pub(crate) fn set_now(&self, now: u64) -> u64 {
        let latest = self.now.load(Ordering::Relaxed);
        if now <= latest { latest } else { self.now.fetch_max(now, Ordering::Relaxed).max(now) }
    }

    /// The reported load, unless there is none or it is too old at `now`.
    #[inline]
    pub(crate) fn load(&self, slot: u32, now: u64) -> Option<f64> {
        self.gauges.get(slot as usize)?.reported.get(now, self.max_age)
    }

    /// Sets the reported load.
    pub(crate) fn report(&self, slot: u32, load: f64, now: u64) {
        if let Some(gauge) = self.gauges.get(slot as usize) {
            gauge.reported.set(load, now);
        }
    }

    /// Leases that are open on the instance.
    #[inline]
    pub(crate) fn in_flight(&self, slot: u32) -> u32 {
        self.in_flight.get(slot as usize).map_or(0, InFlight::get)
    }

    /// The counts of consecutive slots, as far as they lie together.
    pub(crate) fn in_flight_run(&self, begin: u32, count: usize) -> &[InFlight] {
        self.in_flight.run(begin as usize, count)
    }

    /// Counts one lease more, unless there are `limit` already. True if it was counted.
    #[inline]
    pub(crate) fn acquire(&self, slot: u32, limit: Option<u32>) -> bool {
        self.in_flight.get(slot as usize).is_some_and(|in_flight| in_flight.acquire(limit))
    }

    /// Counts one lease less. `generation` is the process that counted it.
    #[inline]
    pub(crate) fn release(&self, slot: u32, generation: u32) {
        if let Some(in_flight) = self.in_flight.get(slot as usize) {
            in_flight.release(generation);
        }
    }

    /// The decaying peak latency in seconds at the pool's latest time; `None` where there is no sample.
    #[inline]
    pub(crate) fn latency_s(&self, slot: u32, now: u64) -> Option<f64> {
        self.gauges.get(slot as usize)?.latency.get(now, self.half_life_s)
    }

    /// What a candidate counts as when no candidate has a sample, in seconds.
    pub(crate) fn default_latency_s(&self) -> f64 {
        self.default_s
    }

    /// Learns from a request that has ended. Atomics only.
    pub(crate) fn learn(&self, slot: u32, outcome: Outcome, latency: Option<Duration>, now: u64) {
        let now = self.set_now(now);
        let Some(gauge) = self.gauges.get(slot as usize) else { return };
        // Without the division that it takes to be right to the last bit.
        let seconds = |latency: Duration| latency.as_secs() as f64 + f64::from(latency.subsec_nanos()) * 1e-9;
        let sample = latency.map(seconds);
        match outcome {
            Outcome::Cancelled => return,
            Outcome::Success => {
                if let Some(sample) = sample {
                    gauge.latency.sample(sample, now, self.half_life_s);
                    self.slowest.sample(sample, now, self.half_life_s);
                }
            }
            // Twice what the slowest success takes, so that an instance that fails fast attracts nothing.
            Outcome::Failure => {
                let slowest =
                    self.slowest.get(now, self.half_life_s).map_or(self.default_s, |slowest| 2.0 * slowest);
                gauge.latency.sample(sample.unwrap_or(0.0).max(slowest), now, self.half_life_s);
            }
        }
        if self.count_failures
            && let Some(failures) = self.failures.get(slot as usize)
            && failures.count(outcome == Outcome::Failure) >= self.consecutive_failures
        {
            self.set_due();
        }
    }

    pub(crate) fn set_due(&self) {
        self.due.store(true, Ordering::Relaxed);
    }

    /// Whether a limit was reached since the last tick.
    pub(crate) fn is_due(&self) -> bool {
        self.due.load(Ordering::Relaxed)
    }

    /// Returns whether it was so.
    pub(crate) fn clear_due(&self) -> bool {
        self.due.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn failures(&self, slot: u32) -> Option<&Failures> {
        self.failures.get(slot as usize)
    }

    /// Starts a slot afresh for a new id. For writers, before the slot is published.
    pub(crate) fn reset(&self, slot: u32) {
        if let Some(in_flight) = self.in_flight.get(slot as usize) {
            in_flight.reset();
        }
        if let Some(gauge) = self.gauges.get(slot as usize) {
            gauge.reported.set(f64::NAN, 0);
            gauge.latency.reset();
        }
        if let Some(failures) = self.failures(slot) {
            failures.reset();
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.in_flight.heap_bytes() + self.gauges.heap_bytes() + self.failures.heap_bytes()
    }
}
