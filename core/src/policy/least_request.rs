//! `least_request`: the lowest in flight / weight.
//!
//! Ties are drawn by weight, so that idle instances are taken by weight and not in the order of the list. In a closed loop at
//! equal speeds that serves by weight.

use std::ops::Range;

use arrayvec::ArrayVec;

use super::eligible::Eligible;
use super::roulette::scale;
use super::table::Table;
use crate::live::load::Counting;
use crate::live::{CHUNKS, InFlight, Live};
use crate::rng::Draw;

/// Costs closer than this, relative, are a tie: 3 / 0.33 and 1 / 0.11 differ in the last bit.
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

/// 1 / weight of each rank, laid out when the set is compiled, since a division is most of what a look costs. So low that no
/// cost overflows.
pub(crate) fn build(table: &Table) -> Box<[f64]> {
    const HIGHEST: f64 = f64::MAX / (1_u64 << 32) as f64;
    (0..table.len()).map(|rank| (1.0 / table.weight(rank)).min(HIGHEST)).collect()
}

/// The lowest of the eligible. O(n), or O(1) expected where a fair part of more than 64 is idle; one random number, or up to 13
/// in a set of more than 64. `inverse` is what [`build`] laid out.
pub(crate) fn pick(
    inverse: &[f64],
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    match table.slot_run() {
        Some(begin) if eligible.is_all() => {
            pick_by(&Side { inverse, begin, live, counting: Counting::new() }, table, draw)
        }
        _ => pick_by(&Scattered { inverse, table, eligible, live }, table, draw),
    }
}

/// What the ranks of a set cost, wherever their counts lie.
trait Costs {
    /// The end of the ranks from `begin` on whose counts lie together.
    fn end_of(&self, begin: usize) -> usize;

    /// The costs of ranks that lie together; infinite where the rank may not be picked.
    fn of(&self, ranks: Range<usize>) -> impl Iterator<Item = f64>;

    /// The lowest of them.
    #[inline(always)]
    fn lowest(&self, ranks: Range<usize>) -> f64 {
        self.of(ranks).fold(f64::INFINITY, f64::min)
    }
}

/// A whole set whose counts lie side by side.
struct Side<'a> {
    inverse: &'a [f64],
    /// The slot of the first rank.
    begin: u32,
    live: &'a Live,
    counting: Counting,
}

impl Side<'_> {
    #[inline(always)]
    fn counts(&self, ranks: &Range<usize>) -> (&[InFlight], &[f64]) {
        let counts = self.live.in_flight_run(self.begin + ranks.start as u32, ranks.len());
        (counts, self.inverse.get(ranks.clone()).unwrap_or(&[]))
    }
}

impl Costs for Side<'_> {
    fn end_of(&self, begin: usize) -> usize {
        begin + self.counts(&(begin..self.inverse.len())).0.len()
    }

    #[inline(always)]
    fn of(&self, ranks: Range<usize>) -> impl Iterator<Item = f64> {
        let (counts, inverse) = self.counts(&ranks);
        counts.iter().zip(inverse).map(|(count, inverse)| self.counting.count(count) * inverse)
    }

    /// Eight at a time, none of which waits for the others.
    #[inline(always)]
    fn lowest(&self, ranks: Range<usize>) -> f64 {
        let (counts, inverse) = self.counts(&ranks);
        let ((counts, more_counts), (inverse, more_inverse)) =
            (counts.as_chunks::<8>(), inverse.as_chunks::<8>());
        let mut lowest = [f64::INFINITY; 8];
        for (counts, inverse) in counts.iter().zip(inverse) {
            for at in 0..8 {
                let cost = self.counting.count_or_less(&counts[at]) * inverse[at];
                lowest[at] = if cost < lowest[at] { cost } else { lowest[at] };
            }
        }
        let more =
            more_counts.iter().zip(more_inverse).map(|(count, inverse)| self.counting.count(count) * inverse);
        // What counts as none comes out below zero.
        lowest.into_iter().chain(more).fold(f64::INFINITY, f64::min).max(0.0)
    }
}

/// What is eligible of a set.
struct Scattered<'a> {
    inverse: &'a [f64],
    table: &'a Table,
    eligible: &'a Eligible<'a>,
    live: &'a Live,
}

impl Costs for Scattered<'_> {
    fn end_of(&self, _begin: usize) -> usize {
        self.inverse.len()
    }

    #[inline(always)]
    fn of(&self, ranks: Range<usize>) -> impl Iterator<Item = f64> {
        ranks.map(|rank| match (self.table.member(rank), self.inverse.get(rank)) {
            (Some(member), Some(inverse)) if self.eligible.allows(rank, member) => {
                f64::from(self.live.in_flight(member.slot)) * inverse
            }
            _ => f64::INFINITY,
        })
    }
}

