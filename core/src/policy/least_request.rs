//! `least_request`: the lowest in flight / weight.
//!
//! Ties are drawn by weight, so that idle instances are taken by weight and not in the order of the list. In a closed loop at
//! equal speeds that serves by weight.

use super::eligible::Eligible;
use super::table::Table;
use crate::live::Live;
use crate::rng::Draw;

/// Costs closer than this, relative, are a tie: 3 / 0.3 and 1 / 0.1 differ in the last bit.
const TIE: f64 = 1e-12;

/// Pure arithmetic: what an instance costs.
#[inline]
pub(crate) fn cost(in_flight: u32, weight: f64) -> f64 {
    f64::from(in_flight) / weight
}

/// Whether `cost` is no higher than the lowest.
#[inline]
fn ties(cost: f64, lowest: f64) -> bool {
    cost <= lowest + lowest * TIE
}

/// The lowest of the eligible. O(n), one random number.
pub(crate) fn pick(
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    let costs = || {
        eligible.ranks(table).map(|(rank, member)| {
            let weight = table.weight(rank);
            (rank, cost(live.in_flight(member.slot), weight), weight)
        })
    };
    let (mut lowest, mut tied, mut first) = (f64::INFINITY, 0.0, None);
    for (rank, cost, weight) in costs() {
        if first.is_none() || !ties(lowest, cost) {
            (lowest, tied, first) = (cost, weight, Some(rank));
        } else if ties(cost, lowest) {
            tied += weight;
        }
    }
    let mut left = draw.draw() as f64 / 2_f64.powi(64) * tied;
    // Counts may move between the passes; the last that still ties is then as good.
    let mut found = first;
    for (rank, cost, weight) in costs() {
        if ties(cost, lowest) {
            found = Some(rank);
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
    }
    found
}

/// Each rank's exact share at the counts of now.
pub(crate) fn shares(table: &Table, eligible: &Eligible<'_>, live: &Live) -> Vec<f64> {
    let cost_of = |rank: usize, slot| cost(live.in_flight(slot), table.weight(rank));
    let costs = eligible.ranks(table).map(|(rank, member)| cost_of(rank, member.slot));
    let lowest = costs.fold(f64::INFINITY, f64::min);
    table.shares(|rank, member| eligible.allows(rank, member) && ties(cost_of(rank, member.slot), lowest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_divides_the_count() {
        assert_eq!(cost(10, 2.0), 5.0);
        assert_eq!(cost(0, 1.0), 0.0);
        assert!(ties(cost(3, 0.3), cost(1, 0.1)) && ties(cost(1, 0.1), cost(3, 0.3)));
        assert!(!ties(cost(11, 1.0), cost(10, 1.0)));
        assert!(ties(0.0, 0.0));
    }
}
