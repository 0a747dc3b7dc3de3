//! Decaying peak latency.
//!
//! A sample above the estimate replaces it at once; one below pulls it down by as much as the time since the last sample
//! allows. Between samples the estimate decays by the half-life, so that an instance that was slow is tried again. After
//! Finagle's peak EWMA load balancer (Twitter, 2015).

use crate::live::SECOND;
use crate::sync::{AtomicU64, Ordering};

/// An estimate and its time, in one word so that the two always belong together.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 31 | seconds, as `f32`; NaN where there is no sample |
/// | 32 to 63 | when, in milliseconds, counted round |
pub(super) struct Latency(AtomicU64);

impl Default for Latency {
    fn default() -> Self {
        Self(AtomicU64::new(NONE))
    }
}

const NONE: u64 = f32::NAN.to_bits() as u64;

/// Pure arithmetic: the estimate after a time without samples.
pub(super) fn decayed(estimate_s: f64, elapsed_s: f64, half_life_s: f64) -> f64 {
    if elapsed_s == 0.0 {
        return estimate_s;
    }
    estimate_s * libm::exp2(-elapsed_s / half_life_s)
}

/// Pure arithmetic: the estimate after a sample. `decayed_s` is the estimate of now.
pub(super) fn with_sample(estimate_s: f64, decayed_s: f64, sample_s: f64) -> f64 {
    if sample_s >= decayed_s || estimate_s <= 0.0 {
        return sample_s;
    }
    // The share of the old estimate that the time has left over; the sample takes the rest.
    let kept = decayed_s / estimate_s;
    estimate_s * kept + sample_s * (1.0 - kept)
}

fn unpack(word: u64, now_ms: u32) -> Option<(f64, f64)> {
    let estimate = f32::from_bits(word as u32);
    // A time that seems to lie ahead is a step back of the clock, and counts as now.
    let elapsed_ms = now_ms.wrapping_sub((word >> 32) as u32);
    let elapsed_ms = if elapsed_ms > u32::MAX / 2 { 0 } else { elapsed_ms };
    (!estimate.is_nan()).then(|| (f64::from(estimate), f64::from(elapsed_ms) / 1e3))
}

fn milliseconds(now: u64) -> u32 {
    (now / (SECOND / 1e3) as u64) as u32
}

impl Latency {
    /// The estimate at `now`, in seconds.
    #[inline]
    pub(super) fn get(&self, now: u64, half_life_s: f64) -> Option<f64> {
        let (estimate, elapsed) = unpack(self.0.load(Ordering::Relaxed), milliseconds(now))?;
        Some(decayed(estimate, elapsed, half_life_s))
    }

    pub(super) fn sample(&self, sample_s: f64, now: u64, half_life_s: f64) {
        let now_ms = milliseconds(now);
        let word = self.0.load(Ordering::Relaxed);
        // The most frequent case changes nothing: a sample no higher than the peak, in the same moment.
        if (word >> 32) as u32 == now_ms && sample_s <= f64::from(f32::from_bits(word as u32)) {
            return;
        }
        let next = |word: u64| {
            let estimate = match unpack(word, now_ms) {
                Some((estimate, elapsed)) => {
                    with_sample(estimate, decayed(estimate, elapsed, half_life_s), sample_s)
                }
                None => sample_s,
            };
            Some(u64::from(now_ms) << 32 | u64::from((estimate as f32).to_bits()))
        };
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    pub(super) fn reset(&self) {
        self.0.store(NONE, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_slower_sample_counts_at_once_and_a_faster_one_with_time() {
        let latency = Latency::default();
        assert_eq!(latency.get(0, 10.0), None);
        latency.sample(0.1, 0, 10.0);
        latency.sample(2.0, MS, 10.0);
        assert_eq!(latency.get(MS, 10.0), Some(2.0));
        latency.sample(0.1, 2 * MS, 10.0);
        assert!(latency.get(2 * MS, 10.0).is_some_and(|estimate| estimate > 1.99));
        latency.sample(0.1, 10_002 * MS, 10.0);
        let half_way = latency.get(10_002 * MS, 10.0).expect("sampled");
        assert!((half_way - 1.05).abs() < 0.01, "{half_way}");
    }

    #[test]
    fn an_estimate_halves_in_a_half_life() {
        assert_eq!(decayed(4.0, 10.0, 10.0), 2.0);
        assert_eq!(decayed(4.0, 0.0, 10.0), 4.0);
    }

    #[test]
    fn a_clock_that_steps_back_changes_nothing() {
        let latency = Latency::default();
        latency.sample(1.0, 5_000 * MS, 10.0);
        assert_eq!(latency.get(4_000 * MS, 10.0), Some(1.0));
    }
}
