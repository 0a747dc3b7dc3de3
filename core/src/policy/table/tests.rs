//! Tables: who is drawn, also with some left out, and who is found where.

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
