//! The members of a compiled set, and draws of one of them by weight, also from what exclusions leave.
//!
//! Excluded members, and candidates already drawn, are intervals of the circle: a draw is scaled to the length that is
//! left and steps over the sorted intervals. One draw and no refusal, so the answer has exactly the distribution of the
//! weights among those that are left.

use std::ops::Range;

use super::roulette::{BITS, Circle, Guide, compensated_sum, scale, widths};

/// A member of a set: where its instance stands in the list, and where its live state lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) index: u32,
    pub(crate) slot: u32,
}

/// The members in list order, with their weights. A member's position here is its rank.
#[derive(Debug)]
pub(crate) struct Table {
    members: Box<[Member]>,
    /// The list position of the first member, where the others follow it without a gap.
    run: Option<u32>,
    /// The slot of the first member, where those of the others follow it without a gap.
    slot_run: Option<u32>,
    weights: Weights,
    mean_weight: f64,
}

#[derive(Debug)]
pub(crate) enum Weights {
    /// All alike: no table is needed.
    Equal(f64),
    Each {
        circle: Circle,
        weights: Box<[f64]>,
    },
}

impl Table {
    /// From members in list order and their weights, which are positive and finite.
    pub(crate) fn new(members: Vec<Member>, weights: Vec<f64>) -> Self {
        let first = members.first().map_or(0, |member| member.index);
        let first_slot = members.first().map_or(0, |member| member.slot);
        let gapless = members.iter().zip(first..).all(|(member, index)| member.index == index);
        let slots_gapless = members.iter().zip(first_slot..).all(|(member, slot)| member.slot == slot);
        let part = 1.0 / weights.len().max(1) as f64;
        let mean_weight = compensated_sum(weights.iter().map(|weight| weight * part));
        let weights = if all_equal(&weights) {
            Weights::Equal(weights.first().copied().unwrap_or(1.0))
        } else {
            Weights::Each { circle: Circle::new(&widths(&weights, BITS)), weights: weights.into() }
        };
        Self {
            members: members.into(),
            run: gapless.then_some(first),
            slot_run: slots_gapless.then_some(first_slot),
            weights,
            mean_weight,
        }
    }

    /// Whether [`new`](Self::new) would build this very table.
    pub(crate) fn is(&self, members: &[Member], weights: &[f64]) -> bool {
        let same_weights = match &self.weights {
            Weights::Equal(held) => weights.iter().all(|weight| weight == held),
            Weights::Each { weights: held, .. } => **held == *weights,
        };
        same_weights && *self.members == *members
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    #[inline]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn member(&self, rank: usize) -> Option<Member> {
        self.members.get(rank).copied()
    }

