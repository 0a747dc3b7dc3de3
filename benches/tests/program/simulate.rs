//! `simulate`: the figures of a short run, and their names.

use crate::{keys, pointsman};

const SHORT: [&str; 5] = ["simulate", "--scale", "0.01", "--scenario", "stalled_one_of_eleven"];

#[test]
fn json_has_a_row_for_each_policy_of_each_scenario() {
    let said = pointsman(&[&SHORT[..], &["--scenario", "equal_500_load_0.90", "--json"]].concat());
    let json = said.json();
    let rows = json["scenarios"].as_array().unwrap();
    assert_eq!(keys(&json), ["scenarios"]);
    for row in rows {
        let fields = ["choices", "diverges", "mean", "name", "p99", "p999", "policy", "within_1s"];
        assert_eq!(keys(row), fields);
        assert!(row["mean"].as_f64().unwrap() > 0.0 && row["p99"].as_f64() <= row["p999"].as_f64());
    }
    let of = |name: &str| rows.iter().filter(|row| row["name"] == name).count();
    assert_eq!(of("stalled_one_of_eleven") + of("equal_500_load_0.90"), rows.len());
    assert!(of("stalled_one_of_eleven") > 0 && of("equal_500_load_0.90") > 0);
}

#[test]
fn the_text_has_a_table() {
    let said = pointsman(&SHORT);
    assert!(said.text().starts_with("stalled_one_of_eleven\n"));
    assert!(said.text().contains("  peak_ewma"));
}

#[test]
fn the_seed_decides() {
    let json = |seed: &str| pointsman(&[&SHORT[..], &["--json", "--seed", seed]].concat()).json();
    assert_eq!(json("7"), json("7"));
    assert_ne!(json("7"), json("8"));
}

#[test]
fn bad_arguments() {
    assert!(pointsman(&["simulate", "--scenario", "storm"]).error(2).contains("'storm'"));
    assert!(pointsman(&["simulate", "--scale", "0"]).error(2).contains("0.001"));
}
