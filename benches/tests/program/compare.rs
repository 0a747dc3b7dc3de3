//! `compare`: rows, peers and their intervals. Not how fast anything is.

use crate::{file, keys, pointsman};

const SHORT: [&str; 5] = ["compare", "--sizes", "8", "--rounds", "1"];

#[test]
fn json_has_a_row_for_each_call_and_floors() {
    let csv = file("compare.csv", "");
    let jobs = ["--jobs", "weighted_round_robin,update_one", "--threads", "1", "--csv", &csv, "--json"];
    let json = pointsman(&[&SHORT[..], &jobs].concat()).json();
    assert_eq!(keys(&json), ["machine", "rows"]);
    let rows = json["rows"].as_array().unwrap();
    let calls: Vec<_> =
        rows.iter().map(|row| (row["job"].as_str().unwrap(), row["api"].as_str().unwrap())).collect();
    assert_eq!(
        calls,
        [
            ("floor", "generator"),
            ("floor", "epoch_pin"),
            ("floor", "atomic_add"),
            ("floor", "cold_line"),
            ("weighted_round_robin", "picker"),
            ("weighted_round_robin", "route"),
            ("update_one", "pool"),
        ]
    );
    for row in rows {
        assert_eq!(keys(row), ["api", "job", "ns", "peers", "quality", "size", "threads"]);
        assert!(row["ns"].as_f64().unwrap() > 0.0);
        for peer in row["peers"].as_array().unwrap() {
            assert_eq!(keys(peer), ["ci_high", "ci_low", "name", "ns", "times_faster"]);
            assert!(peer["ci_low"].as_f64() <= peer["times_faster"].as_f64());
            assert!(peer["times_faster"].as_f64() <= peer["ci_high"].as_f64());
        }
    }
    let rotation = &rows[4]["quality"];
    assert_eq!(rotation["allocations_per_pick"], 0.0);
    assert!(rotation["prefix_deviation"].as_f64().unwrap() < 1.0);
    let written = std::fs::read_to_string(csv).unwrap();
    let peers: usize = rows.iter().map(|row| row["peers"].as_array().unwrap().len().max(1)).sum();
    assert_eq!(written.lines().count(), 1 + peers);
}

#[test]
fn hashing_moves_no_more_keys_than_it_must() {
    let json =
        pointsman(&[&SHORT[..], &["--jobs", "consistent_hash", "--threads", "1", "--json"]].concat()).json();
    let rows = json["rows"].as_array().unwrap();
    let quality = &rows.iter().find(|row| row["api"] == "route").unwrap()["quality"];
    assert_eq!(quality["keys_moved"], 1.0);
    assert!(quality["peers"]["modulo"]["keys_moved"].as_f64().unwrap() > 2.0);
}

#[test]
fn two_threads_are_compared_with_one() {
    let said = pointsman(&[&SHORT[..], &["--jobs", "weighted_random", "--threads", "2"]].concat());
    assert!(said.text().contains("itself_on_one_thread"), "{}", said.out);
}

#[test]
fn bad_arguments() {
    assert!(pointsman(&["compare", "--sizes", "3"]).error(2).contains("from 4"));
    assert!(pointsman(&["compare", "--jobs", "sort"]).error(2).contains("'sort'"));
    let csv = ["--jobs", "uniform", "--threads", "1", "--csv", "/nonexistent/x.csv"];
    assert!(pointsman(&[&SHORT[..], &csv].concat()).error(2).starts_with("/nonexistent/x.csv: "));
}