/// Ranks that are looked at together.
struct Block {
    ranks: Range<usize>,
    lowest: f64,
    /// The width of those that tie with the lowest of all; that of a whole circle is one more than fits in 64 bits.
    tied: u128,
}

/// Blocks of a set, but for those that end where an arena's chunk does.
const BLOCKS: usize = 64;

/// Ranks of a block at least.
const BLOCK: usize = 128;

/// Members up to which the exact way is short enough to go at once.
const SMALL: usize = 64;

/// Draws from all, for one without a lease.
const IDLE_TRIES: u32 = 4;

/// Draws from all, for one that ties, before the exact way.
const TRIES: u32 = 8;

/// One of those that tie for the lowest cost, by weight. Where a fair part of the set is idle, a draw from all soon falls on an
/// idle one. Otherwise looks at all once for the lowest. Where many tie, a draw from all soon falls on one of them; else looks
/// at the blocks that reach the lowest again for who ties, and at the block that the draw falls in for who it is. Counts may
/// move meanwhile: what is found then was among the lowest a moment ago.
#[inline]
fn pick_by<D: Draw>(costs: &impl Costs, table: &Table, draw: &mut D) -> Option<usize> {
    // What is refused leaves the proportions of those that tie as they are, so draws from all may be mixed with the exact way.
    let drawn = |tries: u32, highest: f64, draw: &mut D| {
        let tries = if table.len() > SMALL { tries } else { 0 };
        let mut ranks = (0..tries).map(|_| table.draw(draw.draw()));
        ranks.find(|rank| costs.of(*rank..rank + 1).next().is_some_and(|cost| cost <= highest))
    };
    // Nothing is below zero: one without a lease is among the lowest.
    if let Some(idle) = drawn(IDLE_TRIES, 0.0, draw) {
        return Some(idle);
    }
    let mut blocks = ArrayVec::<Block, { BLOCKS + CHUNKS }>::new();
    let size = table.len().div_ceil(BLOCKS).max(BLOCK);
    let (mut begin, mut lowest) = (0, f64::INFINITY);
    while begin < table.len() && !blocks.is_full() {
        let end = (begin + size).min(costs.end_of(begin)).min(table.len()).max(begin + 1);
        let low = costs.lowest(begin..end);
        lowest = f64::min(lowest, low);
        // There is room, or the loop would have ended.
        let _ = blocks.try_push(Block { ranks: begin..end, lowest: low, tied: 0 });
        begin = end;
    }
    if lowest == f64::INFINITY {
        return None;
    }
    let highest = lowest + lowest * TIE;
    if let Some(rank) = drawn(TRIES, highest, draw) {
        return Some(rank);
    }
    let mut tied = 0_u128;
    for block in blocks.iter_mut().filter(|block| block.lowest <= highest) {
        let widths = table.widths(block.ranks.clone()).zip(costs.of(block.ranks.clone()));
        let tied_widths = widths.map(|(width, cost)| if cost <= highest { width } else { 0 });
        block.tied = tied_widths.map(u128::from).sum();
        tied += block.tied;
    }
    let point = draw.draw();
    let mut left = u64::try_from(tied).map_or(point, |tied| scale(point, tied));
    let block = blocks.iter().find(|block| match u64::try_from(block.tied) {
        Ok(tied) if left >= tied => {
            left -= tied;
            false
        }
        _ => true,
    });
    let Some(block) = block else { return cheapest(costs, &blocks) };
    let mut found = None;
    for (rank, cost) in block.ranks.clone().zip(costs.of(block.ranks.clone())) {
        if cost <= highest {
            found = Some(rank);
            let width = table.width(rank);
            if left < width {
                return found;
            }
            left -= width;
        }
    }
    found.or_else(|| cheapest(costs, &blocks))
}

/// The first of the lowest as they are now, for when those that tied have all moved.
#[cold]
fn cheapest(costs: &impl Costs, blocks: &[Block]) -> Option<usize> {
    let all = blocks.iter().flat_map(|block| block.ranks.clone().zip(costs.of(block.ranks.clone())));
    let finite = all.filter(|(_, cost)| *cost < f64::INFINITY);
    finite.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(rank, _)| rank)
}

/// Each rank's exact share at the counts of now.
pub(crate) fn shares(table: &Table, eligible: &Eligible<'_>, live: &Live) -> Vec<f64> {
    let cost_of = |rank: usize, slot| cost(live.in_flight(slot), table.weight(rank));
    let costs = eligible.ranks(table).map(|(rank, member)| cost_of(rank, member.slot));
    let lowest = costs.fold(f64::INFINITY, f64::min);
    table.shares(|rank, member| eligible.allows(rank, member) && ties(cost_of(rank, member.slot), lowest))
}

#[cfg(test)]
mod tests;
