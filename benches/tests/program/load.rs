//! `run` with requests that take their time: latencies from a file, or made up.

use serde_json::{Value, json};

use crate::{file, pointsman};

/// Three of equal weight, the last much slower.
fn list() -> String {
    file("three.json", r#"[{"address": "a"}, {"address": "b"}, {"address": "slow"}]"#)
}

/// The observed shares of the policy's run, by position.
fn shares(policy: &str, latencies: &str) -> Vec<f64> {
    let list = list();
    let base = ["run", &list, "--policy", policy, "--latency-file", latencies, "--json", "--seed", "3"];
    let report = pointsman(&[&base[..], &["--picks", "30000", "--in-flight", "24"]].concat()).json();
    let shares = report["runs"][0]["shares"].as_array().unwrap();
    shares.iter().map(|share| share["observed"].as_f64().unwrap()).collect()
}

/// With as many requests in flight at each, an instance that takes four times as long serves a quarter.
#[test]
fn policies_that_follow_what_is_in_flight_give_a_slow_instance_less() {
    let latencies = file("slow.json", r#"{"*": {"mean": 10}, "slow": {"mean": 40}}"#);
    let least = shares("least_request", &latencies);
    assert!((least[2] - 1.0 / 9.0).abs() < 0.02, "{least:?}");
    for policy in ["power_of_two", "peak_ewma", r#"{"consistent_hash": {"bound": 1.25}}"#] {
        let shares = shares(policy, &latencies);
        assert!(shares[2] < 0.27 && shares[0] > 0.33, "{policy}: {shares:?}");
    }
    for policy in ["random", "weighted_round_robin"] {
        let shares = shares(policy, &latencies);
        assert!((shares[2] - 1.0 / 3.0).abs() < 0.02, "{policy}: {shares:?}");
    }
}

/// Failing fast attracts the least requests in flight, and not the lowest latency.
#[test]
fn fast_failures_attract_least_request_and_not_peak_ewma() {
    let latencies = file("failing.csv", "id,latency_ms,outcome\n*,20,success\nslow,1,failure\n");
    assert!(shares("least_request", &latencies)[2] > 0.5);
    assert!(shares("peak_ewma", &latencies)[2] < 0.34);
}

#[test]
fn more_requests_in_flight_make_an_instance_full() {
    let list = file("full.json", r#"[{"address": "a", "max_in_flight": 1}, {"address": "b"}]"#);
    let latencies = file("ten.json", r#"{"*": 10}"#);
    let args =
        ["run", &list, "--policy", "random", "--latency-file", &latencies, "--json", "--picks", "1000"];
    let share = |in_flight: &str| {
        let run = pointsman(&[&args[..], &["--in-flight", in_flight]].concat()).json()["runs"][0].clone();
        run["shares"][0]["observed"].as_f64().unwrap()
    };
    assert!((share("1") - 0.5).abs() < 0.1);
    let full = share("10");
    assert!((0.05..0.12).contains(&full), "{full}");
}

#[test]
fn figures_that_do_not_apply_under_load_are_null() {
    let runs = pointsman(&["run", "--json", "--picks", "3000"]).json()["runs"].clone();
    for run in runs.as_array().unwrap() {
        let loaded =
            ["least_request", "power_of_two", "peak_ewma"].contains(&run["policy"].as_str().unwrap());
        assert_eq!(run["max_share_error"].is_null(), loaded, "{run}");
        assert!(!loaded || run["chi_square_p"].is_null(), "{run}");
        for share in run["shares"].as_array().unwrap() {
            assert_eq!(share["expected"].is_null(), loaded, "{run}");
        }
    }
}

#[test]
fn without_a_file_every_third_instance_is_slow() {
    let args = ["run", "--picks", "20000", "--policy", "least_request", "--policy", "random", "--seed", "1"];
    let report = pointsman(&[&args[..], &["--json"]].concat()).json();
    let share = |at: usize| report["runs"][0]["shares"][at]["observed"].as_f64().unwrap();
    // Of weight 8 both, at the first and the seventh place; of weight 4 at the third.
    assert!(share(2) < 0.4 * (share(0) + share(6)) / 2.0, "{report}");
    let said = pointsman(&args);
    assert!(said.text().contains("\n24 requests in flight; latencies made up, 10 ms, every third 20 ms\n"));
    assert!(said.out.contains("mean ms") && said.out.contains("expected"), "{}", said.out);
    let told = said.out.lines().filter(|line| line.starts_with("random ")).count();
    assert_eq!(told, 1, "random draws take no leases: {}", said.out);
}

#[test]
fn with_a_file_every_policy_tells_what_requests_came_to() {
    let latencies = file("constant.json", r#"{"*": 12.5}"#);
    let said = pointsman(&["run", "--picks", "2000", "--latency-file", &latencies]);
    let waits: Vec<&str> = said.text().lines().filter(|line| line.contains("12.50")).collect();
    for policy in pointsman::Policy::all() {
        assert!(waits.iter().any(|line| line.starts_with(policy.name())), "{}", said.out);
    }
}

#[test]
fn a_seed_repeats_the_run() {
    let latencies = file("seeded.json", r#"{"*": {"p50": 5, "p99": 100, "failures": 0.1}}"#);
    let shares = |seed| {
        let list = list();
        let base = ["run", &list, "--policy", "peak_ewma", "--latency-file", &latencies, "--json"];
        let run = pointsman(&[&base[..], &["--picks", "3000", "--seed", seed]].concat()).json();
        run["runs"][0]["shares"].clone()
    };
    assert_eq!(shares("1"), shares("1"));
    assert_ne!(shares("1"), shares("2"));
}

#[test]
fn nobody_to_lease_ends_with_status_3() {
    let list = file("down.json", r#"[{"address": "a", "healthy": false}]"#);
    let said = pointsman(&["run", &list, "--policy", "least_request", "--json", "--picks", "100"]);
    assert!(said.error(3).contains("no instance"), "{}", said.err);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["runs"][0]["no_instance"], json!("unavailable"));
}

#[test]
fn a_latency_file_that_cannot_be_used_is_named_with_its_place() {
    let negative = file("negative-latency.json", r#"{"*": 1, "10.20.0.11:8080": -1}"#);
    let some = file("some.csv", "id,latency_ms\n10.20.0.11:8080,5\n");
    for (path, why) in [
        (negative.as_str(), "10.20.0.11:8080: latency: -1, must be from 0 to 10000000 milliseconds"),
        (some.as_str(), "has no latency for 10.20.0.12:8080, and none for \"*\""),
        ("/nonexistent.json", "No such file"),
    ] {
        let said = pointsman(&["run", "--latency-file", path]);
        assert!(said.error(2).strip_prefix(&format!("{path}: ")).unwrap().starts_with(why), "{}", said.err);
    }
    assert!(pointsman(&["run", "--in-flight", "0"]).error(2).contains("from 1 to 1000000"));
}
