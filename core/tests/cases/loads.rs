//! Reported loads.

use pointsman::{Instance, Policy, PoolOptions, PoolSpec, Request};

use crate::common::*;

fn loaded(list: &[(&str, f64)]) -> Vec<Instance> {
    list.iter().map(|(id, load)| Instance::new(*id).load(*load)).collect()
}

#[test]
fn a_new_instance_counts_as_the_mean_and_is_not_flooded() {
    let pool = seeded(1, loaded(&[("A", 50.0), ("B", 30.0)]));
    let route = plain_route(&pool, Policy::LeastLoad);
    pool.replace(["A", "B", "C"].map(Instance::new)).expect("a good list");
    for mut hand in Hand::both(&route, 2) {
        hand.tally(&PLAIN, 1_000).assert_exactly(&[("B", 1_000)]);
        hand.tally(&Request::new().exclude(&["B"]), 1_000).assert_near("C", 500, 64);
        hand.tally(&Request::new().exclude(&["A"]), 1_000).assert_near("C", 500, 64);
    }
    pool.report_load("A", 10.0).expect("A is there");
    pool.report_load("B", 40.0).expect("B is there");
    for mut hand in Hand::both(&route, 2) {
        hand.tally(&PLAIN, 1_000).assert_exactly(&[("A", 1_000)]);
    }
}

#[test]
fn a_report_outlives_changes_of_other_fields() {
    let pool = seeded(3, loaded(&[("A", 1.0), ("B", 5.0)]));
    let route = plain_route(&pool, Policy::LeastLoad);
    pool.report_load("A", 9.0).expect("A is there");
    let all_of_b = |what: &str| {
        let tally = Hand::Route(route.clone()).tally(&PLAIN, 100);
        assert_eq!(tally.of("B"), 100, "{what}: {tally:?}");
    };
    all_of_b("after the report");
    pool.replace(["A", "B"].map(Instance::new)).expect("a good list");
    all_of_b("after a list without loads");
    pool.replace([Instance::new("A").tag("k", "v"), Instance::new("B")]).expect("a good list");
    all_of_b("after a list with other tags");
}

#[test]
fn an_edit_of_another_field_leaves_the_last_report() {
    let pool = seeded(4, loaded(&[("A", 1.0), ("B", 5.0)]));
    let route = plain_route(&pool, Policy::LeastLoad);
    pool.report_load("A", 9.0).expect("A is there");
    pool.edit(|edit| edit.set_weight("A", 2.0)).expect("A is there");
    Hand::Route(route).tally(&PLAIN, 100).assert_exactly(&[("B", 100)]);
}

#[test]
fn a_report_that_is_too_old_counts_as_none() {
    let spec = PoolSpec::new().load_max_age_s(3_600.0);
    let pool = pointsman::Pool::with(PoolOptions::new().seed(5).spec(spec), equal(&["A", "B", "C"]))
        .expect("a good list");
    let route = plain_route(&pool, Policy::LeastLoad);
    let hour = 3_600_000_000_000;
    pool.report_load_at("A", 1.0, hour).expect("A is there");
    pool.report_load_at("B", 30.0, 2 * hour).expect("B is there");
    pool.report_load_at("C", 50.0, 2 * hour).expect("C is there");
    Hand::Route(route.clone()).tally(&PLAIN, 100).assert_exactly(&[("A", 100)]);
    pool.report_load_at("C", 50.0, 2 * hour + 1).expect("C is there");
    Hand::Route(route.clone()).tally(&PLAIN, 100).assert_exactly(&[("B", 100)]);
    pool.report_load_at("C", 50.0, 1).expect("a step back is ignored");
    Hand::Route(route.clone()).tally(&PLAIN, 100).assert_exactly(&[("B", 100)]);
}

#[test]
fn an_id_that_returns_starts_without_a_report() {
    let pool = seeded(6, loaded(&[("A", 1.0), ("B", 5.0)]));
    let route = plain_route(&pool, Policy::LeastLoad);
    pool.edit(|edit| edit.remove("A")).expect("A is there");
    pool.edit(|edit| edit.upsert(Instance::new("A"))).expect("a good instance");
    for mut hand in Hand::both(&route, 7) {
        hand.tally(&PLAIN, 1_000).assert_near("A", 500, 64);
    }
}
