//! Tags: matching, fallback, comparison.

use pointsman::{
    Instance, NoInstance, OnUnavailable, Pool, Reason, Request, Route, Tier, WhenAbsent, ZoneRule,
};

use crate::common::*;

/// The id that every pick gives, or why there is none. Panics where picks differ, or where routes and pickers do.
#[track_caller]
fn only(route: &Route, request: &Request<'_>) -> Result<String, Reason> {
    let mut answers = Vec::new();
    for mut hand in Hand::both(route, 3) {
        answers.extend((0..200).map(|_| hand.id(request).map_err(|none| none.reason)));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "different answers: {answers:?}");
    answers.remove(0)
}

fn takes(id: &str) -> Result<String, Reason> {
    Ok(id.to_owned())
}

/// The ids that picks give, sorted.
fn all(route: &Route, request: &Request<'_>) -> Vec<String> {
    let mut tally = Tally::default();
    Hand::both(route, 4).iter_mut().for_each(|hand| tally.merge(hand.tally(request, 500)));
    tally.0.into_keys().collect()
}

fn any_policy(pool: &Pool, tiers: &[Tier]) -> Vec<Route> {
    policies().into_iter().map(|policy| route(pool, policy, tiers.iter().cloned())).collect()
}

#[test]
fn a_matching_set_that_is_all_down_falls_through_stops_or_fails_as_the_route_says() {
    let pool = seeded(
        1,
        vec![Instance::new("A").tag("canary", "1").healthy(false), Instance::new("B").tag("canary", "0")],
    );
    let canary = Request::new().tags(&[("canary", "1")]);
    let matched = || Tier::new().matching("canary");
    for route in any_policy(&pool, &[matched(), Tier::new()]) {
        assert_eq!(only(&route, &canary), takes("B"));
    }
    for route in any_policy(&pool, &[matched().when_unavailable(OnUnavailable::Stop), Tier::new()]) {
        assert_eq!(only(&route, &canary), Err(Reason::Unavailable));
        assert_eq!(only(&route, &Request::new().tags(&[("canary", "2")])), takes("B"), "nobody matches");
    }
    for route in any_policy(&pool, &[matched()]) {
        assert_eq!(only(&route, &canary), Err(Reason::Unavailable));
    }
}

#[test]
fn fallback_goes_through_ever_fewer_keys_in_order() {
    let pool = seeded(2, vec![Instance::new("E1"), Instance::new("E2").tag("tag", "v1")]);
    let both = Tier::new().matching("canary").matching("tag");
    let request = Request::new().tags(&[("canary", "true"), ("tag", "v1")]);
    for route in any_policy(&pool, &[both.clone(), Tier::new().matching("tag"), Tier::new()]) {
        assert_eq!(only(&route, &request), takes("E2"));
        assert_eq!(route.pick(&request).map(|pick| pick.tier()), Ok(1));
    }
    for route in any_policy(&pool, std::slice::from_ref(&both)) {
        assert_eq!(only(&route, &request), Err(Reason::NoMatch));
    }
}

#[test]
fn any_part_of_the_keys_may_be_asked_for() {
    let full = Instance::new("A").tag("a", "x").tag("b", "x").tag("c", "x").tag("d", "x");
    let pool = seeded(5, vec![full]);
    let asked: [(&[(&str, &str)], bool); 4] = [
        (&[("a", "x"), ("c", "x")], true),
        (&[("a", "x"), ("b", "x"), ("c", "x")], true),
        (&[("a", "x"), ("c", "x"), ("d", "x")], true),
        (&[("a", "x"), ("e", "x")], false),
    ];
    let keys = ["a", "b", "c", "d", "e"];
    for route in any_policy(&pool, &[keys.iter().fold(Tier::new(), |tier, key| tier.matching(*key))]) {
        for (pairs, found) in asked {
            let expected = if found { takes("A") } else { Err(Reason::NoMatch) };
            assert_eq!(only(&route, &Request::new().require(pairs)), expected, "required {pairs:?}");
            assert_eq!(only(&route, &Request::new().tags(pairs)), expected, "matched {pairs:?}");
        }
    }
}

