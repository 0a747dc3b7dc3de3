use pointsman::format::{AddressFamily, Format, Options};

use crate::{assert_refused, ids, ignored, read, read_with, refused, refused_with, state, tags};

const SLICE: &str = include_str!("../samples/kubernetes-slice.json");
const LIST: &str = include_str!("../samples/kubernetes-list.json");
const SERVICES: &str = include_str!("../samples/kubernetes-services.json");

fn slice(rest: &str) -> String {
    format!(r#"{{"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", {rest}}}"#)
}

#[test]
fn only_the_first_address_of_an_endpoint_is_taken() {
    let discovered = read(SLICE);
    assert_eq!(discovered.report.format, Format::Kubernetes);
    assert_eq!(discovered.report.taken, 8);
    assert_eq!(ids(&discovered)[..2], ["10.3.0.1:8080", "10.3.0.2:8080"]);
    assert!(!ids(&discovered).contains(&"10.3.9.1:8080"));
}

#[test]
fn conditions_decide_health_and_terminating() {
    let discovered = read(SLICE);
    let states: Vec<_> = discovered
        .instances
        .iter()
        .map(|instance| (instance.healthy, instance.enabled, instance.tags.contains("terminating", "true")))
        .collect();
    assert_eq!(
        states,
        [
            (true, true, false),
            (true, true, false),  // ready nil
            (false, true, true),  // terminating, still serving: kube-proxy's fallback
            (false, false, true), // terminating, serving nil: as ready
            (false, true, false), // not ready
            (true, true, true),   // ready decides health also when terminating
            (true, true, false),  // no condition known
            (true, true, false),  // no conditions
        ]
    );
}

#[test]
fn node_pod_and_hints_become_tags_and_the_zone_the_zone() {
    let discovered = read(SLICE);
    assert_eq!(tags(&discovered.instances[0]), ["for-zone=eu-a", "for-zone=eu-b", "node=n1", "pod=cart-1"]);
    assert_eq!(discovered.instances[0].zone.as_deref(), Some("eu-a"));
    assert_eq!(discovered.instances[0].weight, 1.0);
    assert_eq!(tags(&discovered.instances[1]), [""; 0]);
    assert_eq!(discovered.instances[1].zone, None);
}

#[test]
fn slices_are_joined_and_the_available_entry_of_an_address_wins() {
    let discovered = read(LIST);
    assert_eq!(ids(&discovered), ["10.3.0.1:8080", "10.3.0.2:8080"]);
    // The second entry of the first address is ready; of the second address both are, and the first stays.
    assert_eq!(discovered.instances[0].zone.as_deref(), Some("eu-c"));
    assert_eq!(discovered.instances[1].zone.as_deref(), Some("eu-b"));
    let merged: Vec<_> = discovered
        .report
        .merged
        .iter()
        .map(|merged| (merged.address.as_str(), merged.kept.as_str(), merged.dropped.as_str()))
        .collect();
    assert_eq!(
        merged,
        [
            ("10.3.0.1:8080", "items[1].endpoints[0]", "items[0].endpoints[0]"),
            ("10.3.0.2:8080", "items[0].endpoints[1]", "items[1].endpoints[1]"),
        ]
    );
}

#[test]
fn one_address_family_is_taken_ipv4_first() {
    let discovered = read(LIST);
    assert_eq!(ignored(&discovered), ["items[2]"]);
    assert_eq!(discovered.report.ignored[0].reason, "the slice is ipv6, and ipv4 is taken");

    let discovered = read_with(LIST, Options::new().address_family(AddressFamily::Ipv6));
    assert_eq!(ids(&discovered), ["[2001:db8::1]:8080"]);
    assert_eq!(ignored(&discovered), ["items[0]", "items[1]", "items[3]"]);
}

#[test]
fn ipv6_is_taken_where_there_are_no_ipv4_endpoints() {
    let text = r#"{"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1", "items": [
        {"addressType": "IPv4", "endpoints": []},
        {"addressType": "IPv6", "endpoints": [{"addresses": ["::1"]}], "ports": [{"port": 80}]}]}"#;
    assert_eq!(ids(&read(text)), ["[::1]:80"]);
}

#[test]
fn a_family_without_endpoints_is_not_taken_for_an_empty_service() {
    let error = refused_with(SLICE, Options::new().address_family(AddressFamily::Ipv6));
    assert_eq!(error.message(), "holds no ipv6 endpoints; it holds ipv4 endpoints");
}

