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
    use std::time::Duration;

    use super::super::table::Member;
    use super::*;
    use crate::{Outcome, PoolSpec};

    const ALL: Eligible<'static> = Eligible { skips: &[], filter: None };

    /// Draws everybody in the order of ranks.
    struct First;

    impl Draw for First {
        fn draw(&mut self) -> u64 {
            0
        }
    }

    /// Instances by weight, milliseconds that one request took, and requests in flight.
    fn world(instances: &[(f64, Option<u64>, u32)]) -> (Table, Live) {
        let live = Live::new(&PoolSpec::new());
        live.grow(instances.len());
        for (slot, (_, latency_ms, in_flight)) in (0..).zip(instances) {
            if let Some(latency_ms) = latency_ms {
                live.learn(slot, Outcome::Success, Some(Duration::from_millis(*latency_ms)), 0);
            }
            (0..*in_flight).for_each(|_| assert!(live.acquire(slot, None)));
        }
        let members = (0..instances.len() as u32).map(|at| Member { index: at, slot: at }).collect();
        (Table::new(members, instances.iter().map(|(weight, ..)| *weight).collect()), live)
    }

    fn best_of_all(instances: &[(f64, Option<u64>, u32)]) -> Option<usize> {
        let (table, live) = world(instances);
        let options = PeakEwma::new().choices(instances.len() as u32);
        pick(&options, &table, &ALL, &live, &mut First)
    }

    #[test]
    fn the_lowest_wait_wins_and_the_first_drawn_of_equals() {
        assert_eq!(best_of_all(&[(1.0, Some(30), 0), (1.0, Some(20), 0), (1.0, Some(10), 0)]), Some(2));
        assert_eq!(best_of_all(&[(1.0, Some(10), 0), (1.0, Some(10), 0)]), Some(0));
        assert_eq!(best_of_all(&[(1.0, Some(10), 3), (1.0, Some(30), 0), (1.0, Some(30), 0)]), Some(1));
    }

    #[test]
    fn without_any_sample_what_is_in_flight_decides() {
        assert_eq!(best_of_all(&[(1.0, None, 2), (1.0, None, 3), (1.0, None, 1)]), Some(2));
    }

    #[test]
    fn who_has_no_sample_counts_as_the_mean_of_those_that_have() {
        assert_eq!(best_of_all(&[(1.0, Some(10), 2), (1.0, Some(30), 0), (1.0, None, 0)]), Some(2));
        assert_eq!(best_of_all(&[(1.0, Some(10), 1), (1.0, Some(50), 0), (1.0, None, 0)]), Some(0));
    }

    #[test]
    fn what_is_in_flight_counts_by_the_weight_relative_to_the_mean() {
        // 10 × (1 / 0.5 + 1) ms against 15 × (1 / 1.5 + 1).
        assert_eq!(best_of_all(&[(1.0, Some(10), 1), (3.0, Some(15), 1)]), Some(1));
        assert_eq!(best_of_all(&[(1.0, Some(10), 1), (3.0, Some(20), 1)]), Some(0));
    }

    #[test]
    fn shares_are_told_until_a_request_is_sent_or_has_ended() {
        let told = |second| {
            let (table, live) = world(&[(1.0, None, 0), second]);
            shares(&table, &ALL, &live)
        };
        assert_eq!(told((3.0, None, 0)), Some(vec![0.25, 0.75]));
        assert_eq!(
            (told((3.0, None, 1)), told((3.0, Some(10), 0)), told((3.0, Some(10), 1))),
            (None, None, None)
        );
    }

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
