//! Queries against the plain meaning of what they ask.

use proptest::prelude::*;

use super::*;
use crate::spec::WhenAbsent;
use crate::{Instance, Policy, Pool, Route, RouteSpec, Tier};

type Pairs = Vec<(&'static str, &'static str)>;

const VALUES: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// What is rare, what is frequent, and what nobody has.
fn pair() -> impl Strategy<Value = (&'static str, &'static str)> {
    let value = prop::sample::select(&VALUES[..]);
    prop_oneof![
        value.prop_map(|value| ("rare", value)),
        prop::sample::select(&["0", "1"][..]).prop_map(|value| ("half", value)),
        Just(("nobody", "has it")),
    ]
}

/// Few pairs, or more than are looked up in the index.
fn pairs() -> impl Strategy<Value = Pairs> {
    prop_oneof![4 => prop::collection::vec(pair(), 0..4), 1 => prop::collection::vec(pair(), 20..40)]
}

fn keys() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(vec!["rare", "half", "nobody"], 0..=3)
}

fn instance(at: usize) -> Instance {
    let instance = Instance::new(format!("i{at}")).healthy(at % 5 != 1).enabled(at % 7 != 2);
    let instance = instance.weight(if at % 4 == 3 { 0.0 } else { 1.0 }).tag("half", VALUES[at % 2]);
    if at % 40 < 8 { instance.tag("rare", VALUES[at % 40]).tag("rare", VALUES[at % 3]) } else { instance }
}

/// A route over so many, whose only tier takes all or half of them.
fn route(n: usize, matching: &[&str], untagged: bool, masked: bool) -> (Pool, Route) {
    let pool = Pool::new((0..n).map(instance)).expect("a good list");
    let mut tier = matching.iter().fold(Tier::new(), |tier, key| tier.matching(*key));
    tier.when_absent = if untagged { WhenAbsent::Untagged } else { WhenAbsent::Any };
    let tier = if masked { tier.tag("half", "1") } else { tier };
    let route = pool.route(RouteSpec::new(Policy::Random).tier(tier)).expect("a good spec");
    (pool, route)
}

fn asked(key: &str, pairs: &Pairs) -> bool {
    pairs.iter().any(|(held, _)| *held == key)
}

fn has_one(instance: &Instance, key: &str, pairs: &Pairs) -> bool {
    pairs.iter().any(|(held, value)| *held == key && instance.tags.contains(key, value))
}