    /// Where the member stands in the list. Without looking at it, if it can.
    #[inline(always)]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn index(&self, rank: usize) -> Option<u32> {
        match self.run {
            Some(first) => Some(first + rank as u32),
            None => self.members.get(rank).map(|member| member.index),
        }
    }

    /// Where the member's live state lies. Without looking at it, if it can.
    #[inline(always)]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn slot(&self, rank: usize) -> Option<u32> {
        match self.slot_run {
            Some(first) => Some(first + rank as u32),
            None => self.members.get(rank).map(|member| member.slot),
        }
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = Member> + '_ {
        self.members.iter().copied()
    }

    /// The first rank whose member stands at `index` of the list or behind it. O(log n).
    pub(crate) fn rank_from(&self, index: u32) -> usize {
        self.members.partition_point(|member| member.index < index)
    }

    /// The rank of the instance at `index` of the list. O(log n); O(1) where the set has no gap.
    #[inline]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn rank_of(&self, index: u32) -> Option<usize> {
        if let Some(first) = self.run {
            let rank = index.checked_sub(first)? as usize;
            return (rank < self.len()).then_some(rank);
        }
        self.members.binary_search_by_key(&index, |member| member.index).ok()
    }

    /// The same for positions that rise from call to call: `from` is where the last call came to, at first 0. O(log of the
    /// way between them).
    #[inline]
    pub(crate) fn rank_onwards(&self, index: u32, from: &mut usize) -> Option<usize> {
        if self.run.is_some() {
            return self.rank_of(index);
        }
        let rest = self.members.get(*from..)?;
        let mut reach = 1;
        while rest.get(reach - 1).is_some_and(|member| member.index < index) {
            reach *= 2;
        }
        let near = rest.get(reach / 2..reach.min(rest.len())).unwrap_or(&[]);
        *from += reach / 2 + near.partition_point(|member| member.index < index);
        self.members.get(*from).is_some_and(|member| member.index == index).then_some(*from)
    }

    #[inline]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn weight(&self, rank: usize) -> f64 {
        match &self.weights {
            Weights::Equal(weight) => *weight,
            Weights::Each { weights, .. } => weights.get(rank).copied().unwrap_or(0.0),
        }
    }

    /// The mean of the weights; scaled before they are added, so that the largest stay finite.
    #[inline]
    pub(crate) fn mean_weight(&self) -> f64 {
        self.mean_weight
    }

    /// The length that a member takes of what draws are scaled to.
    #[inline]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn width(&self, rank: usize) -> u64 {
        match &self.weights {
            Weights::Equal(_) => 1,
            Weights::Each { circle, .. } => circle.width(rank),
        }
    }

    /// The lengths of consecutive members.
    #[inline(always)]
    pub(crate) fn widths(&self, ranks: Range<usize>) -> impl Iterator<Item = u64> {
        let (mut first, lasts) = match &self.weights {
            Weights::Equal(_) => (0, &[][..]),
            Weights::Each { circle, .. } => (circle.first(ranks.start), circle.lasts(ranks.clone())),
        };
        ranks.enumerate().map(move |(at, _)| {
            let Some(last) = lasts.get(at) else { return 1 };
            let width = last.wrapping_sub(first).wrapping_add(1);
            first = last.wrapping_add(1);
            width
        })
    }

    /// The member that a draw falls on, by weight. The set must not be empty. O(1) expected.
    #[inline(always)]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn draw(&self, draw: u64) -> usize {
        match &self.weights {
            Weights::Equal(_) => scale(draw, self.members.len() as u64) as usize,
            Weights::Each { circle, .. } => circle.find(draw),
        }
    }

    /// What decides most draws by weight, and the list position of the first member, where the others follow it without a
    /// gap.
    pub(crate) fn guide(&self) -> Option<(&Guide, u32)> {
        match &self.weights {
            Weights::Equal(_) => None,
            Weights::Each { circle, .. } => Some((circle.guide(), self.run?)),
        }
    }

    /// How many there are, and the list position of the first, where they weigh alike and the others follow without a gap.
    pub(crate) fn alike(&self) -> Option<(u32, u32)> {
        match &self.weights {
            Weights::Equal(_) if !self.members.is_empty() => Some((self.members.len() as u32, self.run?)),
            _ => None,
        }
    }

    /// The slot of the first member, where those of the others follow it without a gap.
    pub(crate) fn slot_run(&self) -> Option<u32> {
        self.slot_run
    }

    /// The member that a draw falls on, by weight among all but one; `None` where there is no other.
    #[inline]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn draw_other(&self, draw: u64, skip: usize) -> Option<usize> {
        if self.len() < 2 {
            return None;
        }
        match &self.weights {
            Weights::Equal(_) => {
                let rank = scale(draw, self.len() as u64 - 1) as usize;
                Some(rank + usize::from(rank >= skip))
            }
            Weights::Each { circle, .. } => {
                let (first, width) = (circle.first(skip), circle.width(skip));
                let point = scale(draw, 0_u64.wrapping_sub(width));
                Some(circle.find(if point >= first { point + width } else { point }))
            }
        }
    }

    /// The member that a draw falls on, by weight among those not skipped; `None` where none is left. `skips` are ranks,
    /// rising, each once. O(number of skips).
    #[inline]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn draw_skipping(&self, draw: u64, skips: &[u32]) -> Option<usize> {
        if skips.len() >= self.len() {
            return None;
        }
        let Weights::Each { circle, .. } = &self.weights else {
            let rank = scale(draw, (self.len() - skips.len()) as u64) as usize;
            return Some(skips.iter().fold(rank, |rank, skip| rank + usize::from(rank >= *skip as usize)));
        };
        let mut skipped = 0;
        for skip in skips {
            skipped += circle.width(*skip as usize);
        }
        let mut point = if skipped == 0 { draw } else { scale(draw, 0_u64.wrapping_sub(skipped)) };
        for skip in skips {
            let (first, width) = (circle.first(*skip as usize), circle.width(*skip as usize));
            point += if point >= first { width } else { 0 };
        }
        Some(circle.find(point))
    }

    /// The same for ranks that an iterator gives.
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn draw_left(&self, draw: u64, skips: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        if skips.clone().count() >= self.len() {
            return None;
        }
        let skipped: u64 = skips.clone().map(|rank| self.width(rank)).sum();
        match &self.weights {
            Weights::Equal(_) => {
                let rank = scale(draw, self.len() as u64 - skipped) as usize;
                Some(skips.fold(rank, |rank, skip| if rank >= skip { rank + 1 } else { rank }))
            }
            Weights::Each { circle, .. } => {
                let left = 0_u64.wrapping_sub(skipped);
                let point = if left == 0 { draw } else { scale(draw, left) };
                let over = |point: u64, skip| {
                    if point >= circle.first(skip) { point + circle.width(skip) } else { point }
                };
                Some(circle.find(skips.fold(point, over)))
            }
        }
    }

    /// Each member's exact share of draws by weight, in the order of ranks; positive for every eligible member.
    pub(crate) fn shares(&self, eligible: impl Fn(usize, Member) -> bool) -> Vec<f64> {
        let is_in: Vec<bool> =
            self.members().enumerate().map(|(rank, member)| eligible(rank, member)).collect();
        let ranks = || (0..self.len()).filter(|rank| is_in[*rank]);
        let heaviest = ranks().map(|rank| self.weight(rank)).fold(0.0, f64::max);
        // Relative to the heaviest, so that the sum stays finite.
        let total = compensated_sum(ranks().map(|rank| self.weight(rank) / heaviest));
        let share = |rank| match self.weight(rank) / heaviest / total {
            // So far below the heaviest that only its point is left.
            0.0 => 2_f64.powi(-64),
            share => share,
        };
        (0..self.len()).map(|rank| if is_in[rank] { share(rank) } else { 0.0 }).collect()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let weights = match &self.weights {
            Weights::Equal(_) => 0,
            Weights::Each { circle, weights } => circle.heap_bytes() + size_of_val(&**weights),
        };
        size_of_val(&*self.members) + weights
    }
}

