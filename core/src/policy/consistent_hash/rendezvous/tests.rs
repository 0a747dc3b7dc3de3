//! Slots and their owners against the definition, and tables that are mended against those built anew.

use proptest::prelude::*;

use super::super::super::table::Member;
use super::*;

fn table(weights: &[f64]) -> Table {
    let members = (0..weights.len() as u32).map(|at| Member { index: at, slot: at }).collect();
    Table::new(members, weights.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn a_mended_table_is_the_table_built_anew(
        ids in proptest::collection::btree_set(any::<u64>(), 40..60),
        gone in 0_usize..40,
        raised in 0_usize..40,
        weight in 0.1..9.0_f64,
    ) {
        let ids: Vec<u64> = ids.into_iter().collect();
        let weights: Vec<f64> = (0..ids.len()).map(|at| (at % 3 + 1) as f64).collect();
        let before = Rendezvous::build(1_009, &ids, &weights, None);
        let (mut new_ids, mut new_weights) = (ids.clone(), weights.clone());
        new_weights[raised] = weight;
        new_ids.remove(gone);
        new_weights.remove(gone);
        let held = table(&weights);
        let carried = Before { map: &before, ids: &ids, table: &held };
        let mended = Rendezvous::build(1_009, &new_ids, &new_weights, Some(carried));
        let built = Rendezvous::build(1_009, &new_ids, &new_weights, None);
        prop_assert_eq!(mended.owners, built.owners);
    }

    #[test]
    fn equal_weights_need_no_logarithm(ids in proptest::collection::btree_set(any::<u64>(), 2..40)) {
        let ids: Vec<u64> = ids.into_iter().collect();
        let weights = vec![1.0; ids.len()];
        let field = Field { ids: &ids, weights: &weights, equal: true };
        for slot in 0..200 {
            prop_assert_eq!(field.owners_of_equals(mix(slot)), field.owners_by_weight(mix(slot)));
        }
    }
}

/// The members of a slot in the order of their costs, by the definition.
fn by_cost(slot: u64, ids: &[u64], weights: &[f64]) -> Vec<u16> {
    let cost = |rank: &u16| {
        let at = usize::from(*rank);
        let u = ((mix(slot ^ ids[at]) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
        -libm::log(u) / weights[at]
    };
    let mut ranks: Vec<u16> = (0..ids.len() as u16).collect();
    ranks.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    ranks
}

/// Ids with weights that are alike, or orders of magnitude apart.
fn members(many: std::ops::Range<usize>) -> impl Strategy<Value = (Vec<u64>, Vec<f64>)> {
    let weight = prop_oneof![Just(1.0), 0.5..1.0_f64, 0.001..0.01_f64];
    prop::collection::btree_map(any::<u64>(), weight, many).prop_map(|members| members.into_iter().unzip())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_slot_belongs_to_the_two_of_the_lowest_cost((ids, weights) in members(2..12)) {
        let field = Field { ids: &ids, weights: &weights, equal: false };
        for slot in (0..100).map(mix) {
            prop_assert_eq!(&field.owners(slot), &by_cost(slot, &ids, &weights)[..2]);
        }
    }

    #[test]
    fn one_more_member_has_its_claim((ids, weights) in members(3..12), joins in 0_usize..12) {
        let joins = (joins % ids.len()) as u16;
        let field = Field { ids: &ids, weights: &weights, equal: false };
        for slot in (0..100).map(mix) {
            let all = by_cost(slot, &ids, &weights);
            let others: Vec<u16> = all.iter().copied().filter(|rank| *rank != joins).collect();
            prop_assert_eq!(&join(&field, slot, [others[0], others[1]], joins), &all[..2]);
        }
    }

    #[test]
    fn owners_do_not_depend_on_the_scale_of_weights((ids, weights) in members(2..12), lighter in any::<bool>()) {
        let scale = 2_f64.powi(if lighter { -1_000 } else { 1_000 });
        let scaled: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let [plain, scaled] = [weights, scaled].map(|weights| Rendezvous::build(101, &ids, &weights, None));
        prop_assert_eq!(plain.owners, scaled.owners);
    }
}

#[test]
fn every_lot_has_a_finite_cost() {
    assert_eq!([0, 1 << 63, u64::MAX].map(uniform), [2_f64.powi(-54), 0.5, 1.0]);
    for lot in [0, 1, 1 << 11, 1 << 63, u64::MAX - (1 << 11), u64::MAX] {
        assert!((0.0..40.0).contains(&cost(lot, 1.0)), "{lot}");
    }
}

#[test]
fn a_key_belongs_to_whoever_of_its_two_takes_it() {
    let map = Rendezvous::of([[2, 0], [1, NOBODY], [NOBODY, NOBODY]].into());
    let at = |slot: usize| (0..).find(|hash| map.slots.of(*hash) == slot as u64).expect("each slot has keys");
    assert_eq!([0, 1, 2].map(|slot| map.first(at(slot))), [Some(2), Some(1), None]);
    assert_eq!([0, 1, 2].map(|slot| map.owner(at(slot), |_| true)), [Some(2), Some(1), None]);
    assert_eq!([0, 1, 2].map(|slot| map.owner(at(slot), |rank| rank == 0)), [Some(0), None, None]);
}

#[test]
fn a_table_has_room_for_a_member_in_32_slots_and_for_ranks_of_16_bits() {
    assert_eq!(most_members(65_537), 2_048);
    assert_eq!([31, 32, 1_009].map(most_members), [0, 1, 31]);
    assert_eq!([2_097_056, 2_097_088, u32::MAX].map(most_members), [65_533, 65_534, 65_534]);
}

#[test]
fn a_table_is_mended_where_fewer_than_one_in_sixteen_changed() {
    let ids: Vec<u64> = (0..64).collect();
    let weights = vec![1.0; 64];
    let map = Rendezvous::build(1_009, &ids, &weights, None);
    let held = table(&weights);
    let before = ids.clone();
    let between = |ids: &[u64], weights: &[f64]| {
        Changes::between(&Before { map: &map, ids: &before, table: &held }, ids, weights)
    };
    // Of those that stay, all that are behind one that goes move up.
    let changes = between(&ids[3..], &weights[3..]).expect("three of 61");
    assert_eq!(changes.stays[..5], [NOBODY, NOBODY, NOBODY, 0, 1]);
    assert!(changes.joins.is_empty());
    assert!(between(&ids[4..], &weights[4..]).is_none(), "four of 60");
    // A changed weight is a member that goes and one that comes.
    let mut heavier = weights.clone();
    heavier[7] = 2.0;
    let changes = between(&ids, &heavier).expect("two of 64");
    assert_eq!((changes.stays[7], &changes.joins[..]), (NOBODY, &[7][..]));
    heavier[8] = 2.0;
    assert!(between(&ids, &heavier).is_none(), "four of 64");
    // Of few members one may change.
    let few = table(&weights[..10]);
    let few_between = |now: usize| {
        let held = Before { map: &map, ids: &ids[..10], table: &few };
        Changes::between(&held, &ids[..now], &weights[..now])
    };
    assert!(few_between(9).is_some() && few_between(11).is_some());
    assert!(few_between(8).is_none() && few_between(12).is_none());
    assert_eq!(few_between(11).expect("one came").joins, [10]);
}

#[test]
fn a_table_of_another_size_is_built_anew() {
    let ids: Vec<u64> = (0..64).map(mix).collect();
    let weights = vec![1.0; 64];
    let before = Rendezvous::build(1_009, &ids, &weights, None);
    let held = table(&weights);
    let carried = Before { map: &before, ids: &ids, table: &held };
    let larger = Rendezvous::build(2_003, &ids, &weights, Some(carried));
    assert_eq!(larger.owners, Rendezvous::build(2_003, &ids, &weights, None).owners);
}
