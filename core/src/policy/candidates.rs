//! Candidates: distinct members drawn by weight without replacement, of which the cheapest wins.

use arrayvec::ArrayVec;

use super::eligible::Eligible;
use super::table::{Member, Table};
use crate::rng::Draw;

/// Most candidates.
pub(crate) const MAX_CHOICES: usize = 8;

/// A drawn member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) rank: usize,
    pub(crate) member: Member,
    pub(crate) weight: f64,
}

/// Candidates in the order they were drawn.
pub(crate) type Candidates = ArrayVec<Candidate, MAX_CHOICES>;

/// Draws up to `choices` different members of the eligible. O(choices · log choices), as many random numbers.
pub(crate) fn draw(
    table: &Table,
    eligible: &Eligible<'_>,
    choices: usize,
    draw: &mut impl Draw,
) -> Candidates {
    let mut drawn = Candidates::new();
    let mut ranks: ArrayVec<u32, MAX_CHOICES> = ArrayVec::new();
    while drawn.len() < choices.min(MAX_CHOICES) {
        let Some(rank) = eligible.draw_besides(table, &ranks, draw) else { break };
        let Some(member) = table.member(rank) else { break };
        drawn.push(Candidate { rank, member, weight: table.weight(rank) });
        let at = ranks.partition_point(|held| (*held as usize) < rank);
        ranks.insert(at, rank as u32);
    }
    drawn
}

/// The cheapest; the first drawn of equals. A candidate without a cost counts as the mean of those that have one.
pub(crate) fn cheapest(drawn: &Candidates, cost: impl Fn(&Candidate) -> Option<f64>) -> Option<usize> {
    let costs: ArrayVec<Option<f64>, MAX_CHOICES> = drawn.iter().map(cost).collect();
    let known = || costs.iter().flatten();
    // Scaled before they are added, so that the largest stay finite.
    let mean = known().map(|cost| cost / known().count() as f64).sum::<f64>();
    let best = (0..drawn.len()).reduce(|best, at| {
        let cost_at = |at: usize| costs.get(at).copied().flatten().unwrap_or(mean);
        if cost_at(at) < cost_at(best) { at } else { best }
    })?;
    drawn.get(best).map(|candidate| candidate.rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(count: usize) -> Candidates {
        let candidate =
            |rank| Candidate { rank, member: Member { index: rank as u32, slot: 0 }, weight: 1.0 };
        (0..count).map(candidate).collect()
    }

    #[test]
    fn the_first_drawn_of_equals_wins() {
        assert_eq!(cheapest(&candidates(3), |_| Some(1.0)), Some(0));
        assert_eq!(cheapest(&candidates(3), |candidate| Some(3.0 - candidate.rank as f64)), Some(2));
        assert_eq!(cheapest(&candidates(0), |_| Some(1.0)), None);
    }

    #[test]
    fn an_unknown_cost_counts_as_the_mean_of_the_known() {
        let costs = [None, Some(1.0), Some(5.0)];
        assert_eq!(cheapest(&candidates(3), |candidate| costs[candidate.rank]), Some(1));
        assert_eq!(
            cheapest(&candidates(2), |candidate| costs[candidate.rank]),
            Some(0),
            "a tie with its own mean"
        );
        assert_eq!(cheapest(&candidates(2), |_| None), Some(0));
        for cost in [0.0, 3.0, f64::MAX] {
            let two_alike = [None, Some(cost), Some(cost)];
            let best = cheapest(&candidates(3), |candidate| two_alike[candidate.rank]);
            assert_eq!(best, Some(0), "the mean of two that cost {cost} is as much");
        }
    }
}
