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
mod tests {
    use super::super::table::Member;
    use super::*;
    use crate::rng::PickerRng;

    #[test]
    fn weight_divides_the_count() {
        assert_eq!(cost(10, 2.0), 5.0);
        assert_eq!(cost(0, 1.0), 0.0);
        assert!(ties(cost(3, 0.3), cost(1, 0.1)) && ties(cost(1, 0.1), cost(3, 0.3)));
        assert!(!ties(cost(11, 1.0), cost(10, 1.0)));
        assert!(ties(0.0, 0.0));
    }

    #[test]
    fn the_lightest_weights_have_the_highest_cost_that_is_still_a_number() {
        let (table, _) = loaded(&[2.0, 5e-324, f64::MAX, 1.0], &[], 1);
        let inverse = build(&table);
        assert_eq!((inverse[0], inverse[2], inverse[3]), (0.5, 1.0 / f64::MAX, 1.0));
        assert!(inverse[1] > 1e290 && (inverse[1] * f64::from(u32::MAX)).is_finite());
    }

    /// Counts as given, over a table whose slots follow each other, or do not.
    fn loaded(weights: &[f64], counts: &[u32], gap: u32) -> (Table, Live) {
        let live = Live::new(&crate::PoolSpec::new());
        live.grow(62 + weights.len() * gap as usize);
        let member = |at: usize| Member { index: at as u32, slot: 62 + at as u32 * gap };
        for (at, count) in counts.iter().enumerate() {
            (0..*count).for_each(|_| assert!(live.acquire(member(at).slot, None)));
        }
        (Table::new((0..weights.len()).map(member).collect(), weights.to_vec()), live)
    }

    /// How often each of so many evenly spread draws falls on each rank.
    fn tally(table: &Table, live: &Live, skips: &[u32]) -> Vec<u32> {
        let inverse = build(table);
        let eligible = Eligible { skips, filter: None };
        let mut counts = vec![0; table.len()];
        for draw in 0..60_u64 {
            let mut fixed = Fixed(draw * (u64::MAX / 60) + u64::MAX / 120);
            counts[pick(&inverse, table, &eligible, live, &mut fixed).expect("somebody")] += 1;
        }
        counts
    }

    struct Fixed(u64);

    impl Draw for Fixed {
        fn draw(&mut self) -> u64 {
            self.0
        }
    }

    #[test]
    fn the_lowest_count_for_its_weight_is_taken_and_ties_go_by_weight() {
        // Slots 62 and on lie in two chunks of the live state.
        for gap in [1, 2] {
            let (table, live) = loaded(&[1.0, 2.0, 3.0, 1.0], &[1, 2, 3, 2], gap);
            assert_eq!(tally(&table, &live, &[]), [10, 20, 30, 0], "a tie of the first three");
            assert_eq!(tally(&table, &live, &[2]), [20, 40, 0, 0]);
            assert_eq!(tally(&table, &live, &[0, 1, 2]), [0, 0, 0, 60]);
            let (table, live) = loaded(&[1.0, 2.0, 3.0, 1.0], &[1, 2, 3, 0], gap);
            assert_eq!(tally(&table, &live, &[]), [0, 0, 0, 60]);
            let (table, live) = loaded(&[1.0, 1.0, 1.0], &[0, 0, 0], gap);
            assert_eq!(tally(&table, &live, &[]), [20, 20, 20], "idle ones alike");
        }
    }

    #[test]
    fn in_lists_of_any_length_those_that_tie_are_taken_by_weight_and_the_others_never() {
        for (n, gap, idle) in
            [20, 70, 300].into_iter().flat_map(|n| [(n, 1, true), (n, 1, false), (n, 2, false)])
        {
            let tied = [2, n / 2, n / 2 + 1, n - 1];
            let weight =
                |at: usize| tied.iter().position(|tied| *tied == at).map_or(at % 3 + 1, |nth| nth + 1);
            let count = |at: usize| match (tied.contains(&at), idle) {
                (true, true) => 0,
                (true, false) => weight(at) as u32,
                (false, _) => weight(at) as u32 * 2 + at as u32 % 5,
            };
            let weights: Vec<f64> = (0..n).map(|at| weight(at) as f64).collect();
            let (table, live) = loaded(&weights, &(0..n).map(count).collect::<Vec<_>>(), gap);
            let (inverse, eligible) = (build(&table), Eligible { skips: &[], filter: None });
            let mut rng = PickerRng::from_seed(n as u64);
            let mut counts = vec![0_u32; n];
            for _ in 0..4_000 {
                counts[pick(&inverse, &table, &eligible, &live, &mut rng).expect("somebody")] += 1;
            }
            for (nth, rank) in tied.into_iter().enumerate() {
                let ideal = 400.0 * (nth as f64 + 1.0);
                // More than five standard deviations.
                assert!((f64::from(counts[rank]) - ideal).abs() < 160.0, "{n} {gap}: {counts:?}");
            }
            assert_eq!(tied.map(|rank| counts[rank]).iter().sum::<u32>(), 4_000, "{n} {gap}: {counts:?}");
        }
    }

