//! Who is taken at given counts, in lists of any length.

use super::super::table::Member;
use super::*;
use crate::rng::PickerRng;

#[test]
fn weight_divides_the_count() {
    assert_eq!(cost(10, 2.0), 5.0);
    assert_eq!(cost(0, 1.0), 0.0);
    assert!(cost(3, 0.33) != cost(1, 0.11));
    assert!(ties(cost(3, 0.33), cost(1, 0.11)) && ties(cost(1, 0.11), cost(3, 0.33)));
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
    for (n, gap, idle) in [20, 70, 300].into_iter().flat_map(|n| [(n, 1, true), (n, 1, false), (n, 2, false)])
    {
        let tied = [2, n / 2, n / 2 + 1, n - 1];
        let weight = |at: usize| tied.iter().position(|tied| *tied == at).map_or(at % 3 + 1, |nth| nth + 1);
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
