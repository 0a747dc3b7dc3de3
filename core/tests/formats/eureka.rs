use pointsman::format::{Format, Options};

use crate::{assert_refused, ids, read, read_with, refused, refused_with, state, tags};

const SAMPLE: &str = include_str!("../samples/eureka.json");
const ONE: &str = include_str!("../samples/eureka-one.json");

fn cart() -> Options {
    Options::new().service("cart")
}

fn one(instance: &str) -> String {
    format!(r#"{{"application": {{"name": "A", "instance": {instance}}}}}"#)
}

#[test]
fn the_host_name_goes_before_the_ip_unless_the_ip_is_preferred() {
    let discovered = read_with(SAMPLE, cart());
    assert_eq!(discovered.report.format, Format::Eureka);
    assert_eq!(
        ids(&discovered),
        ["h1.example.internal:8080", "h2.example.internal:8080", "h3.example.internal:8443", "10.4.0.4:8080"]
    );
    let discovered = read_with(SAMPLE, cart().prefer_ip(true));
    assert_eq!(ids(&discovered), ["10.4.0.1:8080", "10.4.0.2:8080", "10.4.0.3:8443", "10.4.0.4:8080"]);
    let named_only = one(r#"{"hostName": "h", "status": "UP", "port": {"$": 1}}"#);
    assert_eq!(ids(&read_with(&named_only, Options::new().prefer_ip(true))), ["h:1"]);
}

#[test]
fn only_up_is_healthy_and_out_of_service_is_not_enabled() {
    let states: Vec<_> = read_with(SAMPLE, cart()).instances.iter().map(state).collect();
    assert_eq!(states, [(3.0, true, true), (1.0, false, true), (1.0, true, false), (1.0, false, true)]);
    for status in ["\"UNKNOWN\"", "\"STARTING\"", "\"up\"", "null"] {
        let text = one(&format!(r#"{{"hostName": "h", "status": {status}, "port": {{"$": 1}}}}"#));
        assert_eq!(state(&read(&text).instances[0]), (1.0, false, true), "{status}");
    }
}

#[test]
fn the_secure_port_is_taken_where_the_other_is_not_enabled() {
    let discovered = read_with(SAMPLE, cart());
    assert_eq!(tags(&discovered.instances[2]), ["instance-id=h3:cart:8080", "secure=true", "zone=z2"]);
    // Both are enabled: the plain one.
    assert_eq!(ids(&read_with(SAMPLE, Options::new().service("BILLING"))), ["h9.example.internal:8080"]);
    assert_refused(
        &one(r#"{"hostName": "h", "port": {"$": 1, "@enabled": "false"}, "securePort": {"$": 2}}"#),
        "application.instance",
        "missing port: neither `port` nor `securePort` is enabled",
    );
    let port = one(r#"{"hostName": "h", "port": {"$": 1, "@enabled": "maybe"}}"#);
    assert_refused(&port, "application.instance.port.@enabled", "\"maybe\" is neither true nor false");
}

#[test]
fn class_keys_are_not_metadata() {
    let discovered = read_with(SAMPLE, cart().load_key("load"));
    assert_eq!(tags(&discovered.instances[0]), ["instance-id=h1:cart:8080", "weight=3", "zone=z1"]);
    assert_eq!(tags(&discovered.instances[1]), ["instance-id=h2:cart:8080"]);
    assert_eq!(discovered.instances[0].load, Some(0.75));
    assert_eq!(discovered.instances[1].load, None);
}

#[test]
fn lists_of_one_may_be_the_element_itself() {
    let discovered = read(ONE);
    assert_eq!(ids(&discovered), ["h9.example.internal:8080"]);
    let bad = ONE.replace("\"$\": 8080", "\"$\": \"x\"");
    assert_eq!(refused(&bad).path(), "application.instance.port.$");
    let listed = read(
        r#"{"applications": {"application": {"name": "A", "instance": [{"ipAddr": "::1", "port": {"$": 1}}]}}}"#,
    );
    assert_eq!(ids(&listed), ["[::1]:1"]);
}

#[test]
fn several_applications_need_the_service_and_the_error_lists_them() {
    let error = refused(SAMPLE);
    assert_eq!(
        error.message(),
        r#"holds 2 applications; name one of them as the service: "BILLING", "CART""#
    );
    let error = refused_with(SAMPLE, Options::new().service("orders"));
    assert_eq!(error.message(), r#"holds no application "orders"; it holds "BILLING", "CART""#);
    assert_eq!(read_with(SAMPLE, cart()).report.notes, [r#"of 2 applications, "CART" was taken"#]);
}

#[test]
fn a_byte_equal_name_goes_before_one_of_another_case() {
    let text = r#"{"applications": {"application": [
        {"name": "CART", "instance": {"hostName": "a", "port": {"$": 1}}},
        {"name": "cart", "instance": {"hostName": "b", "port": {"$": 1}}}]}}"#;
    assert_eq!(ids(&read_with(text, cart())), ["b:1"]);
    // Neither is byte-equal, both are equal but for case: two services.
    assert!(refused_with(text, Options::new().service("Cart")).message().contains(r#""CART", "cart""#));
}

#[test]
fn no_applications_are_an_empty_list() {
    for text in [r#"{"applications": {"application": []}}"#, r#"{"application": null}"#] {
        assert!(read_with(text, cart()).instances.is_empty());
    }
    for text in [r#"{"applications": {}}"#, r#"{"applications": null}"#] {
        assert_refused(text, "applications", "missing `application`");
    }
}

#[test]
fn xml_is_an_error_that_says_to_ask_for_json() {
    let error = refused("<?xml version=\"1.0\"?><applications/>");
    assert!(error.message().contains("Accept: application/json"), "{error}");
    let error = refused_with(" \n<applications/>", Options::new().format(Format::Eureka));
    assert!(error.message().contains("Accept: application/json"), "{error}");
}

#[test]
fn faults_are_named_by_their_path() {
    let bad = SAMPLE.replace("\"weight\": \"3\"", "\"weight\": \"three\"");
    assert_eq!(
        refused_with(&bad, cart()).to_string(),
        "applications.application[0].instance[0].metadata.weight: \"three\" is not a number; must be finite and not negative"
    );
    assert_refused(
        &one(r#"{"hostName": null, "ipAddr": ""}"#),
        "application.instance",
        "missing `hostName` and `ipAddr`",
    );
    assert_refused(&one("[5]"), "application.instance[0]", "must be an object, not a number");
}
