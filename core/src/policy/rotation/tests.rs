//! Rotations: bounds and cycles, and what a changed list takes over.

use proptest::prelude::*;

use super::super::table::Member;
use super::*;

/// The largest distance from the ideal at any prefix, as a numerator over the cycle's length.
fn deviation(turns: &[u64], cycle: &[u16]) -> u64 {
    let total: u64 = turns.iter().sum();
    let mut count = vec![0_u64; turns.len()];
    let mut worst = 0;
    for (at, rank) in cycle.iter().enumerate() {
        count[usize::from(*rank)] += 1;
        for (count, weight) in count.iter().zip(turns) {
            worst = worst.max((count * total).abs_diff((at as u64 + 1) * weight));
        }
    }
    worst
}

fn assert_bound(turns: &[u64]) {
    let cycle = lay_out(turns);
    let total: u64 = turns.iter().sum();
    let unit = 2 * turns.len() as u64 - 2;
    for (rank, weight) in turns.iter().enumerate() {
        assert_eq!(cycle.iter().filter(|at| usize::from(**at) == rank).count() as u64, *weight);
    }
    assert!(deviation(turns, &cycle) * unit <= total * (unit - 1), "{turns:?}");
}

#[test]
fn cycles_that_other_schedulers_burst_on_stay_within_the_bound() {
    assert_bound(&[5, 1, 1]);
    assert_bound(&[11, 3]);
    assert_bound(&[21, 11]);
    let one_heavy: Vec<u64> = [100].into_iter().chain([1; 20]).collect();
    assert_bound(&one_heavy);
    let three_sizes: Vec<u64> = [1; 32].into_iter().chain([4; 8]).chain([16; 2]).collect();
    assert_bound(&three_sizes);
    assert_bound(&[1, 4_095]);
}

proptest! {
    #[test]
    fn every_prefix_is_within_the_bound(turns in proptest::collection::vec(1_u64..60, 2..60)) {
        assert_bound(&turns);
    }

    #[test]
    fn golden_counts_stay_within_the_logarithmic_bound(
        weights in proptest::collection::vec(0.01..10.0_f64, 2..30),
        start in any::<u64>(),
    ) {
        let members = (0..weights.len() as u32).map(|at| Member { index: at, slot: at }).collect();
        let table = Table::new(members, weights.clone());
        let rotation = Rotation { form: Form::Golden, order: Arc::default(), turns: Modulus::new(0), cycle: 0, base: 0 };
        let sum: f64 = weights.iter().sum();
        let mut counts = vec![0_u32; weights.len()];
        for turn in 1..=20_000_u32 {
            let index = rotation.at_ticket(&table, start.wrapping_add(turn.into())).expect("the set is not empty");
            counts[index as usize] += 1;
            if turn.is_power_of_two() || turn % 997 == 0 {
                for (count, weight) in counts.iter().zip(&weights) {
                    let distance = (f64::from(*count) - f64::from(turn) * weight / sum).abs();
                    prop_assert!(distance <= 1.0 + 0.42 * f64::from(turn).ln(), "{} at {}", distance, turn);
                }
            }
        }
    }
}

#[test]
fn decimal_weights_are_integers_after_scaling() {
    assert_eq!(integers(&[0.07, 0.93]), Some(vec![7, 93]));
    assert_eq!(integers(&[0.5, 1.0, 2.5]), Some(vec![1, 2, 5]));
    assert_eq!(integers(&[100.0, 200.0, 400.0]), Some(vec![1, 2, 4]));
    assert_eq!(integers(&[1_000_000.0, 3_000_000.0]), Some(vec![1, 3]));
    assert_eq!(integers(&[0.000_001, 0.000_002]), Some(vec![1, 2]));
    assert_eq!(integers(&[1.0, std::f64::consts::PI]), None);
    assert_eq!(integers(&[1.0, 4_096.0]), None, "a cycle of 4,097 turns is too long");
    assert_eq!(integers(&[1e300, 2e300]), None);
}

#[test]
fn equal_members_go_on_with_the_one_that_was_next() {
    let set = |slots: &[u32]| {
        let members =
            slots.iter().enumerate().map(|(at, slot)| Member { index: at as u32, slot: *slot }).collect();
        Table::new(members, vec![1.0; slots.len()])
    };
    let before = set(&[10, 11, 12, 13]);
    let rotation = Rotation::build(&before, None, 1, 0);
    for (ticket, after, next) in [
        (2, &[10, 11, 12][..], 12),
        (3, &[10, 11, 12][..], 10),
        (1, &[13, 12, 10][..], 12),
        (1, &[9, 11][..], 11),
    ] {
        let table = set(after);
        let carried = Before { table: &before, rotation: &rotation, ticket };
        let rotation = Rotation::build(&table, Some(carried), 2, 77);
        let index = rotation.at_ticket(&table, ticket).expect("the set is not empty");
        assert_eq!(
            table.member(index as usize).map(|member| member.slot),
            Some(next),
            "ticket {ticket}, then {after:?}"
        );
    }
}

