//! Live state: what the pool has learned of each instance, by id, outliving snapshots.
//!
//! Each id has a slot in an arena that only grows; a slot is given to another id once the first has left and no lease
//! counts on it. Everything here is atomics that readers and reporters touch without a lock and without a publish.

mod arena;

use crate::sync::{AtomicU64, Ordering};
pub(crate) use arena::Arena;

/// Nanoseconds in a second.
pub(crate) const SECOND: f64 = 1e9;

/// The live state of a pool's instances.
pub(crate) struct Live {
    gauges: Arena<Gauge>,
    /// The latest time that the pool was told, in nanoseconds since it was made. Never falls.
    now: AtomicU64,
    /// Age in nanoseconds beyond which a report counts as none.
    max_age: u64,
}

/// The live state of one instance.
struct Gauge {
    /// The bits of the reported load; those of NaN where there is none.
    load: AtomicU64,
    /// When it was reported.
    reported: AtomicU64,
}

impl Default for Gauge {
    fn default() -> Self {
        Self { load: AtomicU64::new(f64::NAN.to_bits()), reported: AtomicU64::new(0) }
    }
}

impl Live {
    pub(crate) fn new(max_age_s: f64) -> Self {
        Self { gauges: Arena::new(), now: AtomicU64::new(0), max_age: (max_age_s * SECOND) as u64 }
    }

    /// Makes room for slots below `count`. For writers.
    pub(crate) fn grow(&self, count: usize) {
        self.gauges.grow(count);
    }

    /// The pool's latest time.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Sets the pool's latest time; a step back is ignored.
    pub(crate) fn set_now(&self, now: u64) {
        self.now.fetch_max(now, Ordering::Relaxed);
    }

    /// The reported load, unless there is none or it is too old at `now`.
    pub(crate) fn load(&self, slot: u32, now: u64) -> Option<f64> {
        let gauge = self.gauges.get(slot as usize)?;
        let load = f64::from_bits(gauge.load.load(Ordering::Relaxed));
        let age = now.saturating_sub(gauge.reported.load(Ordering::Relaxed));
        (!load.is_nan() && age <= self.max_age).then_some(load)
    }

    /// Sets the reported load.
    pub(crate) fn report(&self, slot: u32, load: f64, now: u64) {
        if let Some(gauge) = self.gauges.get(slot as usize) {
            gauge.reported.store(now, Ordering::Relaxed);
            gauge.load.store(load.to_bits(), Ordering::Relaxed);
        }
    }

    /// Starts a slot afresh for a new id. For writers, before the slot is published.
    pub(crate) fn reset(&self, slot: u32) {
        self.report(slot, f64::NAN, 0);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.gauges.heap_bytes()
    }
}
