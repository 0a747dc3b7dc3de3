use pointsman::format::{Format, Options, parse, to_plain};
use pointsman::{Instance, Tags};
use proptest::prelude::*;

use crate::{assert_refused, ids, ignored, read, read_with, refused};

const SAMPLE: &str = include_str!("../samples/plain.json");

#[test]
fn every_field_is_read() {
    let discovered = read(SAMPLE);
    assert_eq!(discovered.report.format, Format::Plain);
    let first = Instance::new("10.6.0.1:80")
        .id("a")
        .weight(0.1)
        .zone("eu-a")
        .tags(Tags::from_iter([("version", "v1"), ("version", "v2"), ("rack", "r7"), ("", "")]))
        .healthy(false)
        .enabled(false)
        .load(0.25)
        .max_in_flight(u32::MAX)
        .user_data(u64::MAX);
    assert_eq!(discovered.instances, [first, Instance::new("unix:/run/cart.sock").weight(2.0)]);
}

#[test]
fn what_is_written_reads_back_equal() {
    let instances = read(SAMPLE).instances;
    let text = to_plain(&instances);
    assert_eq!(read(&text).instances, instances);
    assert_eq!(to_plain(&read(&text).instances), text);
    assert_eq!(text.lines().count(), 4, "one instance to a line: {text}");
    assert!(read(&to_plain(&[])).instances.is_empty());
}

#[test]
fn an_instance_that_no_pool_takes_does_not_become_one_that_it_takes() {
    for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let text = to_plain(&[Instance::new("a").weight(weight)]);
        assert_eq!(refused(&text).path(), "[0].weight");
    }
    assert_eq!(refused(&to_plain(&[Instance::new("a").load(f64::NAN)])).path(), "[0].load");
}

#[test]
fn unknown_fields_are_errors_that_name_the_place() {
    let error = refused(r#"[{"address": "a"}, {"address": "b", "wieght": 1}]"#);
    assert!(error.path().starts_with("[1]"), "{error}");
    assert!(
        error.message().starts_with("unknown field `wieght`, expected one of `id`, `address`"),
        "{error}"
    );
    let error = refused(r#"{"instances": [], "version": 1}"#);
    assert!(error.message().starts_with("unknown field `version`"), "{error}");
}

#[test]
fn equal_ids_are_refused_and_equal_addresses_are_not() {
    assert_refused(
        r#"{"instances": [{"address": "a"}, {"id": "x", "address": "b"}, {"id": "a", "address": "c"}]}"#,
        "instances[2].id",
        "\"a\" is the id of instances[0] too; must be unique",
    );
    assert_eq!(ids(&read(r#"[{"id": "x", "address": "a"}, {"id": "y", "address": "a"}]"#)), ["x", "y"]);
    let twice =
        r#"[{"address": "a", "weight": 1}, {"address": "a", "weight": 3}, {"address": "b", "weight": 4}]"#;
    let discovered = read_with(twice, Options::new().lenient(true));
    assert_eq!((ids(&discovered), ignored(&discovered)), (vec!["a", "b"], vec!["[1].id"]));
}

#[test]
fn faults_are_named_by_their_path() {
    for (entry, path, message) in [
        (r#"{"weight": 1}"#, "[0]", "missing `address`"),
        (r#"{"address": null}"#, "[0]", "missing `address`"),
        (r#"{"address": ""}"#, "[0].id", "is \"\"; must have at least one byte"),
        (r#"{"id": "a", "address": ""}"#, "[0].address", "is \"\"; must have at least one byte"),
        (r#"{"address": 5}"#, "[0].address", "must be text, not a number"),
        (r#"{"address": "a", "id": ""}"#, "[0].id", "is \"\"; must have at least one byte"),
        (
            r#"{"address": "a", "weight": -1}"#,
            "[0].weight",
            "-1 is negative; must be finite and not negative",
        ),
        (
            r#"{"address": "a", "load": "x"}"#,
            "[0].load",
            "\"x\" is not a number; must be finite and not negative",
        ),
        (r#"{"address": "a", "zone": 1}"#, "[0].zone", "must be text, not a number"),
        (r#"{"address": "a", "tags": {"k": null}}"#, "[0].tags.k", "must be text, not null"),
        (r#"{"address": "a", "tags": {"k": ["v", 1]}}"#, "[0].tags.k[1]", "must be text, not a number"),
        (r#"{"address": "a", "max_in_flight": 0}"#, "[0].max_in_flight", "is 0; must be at least 1"),
        (
            r#"{"address": "a", "user_data": 18446744073709551616}"#,
            "[0].user_data",
            "invalid type: floating point `1.8446744073709552e+19`, expected u64",
        ),
        (
            r#"{"address": "a", "healthy": "yes"}"#,
            "[0].healthy",
            "invalid type: string \"yes\", expected a boolean",
        ),
        (r#"{"address": "a", "address": "b"}"#, "[0]", "duplicate field `address`"),
    ] {
        assert_refused(&format!("[{entry}]"), path, message);
    }
    let many: Vec<String> = (0..65).map(|n| format!("\"k{n}\": \"v\"")).collect();
    let text = format!(r#"[{{"address": "a", "tags": {{{}}}}}]"#, many.join(","));
    assert_refused(&text, "[0].tags", "is 65 pairs; must be at most 64 pairs");
}

fn instance() -> impl Strategy<Value = Instance> {
    let number = prop_oneof![
        any::<f64>().prop_filter("a weight", |x| x.is_finite() && *x >= 0.0),
        Just(0.0),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
        Just(1e18),
    ];
    let tags = prop::collection::vec((any::<String>(), any::<String>()), 0..8);
    let names = (any::<String>(), any::<String>(), any::<Option<String>>());
    let numbers = (number.clone(), prop::option::of(number), prop::option::of(1u32..), any::<u64>());
    (names, numbers, tags, any::<(bool, bool)>()).prop_map(|(names, numbers, tags, (healthy, enabled))| {
        let (id, address, zone) = names;
        let (weight, load, max_in_flight, user_data) = numbers;
        let mut instance = Instance::new(format!("a{address}"))
            .id(format!("i{id}"))
            .weight(weight)
            .healthy(healthy)
            .enabled(enabled)
            .user_data(user_data)
            .tags(Tags::from_iter(tags));
        instance.zone = zone.map(Into::into);
        instance.load = load;
        instance.max_in_flight = max_in_flight;
        instance
    })
}

proptest! {
    #[test]
    fn arbitrary_instances_read_back_equal(list in prop::collection::vec(instance(), 0..6)) {
        let list: Vec<Instance> = list
            .into_iter()
            .enumerate()
            .map(|(index, instance)| { let id = format!("{index}{}", instance.id); instance.id(id) })
            .collect();
        let back = parse(&to_plain(&list), &Options::new()).unwrap().instances;
        prop_assert_eq!(&back, &list);
        for (back, given) in back.iter().zip(&list) {
            prop_assert_eq!(back.weight.to_bits(), given.weight.to_bits());
        }
    }
}
