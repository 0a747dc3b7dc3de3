//! `peak_ewma`: distinct candidates by weight, the one with the lowest expected wait wins.
//!
//! The wait is the decaying peak latency × (in flight × mean weight / weight + 1): the one more is the request that is to be
//! sent, without which every idle instance would cost nothing. A failed request counts as a slow one, so that an instance that
//! fails fast attracts nothing. After Finagle's peak EWMA load balancer (Twitter, 2015).

use super::candidates::{self, Candidate};
use super::eligible::Eligible;
use super::table::Table;
use crate::live::Live;
use crate::rng::Draw;
use crate::spec::PeakEwma;

/// Pure arithmetic: the expected wait in seconds.
#[inline]
pub(crate) fn cost(latency_s: f64, in_flight: u32, weight_over_mean: f64) -> f64 {
    latency_s * (f64::from(in_flight) / weight_over_mean + 1.0)
}

/// The candidate with the lowest cost. O(choices), as many random numbers.
pub(crate) fn pick(
    options: &PeakEwma,
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    let drawn = candidates::draw(table, eligible, options.choices as usize, draw);
    let now = live.now();
    let latencies = || drawn.iter().filter_map(|candidate| live.latency_s(candidate.member.slot, now));
    let sampled = latencies().count();
    let peers =
        if sampled > 0 { latencies().sum::<f64>() / sampled as f64 } else { live.default_latency_s() };
    candidates::cheapest(&drawn, |candidate: &Candidate| {
        let slot = candidate.member.slot;
        let latency = live.latency_s(slot, now).unwrap_or(peers);
        Some(cost(latency, live.in_flight(slot), candidate.weight / table.mean_weight()))
    })
}

/// Each rank's exact share now, where all that may be drawn cost the same: the first drawn wins, by weight.
pub(crate) fn shares(table: &Table, eligible: &Eligible<'_>, live: &Live) -> Option<Vec<f64>> {
    let now = live.now();
    let untouched = eligible
        .ranks(table)
        .all(|(_, member)| live.in_flight(member.slot) == 0 && live.latency_s(member.slot, now).is_none());
    untouched.then(|| table.shares(|rank, member| eligible.allows(rank, member)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_instance_costs_its_latency() {
        assert_eq!(cost(0.010, 0, 1.0), 0.010);
        assert!(cost(0.010, 0, 1.0) < cost(1.0, 0, 1.0));
    }

    #[test]
    fn weight_divides_what_is_in_flight_and_nothing_else() {
        assert_eq!(cost(0.5, 4, 2.0), 1.5);
        assert_eq!(cost(0.5, 0, 2.0), cost(0.5, 0, 0.5));
    }
}
