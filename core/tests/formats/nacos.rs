use pointsman::format::{Format, Options};

use crate::{assert_refused, ids, ignored, read, read_with, refused, state, tags};

const V1: &str = include_str!("../samples/nacos-v1.json");
const V2: &str = include_str!("../samples/nacos-v2.json");
const V3: &str = include_str!("../samples/nacos-v3.json");
const COMPATIBLE: &str = include_str!("../samples/nacos-compatible.json");
const BAD_WEIGHT: &str = include_str!("../samples/nacos-bad-weight.json");

#[test]
fn the_list_of_1_x_keeps_order_weights_and_states() {
    let discovered = read(V1);
    assert_eq!(discovered.report.format, Format::Nacos);
    assert_eq!(discovered.report.taken, 7);
    assert_eq!(
        ids(&discovered),
        [
            "10.1.0.1:80",
            "10.1.0.2:80",
            "10.1.0.3:80",
            "10.1.0.4:80",
            "10.1.0.5:80",
            "10.1.0.6:80",
            "[2001:db8::7]:80"
        ]
    );
    let states: Vec<_> = discovered.instances.iter().map(state).collect();
    assert_eq!(
        states,
        [
            (1.0, true, true),
            (0.5, true, true),
            (2.0, true, true),
            (4.0, false, true),
            (0.0, true, true),
            (4.0, true, false),
            (1.0, true, true),
        ]
    );
}

#[test]
fn metadata_cluster_and_instance_id_become_tags() {
    let discovered = read(V1);
    assert_eq!(
        tags(&discovered.instances[0]),
        [
            "canary=false",
            "cluster=BJ",
            "cpu=0.25",
            "instance-id=10.1.0.1#80#BJ#DEFAULT_GROUP@@cart",
            "shards=3",
            "version=stable",
            "zone=bj-1"
        ]
    );
    assert_eq!(tags(&discovered.instances[3]), ["cluster=BJ"]);
    assert_eq!(tags(&discovered.instances[6]), [""; 0]);
}

#[test]
fn zones_come_from_metadata_where_any_entry_has_one() {
    let zones: Vec<_> = read(V1).instances.iter().map(|instance| instance.zone.clone()).collect();
    let zones: Vec<_> = zones.iter().map(|zone| zone.as_deref()).collect();
    assert_eq!(zones, [Some("bj-1"), Some("bj-2"), None, None, Some("sh-1"), None, None]);
}

#[test]
fn the_cluster_is_the_zone_where_no_entry_has_one_and_it_is_not_the_default() {
    let discovered = read(V2);
    assert_eq!(discovered.instances[0].zone.as_deref(), Some("BJ"));
    assert_eq!(discovered.instances[1].zone, None);
    assert!(discovered.instances[1].tags.contains("cluster", "DEFAULT"));

    let zones = read(V3).instances.into_iter().map(|instance| instance.zone.unwrap()).collect::<Vec<_>>();
    assert_eq!(zones.iter().map(|zone| &**zone).collect::<Vec<_>>(), ["BJ", "SH"]);
}

#[test]
fn the_protection_threshold_is_noted_where_it_is_reached() {
    assert_eq!(read(V1).report.notes, [""; 0]);
    let notes = read(V2).report.notes;
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("reachProtectionThreshold"), "{notes:?}");
}

#[test]
fn data_may_be_the_list_itself() {
    let discovered = read(V3);
    assert_eq!(ids(&discovered), ["10.1.0.1:80", "10.1.0.2:80"]);
    assert_eq!(state(&discovered.instances[1]), (3.0, false, true));
}

#[test]
fn fields_of_compatible_servers_and_nulls_are_tolerated() {
    let discovered = read(COMPATIBLE);
    assert_eq!(ids(&discovered), ["10.1.0.2:80", "10.1.0.1:80"]);
    assert_eq!(state(&discovered.instances[0]), (2.5, true, true));
    assert_eq!(state(&discovered.instances[1]), (1.0, false, true));
    assert_eq!(tags(&discovered.instances[1]), [""; 0]);
}

#[test]
fn an_empty_list_is_an_empty_list() {
    for text in [
        include_str!("../samples/nacos-empty.json"),
        r#"{"hosts": null}"#,
        r#"{"code": 0, "data": []}"#,
        r#"{"code": "200", "data": []}"#,
    ] {
        let discovered = read(text);
        assert_eq!(discovered.report.format, Format::Nacos);
        assert!(discovered.instances.is_empty());
    }
}

#[test]
fn an_error_body_is_an_error_with_the_servers_own_message() {
    assert_refused(
        include_str!("../samples/nacos-error.json"),
        ".",
        "the server answered with error code 20004: resource not found: service cart not found",
    );
    assert_refused(
        r#"{"code": 0, "message": "ok", "data": null}"#,
        "data",
        "the server answered with no list: ok",
    );
    assert_refused(r#"{"code": 0, "message": "ok", "data": {"list": []}}"#, "data", "missing `hosts`");
    // Entries beside an error code are not to be trusted.
    assert_eq!(
        refused(r#"{"code": 500, "message": "m", "data": [{"ip": "10.0.0.1", "port": 1}]}"#).path(),
        "."
    );
}

#[test]
fn a_weight_that_is_no_number_refuses_the_list_with_its_path() {
    assert_refused(BAD_WEIGHT, "hosts[1].weight", "\"NaN\" is not a number; must be finite and not negative");
    let in_data = V3.replace("3.0", "-0.5");
    assert_refused(&in_data, "data[1].weight", "-0.5 is negative; must be finite and not negative");
    let wrapped = V2.replacen("\"weight\": 1.0", "\"weight\": \"inf\"", 1);
    assert_refused(
        &wrapped,
        "data.hosts[0].weight",
        "\"inf\" is not finite; must be finite and not negative",
    );
}

#[test]
fn lenient_leaves_bad_weights_out_and_lists_them() {
    let discovered = read_with(BAD_WEIGHT, Options::new().lenient(true));
    assert_eq!(ids(&discovered), ["10.1.0.1:80"]);
    assert_eq!(ignored(&discovered), ["hosts[1].weight", "hosts[2].weight", "hosts[3].weight"]);
    assert_eq!(discovered.report.ignored[2].reason, "1e999 is not finite; must be finite and not negative");
}

#[test]
fn the_entrys_own_weight_goes_before_metadata() {
    let text = r#"{"hosts": [
        {"ip": "10.0.0.1", "port": 1, "weight": 2, "metadata": {"weight": "nonsense"}},
        {"ip": "10.0.0.2", "port": 1, "metadata": {"weight": "7"}}]}"#;
    let weights: Vec<f64> = read(text).instances.iter().map(|instance| instance.weight).collect();
    assert_eq!(weights, [2.0, 7.0]);
}
