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

/// A lease is more than a pick, and hashing with a look-up more than hashing: what they are set beside is there.
#[test]
fn leases_and_look_ups_have_what_they_are_to_be_set_beside() {
    let jobs = ["--jobs", "lease,lease_paced,consistent_hash,least_request", "--threads", "1,2", "--json"];
    let json = pointsman(&[&SHORT[..], &jobs].concat()).json();
    let rows = json["rows"].as_array().unwrap();
    let peers = |job: &str, threads: u64| -> Vec<&str> {
        let of = |row: &&serde_json::Value| {
            row["job"] == job && row["api"] == "route" && row["threads"] == threads
        };
        let peers = rows.iter().find(of).unwrap()["peers"].as_array().unwrap();
        peers.iter().map(|peer| peer["name"].as_str().unwrap()).collect()
    };
    assert_eq!(peers("lease", 1), ["itself_picking"]);
    assert_eq!(peers("lease_paced", 2), ["itself_without_leases", "itself_on_one_thread"]);
    assert_eq!(peers("consistent_hash", 1), ["ring_160", "modulo", "itself_hashing_alone", "itself_drawing"]);
    assert_eq!(peers("least_request", 1), ["dubbo_least_active", "scan_of_arcs"]);
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
    // Before anything is measured: these would take minutes.
    assert!(
        pointsman(&["compare", "--csv", "/nonexistent/x.csv"]).error(2).starts_with("/nonexistent/x.csv: ")
    );
    assert!(
        pointsman(&["report", "-o", "/nonexistent/x.html"]).error(2).starts_with("/nonexistent/x.html: ")
    );
    let other = file("other.json", r#"{"rows": []}"#);
    let html = file("unused.html", "");
    let said = pointsman(&["report", "-o", &html, "--from", &other]);
    assert!(said.error(2).starts_with(&format!("{other}: missing field `machine`")), "{}", said.err);
}
