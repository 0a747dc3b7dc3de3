//! `inspect`.

use serde_json::json;

use crate::{fed, file, keys, pointsman, sample};

#[test]
fn the_example_is_shown_in_a_table() {
    let said = pointsman(&["inspect", "--zone", "north-b"]);
    let text = said.text();
    assert!(
        text.starts_with("12 instances from the example list (nacos), 10 available, 6 in zone north-b\n"),
        "{text}"
    );
    let row = |id: &str| -> Vec<&str> {
        text.lines().find(|line| line.starts_with(id)).unwrap().split_whitespace().collect()
    };
    assert_eq!(
        row("10.20.0.11"),
        ["10.20.0.11:8080", "8", "up", "north-a", "0.41", "cluster=NORTH", "version=stable"]
    );
    assert_eq!(row("10.20.0.14")[2], "down");
    assert_eq!(row("10.20.1.13")[2], "drained");
    assert_eq!(row("10.20.1.16")[4], "-");
}

#[test]
fn json_tells_every_field() {
    let answer = pointsman(&["inspect", "--json"]).json();
    assert_eq!(keys(&answer), ["ignored", "instances", "merged", "notes", "source", "taken"]);
    assert_eq!(answer["source"], "nacos");
    assert_eq!(answer["taken"], 12);
    assert_eq!(
        answer["instances"][0],
        json!({"id": "10.20.0.11:8080", "address": "10.20.0.11:8080", "weight": 8.0, "zone": "north-a",
            "tags": {"cluster": ["NORTH"], "version": ["stable"], "zone": ["north-a"]}, "healthy": true,
            "enabled": true, "load": 0.41, "max_in_flight": null, "user_data": 0})
    );
}

#[test]
fn the_instances_are_a_plain_list_again() {
    for name in ["nacos-v1.json", "consul.json", "plain.json"] {
        let first = pointsman(&["inspect", "--json", &sample(name)]).json();
        let again = fed(&["inspect", "--json", "-"], first["instances"].to_string().as_bytes()).json();
        assert_eq!(again["source"], "plain");
        assert_eq!(again["instances"], first["instances"], "{name}");
    }
}

#[test]
fn what_gave_way_and_what_was_left_out_is_told() {
    let list = file(
        "mixed.json",
        r#"{"hosts": [{"ip": "10.0.0.1", "port": 80, "healthy": false}, {"ip": "10.0.0.1", "port": 80},
            {"ip": "10.0.0.2", "port": 80, "weight": -1}], "reachProtectionThreshold": true}"#,
    );
    assert!(pointsman(&["inspect", &list]).error(2).starts_with(&format!("{list}: hosts[2].weight: ")));
    let said = pointsman(&["inspect", "--lenient", &list]);
    let text = said.text();
    assert!(text.contains("merged\n  10.0.0.1:80: hosts[0] gave way to hosts[1]\n"), "{text}");
    assert!(text.contains("left out\n  hosts[2].weight: "), "{text}");
    assert!(text.contains("notes\n  "), "{text}");
    let answer = pointsman(&["inspect", "--lenient", "--json", &list]).json();
    assert_eq!(
        answer["merged"],
        json!([{"address": "10.0.0.1:80", "kept": "hosts[1]", "dropped": "hosts[0]"}])
    );
    assert_eq!(answer["ignored"][0]["path"], "hosts[2].weight");
    assert_eq!(answer["notes"].as_array().unwrap().len(), 1);
}

#[test]
fn text_from_a_document_cannot_steer_the_terminal() {
    let list = file("steer.json", r#"[{"address": "a\u001b[31m:1\nb", "tags": {"k": "v\r\u202e"}}]"#);
    let said = pointsman(&["inspect", &list]);
    assert!(said.text().contains(r"a\u{1b}[31m:1\nb"), "{}", said.out);
}

#[test]
fn an_empty_list_is_a_list() {
    assert!(
        fed(&["inspect", "-"], b"[]").text().starts_with("0 instances from stdin (plain), 0 available\n")
    );
}
