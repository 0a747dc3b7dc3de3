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

/// Members up to which the first would often be drawn twice.
const SMALL: usize = 16;

/// The less loaded of two candidates out of the whole set: the usual case, without anything that more choices or exclusions
/// need. The same draws and the same answer as [`pick`].
#[inline]
pub(crate) fn pick_of_two(load: Load, table: &Table, live: &Live, draw: &mut impl Draw) -> Option<usize> {
    let first = table.draw(draw.draw());
    let Some(second) = another(table, first, draw) else { return Some(first) };
    let (one, other) = (table.member(first)?.slot, table.member(second)?.slot);
    let second_wins = match load {
        // in flight / weight compared without dividing; weights are positive.
        Load::InFlight => {
            let counts = (f64::from(live.in_flight(one)), f64::from(live.in_flight(other)));
            counts.1 * table.weight(first) < counts.0 * table.weight(second)
        }
        Load::Reported => {
            let now = live.now();
            // One without a report counts as the mean of the others, which is the other: a tie.
            matches!((live.load(one, now), live.load(other, now)), (Some(one), Some(other)) if other < one)
        }
    };
    Some(if second_wins { second } else { first })
}

/// By weight among all but `first`; `None` where there is no other. In a large set drawn from all, so that it need not wait
/// for the first, and once more among the others where it is the first again: what is refused leaves the proportions of the
/// others as they are.
#[inline]
fn another(table: &Table, first: usize, draw: &mut impl Draw) -> Option<usize> {
    let draw_again = draw.draw();
    if table.len() > SMALL {
        let second = table.draw(draw_again);
        if second != first {
            return Some(second);
        }
        return table.draw_other(draw.draw(), first);
    }
    table.draw_other(draw_again, first)
}

/// The less loaded of the candidates. O(choices), as many random numbers and seldom one more.
pub(crate) fn pick(
    options: &PowerOfTwo,
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    if options.choices == 2 && eligible.is_all() && table.len() > 1 {
        return pick_of_two(options.load, table, live, draw);
    }
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
