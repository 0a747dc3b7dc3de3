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
    if table.len() < 2 {
        return Some(table.draw(draw.draw()));
    }
    let [one, other] = draw.draw_two();
    let first = table.draw(one);
    let second = another(table, first, other, draw)?;
    let (one, other) = (table.slot(first)?, table.slot(second)?);
    let second_wins = match load {
        // in flight / weight compared without dividing; weights are positive.
        Load::InFlight => match (live.in_flight(one), live.in_flight(other)) {
            // So often both that it is worth not to look at the weights.
            (0, 0) => false,
            (one, other) => f64::from(other) * table.weight(first) < f64::from(one) * table.weight(second),
        },
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
fn another(table: &Table, first: usize, number: u64, draw: &mut impl Draw) -> Option<usize> {
    if table.len() > SMALL {
        let second = table.draw(number);
        if second != first {
            return Some(second);
        }
        return table.draw_other(draw.draw(), first);
    }
    table.draw_other(number, first)
}

/// The less loaded of the candidates. O(choices), as many random numbers and seldom one more.
pub(crate) fn pick(
    options: &PowerOfTwo,
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    if options.choices == 2 && eligible.is_all() && table.len() > 0 {
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

#[cfg(test)]
mod tests {
    use super::super::table::Member;
    use super::*;

    /// Draws that come one after the other.
    struct Listed<'a>(std::slice::Iter<'a, u64>);

    impl Draw for Listed<'_> {
        fn draw(&mut self) -> u64 {
            *self.0.next().expect("as many draws as there are")
        }
    }

    const ALL: Eligible<'static> = Eligible { skips: &[], filter: None };

    fn of_four(weights: [f64; 4]) -> (Table, Live) {
        let live = Live::new(&crate::PoolSpec::new());
        live.grow(4);
        (Table::new((0..4).map(|at| Member { index: at, slot: at }).collect(), weights.to_vec()), live)
    }

    #[test]
    fn the_quick_way_gives_what_the_candidates_give() {
        for load in [Load::InFlight, Load::Reported] {
            let options = PowerOfTwo::new().load(load);
            let (table, live) = of_four([1.0, 2.0, 1.0, 3.0]);
            (0..3).for_each(|_| assert!(live.acquire(3, None) && live.acquire(1, None)));
            assert!(live.acquire(0, None));
            live.report(0, 5.0, 0);
            live.report(1, 3.0, 0);
            live.report(2, 4.0, 0);
            for first in 0..32_u64 {
                for second in 0..32_u64 {
                    let draws = [first << 59, second << 59];
                    let quick = pick_of_two(options.load, &table, &live, &mut Listed(draws.iter()));
                    let drawn = candidates::draw(&table, &ALL, 2, &mut Listed(draws.iter()));
                    let slow = candidates::cheapest(&drawn, |candidate| match load {
                        Load::InFlight => Some(cost(live.in_flight(candidate.member.slot), candidate.weight)),
                        Load::Reported => live.load(candidate.member.slot, 0),
                    });
                    assert_eq!(quick, slow, "{load:?}, {drawn:?}");
                    assert_eq!(pick(&options, &table, &ALL, &live, &mut Listed(draws.iter())), slow);
                }
            }
        }
    }

    #[test]
    fn the_less_loaded_for_its_weight_wins_and_the_first_drawn_of_equals() {
        let (table, live) = of_four([1.0; 4]);
        let options = PowerOfTwo::new();
        // The draws of ranks 0 and 3, the second among the three others.
        let draws = [0, u64::MAX];
        let take = || pick_of_two(options.load, &table, &live, &mut Listed(draws.iter()));
        assert_eq!(take(), Some(0));
        assert!(live.acquire(0, None));
        assert_eq!(take(), Some(3));
        assert!(live.acquire(3, None));
        assert_eq!(take(), Some(0));
    }

    fn of_equals(count: u32) -> (Table, Live) {
        let live = Live::new(&crate::PoolSpec::new());
        live.grow(count as usize);
        let members = (0..count).map(|at| Member { index: at, slot: at }).collect();
        (Table::new(members, vec![1.0; count as usize]), live)
    }

    #[test]
    fn of_two_the_less_loaded_of_one_the_one_and_of_none_none() {
        let take = |(table, live): &(Table, Live)| {
            pick(&PowerOfTwo::new(), table, &ALL, live, &mut Listed([0, 0].iter()))
        };
        let two = of_equals(2);
        assert_eq!(take(&two), Some(0));
        assert!(two.1.acquire(0, None));
        assert_eq!(take(&two), Some(1));
        let one = of_equals(1);
        assert!(one.1.acquire(0, None));
        assert_eq!((take(&one), take(&of_equals(0))), (Some(0), None));
    }

    #[test]
    fn a_third_number_is_drawn_only_in_a_large_set_where_the_first_came_twice() {
        for (count, draws, used) in [(16, [0, 0, 0], 2), (17, [0, 0, 0], 3), (17, [0, u64::MAX, 0], 2)] {
            let (table, live) = of_equals(count);
            assert!(live.acquire(0, None));
            let mut listed = Listed(draws.iter());
            let second = if draws[1] == 0 { 1 } else { count as usize - 1 };
            assert_eq!(pick_of_two(Load::InFlight, &table, &live, &mut listed), Some(second));
            assert_eq!(listed.0.len(), 3 - used, "numbers left of {count}");
        }
    }

    #[test]
    fn the_second_of_a_large_set_comes_by_weight_from_the_others() {
        let weights: Vec<f64> =
            (0..20).map(|at| if at == 3 { 30.0 } else { f64::from(at % 5 + 1) }).collect();
        let total: f64 = weights.iter().sum();
        let members = (0..20).map(|at| Member { index: at, slot: at }).collect();
        let table = Table::new(members, weights.clone());
        for first in [3, 10] {
            let (again, once_more) = (1_u64 << 12, 1_u64 << 6);
            let mut counts = vec![0.0; weights.len()];
            for draw in 0..again {
                for other in 0..once_more {
                    let draws = [other << 58];
                    let second = another(&table, first, draw << 52, &mut Listed(draws.iter()));
                    let second = second.expect("there are others");
                    counts[second] += 1.0;
                }
            }
            for (rank, count) in counts.iter().enumerate() {
                let share = if rank == first { 0.0 } else { weights[rank] / (total - weights[first]) };
                let got = count / (again * once_more) as f64;
                assert!((got - share).abs() <= 0.007, "{rank} after {first}: {got} for {share}");
            }
        }
    }

    #[test]
    fn more_choices_look_at_more_and_exclusions_at_those_that_are_left() {
        let (table, live) = of_four([1.0; 4]);
        (0..3).for_each(|slot| assert!(live.acquire(slot, None)));
        let draws = [0; 4];
        let take = |choices, skips: &[u32]| {
            let eligible = Eligible { skips, filter: None };
            let options = PowerOfTwo::new().choices(choices);
            pick(&options, &table, &eligible, &live, &mut Listed(draws.iter()))
        };
        assert_eq!((take(2, &[]), take(3, &[]), take(4, &[])), (Some(0), Some(0), Some(3)));
        assert_eq!((take(2, &[0, 1]), take(2, &[0, 1, 2]), take(2, &[0, 1, 2, 3])), (Some(3), Some(3), None));
    }

    #[test]
    fn shares_are_told_while_all_cost_the_same() {
        let (table, live) = of_four([1.0, 1.0, 1.0, 5.0]);
        let options = PowerOfTwo::new();
        assert_eq!(shares(&options, &table, &ALL, &live), Some(vec![0.125, 0.125, 0.125, 0.625]));
        assert!(live.acquire(2, None));
        assert_eq!(shares(&options, &table, &ALL, &live), None);
        let without = Eligible { skips: &[2], filter: None };
        assert!(shares(&options, &table, &without, &live).is_some_and(|shares| shares[2] == 0.0));
        let reported = PowerOfTwo::new().load(Load::Reported);
        assert!(shares(&reported, &table, &ALL, &live).is_some());
        live.report(0, 1.0, 0);
        assert_eq!(shares(&reported, &table, &ALL, &live), None);
    }
}
