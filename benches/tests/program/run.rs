//! `run`, and the program without arguments.

use std::io::Read;
use std::process::{Command, Stdio};

use pointsman::Policy;
use serde_json::{Value, json};

use crate::{fed, file, keys, pointsman, sample};

/// Policies whose counts are those of independent draws, and those that take turns.
const DRAWS: [&str; 3] = ["random", "weighted_random", "least_load"];
const TURNS: [&str; 2] = ["round_robin", "weighted_round_robin"];
/// Those that follow requests in flight, and have no share to expect while there are some.
const LOADED: [&str; 3] = ["least_request", "power_of_two", "peak_ewma"];

fn policies() -> Vec<&'static str> {
    Policy::all().iter().map(Policy::name).collect()
}

#[test]
fn without_arguments_every_policy_runs_on_the_example() {
    let said = pointsman(&[]);
    let text = said.text();
    assert!(text.starts_with("12 instances from the example list (nacos), 1 thread\n"), "{text}");
    for policy in policies() {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(policy)), "{text}");
    }
    assert!(text.contains("down") && text.contains("drained") && text.contains('█'), "{text}");
}

#[test]
fn json_has_this_shape() {
    let report = pointsman(&["run", "--json", "--picks", "20000"]).json();
    assert_eq!(keys(&report), ["instances", "runs", "source"]);
    assert_eq!((&report["instances"], &report["source"]), (&json!(12), &json!("nacos")));
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["policy"].as_str().unwrap()).collect::<Vec<_>>(), policies());
    for run in runs {
        assert_eq!(
            keys(run),
            [
                "chi_square_p",
                "max_prefix_deviation",
                "max_share_error",
                "no_instance",
                "ns_per_pick",
                "picks",
                "policy",
                "shares",
                "threads",
                "tier",
            ]
        );
        assert_eq!((&run["picks"], &run["threads"]), (&json!(20_000), &json!(1)));
        assert_eq!((&run["tier"], &run["no_instance"]), (&json!("all"), &Value::Null));
        assert!(run["ns_per_pick"].as_f64().unwrap() > 0.0);
        let policy = run["policy"].as_str().unwrap();
        assert!(run["max_prefix_deviation"].is_number() || !TURNS.contains(&policy), "{run}");
        assert!(run["chi_square_p"].is_number() || !DRAWS.contains(&policy), "{run}");
        assert!(run["max_prefix_deviation"].is_null() || run["chi_square_p"].is_null(), "{run}");
        for share in run["shares"].as_array().unwrap() {
            assert_eq!(keys(share), ["expected", "id", "observed"]);
        }
    }
}

#[test]
fn figures_agree_with_what_each_policy_promises() {
    let report = pointsman(&["run", "--json", "--seed", "7"]).json();
    for run in report["runs"].as_array().unwrap() {
        let shares = run["shares"].as_array().unwrap();
        let sum = |field: &str| shares.iter().map(|share| share[field].as_f64().unwrap_or(0.0)).sum::<f64>();
        assert!((sum("observed") - 1.0).abs() < 1e-12);
        for share in shares {
            if ["10.20.0.14:8080", "10.20.1.13:8080"].contains(&share["id"].as_str().unwrap()) {
                assert_eq!(share["observed"], json!(0.0));
            }
        }
        if LOADED.contains(&run["policy"].as_str().unwrap()) {
            assert_eq!(run["max_share_error"], Value::Null);
            continue;
        }
        assert!((sum("expected") - 1.0).abs() < 1e-12);
        // A table of hashed slots is even only as far as the hash is.
        let limit = if run["policy"] == "consistent_hash" { 0.01 } else { 0.002 };
        assert!(run["max_share_error"].as_f64().unwrap() < limit, "{run}");
        if let Some(p) = run["chi_square_p"].as_f64() {
            assert!(p > 1e-4, "{run}");
        }
        if let Some(deviation) = run["max_prefix_deviation"].as_f64() {
            // Ten can be picked: 1 − 1/(2·10−2).
            assert!(deviation <= 1.0 - 1.0 / 18.0 + 1e-6, "{run}");
        }
    }
}

#[test]
fn a_seed_repeats_the_counts() {
    let shares = |threads: &str, policy: &str, seed: &str| {
        let args =
            ["run", "--json", "--picks", "5000", "--seed", seed, "--threads", threads, "--policy", policy];
        pointsman(&args).json()["runs"][0]["shares"].clone()
    };
    assert_eq!(shares("1", "weighted_random", "1"), shares("1", "weighted_random", "1"));
    assert_eq!(shares("1", "weighted_random", "1"), shares("3", "weighted_random", "1"));
    assert_ne!(shares("1", "weighted_random", "1"), shares("1", "weighted_random", "2"));
}