/// A rotation over members in list order, each with its position as its slot.
fn rotation_of(weights: &[f64], before: Option<Before<'_>>, cycle: u64) -> (Table, Rotation) {
    let members = (0..weights.len() as u32).map(|at| Member { index: at, slot: at }).collect();
    let table = Table::new(members, weights.to_vec());
    let rotation = Rotation::build(&table, before, cycle, 1_000_003);
    (table, rotation)
}

const PI: f64 = std::f64::consts::PI;

#[test]
fn a_ticket_leads_to_the_turn_that_it_was_made_for() {
    for weights in [&[1.0; 5][..], &[5.0, 1.0, 1.0], &[1.0, PI]] {
        let (table, mut rotation) = rotation_of(weights, None, 1);
        for base in [0, 3, 1_000_003] {
            rotation.base = if rotation.form() == Form::Golden { 0 } else { base };
            for turn in 0..40 {
                let wrapped = rotation.turns().map_or(turn, |turns| turn % turns);
                let at_turn = rotation.at_turn(&table, wrapped);
                assert!(at_turn.is_some());
                assert_eq!(rotation.at_ticket(&table, rotation.ticket_for(turn)), at_turn);
            }
        }
    }
    let (nobody, rotation) = rotation_of(&[], None, 1);
    assert_eq!(
        (rotation.at_ticket(&nobody, 5), rotation.turns(), rotation.ticket_for(5)),
        (None, Some(0), 5)
    );
}

#[test]
fn forms_follow_from_the_weights_and_only_the_golden_one_has_no_end() {
    let forms =
        [(&[2.0, 2.0][..], "equal", Some(2)), (&[2.0, 1.0], "exact", Some(3)), (&[1.0, PI], "golden", None)];
    for (weights, form, turns) in forms {
        let (_, rotation) = rotation_of(weights, None, 1);
        assert_eq!((rotation.form().as_str(), rotation.turns()), (form, turns));
        assert_eq!(rotation.order().map(|order| order.len() as u64), turns);
        assert_eq!(rotation.heap_bytes() as u64, turns.unwrap_or(0) * 4);
    }
}

#[test]
fn a_cycle_is_carried_over_where_it_means_the_same_and_begins_afresh_where_not() {
    let carried = |from: &[f64], to: &[f64]| {
        let (table, mut rotation) = rotation_of(from, None, 1);
        rotation.base = if rotation.form() == Form::Golden { 0 } else { 2 };
        let before = Before { table: &table, rotation: &rotation, ticket: 4 };
        let (_, after) = rotation_of(to, Some(before), 2);
        (after.cycle, after.base)
    };
    assert_eq!(carried(&[2.0, 1.0], &[4.0, 2.0]), (1, 2), "the same exact cycle");
    assert_eq!(carried(&[1.0, PI], &[2.0, PI]), (1, 0), "golden goes on");
    assert_eq!(carried(&[2.0, 1.0], &[3.0, 1.0]), (2, 1_000_003), "another exact cycle");
    assert_eq!(carried(&[2.0, 1.0], &[1.0, 1.0]), (2, 1_000_003), "another form");
    assert_eq!(carried(&[1.0, PI], &[2.0, 1.0]), (2, 1_000_003), "another form");
    // Ticket 4 at base 2 is the turn of the third of three: base and ticket together must be its new rank.
    let (cycle, base) = carried(&[1.0; 3], &[1.0; 4]);
    assert_eq!((cycle, (base + 4) % 4), (2, 0));
    assert_eq!(carried(&[1.0; 3], &[]).0, 2);
}

#[test]
fn weights_up_to_the_longest_cycle_are_laid_out_and_longer_ones_not() {
    assert_eq!(integers(&[1.0, 4_095.0]), Some(vec![1, 4_095]));
    assert_eq!(integers(&[0.5, 0.25]), Some(vec![2, 1]));
    assert_eq!(integers(&[0.000_000_1, 1.0]), None, "seven decimals");
    assert_eq!((gcd(12, 18), gcd(0, 5), gcd(7, 0)), (6, 5, 7));
    assert_eq!((integer(3.0), integer(0.4), integer(2.5), integer(9e15)), (Some(3), None, None, None));
    assert_eq!(*lay_out(&[1, 1]), [0, 1]);
    assert_eq!(*lay_out(&[2, 1]), [0, 1, 0]);
}

