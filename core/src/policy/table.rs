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
mod tests;
