//! `explain`.

use crate::{file, keys, pointsman};

fn route() -> String {
    file(
        "tiers.json",
        r#"{"policy": "weighted_round_robin", "tiers": [
            {"name": "same version, near", "match": ["version"], "zone": "local"}, {"match": ["version"]}, {}]}"#,
    )
}

#[test]
fn tiers_are_shown_with_the_reason() {
    let route = route();
    let said = pointsman(&["explain", "--route", &route, "--zone", "north-c", "--tag", "version=gray"]);
    let text = said.text();
    assert!(
        text.starts_with("weighted_round_robin over 12 instances from the example list (nacos)\n"),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().collect();
    let after =
        |start: &str| lines[lines.iter().position(|line| line.starts_with(start)).unwrap() + 1].trim();
    assert_eq!(after("same version, near "), "not used: no instance matches; the next tier is tried");
    assert_eq!(after("1 "), "exact rotation");
    assert_eq!(after("2 "), "not reached: a tier before it takes or ends the search");
    assert!(text.contains("10.20.1.16:8080"), "{text}");
}

#[test]
fn json_is_the_engines_own() {
    let route = route();
    let args = ["explain", "--route", &route, "--zone", "north-b", "--tag", "version=gray", "--json"];
    let answer = pointsman(&args).json();
    for key in ["branches", "instances", "policy", "reason", "relaxed", "shares", "version"] {
        assert!(keys(&answer).contains(&key), "{key}");
    }
    assert_eq!(answer["branches"][0]["tiers"][0]["name"], "same version, near");
    assert_eq!(answer["branches"][0]["tiers"][0]["eligible"], 2);
    let sum: f64 =
        answer["shares"].as_array().unwrap().iter().map(|share| share["share"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12);
}

#[test]
fn branches_are_shown_with_their_shares() {
    let route = file(
        "branches.json",
        r#"{"policy": "random", "split": [{"name": "gray", "percent": 5, "tiers": [{"tags": {"version": "gray"}}]},
            {"name": "stable", "percent": 95, "tiers": [{"tags": {"version": "stable"}}]}]}"#,
    );
    let said = pointsman(&["explain", "--route", &route]);
    assert!(said.text().contains("branch gray, 5.00 %") && said.out.contains("branch stable, 95.00 %"));
}

#[test]
fn nobody_to_pick_ends_with_status_3_and_still_explains() {
    let route = file(
        "strict.json",
        r#"{"policy": "random", "tiers": [{"match": ["version"], "when_unavailable": "stop"}]}"#,
    );
    let said = pointsman(&["explain", "--route", &route, "--tag", "version=blue"]);
    assert_eq!(said.error(3), "the example list: no instance: no instance matches");
    assert!(said.out.contains("not used: no instance matches"), "{}", said.out);
    let said = pointsman(&["explain", "--route", &route, "--require", "version=blue", "--json"]);
    assert_eq!(said.status, 3);
    assert!(said.out.contains(r#""reason":"no_match""#), "{}", said.out);
}

#[test]
fn excluded_instances_are_a_last_resort() {
    let route = file(
        "gray-b.json",
        r#"{"policy": "random", "tiers": [{"tags": {"version": "gray"}, "zone": "north-b"}]}"#,
    );
    let base = ["explain", "--route", &route, "--exclude", "10.20.1.15:8080", "--exclude", "10.20.1.16:8080"];
    let said = pointsman(&base);
    assert!(said.error(3).ends_with("every available instance is excluded"));
    let said = pointsman(&[&base[..], &["--relax"]].concat());
    assert!(said.text().contains("only excluded instances are left"), "{}", said.out);
}
