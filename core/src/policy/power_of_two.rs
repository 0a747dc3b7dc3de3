//! `power_of_two`: distinct candidates by weight, the least loaded wins.
//!
//! Two choices already bring the longest queue from O(log n / log log n) to O(log log n) (M. Mitzenmacher, "The power of two
//! choices in randomized load balancing", 2001), without looking at all, and callers that share old reports do not all run to
//! one instance. The candidates differ: with repetition the worst would be compared with itself.

use super::candidates::{self, Candidate};
use super::eligible::Eligible;
use super::least_request::cost;
use super::table::Table;
use crate::live::Live;
use crate::rng::Draw;
use crate::spec::{Load, PowerOfTwo};

/// The less loaded of the candidates. O(choices), as many random numbers.
pub(crate) fn pick(
    options: &PowerOfTwo,
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    let drawn = candidates::draw(table, eligible, options.choices as usize, draw);
    let now = live.now();
    candidates::cheapest(&drawn, |candidate: &Candidate| match options.load {
        Load::InFlight => Some(cost(live.in_flight(candidate.member.slot), candidate.weight)),
        Load::Reported => live.load(candidate.member.slot, now),
    })
}

/// Each rank's exact share at the loads of now, where all that may be drawn cost the same: the first drawn wins, by weight.
pub(crate) fn shares(
    options: &PowerOfTwo,
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
) -> Option<Vec<f64>> {
    let now = live.now();
    let mut costs = eligible.ranks(table).map(|(rank, member)| match options.load {
        Load::InFlight => Some(cost(live.in_flight(member.slot), table.weight(rank))),
        Load::Reported => live.load(member.slot, now),
    });
    let first = costs.next()?;
    costs.all(|cost| cost == first).then(|| table.shares(|rank, member| eligible.allows(rank, member)))
}
