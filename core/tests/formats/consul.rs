use pointsman::format::Format;

use crate::{assert_refused, ids, read, state, tags};

const SAMPLE: &str = include_str!("../samples/consul.json");

#[test]
fn an_empty_service_address_is_the_nodes() {
    let discovered = read(SAMPLE);
    assert_eq!(discovered.report.format, Format::Consul);
    assert_eq!(
        ids(&discovered),
        [
            "10.2.1.1:8000",
            "10.2.0.2:8000",
            "cart-3.internal.example:8443",
            "[2001:db8::4]:8000",
            "10.2.0.5:8000",
            "10.2.0.6:8000"
        ]
    );
}

#[test]
fn checks_decide_health_maintenance_and_weight() {
    let states: Vec<_> = read(SAMPLE).instances.iter().map(state).collect();
    assert_eq!(
        states,
        [
            (10.0, true, true),  // passing: Weights.Passing
            (2.0, true, true),   // warning: Weights.Warning
            (5.0, false, true),  // critical beats warning; no Weights: Meta weight
            (1.0, true, false),  // node maintenance only
            (1.0, false, false), // service maintenance, and its own check fails
            (1.0, true, true),   // no checks
        ]
    );
}

#[test]
fn a_check_without_a_status_counts_as_critical() {
    let entry =
        |check: &str| format!(r#"[{{"Service": {{"Address": "a", "Port": 1}}, "Checks": [{check}]}}]"#);
    for check in
        ["{}", r#"{"Status": "unknown"}"#, r#"{"CheckID": "_node_maintenance_", "Status": "critical"}"#]
    {
        assert_eq!(state(&read(&entry(check)).instances[0]), (1.0, false, true), "{check}");
    }
    let passing = r#"{"CheckID": "_node_maintenance", "Status": "passing"}"#;
    assert_eq!(state(&read(&entry(passing)).instances[0]), (1.0, true, true));
}

#[test]
fn tags_are_split_and_share_their_keys_with_meta() {
    let discovered = read(SAMPLE);
    assert_eq!(
        tags(&discovered.instances[0]),
        [
            "datacenter=dc1",
            "instance-id=cart-1",
            "path=/a=b",
            "primary=",
            "version=stable",
            "version=v1",
            "zone=dc1-a"
        ]
    );
    assert_eq!(discovered.instances[0].zone.as_deref(), Some("dc1-a"));
    assert_eq!(tags(&discovered.instances[1]), ["datacenter=dc1", "instance-id=cart-2"]);
    assert_eq!(discovered.instances[1].zone, None);
}

#[test]
fn a_tag_with_escapes_is_split_too() {
    let text = r#"[{"Service": {"Address": "a", "Port": 1, "Tags": ["\u006b=\"v\"", "\n", null, ""]}}]"#;
    assert_eq!(tags(&read(text).instances[0]), ["=", "\n=", "k=\"v\""]);
}

#[test]
fn faults_are_named_by_their_path() {
    let entry = |service: &str| format!(r#"[{{"Node": {{"Address": ""}}, "Service": {service}}}]"#);
    for (service, path, message) in [
        (r#"{"Address": "", "Port": 1}"#, "[0]", "missing `Service.Address` and `Node.Address`"),
        (r#"{"Address": "a"}"#, "[0]", "missing `Service.Port`"),
        (
            r#"{"Address": "a", "Port": 0}"#,
            "[0].Service.Port",
            "0 is not a port; must be a whole number from 1 to 65535",
        ),
        (
            r#"{"Address": "a", "Port": 1, "Weights": {"Passing": -1}}"#,
            "[0].Service.Weights.Passing",
            "-1 is negative; must be finite and not negative",
        ),
        (
            r#"{"Address": "a", "Port": 1, "Meta": {"weight": "x"}}"#,
            "[0].Service.Meta.weight",
            "\"x\" is not a number; must be finite and not negative",
        ),
        (
            r#"{"Address": "a", "Port": 1, "Tags": ["a", {}]}"#,
            "[0].Service.Tags[1]",
            "must be text, not an object",
        ),
    ] {
        assert_refused(&entry(service), path, message);
    }
}

#[test]
fn the_catalog_is_refused_with_the_place_to_ask() {
    assert_refused(
        r#"[{"Node": "n1", "Address": "10.0.0.1", "ServiceID": "a", "ServiceAddress": "", "ServicePort": 80}]"#,
        "[0]",
        "missing `Service`; the catalog says nothing of health, ask for /v1/health/service/:name",
    );
}