#[test]
fn every_pick_is_counted_on_any_number_of_threads() {
    let args = ["run", "--json", "--picks", "10007", "--threads", "3", "--policy", "round_robin"];
    let run = pointsman(&args).json()["runs"][0].clone();
    assert_eq!((&run["threads"], &run["picks"]), (&json!(3), &json!(10_007)));
    let counts =
        run["shares"].as_array().unwrap().iter().map(|share| share["observed"].as_f64().unwrap() * 10_007.0);
    assert_eq!(counts.map(f64::round).sum::<f64>(), 10_007.0);
}

#[test]
fn a_golden_rotation_stays_within_its_bound() {
    let list = file(
        "golden.json",
        r#"[{"address": "a", "weight": 1.4142135623730951}, {"address": "b", "weight": 3.141592653589793}]"#,
    );
    let run =
        pointsman(&["run", &list, "--json", "--policy", "weighted_round_robin"]).json()["runs"][0].clone();
    assert!(run["max_prefix_deviation"].as_f64().unwrap() <= 1.0 + 0.42 * 1e6_f64.ln());
}

#[test]
fn a_route_brings_its_policy_and_policies_of_the_command_line_replace_it() {
    let route =
        file("near.json", r#"{"policy": "round_robin", "tiers": [{"name": "near", "zone": "local"}, {}]}"#);
    let args = ["run", "--json", "--picks", "1000", "--route", &route, "--zone", "north-b"];
    let report = pointsman(&args).json();
    let policies = |report: &Value| -> Vec<Value> {
        report["runs"].as_array().unwrap().iter().map(|run| run["policy"].clone()).collect()
    };
    assert_eq!(policies(&report), ["round_robin"]);
    assert_eq!(report["runs"][0]["tier"], "near");
    let report =
        pointsman(&[&args[..], &["--policy", "random", "--policy", r#"{"least_load": {}}"#]].concat()).json();
    assert_eq!(policies(&report), ["random", "least_load"]);
}

#[test]
fn requests_take_tags_requirements_exclusions_and_a_preference() {
    let picked = |args: &[&str]| {
        let base = ["run", "--json", "--picks", "2000", "--policy", "weighted_random"];
        let report = pointsman(&[&base[..], args].concat()).json();
        let shares = report["runs"][0]["shares"].as_array().unwrap().clone();
        let picked = shares.into_iter().filter(|share| share["observed"].as_f64() > Some(0.0));
        let ids: Vec<String> = picked.map(|share| share["id"].as_str().unwrap().to_owned()).collect();
        (report["runs"][0]["tier"].as_str().unwrap().to_owned(), ids)
    };
    let gray = ["10.20.0.15:8080", "10.20.0.16:8080", "10.20.1.15:8080", "10.20.1.16:8080"];
    let (tier, ids) = picked(&["--tag", "version=gray"]);
    assert_eq!((tier.as_str(), ids.as_slice()), ("same tags", &gray.map(String::from)[..]));
    let (tier, ids) = picked(&["--tag", "version=gray", "--zone", "north-b"]);
    assert_eq!((tier.as_str(), ids.as_slice()), ("same tags, near", &gray.map(String::from)[2..]));
    let (tier, ids) = picked(&["--require", "version=gray", "--exclude", gray[0]]);
    assert_eq!((tier.as_str(), ids.as_slice()), ("all", &gray.map(String::from)[1..]));
    let (_, ids) = picked(&["--prefer", gray[3]]);
    assert_eq!(ids, [gray[3]]);
    let (tier, _) = picked(&["--tag", "version=nobody"]);
    assert_eq!(tier, "all");
}

#[test]
fn a_split_names_branch_and_tier_and_a_key_goes_one_way() {
    let route = file(
        "split.json",
        r#"{"policy": "weighted_random", "by": "key", "split": [
            {"name": "gray", "percent": 10, "tiers": [{"tags": {"version": "gray"}}]},
            {"name": "rest", "percent": 90, "tiers": [{"name": "stable", "tags": {"version": "stable"}}]}]}"#,
    );
    let tier = |args: &[&str]| {
        let base = ["run", "--json", "--picks", "5000", "--route", &route];
        pointsman(&[&base[..], args].concat()).json()["runs"][0]["tier"].clone()
    };
    assert_eq!(tier(&[]), "rest/stable");
    let keys =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];
    let gray = keys.iter().filter(|key| tier(&["--key", key]) == "gray/0").count();
    assert!((1..10).contains(&gray), "{gray}");
}

#[test]
fn nobody_to_pick_ends_with_status_3() {
    let list = file("drained.json", r#"[{"address": "a", "weight": 0}, {"address": "b", "weight": 0}]"#);
    let said = pointsman(&["run", &list, "--json"]);
    assert_eq!(
        said.error(3),
        format!("{list}: no instance: every matching instance has weight zero (tier 0)")
    );
    let report: Value = serde_json::from_str(&said.out).unwrap();
    for run in report["runs"].as_array().unwrap() {
        assert_eq!(run["no_instance"], "drained");
        for figure in ["tier", "ns_per_pick", "max_share_error", "chi_square_p", "max_prefix_deviation"] {
            assert_eq!(run[figure], Value::Null, "{figure}");
        }
    }
    let said = pointsman(&["run", &list]);
    assert!(said.error(3).contains("weight zero") && said.out.contains("no instance"));
    let said = fed(&["run", "-"], b"[]");
    assert_eq!(said.error(3), "stdin: no instance: the pool is empty (tier 0)");
}

#[test]
fn a_branch_that_fails_is_told_beside_those_that_serve() {
    let route = file(
        "half.json",
        r#"{"policy": "random", "split": [
            {"percent": 50, "tiers": [{"tags": {"version": "nobody"}}]}, {"percent": 50, "tiers": [{}]}]}"#,
    );
    let run = pointsman(&["run", "--route", &route, "--json", "--seed", "1"]).json()["runs"][0].clone();
    assert_eq!(run["no_instance"], "no_match");
    let observed = run["shares"].as_array().unwrap().iter().map(|share| share["observed"].as_f64().unwrap());
    assert!((observed.sum::<f64>() - 0.5).abs() < 0.005);
    assert!(run["chi_square_p"].as_f64().unwrap() > 1e-4);
}

