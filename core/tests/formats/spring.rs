use pointsman::format::{Format, Options};

use crate::{assert_refused, ids, ignored, read, read_with, state, tags};

const SAMPLE: &str = include_str!("../samples/spring.json");
const BAD_WEIGHT: &str = include_str!("../samples/spring-bad-weight.json");

#[test]
fn the_keys_of_nacos_decide_weight_and_health() {
    let discovered = read(SAMPLE);
    assert_eq!(discovered.report.format, Format::Spring);
    let states: Vec<_> = discovered.instances.iter().map(state).collect();
    assert_eq!(states, [(8.0, true, true), (2.0, false, true), (3.0, true, true), (1.0, true, true)]);
}

#[test]
fn ids_clusters_and_secure_become_tags_and_null_metadata_is_none() {
    let discovered = read(SAMPLE);
    assert_eq!(ids(&discovered), ["10.5.0.1:8080", "10.5.0.2:8080", "10.5.0.3:8080", "10.5.0.4:8443"]);
    assert!(discovered.instances[0].tags.contains("instance-id", "10.5.0.1#8080"));
    assert!(discovered.instances[0].tags.contains("cluster", "BJ"));
    assert!(discovered.instances[0].tags.contains("nacos.cluster", "BJ"));
    assert_eq!(discovered.instances[0].zone, None);
    assert!(discovered.instances[1].tags.contains("instance-id", "cart-2"));
    assert_eq!(discovered.instances[1].zone.as_deref(), Some("bj-1"));
    assert_eq!(tags(&discovered.instances[2]), ["instance-id=cart-3", "weight=3", "zone=bj-2"]);
    assert_eq!(tags(&discovered.instances[3]), ["secure=true"]);
}

#[test]
fn a_weight_in_words_refuses_the_list_and_lenient_leaves_the_entry_out() {
    assert_refused(
        BAD_WEIGHT,
        "[1].metadata.weight",
        "\"three\" is not a number; must be finite and not negative",
    );
    let discovered = read_with(BAD_WEIGHT, Options::new().lenient(true));
    assert_eq!(ids(&discovered), ["10.5.0.1:8080"]);
    assert_eq!(ignored(&discovered), ["[1].metadata.weight", "[2].metadata[\"nacos.weight\"]"]);
}

#[test]
fn faults_are_named_by_their_path() {
    assert_refused(r#"[{"host": null, "port": 1}]"#, "[0]", "missing `host`");
    assert_refused(r#"[{"host": "a", "serviceId": "b"}]"#, "[0]", "missing `port`");
    assert_refused(
        r#"[{"host": "a", "port": 1, "secure": "no"}]"#,
        "[0].secure",
        "\"no\" is neither true nor false",
    );
    assert_refused(
        r#"[{"host": "a", "port": 1, "metadata": {"nacos.healthy": ""}}]"#,
        "[0].metadata[\"nacos.healthy\"]",
        "\"\" is neither true nor false",
    );
}