#[test]
fn tags_that_nobody_asked_for_keep_nobody_out() {
    let pool = seeded(6, vec![Instance::new("A").tag("role", "api").tag("vendor", "q").tag("env", "p")]);
    let request = [("role", "api")];
    for route in any_policy(&pool, &[Tier::new().matching("role")]) {
        assert_eq!(only(&route, &Request::new().tags(&request)), takes("A"));
        assert_eq!(only(&route, &Request::new().require(&request)), takes("A"));
        let unread = [("role", "api"), ("colour", "blue")];
        assert_eq!(only(&route, &Request::new().tags(&unread)), takes("A"), "no tier reads that key");
        assert_eq!(only(&route, &Request::new().require(&unread)), Err(Reason::NoMatch));
    }
}

#[test]
fn every_one_of_several_required_tags_counts_in_any_order() {
    let with = |id: &str, tags: [&str; 2]| Instance::new(id).tag(tags[0], "").tag(tags[1], "");
    let pool = seeded(7, vec![with("X", ["dev", "abc"]), with("Y", ["dev", "xyz"])]);
    for route in any_policy(&pool, &[Tier::new()]) {
        for (pair, expected) in [
            (["dev", "junk"], Err(Reason::NoMatch)),
            (["junk", "abc"], Err(Reason::NoMatch)),
            (["dev", "xyz"], takes("Y")),
            (["xyz", "dev"], takes("Y")),
        ] {
            let require = pair.map(|key| (key, ""));
            assert_eq!(only(&route, &Request::new().require(&require)), expected, "{pair:?}");
        }
    }
}

#[test]
fn tags_are_compared_whole() {
    let pool = seeded(8, vec![Instance::new("X").tag("tag1", ""), Instance::new("Y").tag("tag", "")]);
    for route in any_policy(&pool, &[Tier::new()]) {
        assert_eq!(only(&route, &Request::new().require(&[("tag", "")])), takes("Y"));
        assert_eq!(only(&route, &Request::new().require(&[("a", "")])), Err(Reason::NoMatch));
    }
    let split_elsewhere = vec![
        Instance::new("P").tag("k", "ab").tag("l", "c"),
        Instance::new("Q").tag("k", "a").tag("l", "bc"),
    ];
    let pool = seeded(8, split_elsewhere);
    for route in any_policy(&pool, &[Tier::new().matching("k").matching("l")]) {
        assert_eq!(only(&route, &Request::new().tags(&[("k", "ab"), ("l", "c")])), takes("P"));
        assert_eq!(only(&route, &Request::new().tags(&[("l", "bc"), ("k", "a")])), takes("Q"));
        assert_eq!(only(&route, &Request::new().tags(&[("k", "abc"), ("l", "")])), Err(Reason::NoMatch));
    }
}

#[test]
fn requests_without_the_tag_stay_off_tagged_instances() {
    let pool = seeded(9, vec![Instance::new("A"), Instance::new("B").tag("colour", "grey")]);
    let isolated =
        [Tier::new().matching("colour").when_absent(WhenAbsent::Untagged), Tier::new().without("colour")];
    for route in any_policy(&pool, &isolated) {
        assert_eq!(only(&route, &Request::new()), takes("A"));
        assert_eq!(only(&route, &Request::new().tags(&[("colour", "grey")])), takes("B"));
        assert_eq!(only(&route, &Request::new().tags(&[("colour", "blue")])), takes("A"));
    }
}

#[test]
fn a_request_adds_no_tags_to_instances() {
    let list = || vec![Instance::new("P1").tag("env", "QA"), Instance::new("P2")];
    let pool = seeded(10, list());
    let base = [Tier::new().matching("env"), Tier::new().without("env")];
    for route in any_policy(&pool, &base) {
        for _ in 0..3 {
            assert_eq!(only(&route, &Request::new().tags(&[("env", "DEV")])), takes("P2"));
        }
    }
    assert_eq!(pool.instances(), list());
}

#[test]
fn the_empty_value_is_a_value_and_a_missing_key_is_none() {
    let pool = seeded(
        11,
        vec![Instance::new("X").tag("env", ""), Instance::new("Y"), Instance::new("Z").tag("env", "p")],
    );
    for route in any_policy(&pool, &[Tier::new().matching("env")]) {
        assert_eq!(only(&route, &Request::new().tags(&[("env", "")])), takes("X"));
        assert_eq!(only(&route, &Request::new().require(&[("env", "")])), takes("X"));
        assert_eq!(all(&route, &Request::new()), ["X", "Y", "Z"]);
    }
    for route in any_policy(&pool, &[Tier::new().not_tag("env", "p")]) {
        assert_eq!(all(&route, &Request::new()), ["X", "Y"], "an instance without the key is not kept out");
    }
    for route in any_policy(&pool, &[Tier::new().without("env")]) {
        assert_eq!(only(&route, &Request::new()), takes("Y"));
    }
}

