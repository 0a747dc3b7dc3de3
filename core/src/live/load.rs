//! Load: leases in flight, and what instances report of themselves.

use crate::publish::fork_generation;
use crate::sync::{AtomicU64, Ordering};

/// Leases in flight.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 31 | the count |
/// | 32 to 63 | the fork generation that counted; any other's count is worth 0 |
///
/// A process has one generation all its life, so the upper half changes at most once in it, from a parent's.
#[derive(Default)]
pub(crate) struct InFlight(AtomicU64);

/// A reported load and when it was reported.
pub(super) struct Reported {
    /// The bits of the load; those of NaN where there is none.
    load: AtomicU64,
    at: AtomicU64,
}

/// The count in the word, for a process of this generation.
#[inline]
fn count_in(word: u64, generation: u32) -> u32 {
    if (word >> 32) as u32 == generation { word as u32 } else { 0 }
}

/// Reads counts of this process as numbers to compute with.
#[derive(Clone, Copy)]
pub(crate) struct Counting {
    /// Turns a word of this generation with count c into the bits of 2⁵² + c, in which a count is the low end of the mantissa.
    offset: u64,
}

impl Counting {
    const UNIT: f64 = (1_u64 << 52) as f64;

    pub(crate) fn new() -> Self {
        Self::of(fork_generation())
    }

    fn of(generation: u32) -> Self {
        Self { offset: Self::UNIT.to_bits().wrapping_sub(u64::from(generation) << 32) }
    }

    /// The count.
    #[inline(always)]
    pub(crate) fn count(self, in_flight: &InFlight) -> f64 {
        self.count_or_less(in_flight).max(0.0)
    }

    /// The count; below zero for the word of an older generation, which is below any of this one.
    #[inline(always)]
    pub(crate) fn count_or_less(self, in_flight: &InFlight) -> f64 {
        f64::from_bits(in_flight.0.load(Ordering::Relaxed).wrapping_add(self.offset)) - Self::UNIT
    }
}

impl InFlight {
    #[inline]
    pub(super) fn get(&self) -> u32 {
        count_in(self.0.load(Ordering::Relaxed), fork_generation())
    }

    /// One more, unless there are `limit` already.
    #[inline]
    pub(super) fn acquire(&self, limit: Option<u32>) -> bool {
        let generation = fork_generation();
        let base = u64::from(generation) << 32;
        let limit = limit.unwrap_or(u32::MAX);
        let mut word = self.0.load(Ordering::Relaxed);
        if limit == u32::MAX && (word >> 32) as u32 == generation {
            self.0.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        loop {
            let count = count_in(word, generation);
            if count >= limit {
                return false;
            }
            let next = base | u64::from(count + 1);
            match self.0.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// One less, if this process counted it.
    #[inline]
    pub(super) fn release(&self, generation: u32) {
        if generation == fork_generation() {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Default for Reported {
    fn default() -> Self {
        Self { load: AtomicU64::new(f64::NAN.to_bits()), at: AtomicU64::new(0) }
    }
}

impl Reported {
    /// The load, unless there is none or it is older than `max_age`.
    #[inline]
    pub(super) fn get(&self, now: u64, max_age: u64) -> Option<f64> {
        let load = f64::from_bits(self.load.load(Ordering::Relaxed));
        let age = now.saturating_sub(self.at.load(Ordering::Relaxed));
        (!load.is_nan() && age <= max_age).then_some(load)
    }

    pub(super) fn set(&self, load: f64, now: u64) {
        self.at.store(now, Ordering::Relaxed);
        self.load.store(load.to_bits(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_goes_up_to_its_limit_and_back_to_zero() {
        let in_flight = InFlight::default();
        assert!(in_flight.acquire(Some(2)) && in_flight.acquire(Some(2)) && !in_flight.acquire(Some(2)));
        assert!(in_flight.acquire(None));
        assert_eq!(in_flight.get(), 3);
        (0..3).for_each(|_| in_flight.release(fork_generation()));
        assert_eq!(in_flight.get(), 0);
    }

    #[test]
    fn counting_in_bulk_sees_the_same_counts() {
        let word = |generation: u64, count: u64| InFlight(AtomicU64::new(generation << 32 | count));
        let counting = Counting::of(3);
        assert_eq!(counting.count(&word(3, 7)), 7.0);
        assert_eq!(counting.count(&word(3, u64::from(u32::MAX))), f64::from(u32::MAX));
        assert!(counting.count_or_less(&word(2, 7)) < 0.0 && counting.count_or_less(&word(0, 0)) < 0.0);
        assert_eq!(counting.count(&word(2, 7)), 0.0);
        assert_eq!(counting.count(&word(0, 0)), 0.0);
    }

    #[test]
    fn a_lease_of_another_process_releases_nothing() {
        let in_flight = InFlight::default();
        assert!(in_flight.acquire(None));
        in_flight.release(fork_generation().wrapping_add(1));
        assert_eq!(in_flight.get(), 1);
        assert_eq!(count_in(7 << 32 | 5, 8), 0);
        assert_eq!(count_in(7 << 32 | 5, 7), 5);
    }

    #[test]
    fn a_report_grows_old() {
        let reported = Reported::default();
        assert_eq!(reported.get(0, 10), None);
        reported.set(0.5, 100);
        assert_eq!(reported.get(110, 10), Some(0.5));
        assert_eq!(reported.get(111, 10), None);
        assert_eq!(reported.get(50, 10), Some(0.5), "time may seem to stand before the report");
    }
}
