//! Why there is no instance, and where a search ends.

use std::collections::BTreeSet;

use pointsman::{Instance, OnUnavailable, Reason, Request, Route, Tier};

use crate::common::*;

/// What comes of a request in many picks: the tier and the id, or the tier and the reason.
fn answers(route: &Route, request: &Request<'_>) -> BTreeSet<String> {
    let mut picker = route.picker_seeded(1);
    let mut answers = BTreeSet::new();
    for _ in 0..200 {
        for pick in [route.pick(request), picker.pick(request)] {
            answers.insert(match pick {
                Ok(pick) => format!("{} from {}", pick.instance().id, pick.tier()),
                Err(none) => format!("{} at {}", none.reason.as_str(), none.tier),
            });
        }
    }
    answers
}

#[track_caller]
fn assert_only(route: &Route, request: &Request<'_>, answer: &str) {
    assert_eq!(answers(route, request), BTreeSet::from([answer.to_owned()]), "{:?}", route.spec().policy);
}

fn tagged(id: &str, tags: &[(&str, &str)]) -> Instance {
    tags.iter().fold(Instance::new(id), |instance, (key, value)| instance.tag(key, value))
}

#[test]
fn a_requirement_that_only_instances_outside_the_matched_set_meet_is_no_match() {
    let gray = tagged("gray", &[("version", "gray")]);
    let pool = seeded(1, vec![gray, tagged("stable", &[("version", "stable"), ("rack", "r1")])]);
    let request = Request::new().tags(&[("version", "gray")]).require(&[("rack", "r1")]);
    for policy in policies() {
        let strict = route(&pool, policy.clone(), [Tier::new().matching("version")]);
        assert_only(&strict, &request, "no_match at 0");
        assert_eq!(strict.explain(&request).reason, Some(Reason::NoMatch));
        let stopping = Tier::new().matching("version").when_unavailable(OnUnavailable::Stop);
        let falling = route(&pool, policy, [stopping, Tier::new()]);
        assert_only(&falling, &request, "stable from 1");
    }
}

#[test]
fn an_overflowing_tier_whose_instances_are_all_excluded_answers_the_same_every_time() {
    let near = || ["a", "b"].map(|id| tagged(id, &[("near", "")]));
    let list = near().into_iter().chain([tagged("b2", &[("near", "")]).healthy(false), Instance::new("far")]);
    let pool = seeded(2, list.collect());
    let request = Request::new().exclude(&["a", "b"]);
    for policy in policies() {
        let overflowing = || Tier::new().tag("near", "").overflow(0.75);
        let stops = overflowing().when_unavailable(OnUnavailable::Stop);
        assert_only(&route(&pool, policy.clone(), [stops, Tier::new()]), &request, "excluded at 0");
        assert_only(&route(&pool, policy.clone(), [overflowing(), Tier::new()]), &request, "far from 1");
        let both = [overflowing(), Tier::new().tag("near", "")];
        assert_only(&route(&pool, policy, both), &request, "excluded at 0");
    }
}

#[test]
fn the_furthest_reason_wins_and_the_first_tier_that_came_so_far_is_named() {
    let pool = seeded(
        3,
        vec![
            tagged("down", &[("k", "down")]).healthy(false),
            tagged("zero", &[("k", "zero")]).weight(0.0),
            tagged("up", &[("k", "up")]),
        ],
    );
    let of = |value: &str| Tier::new().tag("k", value);
    for policy in policies() {
        let over = |values: &[&str]| route(&pool, policy.clone(), values.iter().map(|value| of(value)));
        assert_only(&over(&["none", "other"]), &PLAIN, "no_match at 0");
        assert_only(&over(&["none", "down", "down"]), &PLAIN, "unavailable at 1");
        assert_only(&over(&["none", "zero", "down"]), &PLAIN, "drained at 1");
        assert_only(&over(&["zero", "up", "down", "up"]), &PLAIN.exclude(&["up"]), "excluded at 1");
        assert_only(&over(&["down", "zero"]), &PLAIN.exclude(&["down", "zero"]), "drained at 1");
    }
    pool.replace([]).expect("an empty list");
    for policy in policies() {
        assert_only(&route(&pool, policy, [of("up"), Tier::new()]), &PLAIN, "empty at 0");
    }
}

#[test]
fn a_stopping_tier_ends_the_search_when_all_are_excluded_but_not_for_a_requirement_nobody_meets() {
    let pool = seeded(4, vec![tagged("a", &[("k", "v")]), tagged("b", &[("rack", "r1")])]);
    let stopping = Tier::new().tag("k", "v").when_unavailable(OnUnavailable::Stop);
    for policy in policies() {
        let route = route(&pool, policy, [stopping.clone(), Tier::new()]);
        assert_only(&route, &PLAIN, "a from 0");
        assert_only(&route, &PLAIN.exclude(&["a"]), "excluded at 0");
        assert_only(&route, &PLAIN.require(&[("rack", "r1")]), "b from 1");
        assert_only(&route, &PLAIN.require(&[("k", "v")]).exclude(&["a"]), "excluded at 0");
    }
}

#[test]
fn minimum_fields_count_members_before_exclusions_and_requirements() {
    let list = || ["a", "b", "c", "d"].map(|id| tagged(id, &[("k", id)]));
    let pool = seeded(5, list().to_vec());
    for policy in policies() {
        let most = Tier::new().min_available(3).min_available_percent(75.0);
        let route = route(&pool, policy, [most, Tier::new()]);
        pool.replace(list()).expect("a good list");
        assert_only(&route, &PLAIN.exclude(&["a", "b", "c"]), "d from 0");
        assert_only(&route, &PLAIN.require(&[("k", "b")]), "b from 0");
        pool.edit(|edit| edit.set_healthy("a", false)).expect("a is there");
        assert_only(&route, &PLAIN.require(&[("k", "b")]), "b from 0");
        pool.edit(|edit| edit.set_healthy("c", false)).expect("c is there");
        assert_only(&route, &PLAIN.require(&[("k", "b")]), "b from 1");
    }
}
