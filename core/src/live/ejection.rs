//! Ejection: instances that fail are left out for a while.
//!
//! Requests count here as they end; a `tick` decides. After Envoy's outlier detection.

use crate::spec::Ejection;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// What requests have counted of one instance.
#[derive(Default)]
pub(crate) struct Failures {
    /// Failures since the last success.
    in_a_row: AtomicU32,
    /// In the interval: requests in the upper half, failures in the lower.
    interval: AtomicU64,
}

/// What an interval came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) requests: u32,
    pub(crate) failures: u32,
}

/// Why an instance is ejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    ConsecutiveFailures,
    FailurePercentage,
}

impl Cause {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ConsecutiveFailures => "consecutive_failures",
            Self::FailurePercentage => "failure_percentage",
        }
    }
}

impl Failures {
    /// Counts a request that has ended, and returns the failures in a row.
    pub(crate) fn count(&self, failed: bool) -> u32 {
        self.interval.fetch_add(1 << 32 | u64::from(failed), Ordering::Relaxed);
        if failed {
            return self.in_a_row.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        }
        self.in_a_row.store(0, Ordering::Relaxed);
        0
    }

    pub(crate) fn in_a_row(&self) -> u32 {
        self.in_a_row.load(Ordering::Relaxed)
    }

    /// What was counted and not forgotten.
    pub(crate) fn interval(&self) -> Interval {
        let counted = self.interval.load(Ordering::Relaxed);
        Interval { requests: (counted >> 32) as u32, failures: counted as u32 }
    }

    /// Forgets what was counted until `counted` was looked at. For writers, one after the other.
    pub(crate) fn forget(&self, counted: Interval) {
        let Interval { requests, failures } = counted;
        self.interval.fetch_sub(u64::from(requests) << 32 | u64::from(failures), Ordering::Relaxed);
    }

    pub(crate) fn reset(&self) {
        self.in_a_row.store(0, Ordering::Relaxed);
        self.interval.store(0, Ordering::Relaxed);
    }
}

impl Interval {
    /// Pure arithmetic: whether the share of failures ejects. Strictly above the threshold does.
    pub(crate) fn ejects(self, threshold: f64, request_volume: u32) -> bool {
        self.requests >= request_volume.max(1)
            && f64::from(self.failures) * 100.0 > threshold * f64::from(self.requests)
    }
}

/// Pure arithmetic: whether one more of `count` instances may be ejected while `ejected` are. Looked at before each
/// ejection, so that there is always room for one.
pub(crate) fn has_room(spec: &Ejection, ejected: usize, count: usize) -> bool {
    ejected as f64 * 100.0 < spec.max_ejection_percent * count as f64
        || (ejected == 0 && spec.max_ejection_percent > 0.0)
}

/// Pure arithmetic: how long the `times`-th ejection lasts, in seconds.
pub(crate) fn seconds(spec: &Ejection, times: u32) -> f64 {
    (spec.base_ejection_s * f64::from(times)).min(spec.max_ejection_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_more_than_the_threshold_ejects_and_only_with_enough_requests() {
        let interval = |requests, failures| Interval { requests, failures };
        assert!(!interval(100, 85).ejects(85.0, 50));
        assert!(interval(100, 86).ejects(85.0, 50));
        assert!(!interval(49, 49).ejects(85.0, 50));
    }

    #[test]
    fn there_is_always_room_for_one_and_never_for_more_than_the_share() {
        let spec = Ejection::default();
        assert!(has_room(&spec, 0, 3) && !has_room(&spec, 1, 3));
        assert!(has_room(&spec, 1, 11) && !has_room(&spec, 1, 10));
    }

    #[test]
    fn ejections_grow_longer_up_to_the_longest() {
        let spec = Ejection::default();
        assert_eq!([1, 2, 10, 11, 50].map(|times| seconds(&spec, times)), [30.0, 60.0, 300.0, 300.0, 300.0]);
    }

    #[test]
    fn a_success_ends_the_row() {
        let failures = Failures::default();
        assert_eq!([true, true, false, true].map(|failed| failures.count(failed)), [1, 2, 0, 1]);
        let counted = failures.interval();
        assert_eq!(counted, Interval { requests: 4, failures: 3 });
        failures.count(true);
        failures.forget(counted);
        assert_eq!(failures.interval(), Interval { requests: 1, failures: 1 }, "what came since is kept");
    }
}