#[test]
fn fqdn_slices_are_refused() {
    let text = slice(
        r#""addressType": "FQDN", "endpoints": [{"addresses": ["a.example"]}], "ports": [{"port": 1}]"#,
    );
    assert_refused(&text, "addressType", "\"FQDN\" is not usable; must be IPv4 or IPv6");
    let discovered = read_with(&text, Options::new().lenient(true));
    assert_eq!((ids(&discovered).len(), ignored(&discovered)), (0, vec!["addressType"]));
}

#[test]
fn the_port_is_the_one_named_or_numbered_else_the_first() {
    let first = |options| read_with(SLICE, options).instances[0].id.to_string();
    assert_eq!(first(Options::new()), "10.3.0.1:8080");
    assert_eq!(first(Options::new().port("admin")), "10.3.0.1:9090");
    assert_eq!(first(Options::new().port("9090")), "10.3.0.1:9090");
    let error = refused_with(SLICE, Options::new().port("grpc"));
    assert_eq!(error.path(), "ports");
    assert_eq!(error.message(), r#"holds no port "grpc"; it holds "http (8080)", "admin (9090)""#);
}

#[test]
fn a_slice_without_ports_is_bad_unless_it_has_no_endpoints() {
    let endpoints = r#""addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]"#;
    assert_refused(&slice(endpoints), "ports", "holds no port");
    assert_refused(&slice(&format!(r#"{endpoints}, "ports": null"#)), "ports", "holds no port");
    let no_number = slice(&format!(r#"{endpoints}, "ports": [{{"name": "all", "port": null}}]"#));
    assert_refused(&no_number, "ports", "the port \"all\" has no number");
    let too_large = slice(&format!(r#"{endpoints}, "ports": [{{"port": 70000}}]"#));
    assert_eq!(refused(&too_large).path(), "ports[0].port");
    assert!(read(&slice(r#""addressType": "IPv4", "endpoints": null, "ports": null"#)).instances.is_empty());
}

#[test]
fn several_services_need_the_option_and_the_error_lists_them() {
    let error = refused(SERVICES);
    assert_eq!(
        error.message(),
        r#"holds slices of 3 services; name one of them as the service: "shop/billing", "shop/cart", "test/billing""#
    );
    let discovered = read_with(SERVICES, Options::new().service("cart"));
    assert_eq!(ids(&discovered), ["10.3.0.1:80"]);
    assert_eq!(discovered.report.notes, [r#"of the slices of 3 services, those of "shop/cart" were taken"#]);
}

#[test]
fn services_of_one_name_are_told_apart_by_namespace() {
    let error = refused_with(SERVICES, Options::new().service("billing"));
    assert!(error.message().ends_with(r#""shop/billing", "test/billing""#), "{error}");
    assert_eq!(ids(&read_with(SERVICES, Options::new().service("test/billing"))), ["10.3.0.3:80"]);
    let error = refused_with(SERVICES, Options::new().service("Cart"));
    assert!(
        error.message().starts_with(r#"holds no slices of service "Cart"; it holds "shop/billing""#),
        "{error}"
    );
}

#[test]
fn bad_endpoints_are_named_by_their_path() {
    let text = LIST.replace(r#"["10.3.0.2"], "conditions": {"ready": true}, "zone": "eu-b""#, r#"[]"#);
    assert_refused(&text, "items[0].endpoints[1]", "missing `addresses[0]`");
    let text = slice(
        r#""addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": 1}}], "ports": [{"port": 1}]"#,
    );
    assert_refused(&text, "endpoints[0].conditions.ready", "1 is neither true nor false");
    assert_eq!(
        state(&read(&text.replace("\"ready\": 1", "\"ready\": false")).instances[0]),
        (1.0, false, true)
    );
}

#[test]
fn other_kinds_are_refused_with_what_to_ask_for() {
    assert_refused(
        r#"{"kind": "Endpoints", "apiVersion": "v1", "subsets": []}"#,
        "kind",
        "\"Endpoints\" is not EndpointSlice; ask for endpointslices of discovery.k8s.io/v1",
    );
    assert_refused(r#"{"kind": "EndpointSliceList", "apiVersion": "v1"}"#, ".", "missing `items`");
    let list = r#"{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod"}]}"#;
    assert_eq!(refused(list).path(), "items[0].kind");
    assert_refused(
        r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no such thing", "code": 404}"#,
        ".",
        "the server answered with an error: no such thing",
    );
}
