//! Arithmetic of draws by weight.

use pointsman::{Picked, Policy};

use crate::common::*;

#[test]
fn a_weight_raised_and_lowered_again_leaves_no_trace() {
    let pool = seeded(1, weighted(&[("A", 0.1), ("B", 0.2)]));
    let fresh = seeded(1, weighted(&[("A", 0.1), ("B", 0.2)]));
    let edited_route = plain_route(&pool, Policy::WeightedRandom);
    let fresh_route = plain_route(&fresh, Policy::WeightedRandom);
    for _ in 0..10_000 {
        pool.edit(|edit| edit.set_weight("A", 1e8)).expect("a good weight");
        pool.edit(|edit| edit.set_weight("A", 0.1)).expect("a good weight");
    }
    assert_eq!(edited_route.shares(&PLAIN), fresh_route.shares(&PLAIN));
    for mut hand in Hand::both(&edited_route, 2) {
        hand.tally(&PLAIN, 100_000).assert_near("A", 33_333, 596);
    }
    let (mut edited, mut fresh) = (edited_route.picker_seeded(3), fresh_route.picker_seeded(3));
    for _ in 0..10_000 {
        assert_eq!(edited.pick(&PLAIN).map(|pick| pick.index()), fresh.pick(&PLAIN).map(|pick| pick.index()));
    }
}

#[test]
fn drawing_without_replacement_keeps_the_order_of_tiny_weights() {
    let pool = seeded(4, weighted(&[("first", 4.096e-5), ("second", 3.70e-9), ("third", 2.07e-8)]));
    for policy in by_weight() {
        let route = plain_route(&pool, policy);
        let mut out = [Picked::default(); 2];
        let (mut heavy_first, mut third_behind) = (0_u32, 0_u32);
        for _ in 0..100_000 {
            let picks = route.pick_distinct(&PLAIN, &mut out).expect("two instances");
            assert_eq!(picks.len(), 2);
            let order = [picks.picked()[0].index(), picks.picked()[1].index()];
            heavy_first += u32::from(order[0] == 0);
            third_behind += u32::from(order == [0, 2]);
        }
        // 99.94 % and, given that, 84.83 %; four standard deviations of each.
        assert!(heavy_first.abs_diff(99_940) <= 31, "{heavy_first}");
        let share = f64::from(third_behind) / f64::from(heavy_first);
        assert!((share - 20.7 / 24.4).abs() < 0.0046, "{share}");
    }
}

#[test]
fn subnormal_weights_and_a_single_small_one_always_give_an_instance() {
    for policy in by_weight() {
        let pool = seeded(5, weighted(&[("A", 5e-324), ("B", 5e-324)]));
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 6) {
            hand.tally(&PLAIN, 10_000).assert_near("A", 5_000, 200);
        }
        let pool = seeded(5, weighted(&[("A", 5e-324), ("B", 1.5e-323)]));
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 6) {
            hand.tally(&PLAIN, 10_000).assert_near("A", 2_500, 173);
        }
        let pool = seeded(5, weighted(&[("A", 0.0769)]));
        for mut hand in Hand::both(&plain_route(&pool, policy.clone()), 6) {
            hand.tally(&PLAIN, 10_000).assert_exactly(&[("A", 10_000)]);
        }
    }
}

#[test]
fn after_a_change_of_every_weight_no_draw_falls_beside_the_table() {
    for policy in by_weight() {
        let pool = seeded(7, weighted(&[("A", 100.0), ("B", 100.0)]));
        let route = plain_route(&pool, policy);
        for mut hand in Hand::both(&route, 8) {
            hand.tally(&PLAIN, 100);
            pool.edit(|edit| {
                edit.set_weight("A", 1.0)?;
                edit.set_weight("B", 1.0)
            })
            .expect("good weights");
            let tally = hand.tally(&PLAIN, 10_000);
            tally.assert_near("A", 5_000, 200);
            assert_eq!(tally.of("A") + tally.of("B"), 10_000);
        }
    }
}