fn all_equal(weights: &[f64]) -> bool {
    weights.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::{Draw, PickerRng};

    fn table(weights: &[f64]) -> Table {
        let members = (0..weights.len() as u32).map(|at| Member { index: at * 2, slot: at }).collect();
        Table::new(members, weights.to_vec())
    }

    proptest! {
        #[test]
        fn what_is_skipped_is_never_drawn_and_the_rest_keeps_its_proportions(
            weights in prop_oneof![
                proptest::collection::vec(1_u32..20, 1..12),
                (1_u32..20, 1_usize..12).prop_map(|(weight, n)| vec![weight; n]),
            ],
            mask in 0_u32..4_096,
        ) {
            let table = table(&weights.iter().map(|weight| f64::from(*weight)).collect::<Vec<_>>());
            let skips: Vec<usize> = (0..weights.len()).filter(|rank| mask >> rank & 1 == 1).collect();
            let left: u32 = (0..weights.len()).filter(|rank| !skips.contains(rank)).map(|rank| weights[rank]).sum();
            let mut counts = vec![0_u32; weights.len()];
            let draws = 1_u64 << 14;
            for draw in 0..draws {
                let drawn = table.draw_left(draw << 50, skips.iter().copied());
                let ranks: Vec<u32> = skips.iter().map(|rank| *rank as u32).collect();
                prop_assert_eq!(drawn, table.draw_skipping(draw << 50, &ranks));
                match drawn {
                    Some(rank) => counts[rank] += 1,
                    None => prop_assert_eq!(left, 0),
                }
            }
            for (rank, count) in counts.iter().enumerate() {
                let ideal = if skips.contains(&rank) { 0.0 } else { f64::from(weights[rank]) / f64::from(left) * draws as f64 };
                prop_assert!((f64::from(*count) - ideal).abs() <= 1.0 + f64::from(u32::from(ideal > 0.0)), "{} for {}", count, ideal);
            }
        }

        #[test]
        fn on_both_sides_of_every_border_of_what_is_left_the_owner_is_drawn(
            weights in proptest::collection::vec(1e-6..1e6_f64, 2..12),
            mask in 1_u32..4_096,
        ) {
            let table = table(&weights);
            let skips: Vec<u32> = (0..weights.len() as u32).filter(|rank| mask >> rank & 1 == 1).collect();
            let left = || (0..weights.len()).filter(|rank| mask >> rank & 1 == 0);
            let total: u128 = left().map(|rank| u128::from(table.width(rank))).sum();
            prop_assume!(total > 0 && !skips.is_empty());
            // A draw's point among what is left is draw · total / 2⁶⁴, rounded down; this is the first draw at a point or behind.
            let first = |point: u128| (point << 64).div_ceil(total);
            let mut begin = 0_u128;
            for rank in left() {
                let end = begin + u128::from(table.width(rank));
                for draw in [first(begin), first(end) - 1] {
                    prop_assert_eq!(table.draw_skipping(draw as u64, &skips), Some(rank), "draw {}", draw);
                }
                begin = end;
            }
        }

        #[test]
        fn ranks_are_found_by_list_position(n in 1_usize..200) {
            let table = table(&vec![1.0; n]);
            for index in 0..2 * n as u32 {
                prop_assert_eq!(table.rank_of(index), (index % 2 == 0).then_some(index as usize / 2));
                prop_assert_eq!(table.rank_from(index), index.div_ceil(2) as usize);
            }
            for step in 1..9 {
                let mut from = 0;
                for index in (0..2 * n as u32 + 9).step_by(step) {
                    prop_assert_eq!(table.rank_onwards(index, &mut from), table.rank_of(index));
                }
            }
        }
    }

    #[test]
    fn members_whose_weight_shares_lie_36_orders_apart_keep_their_shares() {
        let table = table(&[1e18, 1.0, 1e-18]);
        let shares = table.shares(|_, _| true);
        assert!((shares[1] / 1e-18 - 1.0).abs() < 1e-9 && shares[2] > 0.0);
        let mut rng = PickerRng::from_seed(1);
        assert!((0..100_000).all(|_| table.draw(rng.draw()) == 0));
        let furthest = self::table(&[f64::MAX, 5e-324]).shares(|_, _| true);
        assert_eq!(furthest, [1.0, 2_f64.powi(-64)], "one point of the circle");
    }

    /// Members whose list positions have gaps, or none.
    fn both_forms(weights: &[f64]) -> [Table; 2] {
        let member = |gap: u32| move |at: u32| Member { index: 7 + at * gap, slot: 3 + at * gap };
        [1, 2].map(|gap| Table::new((0..weights.len() as u32).map(member(gap)).collect(), weights.to_vec()))
    }

    #[test]
    fn a_rank_and_a_list_position_name_each_other_with_gaps_and_without() {
        for weights in [&[1.0, 1.0, 1.0][..], &[1.0, 2.0, 4.0], &[5.0]] {
            for table in both_forms(weights) {
                for (rank, member) in table.members().enumerate() {
                    assert_eq!(table.member(rank), Some(member));
                    assert_eq!(table.index(rank), Some(member.index));
                    assert_eq!(table.rank_of(member.index), Some(rank));
                    assert_eq!(table.weight(rank), weights[rank]);
                }
                let end = table.members().last().map_or(0, |member| member.index + 1);
                assert_eq!([6, end, end + 1].map(|index| table.rank_of(index)), [None; 3]);
                assert_eq!(table.member(weights.len()), None);
            }
        }
        let [gapless, gaps] = both_forms(&[1.0, 2.0, 4.0]);
        assert_eq!((gapless.slot_run(), gaps.slot_run()), (Some(3), None));
        assert_eq!(gaps.index(3), None);
    }

    #[test]
    fn the_short_ways_are_for_members_without_a_gap_all_alike_or_not() {
        let [equal, equal_gaps] = both_forms(&[2.0, 2.0, 2.0]);
        assert_eq!((equal.alike(), equal_gaps.alike()), (Some((3, 7)), None));
        assert!(equal.guide().is_none() && equal_gaps.guide().is_none());
        let [each, each_gaps] = both_forms(&[1.0, 2.0, 4.0]);
        assert_eq!((each.alike(), each_gaps.alike()), (None, None));
        assert_eq!(each.guide().map(|(guide, first)| (guide.find(15 << 60), first)), Some((Some(2), 7)));
        assert!(each_gaps.guide().is_none());
        assert_eq!(table(&[]).alike(), None);
    }

    #[test]
    fn widths_are_one_each_or_cover_the_circle_and_the_mean_weight_is_the_mean() {
        let [equal, _] = both_forms(&[2.0, 2.0, 2.0, 2.0]);
        assert_eq!((0..4).map(|rank| equal.width(rank)).collect::<Vec<_>>(), [1; 4]);
        assert!(matches!(equal.weights(), Weights::Equal(2.0)));
        let [each, _] = both_forms(&[1.0, 3.0]);
        assert_eq!((each.width(0), each.width(1)), (1 << 62, 3 << 62));
        assert_eq!((equal.mean_weight(), each.mean_weight()), (2.0, 2.0));
        assert_eq!(table(&[f64::MAX, f64::MAX]).mean_weight(), f64::MAX);
        assert_eq!(each.weight(2), 0.0, "nobody's");
    }

    #[test]
    fn the_others_are_drawn_by_weight_and_the_skipped_one_never() {
        let draws = 1_u64 << 12;
        for weights in [&[1.0, 1.0, 1.0, 1.0][..], &[1.0, 2.0, 5.0, 8.0]] {
            let table = table(weights);
            for skip in 0..weights.len() {
                let mut counts = vec![0_u64; weights.len()];
                (0..draws).for_each(|draw| {
                    counts[table.draw_other(draw << 52, skip).expect("there are others")] += 1;
                });
                let left: f64 = weights.iter().sum::<f64>() - weights[skip];
                for (rank, count) in counts.iter().enumerate() {
                    let ideal = if rank == skip { 0.0 } else { weights[rank] / left * draws as f64 };
                    assert!((*count as f64 - ideal).abs() <= 1.0, "{weights:?} without {skip}: {counts:?}");
                    assert!(rank != skip || *count == 0);
                }
            }
        }
        assert_eq!(table(&[1.0]).draw_other(0, 0), None);
        assert_eq!(table(&[]).draw_other(0, 0), None);
    }

    #[test]
    fn a_table_is_the_one_that_its_members_and_weights_would_build() {
        let members = || (0..3).map(|at| Member { index: at, slot: at }).collect::<Vec<_>>();
        let (equal, each) = (Table::new(members(), vec![2.0; 3]), Table::new(members(), vec![1.0, 2.0, 3.0]));
        assert!(equal.is(&members(), &[2.0; 3]) && each.is(&members(), &[1.0, 2.0, 3.0]));
        assert!(!equal.is(&members(), &[2.0, 2.0, 3.0]) && !equal.is(&members(), &[1.0; 3]));
        assert!(!each.is(&members(), &[1.0, 2.0, 4.0]) && !each.is(&members(), &[2.0; 3]));
        let mut moved = members();
        moved[1].slot = 9;
        assert!(!equal.is(&moved, &[2.0; 3]) && !each.is(&moved, &[1.0, 2.0, 3.0]));
        assert!(!equal.is(&members()[..2], &[2.0; 2]));
    }

    #[test]
    fn bytes_are_those_of_members_weights_and_circle() {
        let members = 3 * size_of::<Member>();
        assert_eq!(table(&[1.0; 3]).heap_bytes(), members);
        let Weights::Each { circle, .. } = &table(&[1.0, 2.0, 3.0]).weights else { panic!("they differ") };
        assert!(circle.heap_bytes() >= 3 * 8 + 48 * 8);
        assert_eq!(table(&[1.0, 2.0, 3.0]).heap_bytes(), members + 3 * 8 + circle.heap_bytes());
    }
}
