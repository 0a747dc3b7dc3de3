//! No input, however broken, deep or repetitive, panics or takes more than linear work.

use pointsman::format::{AddressFamily, Discovered, Format, Options, parse, parse_bytes, to_plain};
use proptest::prelude::*;
use serde_json::Value;

use crate::{SAMPLES, read, read_with, refused};

/// Options that reach every branch.
fn options() -> impl Strategy<Value = Options> {
    let format = prop::sample::select(Format::ALL.to_vec());
    let service = prop::sample::select(vec![None, Some("cart"), Some("shop/billing"), Some("")]);
    let port = prop::sample::select(vec![None, Some("http"), Some("9090"), Some("")]);
    let family = prop::sample::select(vec![None, Some(AddressFamily::Ipv4), Some(AddressFamily::Ipv6)]);
    let load = prop::sample::select(vec![None, Some("cpu"), Some("weight")]);
    (format, service, port, family, load, any::<(bool, bool)>()).prop_map(
        |(format, service, port, family, load, (lenient, prefer_ip))| {
            let mut options = Options::new().format(format).lenient(lenient).prefer_ip(prefer_ip);
            options.service = service.map(Into::into);
            options.port = port.map(Into::into);
            options.load_key = load.map(Into::into);
            options.address_family = family;
            options
        },
    )
}

/// Whatever is taken, a pool takes: the plain format checks every value and every id once more.
fn check(discovered: &Discovered) {
    assert_eq!(discovered.report.taken, discovered.instances.len());
    let back = parse(&to_plain(&discovered.instances), &Options::new()).expect("a pool takes what was taken");
    assert_eq!(back.instances, discovered.instances);
}

fn scalar() -> impl Strategy<Value = Value> {
    let texts = [
        "", "NaN", "-1", "1e999", "::1", "a:1", " ", "\u{0}", "UP", "warning", "critical", "true", "Ipv6",
        "10.0.0.1",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![0, 1, -1, 80, 65535, 65536]).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
        Just(serde_json::json!([null, {}, [], "x", 1])),
    ]
}

/// The number of values in a document.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at a position in the order of the document.
fn nth<'a>(value: &'a mut Value, position: &mut usize) -> Option<&'a mut Value> {
    if *position == 0 {
        return Some(value);
    }
    *position -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| nth(value, position)),
        Value::Object(map) => map.values_mut().find_map(|value| nth(value, position)),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), options in options()) {
        if let Ok(discovered) = parse_bytes(&bytes, &options) {
            check(&discovered);
        }
    }

    #[test]
    fn arbitrary_json_punctuation_never_panics(text in "[\\[\\]{}:,\"a0 .\\\\-]{0,60}", options in options()) {
        if let Ok(discovered) = parse(&text, &options) {
            check(&discovered);
        }
    }

    #[test]
    fn samples_with_changed_values_never_panic(
        sample in prop::sample::select(SAMPLES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), scalar(), any::<bool>()), 1..6),
        options in options(),
    ) {
        let mut document: Value = serde_json::from_str(sample.0).unwrap();
        for (index, value, doubled) in changes {
            let mut position = index.index(count(&document));
            if let Some(place) = nth(&mut document, &mut position) {
                *place = if doubled { serde_json::json!([place.take(), value]) } else { value };
            }
        }
        if let Ok(discovered) = parse(&document.to_string(), &options) {
            check(&discovered);
        }
    }

    #[test]
    fn samples_with_changed_bytes_never_panic(
        sample in prop::sample::select(SAMPLES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        options in options(),
    ) {
        let mut bytes = sample.0.as_bytes().to_vec();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            if let Ok(discovered) = parse_bytes(bytes, &options) {
                check(&discovered);
            }
        }
    }
}

#[test]
fn lists_cut_anywhere_are_refused() {
    for (text, _, service) in SAMPLES {
        let mut options = Options::new();
        options.service = service.map(Into::into);
        let text = text.trim_end();
        for (end, _) in text.char_indices() {
            assert!(parse(&text[..end], &options).is_err(), "{}", &text[..end]);
        }
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    refused(&deep);
    let objects = format!("{}1{}", "{\"a\":".repeat(1_000_000), "}".repeat(1_000_000));
    refused(&objects);
    refused(&"[".repeat(1_000_000));
    refused(&"{\"hosts\":".repeat(1_000_000));
    let ignored = format!(r#"{{"hosts": [{{"ip": "a", "port": 1, "extra": {deep}}}], "more": {objects}}}"#);
    assert_eq!(read(&ignored).report.taken, 1);
    for field in ["ip", "port", "weight", "metadata", "healthy"] {
        let text = format!(r#"{{"hosts": [{{"port": 1, "{field}": {deep}}}]}}"#);
        assert_eq!(read_with(&text, Options::new().lenient(true)).report.ignored.len(), 1, "{field}");
    }
}

#[test]
fn a_hundred_thousand_entries_of_one_address_become_one() {
    let entries =
        vec![r#"{"host": "10.0.0.1", "port": 80, "metadata": {"nacos.healthy": "false"}}"#; 100_000];
    let discovered = read(&format!("[{}]", entries.join(",")));
    assert_eq!((discovered.report.taken, discovered.report.merged.len()), (1, 99_999));
}

#[test]
fn a_hundred_thousand_bad_entries_are_listed() {
    let entries = vec![r#"{"host": "10.0.0.1", "port": 0}"#; 100_000];
    let discovered = read_with(&format!("[{}]", entries.join(",")), Options::new().lenient(true));
    assert_eq!((discovered.report.taken, discovered.report.ignored.len()), (0, 100_000));
    assert_eq!(discovered.report.ignored[99_999].path, "[99999].port");
}

#[test]
fn a_hundred_thousand_services_are_an_error_of_bounded_length() {
    let slices: Vec<String> = (0..100_000)
        .map(|n| {
            format!(r#"{{"addressType": "IPv4", "metadata": {{"labels": {{"kubernetes.io/service-name": "s{n}"}}}}}}"#)
        })
        .collect();
    let error = refused(&format!(r#"{{"kind": "EndpointSliceList", "items": [{}]}}"#, slices.join(",")));
    assert!(error.message().starts_with("holds slices of 100000 services"), "{error}");
    assert!(error.message().len() < 1_000);
}

#[test]
fn a_hundred_thousand_metadata_keys_are_one_bad_entry() {
    let pairs: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\": \"v\"")).collect();
    let text = format!(r#"[{{"host": "a", "port": 1, "metadata": {{{}}}}}]"#, pairs.join(","));
    assert_eq!(refused(&text).message(), "tags is 100000 pairs; must be at most 64 pairs");
}
