//! Slow start: an instance that is new or back takes its share little by little.
//!
//! The factor is max(0.10, (elapsed / window)^(1 / aggression)), after Envoy's slow start, and relative: a set's weights are
//! divided by the largest factor in it, so that where all are new nothing changes and no tier is ever emptied.

use crate::live::SECOND;
use crate::spec::SlowStart;

/// The least share of its weight that an instance takes.
pub(crate) const FLOOR: f64 = 0.10;

/// How far a factor moves before tables are compiled again.
pub(crate) const STEP: f64 = 0.05;

/// Pure arithmetic: the factor so many nanoseconds after the start.
pub(crate) fn factor(spec: &SlowStart, elapsed: u64) -> f64 {
    let part = elapsed as f64 / SECOND / spec.window_s;
    if part >= 1.0 { 1.0 } else { FLOOR.max(libm::pow(part, 1.0 / spec.aggression)) }
}

/// Pure arithmetic: how many nanoseconds after the start the factor has reached `target`, to within rounding; at least one.
pub(crate) fn reached_after(spec: &SlowStart, target: f64) -> u64 {
    (libm::pow(target.min(1.0), spec.aggression) * spec.window_s * SECOND).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_ramp_goes_from_the_floor_to_one() {
        let spec = SlowStart { window_s: 10.0, aggression: 1.0 };
        let after = |seconds: f64| factor(&spec, (seconds * SECOND) as u64);
        assert_eq!(after(0.0), FLOOR);
        assert_eq!(after(5.0), 0.5);
        assert_eq!(after(10.0), 1.0);
        assert_eq!(after(1e6), 1.0);
    }

    #[test]
    fn aggression_above_one_rises_faster() {
        let spec = SlowStart { window_s: 10.0, aggression: 2.0 };
        assert!((factor(&spec, (2.5 * SECOND) as u64) - 0.5).abs() < 1e-12);
        assert_eq!(reached_after(&spec, 0.5), (2.5 * SECOND) as u64);
    }
}