/// Members by slot, at consecutive places of the list.
fn members(slots: &[u32]) -> Vec<Member> {
    (0..).zip(slots).map(|(index, slot)| Member { index, slot: *slot }).collect()
}

fn equal(slots: &[u32]) -> Table {
    Table::new(members(slots), vec![1.0; slots.len()])
}

#[test]
fn equal_members_go_on_behind_a_change_with_whom_would_have_been_next_or_the_first_behind_that_is_left() {
    let old = [10, 11, 12, 13, 14];
    let (table, lists) = (equal(&old), [&[10, 11, 12, 13, 14, 15][..], &[14, 12, 10], &[13], &[20, 11, 21]]);
    for first in [0, 1, 6, 7, (1 << 62) + 3, u64::MAX >> 1] {
        let rotation = Rotation::build(&table, None, 1, 0);
        for left in lists {
            let after = equal(left);
            let before = Before { table: &table, rotation: &rotation, ticket: first };
            let changed = Rotation::build(&after, Some(before), 2, 99);
            let expected = (first..)
                .map(|at| old[(at % 5) as usize])
                .find(|slot| left.contains(slot))
                .expect("one is left");
            let index = changed.at_ticket(&after, first).expect("somebody") as usize;
            assert_eq!(left[index], expected, "{left:?} at {first}");
            assert!(changed.base < left.len() as u64 && changed.cycle == 2);
        }
    }
}

#[test]
fn a_list_of_others_and_another_form_begin_at_random_and_the_golden_form_goes_on() {
    let (table, others) = (equal(&[1, 2, 3]), equal(&[4, 5, 6]));
    let each = |weights: &[f64]| Table::new(members(&[1, 2, 3]), weights.to_vec());
    let (exact, golden) = (each(&[1.0, 2.0, 3.0]), each(&[1.0, std::f64::consts::PI, 2.0]));
    let build = |table: &Table, before: Option<(&Table, &Rotation)>| {
        let before = before.map(|(table, rotation)| Before { table, rotation, ticket: 5 });
        Rotation::build(table, before, 2, 99)
    };
    let first = |table: &Table| Rotation { cycle: 1, base: 7, ..Rotation::build(table, None, 1, 0) };
    let told = |rotation: Rotation| (rotation.form, rotation.cycle, rotation.base);
    assert_eq!(told(build(&table, None)), (Form::Equal, 2, 0));
    assert_eq!(told(build(&others, Some((&table, &first(&table))))), (Form::Equal, 2, 99));
    assert_eq!(told(build(&exact, Some((&table, &first(&table))))), (Form::Exact, 2, 99));
    assert_eq!(told(build(&golden, Some((&exact, &first(&exact))))), (Form::Golden, 2, 99));
    assert_eq!(told(build(&golden, Some((&golden, &first(&golden))))), (Form::Golden, 1, 0));
    assert_eq!(told(build(&exact, Some((&exact, &first(&exact))))), (Form::Exact, 1, 7), "the same turns");
    let heavier = each(&[2.0, 2.0, 3.0]);
    assert_eq!(told(build(&heavier, Some((&exact, &first(&exact))))), (Form::Exact, 2, 99));
}

#[test]
fn a_ticket_for_a_turn_is_below_the_number_of_turns_and_has_that_turn() {
    let table = equal(&[1, 2, 3]);
    for base in [0, 2, 7, u64::MAX] {
        let rotation = Rotation { base, ..Rotation::build(&table, None, 1, 0) };
        for turn in [0, 1, 5, u64::MAX - 1, u64::MAX] {
            let ticket = rotation.ticket_for(turn);
            assert!(ticket < 3);
            if base < u64::MAX {
                assert_eq!(rotation.at_ticket(&table, ticket), Some((turn % 3) as u32), "{turn} from {base}");
            }
        }
    }
}

#[test]
fn cycles_are_laid_out_by_deadlines_as_the_rule_has_them() {
    // Turn t is for whom of those released by t is due first: member r's k-th turn (from 0) is released at
    // ⌈W·(k·u + 1) / (w·u)⌉ and due at ⌈W·(k·u + u − 1) / (w·u)⌉, with u = 2n − 2. Worked out from that in exact fractions.
    assert_eq!(*lay_out(&[5, 1, 1]), [0, 0, 1, 0, 0, 2, 0]);
    assert_eq!(*lay_out(&[1, 2, 3, 4]), [2, 3, 1, 3, 2, 3, 0, 1, 2, 3]);
    assert_eq!(*lay_out(&[3, 2, 1]), [0, 1, 0, 2, 0, 1]);
}
