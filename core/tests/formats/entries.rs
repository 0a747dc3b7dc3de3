//! What holds for the entries of every registry.

use pointsman::format::Options;

use crate::{assert_refused, ids, ignored, read, read_with, refused, refused_with, tags};

fn nacos(fields: &str) -> String {
    format!(r#"{{"hosts": [{{"ip": "10.0.0.1", "port": 80, {fields}}}]}}"#)
}

fn at(ip: &str, port: &str) -> String {
    format!(r#"{{"hosts": [{{"ip": {ip}, "port": {port}}}]}}"#)
}

#[test]
fn weights_may_be_text() {
    for (weight, value) in
        [("20", 20.0), ("\"80\"", 80.0), ("0.5", 0.5), ("\" 2 \"", 2.0), ("\"1e3\"", 1e3), ("0", 0.0)]
    {
        assert_eq!(read(&nacos(&format!("\"weight\": {weight}"))).instances[0].weight, value);
    }
    for missing in ["\"weight\": null", "\"x\": 1"] {
        assert_eq!(read(&nacos(missing)).instances[0].weight, 1.0);
    }
}

#[test]
fn weights_keep_every_digit() {
    for text in ["0.1", "5e-324", "1.7976931348623157e308", "123456789.12345678", "2.2250738585072011e-308"] {
        let weight = read(&nacos(&format!("\"weight\": {text}"))).instances[0].weight;
        assert_eq!(weight.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
}

#[test]
fn weights_that_are_no_numbers_are_refused_with_value_and_limit() {
    for (weight, fault) in [
        ("\"NaN\"", "not a number"),
        ("\"\"", "not a number"),
        ("\"two\"", "not a number"),
        ("\"0x10\"", "not a number"),
        ("true", "not a number"),
        ("[1]", "not a number"),
        ("{}", "not a number"),
        ("\"inf\"", "not finite"),
        ("\"-Infinity\"", "not finite"),
        ("1e999", "not finite"),
        ("-1e-9", "negative"),
        ("\"-1\"", "negative"),
    ] {
        let message = format!("{weight} is {fault}; must be finite and not negative");
        assert_refused(&nacos(&format!("\"weight\": {weight}")), "hosts[0].weight", &message);
    }
}

#[test]
fn hosts_become_addresses_with_ipv6_in_brackets() {
    for (host, id) in [
        ("10.0.0.1", "10.0.0.1:80"),
        ("cart-3.internal.example", "cart-3.internal.example:80"),
        ("under_score", "under_score:80"),
        ("::1", "[::1]:80"),
        ("[::1]", "[::1]:80"),
        ("2001:DB8:0:0:0:0:0:1", "[2001:db8::1]:80"),
        ("fe80::1%eth0", "[fe80::1%eth0]:80"),
        ("[fe80::1%2]", "[fe80::1%2]:80"),
        ("bücher.example", "bücher.example:80"),
    ] {
        assert_eq!(ids(&read(&at(&format!("{host:?}"), "80"))), [id]);
    }
    for host in [
        "10.0.0.1:80",
        "a b",
        " a",
        "a\\t",
        "http://a",
        "[a]",
        "[::1",
        "::1]",
        "::1%",
        "::1%a b",
        "a%b",
        ":",
        "a\\u0000",
    ] {
        let error = refused(&at(&format!("\"{host}\""), "80"));
        assert_eq!(error.path(), "hosts[0].ip", "{host}");
        assert!(error.message().contains("is not a host"), "{error}");
    }
    assert_refused(&at("\"\"", "80"), "hosts[0]", "missing `ip`");
    assert_refused(&at("null", "80"), "hosts[0]", "missing `ip`");
    assert_refused(&at("{}", "80"), "hosts[0].ip", "must be text, not an object");
}

#[test]
fn ports_are_whole_numbers_up_to_65535() {
    for (port, id) in [("1", "a:1"), ("\"8080\"", "a:8080"), ("65535", "a:65535")] {
        assert_eq!(ids(&read(&at("\"a\"", port))), [id]);
    }
    for port in [
        "0",
        "-1",
        "65536",
        "70000",
        "80.5",
        "\"\"",
        "\"http\"",
        "true",
        "[80]",
        "1e999",
        "99999999999999999999",
    ] {
        let message = format!("{port} is not a port; must be a whole number from 1 to 65535");
        assert_refused(&at("\"a\"", port), "hosts[0].port", &message);
    }
}

#[test]
fn entries_with_one_address_become_one_and_the_report_names_the_other() {
    let text = r#"{"hosts": [
        {"ip": "10.0.0.1", "port": 80, "weight": 1},
        {"ip": "10.0.0.1", "port": 80, "weight": 3},
        {"ip": "10.0.0.1", "port": 81, "weight": 4}]}"#;
    let discovered = read(text);
    assert_eq!(ids(&discovered), ["10.0.0.1:80", "10.0.0.1:81"]);
    assert_eq!(discovered.instances[0].weight, 1.0);
    let report = serde_json::to_value(&discovered.report).unwrap();
    assert_eq!(
        report,
        serde_json::json!({
            "format": "nacos",
            "taken": 2,
            "merged": [{"address": "10.0.0.1:80", "kept": "hosts[0]", "dropped": "hosts[1]"}],
            "ignored": [],
            "notes": [],
        })
    );
}

#[test]
fn the_available_entry_of_an_address_wins_then_the_first() {
    for unavailable in ["\"healthy\": false", "\"enabled\": false", "\"weight\": 0"] {
        let text = format!(
            r#"{{"hosts": [
                {{"ip": "10.0.0.1", "port": 1, "metadata": {{"n": "0"}}, {unavailable}}},
                {{"ip": "10.0.0.2", "port": 1}},
                {{"ip": "10.0.0.1", "port": 1, "metadata": {{"n": "2"}}, {unavailable}}},
                {{"ip": "10.0.0.1", "port": 1, "metadata": {{"n": "3"}}}},
                {{"ip": "10.0.0.1", "port": 1, "metadata": {{"n": "4"}}}}]}}"#
        );
        let discovered = read(&text);
        // The one that won takes the place of the first, so that the order does not hang on who is available.
        assert_eq!(ids(&discovered), ["10.0.0.1:1", "10.0.0.2:1"]);
        assert_eq!(tags(&discovered.instances[0]), ["n=3"]);
        let merged = &discovered.report.merged;
        assert!(merged.iter().all(|merged| merged.kept == "hosts[3]"));
        let dropped: Vec<_> = merged.iter().map(|merged| merged.dropped.as_str()).collect();
        assert_eq!(dropped, ["hosts[2]", "hosts[0]", "hosts[4]"]);
    }
}

