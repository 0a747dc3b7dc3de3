//! `least_request`: the lowest in flight / weight.
//!
//! Ties are drawn by weight, so that idle instances are taken by weight and not in the order of the list. In a closed loop at
//! equal speeds that serves by weight.

use super::eligible::Eligible;
use super::table::Table;
use crate::live::load::Counting;
use crate::live::{InFlight, Live};
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

/// 1 / weight of each rank, laid out when the set is compiled, since a division is most of what a look costs.
pub(crate) fn build(table: &Table) -> Box<[f64]> {
    (0..table.len()).map(|rank| 1.0 / table.weight(rank)).collect()
}

/// The lowest of the eligible. O(n), one random number. `inverse` is what [`build`] laid out.
pub(crate) fn pick(
    inverse: &[f64],
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    match table.slot_run() {
        Some(begin) if eligible.is_all() => pick_of_run(inverse, begin, live, draw),
        _ => {
            let counting = || {
                eligible.ranks(table).map(|(rank, member)| {
                    let inverse = inverse.get(rank).copied().unwrap_or(f64::INFINITY);
                    (rank, f64::from(live.in_flight(member.slot)) * inverse, inverse)
                })
            };
            let mut lowest = Lowest::new();
            counting().for_each(|(rank, cost, inverse)| lowest.look(rank, cost, inverse));
            let mut choice = lowest.choose(draw.draw())?;
            counting().any(|(rank, cost, inverse)| choice.look(rank, cost, inverse));
            Some(choice.found)
        }
    }
}

/// The same over a whole set whose counts lie side by side.
fn pick_of_run(inverse: &[f64], begin: u32, live: &Live, draw: &mut impl Draw) -> Option<usize> {
    let counting = Counting::new();
    let mut lowest = Lowest::new();
    let mut rank = 0;
    while let Some(run) = run_of(inverse, begin, live, rank) {
        for (in_flight, inverse) in run.iter().zip(inverse.get(rank..).unwrap_or(&[])) {
            lowest.look(rank, counting.count(in_flight) * inverse, *inverse);
            rank += 1;
        }
    }
    let mut choice = lowest.choose(draw.draw())?;
    rank = 0;
    while let Some(run) = run_of(inverse, begin, live, rank) {
        for (in_flight, inverse) in run.iter().zip(inverse.get(rank..).unwrap_or(&[])) {
            if choice.look(rank, counting.count(in_flight) * inverse, *inverse) {
                return Some(choice.found);
            }
            rank += 1;
        }
    }
    Some(choice.found)
}

/// The counts from `rank` on that lie together; `None` behind the last.
fn run_of<'a>(inverse: &[f64], begin: u32, live: &'a Live, rank: usize) -> Option<&'a [InFlight]> {
    let run = live.in_flight_run(begin + rank as u32, inverse.len() - rank);
    (!run.is_empty()).then_some(run)
}

/// The lowest cost so far, and the weight of all that tie with it.
struct Lowest {
    cost: f64,
    /// The highest cost that still ties.
    ties: f64,
    tied: f64,
    first: Option<usize>,
}

impl Lowest {
    fn new() -> Self {
        Self { cost: f64::INFINITY, ties: f64::INFINITY, tied: 0.0, first: None }
    }

    #[inline(always)]
    fn look(&mut self, rank: usize, cost: f64, inverse: f64) {
        if cost > self.ties {
            return;
        }
        let weight = 1.0 / inverse;
        if self.first.is_none() || !ties(self.cost, cost) {
            *self = Self { cost, ties: cost + cost * TIE, tied: weight, first: Some(rank) };
        } else {
            self.tied += weight;
        }
    }

    /// Draws one of those that tie, by weight.
    fn choose(self, draw: u64) -> Option<Choice> {
        let left = draw as f64 / 2_f64.powi(64) * self.tied;
        Some(Choice { ties: self.ties, left, found: self.first? })
    }
}

/// Looks for the one that was drawn.
struct Choice {
    ties: f64,
    left: f64,
    /// The last that tied. Counts may move between the passes; it is as good as the one that was drawn.
    found: usize,
}

impl Choice {
    /// True once it is found.
    #[inline(always)]
    fn look(&mut self, rank: usize, cost: f64, inverse: f64) -> bool {
        if cost > self.ties {
            return false;
        }
        self.found = rank;
        self.left -= 1.0 / inverse;
        self.left < 0.0
    }
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

    #[test]
    fn weight_divides_the_count() {
        assert_eq!(cost(10, 2.0), 5.0);
        assert_eq!(cost(0, 1.0), 0.0);
        assert!(ties(cost(3, 0.3), cost(1, 0.1)) && ties(cost(1, 0.1), cost(3, 0.3)));
        assert!(!ties(cost(11, 1.0), cost(10, 1.0)));
        assert!(ties(0.0, 0.0));
    }

    /// Counts as given, over a table whose slots follow each other, or do not.
    fn loaded(weights: &[f64], counts: &[u32], gap: u32) -> (Table, Live) {
        let live = Live::new(&crate::PoolSpec::new());
        live.grow(200);
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
    fn nobody_is_taken_from_an_empty_set() {
        let (table, live) = loaded(&[], &[], 1);
        let eligible = Eligible { skips: &[], filter: None };
        assert_eq!(pick(&build(&table), &table, &eligible, &live, &mut Fixed(1)), None);
        let (table, live) = loaded(&[1.0], &[0], 1);
        let eligible = Eligible { skips: &[0], filter: None };
        assert_eq!(pick(&build(&table), &table, &eligible, &live, &mut Fixed(1)), None);
    }
}