#[test]
fn any_string_is_a_legal_key_and_value() {
    for text in ["", "*", "any", "null", "\0", "a,b", "ключ", "local"] {
        let pool =
            seeded(12, vec![Instance::new("A").tag(text, text), Instance::new("B").tag("other", text)]);
        for route in any_policy(&pool, &[Tier::new().matching(text)]) {
            assert_eq!(only(&route, &Request::new().tags(&[(text, text)])), takes("A"));
            assert_eq!(only(&route, &Request::new().tags(&[(text, "else")])), Err(Reason::NoMatch));
            assert_eq!(only(&route, &Request::new().require(&[(text, text)])), takes("A"));
        }
    }
}

#[test]
fn one_of_several_values_is_enough_on_either_side() {
    let pool = seeded(
        13,
        vec![
            Instance::new("X").tag("ver", "v1").tag("ver", "v2"),
            Instance::new("Y").tag("ver", "v3"),
            Instance::new("W").tag("ver", "v1,v2"),
        ],
    );
    for route in any_policy(&pool, &[Tier::new().matching("ver")]) {
        assert_eq!(only(&route, &Request::new().tags(&[("ver", "v2")])), takes("X"));
        assert_eq!(all(&route, &Request::new().tags(&[("ver", "v1"), ("ver", "v3")])), ["X", "Y"]);
        assert_eq!(all(&route, &Request::new().require(&[("ver", "v1"), ("ver", "v3")])), ["X", "Y"]);
        assert_eq!(only(&route, &Request::new().tags(&[("ver", "v1,v2")])), takes("W"), "one value");
    }
    for route in any_policy(&pool, &[Tier::new().tag("ver", "v2").tag("ver", "v3")]) {
        assert_eq!(all(&route, &Request::new()), ["X", "Y"]);
    }
}

#[test]
fn comparison_minds_case() {
    let pool = seeded_in("SJC", 14, vec![Instance::new("A").zone("sjc")]);
    for route in any_policy(&pool, &[Tier::new().zone(ZoneRule::Local)]) {
        assert_eq!(only(&route, &Request::new()), Err(Reason::NoMatch));
    }
    let pool = seeded(14, vec![Instance::new("B").tag("keyName", "1").tag("keyname", "2")]);
    for route in any_policy(&pool, &[Tier::new().matching("keyname").matching("keyName")]) {
        assert_eq!(only(&route, &Request::new().tags(&[("keyname", "2")])), takes("B"));
        assert_eq!(only(&route, &Request::new().require(&[("keyname", "2")])), takes("B"));
        assert_eq!(only(&route, &Request::new().tags(&[("keyname", "1")])), Err(Reason::NoMatch));
        assert_eq!(only(&route, &Request::new().tags(&[("keyName", "2")])), Err(Reason::NoMatch));
    }
}

#[test]
fn there_are_candidates_exactly_when_a_pick_finds_one() {
    let pool = seeded(
        15,
        vec![
            Instance::new("A").tag("v", "1"),
            Instance::new("B").tag("v", "2").tag("w", ""),
            Instance::new("C"),
        ],
    );
    let requests = [
        Request::new(),
        Request::new().tags(&[("v", "1")]),
        Request::new().tags(&[("v", "3")]),
        Request::new().tags(&[("v", "2"), ("w", "x")]),
        Request::new().require(&[("w", "")]),
        Request::new().require(&[("w", ""), ("v", "1")]),
        Request::new().tags(&[("v", "1")]).exclude(&["A"]),
        Request::new().exclude(&["A", "B", "C"]),
    ];
    for tiers in [
        vec![Tier::new()],
        vec![Tier::new().matching("v").matching("w")],
        vec![Tier::new().matching("v"), Tier::new().without("v")],
    ] {
        for route in any_policy(&pool, &tiers) {
            for request in &requests {
                let explained = route.explain(request);
                let candidates: usize = explained.branches[0].tiers.iter().map(|tier| tier.eligible).sum();
                let picked = route.pick(request).map(|pick| pick.index());
                assert_eq!(candidates > 0, picked.is_ok(), "{request:?}");
                assert_eq!(explained.shares.is_empty(), picked.is_err(), "{request:?}");
                assert_eq!(explained.reason, picked.err().map(|none: NoInstance| none.reason), "{request:?}");
            }
            assert_eq!(all(&route, &Request::new()), ["A", "B", "C"], "no criteria take everyone");
        }
    }
}