proptest! {
    #[test]
    fn a_query_finds_whom_its_clauses_mean(
        n in 0_usize..200,
        (matching, untagged, masked, with_match) in (keys(), any::<bool>(), any::<bool>(), any::<bool>()),
        (require, tags) in (pairs(), pairs()),
        left_out in prop::collection::vec(0_usize..200, 0..4),
    ) {
        let (pool, _route) = route(n, &matching, untagged, masked);
        let snapshot = pool.core().published.load();
        let roster = &snapshot.roster;
        let tier = &snapshot.routes[0].as_ref().expect("there is one route").branches[0].tiers[0];
        let request = Request { require: &require, tags: &tags, ..Request::new() };

        let means = |at: usize| {
            let instance = instance(at);
            let required = require.iter().all(|(key, _)| has_one(&instance, key, &require));
            let matched = matching.iter().all(|key| match asked(key, &tags) {
                true => has_one(&instance, key, &tags),
                false => !untagged || !instance.tags.has_key(key),
            });
            (!masked || at % 2 == 1) && required && (!with_match || matched)
        };
        let members: Vec<usize> = (0..n).filter(|at| means(*at)).collect();
        let query = || Query::new(roster, tier, &request, with_match);
        for any_health in [false, true] {
            let up = |at: &&usize| any_health || **at % 5 != 1;
            let available = members.iter().filter(up).filter(|at| **at % 7 != 2 && **at % 4 != 3).count();
            let all_drained = !members.is_empty() && members.iter().all(|at| at % 4 == 3);
            prop_assert_eq!(query().counts(any_health), Counts { members: members.len(), available, all_drained });
        }

        let (ids, drawn) = left_out.split_at(left_out.len() / 2);
        let ids: Vec<String> = ids.iter().map(|at| format!("i{at}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let drawn: Vec<Picked> =
            drawn.iter().map(|at| Picked { index: *at as u32, ..Picked::default() }).collect();
        for leaves_out in [false, true] {
            let query = if leaves_out { query().leaving_out(&ids, &drawn) } else { query() };
            let is_left = |at: &&usize| !leaves_out || !left_out.contains(at);
            let left: Vec<usize> = members.iter().filter(is_left).copied().collect();
            let (mut seen, mut words) = (Vec::new(), Vec::new());
            query.visit(&mut |at, word| {
                words.push(at);
                seen.extend(ones(at, word).map(|index| index as usize));
                false
            });
            prop_assert_eq!(&seen, &left);
            prop_assert!(words.is_sorted_by(|a, b| a < b));
            for at in members.iter().copied() {
                let member = Member { index: at as u32, slot: roster.slot(at as u32) };
                prop_assert_eq!(query.allows(member), left.contains(&at));
            }
            let mut visits = 0;
            query.visit(&mut |_, _| { visits += 1; true });
            prop_assert_eq!(visits, usize::from(!left.is_empty()), "the first that suits ends it");
        }
    }
}

#[test]
fn those_who_have_a_rare_value_are_found_in_whatever_words_they_stand() {
    let (n, far_apart) = (2_000, [3, 4, 70, 71, 500, 1_999]);
    let list = (0..n).map(|at| {
        let instance = Instance::new(format!("i{at}")).tag("half", VALUES[at % 2]);
        if far_apart.contains(&at) { instance.tag("rare", "x") } else { instance }
    });
    let pool = Pool::new(list).expect("a good list");
    let _route = pool.route(RouteSpec::new(Policy::Random).tier(Tier::new())).expect("a good spec");
    let snapshot = pool.core().published.load();
    let tier = &snapshot.routes[0].as_ref().expect("there is one route").branches[0].tiers[0];
    let seen = |require: &[(&str, &str)], ids: &[&str]| {
        let request = Request { require, ..Request::new() };
        let mut seen = Vec::new();
        let query = Query::new(&snapshot.roster, tier, &request, true).leaving_out(ids, &[]);
        query.visit(&mut |at, word| {
            seen.extend(ones(at, word));
            false
        });
        seen
    };
    assert_eq!(seen(&[("rare", "x")], &[]), [3, 4, 70, 71, 500, 1_999]);
    assert_eq!(seen(&[("rare", "x"), ("half", "1")], &[]), [3, 71, 1_999]);
    assert_eq!(seen(&[("half", "0"), ("rare", "x")], &["i4"]), [70, 500]);
    assert!(seen(&[("rare", "x"), ("rare", "y"), ("half", "2")], &[]).is_empty());
    assert!(seen(&[("rare", "y"), ("half", "1")], &[]).is_empty());
}

#[test]
fn instances_that_are_full_are_passed_over_where_limits_count() {
    let pool = Pool::new([Instance::new("a").max_in_flight(2), Instance::new("b")]).expect("a good list");
    let _route = pool.route(RouteSpec::new(Policy::Random).tier(Tier::new())).expect("a good spec");
    let snapshot = pool.core().published.load();
    let (roster, live) = (&snapshot.roster, &pool.core().live);
    let tier = &snapshot.routes[0].as_ref().expect("there is one route").branches[0].tiers[0];
    let request = Request::new();
    let member = |index: u32| Member { index, slot: roster.slot(index) };
    for leases in 0..3 {
        let query = Query::new(roster, tier, &request, true);
        assert!(query.allows(member(0)) && query.allows(member(1)));
        let query = query.within_limits(live);
        assert_eq!([0, 1].map(|index| query.allows(member(index))), [leases < 2, true], "{leases} leases");
        assert!(query.allows_but_for_limits(member(0)));
        let mut seen = Vec::new();
        query.visit(&mut |at, word| {
            seen.extend(ones(at, word));
            false
        });
        assert_eq!(seen, if leases < 2 { vec![0, 1] } else { vec![1] });
        let _ = live.acquire(member(0).slot, Some(2));
    }
}

#[test]
fn the_reason_is_how_far_the_counts_came() {
    let counts = |members, available, all_drained| Counts { members, available, all_drained }.reason();
    assert_eq!(counts(0, 0, false), Reason::NoMatch);
    assert_eq!(counts(2, 0, true), Reason::Drained);
    assert_eq!(counts(2, 0, false), Reason::Unavailable);
    assert_eq!(counts(2, 1, false), Reason::Excluded);
}
