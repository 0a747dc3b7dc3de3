//! Bad arguments and bad input: status 2, and one line that says where and why.

use crate::{fed, file, pointsman, sample};

#[test]
fn arguments_that_cannot_be_used() {
    for (args, said) in [
        (&["walk"][..], "unrecognized subcommand 'walk'"),
        (&["run", "--colour"], "unexpected argument '--colour' found"),
        (&["run", "--picks", "0"], "'--picks <N>'"),
        (&["run", "--picks", "many"], "'--picks <N>'"),
        (&["run", "--threads", "257"], "'--threads <T>'"),
        (&["run", "--seed", "-1"], "-1"),
        (&["run", "--tag", "gray"], "must be KEY=VALUE"),
        (&["run", "--format", "etcd"], "not one of auto, nacos, consul"),
        (&["run", "--policy", "fastest"], "unknown variant `fastest`"),
        (&["run", "--policy", "{\"random\": {\"seed\": 1}}"], "unknown field `seed`"),
        (&["inspect", "--address-family", "ipx"], "not one of ipv4, ipv6"),
        (&["inspect", "--route", "x"], "unexpected argument '--route'"),
        (&["explain"], "--route <SPEC.json>"),
    ] {
        let answer = pointsman(args);
        assert!(answer.error(2).contains(said), "{args:?}: {}", answer.err);
        assert_eq!(answer.out, "", "{args:?}");
    }
}

#[test]
fn the_file_and_the_place_in_it_are_named() {
    let broken = file("broken.json", "{\"hosts\": [");
    let negative = file("negative.json", r#"[{"address": "a"}, {"address": "b", "weight": -1}]"#);
    let twice = file("twice.json", r#"[{"address": "a"}, {"address": "a"}]"#);
    for (path, place) in [
        ("/nonexistent/list.json", "No such file"),
        (broken.as_str(), "line 1 column"),
        (negative.as_str(), "[1].weight: "),
        (twice.as_str(), "[1]"),
        (&sample("nacos-bad-weight.json"), "hosts["),
    ] {
        for command in ["run", "inspect"] {
            let said = pointsman(&[command, path]);
            let why = said.error(2).strip_prefix(&format!("{path}: ")).unwrap();
            assert!(why.contains(place), "{why}");
        }
    }
    assert!(fed(&["run", "-"], b"\xff").error(2).starts_with("stdin: not UTF-8"));
    assert!(fed(&["inspect", "-"], b"<applications/>").error(2).starts_with("stdin: "));
}

#[test]
fn a_route_spec_names_its_file_and_the_place() {
    for (name, spec, place) in [
        ("unknown-field.json", r#"{"policy": "random", "tiers": [{"zones": "a"}]}"#, "tiers[0].zones: "),
        ("no-tiers.json", r#"{"policy": "random"}"#, "tiers: 0 tiers"),
        ("sum.json", r#"{"policy": "random", "split": [{"percent": 99, "tiers": [{}]}]}"#, "split: percents"),
        ("policy.json", r#"{"policy": "best", "tiers": [{}]}"#, "policy: "),
        ("text.json", "policy: random", "expected value"),
    ] {
        let path = file(name, spec);
        for args in [["run", "--route", &path], ["explain", "--route", &path]] {
            let said = pointsman(&args);
            let why = said.error(2).strip_prefix(&format!("{path}: ")).unwrap();
            assert!(why.starts_with(place), "{why}");
        }
    }
    assert!(
        pointsman(&["explain", "--route", "/nonexistent.json"]).error(2).starts_with("/nonexistent.json: ")
    );
}

#[test]
fn help_and_version_are_no_failure() {
    for args in
        [&["--help"][..], &["run", "--help"], &["inspect", "--help"], &["explain", "--help"], &["help"]]
    {
        assert!(pointsman(args).text().contains("Usage:"));
    }
    assert!(pointsman(&["--version"]).text().starts_with("pointsman "));
}