#[test]
fn thousands_of_instances_show_the_top_and_how_many_are_left() {
    let entries: Vec<String> = (0..3_000)
        .map(|at| format!(r#"{{"address": "a-rather-long-host-name-{at}.orders.internal.example:8080", "weight": {at}}}"#))
        .collect();
    let list = file("many.json", &format!("[{}]", entries.join(",")));
    let args = ["run", &list, "--picks", "20000", "--policy", "weighted_random", "--policy", "least_load"];
    let said = pointsman(&args);
    assert_eq!(said.text().matches("… and 2,980 more").count(), 2, "{}", said.out);
    assert!(said.out.contains("a-rather-long-h…l.example:8080"), "{}", said.out);
    assert!(said.out.lines().count() < 70);
}

#[test]
fn loads_come_from_the_key_that_is_named() {
    let args = [
        "run",
        &sample("nacos-v1.json"),
        "--load-key",
        "cpu",
        "--policy",
        "least_load",
        "--json",
        "--picks",
        "1000",
    ];
    let run = pointsman(&args).json()["runs"][0].clone();
    let shares = run["shares"].as_array().unwrap();
    assert_eq!(shares.iter().find(|share| share["id"] == "10.1.0.1:80").unwrap()["observed"], json!(1.0));
    assert_eq!(run["chi_square_p"], Value::Null);
}

#[test]
fn a_reader_who_has_gone_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(["inspect", "--json", &file("wide.json", &wide())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// A list that fills a pipe more than once.
fn wide() -> String {
    let entries: Vec<String> = (0..5_000).map(|at| format!(r#"{{"address": "10.0.0.1:{at}"}}"#)).collect();
    format!("[{}]", entries.join(","))
}

#[test]
fn a_policy_that_goes_by_keys_gets_a_new_one_for_each_pick_or_the_one_that_is_given() {
    let base = ["run", "--json", "--picks", "9000", "--threads", "2", "--policy", "consistent_hash"];
    let served = |args: &[&str]| {
        let run = pointsman(&[&base[..], args].concat()).json()["runs"][0].clone();
        assert_eq!(run["chi_square_p"], Value::Null);
        run["shares"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|share| share["observed"].as_f64() > Some(0.0))
            .count()
    };
    assert_eq!(served(&[]), 10);
    assert_eq!(served(&["--key", "user-1"]), 1);
}