#[test]
fn two_spellings_of_an_ipv6_address_are_one_instance() {
    let text =
        r#"{"hosts": [{"ip": "2001:db8::1", "port": 1}, {"ip": "2001:DB8:0:0:0:0:0:1", "port": "1"}]}"#;
    assert_eq!(read(text).report.merged.len(), 1);
}

#[test]
fn null_metadata_and_null_values_are_no_tags() {
    assert_eq!(tags(&read(&nacos(r#""metadata": null"#)).instances[0]), [""; 0]);
    let text = nacos(r#""metadata": {"a": null, "b": "", "zone": null, "weight": null}"#);
    let discovered = read_with(&text, Options::new().load_key("a"));
    assert_eq!(tags(&discovered.instances[0]), ["b="]);
    assert_eq!((discovered.instances[0].zone.as_deref(), discovered.instances[0].load), (None, None));
}

#[test]
fn metadata_scalars_become_their_text_and_lists_several_values() {
    let text = nacos(
        r#""metadata": {"n": 1.50, "big": 12345678901234567890123, "t": true, "l": ["x", null, 2], "e": []}"#,
    );
    assert_eq!(
        tags(&read(&text).instances[0]),
        ["big=12345678901234567890123", "l=2", "l=x", "n=1.50", "t=true"]
    );
    assert_refused(
        &nacos(r#""metadata": {"a.b": {}}"#),
        "hosts[0].metadata[\"a.b\"]",
        "must be text, not an object",
    );
    assert_refused(
        &nacos(r#""metadata": {"a": ["x", [1]]}"#),
        "hosts[0].metadata.a[1]",
        "must be text, not a list",
    );
    assert_eq!(refused(&nacos(r#""metadata": "x""#)).path(), "hosts[0].metadata");
}

#[test]
fn a_metadata_key_that_stands_twice_keeps_both_values() {
    assert_eq!(tags(&read(&nacos(r#""metadata": {"k": "1", "k": "2"}"#)).instances[0]), ["k=1", "k=2"]);
}

#[test]
fn a_key_of_metadata_and_registry_holds_both_values() {
    let text = nacos(r#""instanceId": "own", "metadata": {"instance-id": "given"}"#);
    assert_eq!(tags(&read(&text).instances[0]), ["instance-id=given", "instance-id=own"]);
}

#[test]
fn the_load_key_becomes_the_load_and_no_tag() {
    let options = Options::new().load_key("cpu-usage");
    let text = nacos(r#""metadata": {"cpu-usage": "0.42", "v": "1"}"#);
    let discovered = read_with(&text, options.clone());
    assert_eq!(discovered.instances[0].load, Some(0.42));
    assert_eq!(tags(&discovered.instances[0]), ["v=1"]);
    assert_eq!(read(&text).instances[0].load, None);

    let bad = nacos(r#""metadata": {"cpu-usage": "high"}"#);
    assert_eq!(
        refused_with(&bad, options.clone()).to_string(),
        "hosts[0].metadata.cpu-usage: \"high\" is not a number; must be finite and not negative"
    );
    let discovered = read_with(&bad, options.lenient(true));
    assert_eq!((discovered.report.taken, ignored(&discovered)), (0, vec!["hosts[0].metadata.cpu-usage"]));
}

#[test]
fn more_tags_than_an_instance_may_have_are_a_bad_entry() {
    let many = |count: usize| {
        let pairs: Vec<String> = (0..count).map(|n| format!("\"k{n}\": \"v\"")).collect();
        nacos(&format!(r#""clusterName": "c", "metadata": {{{}}}"#, pairs.join(", ")))
    };
    assert_eq!(read(&many(63)).instances[0].tags.len(), 64);
    assert_refused(&many(64), "hosts[0]", "tags is 65 pairs; must be at most 64 pairs");
    assert_eq!(ignored(&read_with(&many(64), Options::new().lenient(true))), ["hosts[0]"]);
}

#[test]
fn an_entry_that_is_no_object_is_a_bad_entry() {
    for (entry, kind) in
        [("null", "null"), ("5", "a number"), ("\"a\"", "text"), ("[]", "a list"), ("false", "true or false")]
    {
        let text = format!(r#"{{"hosts": [{{"ip": "a", "port": 1}}, {entry}]}}"#);
        assert_refused(&text, "hosts[1]", &format!("must be an object, not {kind}"));
        let discovered = read_with(&text, Options::new().lenient(true));
        assert_eq!((ids(&discovered), ignored(&discovered)), (vec!["a:1"], vec!["hosts[1]"]));
    }
}

#[test]
fn a_field_that_stands_twice_is_a_bad_entry() {
    assert_refused(&nacos(r#""weight": 1, "weight": 3"#), "hosts[0]", "duplicate field `weight`");
}

#[test]
fn long_values_are_cut_in_messages() {
    let text = nacos(&format!("\"weight\": \"{}\"", "é".repeat(10_000)));
    assert!(refused(&text).message().len() < 200);
    let text = nacos(&format!("\"metadata\": {{\"{}\": {{}}}}", "k".repeat(10_000)));
    assert!(refused(&text).path().len() < 200);
}