    #[test]
    fn the_one_that_is_cheapest_of_ten_thousand_is_found_wherever_it_stands() {
        let n = 10_000;
        for cheapest in [0, 1, 2, 130, 400, 5_000, 8_191, n - 1] {
            let counts: Vec<u32> = (0..n).map(|at| if at == cheapest { 1 } else { 2 }).collect();
            let (table, live) = loaded(&vec![1.0; n], &counts, 1);
            let eligible = Eligible { skips: &[], filter: None };
            // A draw falls on another.
            let mut elsewhere = Fixed(1 << 63 | 1 << 54);
            assert_eq!(pick(&build(&table), &table, &eligible, &live, &mut elsewhere), Some(cheapest));
        }
    }

    #[test]
    fn shares_are_those_of_the_weights_among_those_that_tie() {
        let (table, live) = loaded(&[1.0, 2.0, 3.0, 1.0], &[1, 2, 3, 2], 1);
        let told = |skips: &[u32]| shares(&table, &Eligible { skips, filter: None }, &live);
        assert_eq!(told(&[]), [1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0, 0.0]);
        assert_eq!(told(&[2]), [1.0 / 3.0, 2.0 / 3.0, 0.0, 0.0]);
        assert_eq!(told(&[0, 1, 2]), [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn a_draw_from_all_is_tried_in_long_lists_only_and_ends_at_the_first_that_ties() {
        struct Counted(u32, u64);
        impl Draw for Counted {
            fn draw(&mut self) -> u64 {
                self.0 += 1;
                self.1
            }
        }
        let draws = |n: usize, busy: usize, point: u64| {
            let counts: Vec<u32> = (0..n).map(|at| u32::from(at < busy)).collect();
            let (table, live) = loaded(&vec![1.0; n], &counts, 1);
            let mut counted = Counted(0, point);
            let eligible = Eligible { skips: &[], filter: None };
            let rank = pick(&build(&table), &table, &eligible, &live, &mut counted).expect("somebody");
            (rank, counted.0)
        };
        let last = u64::MAX;
        assert_eq!(draws(SMALL, 1, 0), (1, 1));
        assert_eq!(draws(SMALL + 1, 1, 0), (1, IDLE_TRIES + TRIES + 1), "the point is a busy one's");
        assert_eq!([draws(300, 1, last), draws(300, 0, 0)], [(299, 1), (0, 1)], "the first is idle");
        assert_eq!(draws(300, 300, last), (299, IDLE_TRIES + 1), "nobody is idle, and all tie");
    }

    #[test]
    fn when_all_that_tied_have_moved_the_first_of_the_cheapest_is_taken() {
        let (table, live) = loaded(&[1.0; 6], &[0, 5, 3, 4, 3, 9], 1);
        let (inverse, eligible) = (build(&table), Eligible { skips: &[0], filter: None });
        let costs = Scattered { inverse: &inverse, table: &table, eligible: &eligible, live: &live };
        let block = |ranks| Block { ranks, lowest: 1.0, tied: 0 };
        assert_eq!(cheapest(&costs, &[block(0..2), block(2..6)]), Some(2));
        assert_eq!(cheapest(&costs, &[block(0..2)]), Some(1));
        assert_eq!(cheapest(&costs, &[block(0..1)]), None);
    }

    #[test]
    fn nobody_is_taken_from_an_empty_set() {
        let (table, live) = loaded(&[], &[], 1);
        let eligible = Eligible { skips: &[], filter: None };
        assert_eq!(pick(&build(&table), &table, &eligible, &live, &mut Fixed(1)), None);
        let (table, live) = loaded(&[1.0], &[0], 1);
        let eligible = Eligible { skips: &[0], filter: None };
        assert_eq!(pick(&build(&table), &table, &eligible, &live, &mut Fixed(1)), None);
    }
}
