//! The committed JSON Schemas and the engine give the same verdict on a spec.
//!
//! A policy, a field or a word that is added is a row here.

use boon::{Compiler, SchemaIndex, Schemas};
use pointsman::{PoolSpec, RouteSpec};
use serde_json::Value;

const ROUTE: &str = include_str!("../schema/route.schema.json");
const POOL: &str = include_str!("../schema/pool.schema.json");

struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn new(text: &str) -> Self {
        let schema: Value = serde_json::from_str(text).unwrap();
        let id = schema["$id"].as_str().unwrap().to_owned();
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.add_resource(&id, schema).unwrap();
        // Compiling compares the schema with its own: draft 2020-12.
        let index = compiler.compile(&id, &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn takes(&self, text: &str) -> bool {
        serde_json::from_str(text).is_ok_and(|spec| self.schemas.validate(&spec, self.index).is_ok())
    }
}

/// A route spec with this tier.
fn tier(tier: &str) -> String {
    format!(r#"{{"policy": "random", "tiers": [{tier}]}}"#)
}

/// A route spec with this policy.
fn policy(policy: &str) -> String {
    format!(r#"{{"policy": {policy}, "tiers": [{{}}]}}"#)
}

/// A route spec with this split.
fn split(split: &str) -> String {
    format!(r#"{{"policy": "random", "split": {split}}}"#)
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    format!("[{}]", (0..count).map(item).collect::<Vec<_>>().join(", "))
}

#[test]
fn route_specs_that_both_take() {
    let schema = Schema::new(ROUTE);
    let mut specs: Vec<String> = pointsman::Policy::all()
        .iter()
        .flat_map(|each| [format!("{:?}", each.name()), format!("{{{:?}: {{}}}}", each.name())])
        .map(|written| policy(&written))
        .collect();
    specs.extend(
        [
            r#"{"power_of_two": {"choices": 8, "load": "reported"}}"#,
            r#"{"power_of_two": {"choices": 2, "load": "in_flight"}}"#,
            r#"{"peak_ewma": {"choices": 3}}"#,
            r#"{"consistent_hash": {"algorithm": "maglev", "slots": 1009, "bound": 1.25}}"#,
            r#"{"consistent_hash": {"algorithm": "ketama", "slots": 4194301, "bound": null}}"#,
            r#"{"consistent_hash": {"algorithm": "rendezvous", "bound": 1}}"#,
        ]
        .map(policy),
    );
    specs.extend(
        [
            "{}",
            r#"{"name": ""}"#,
            r#"{"name": "near", "zone": "local"}"#,
            r#"{"zone": "eu-a"}"#,
            r#"{"zone": ["local", ""]}"#,
            r#"{"tags": {}, "not_tags": {}, "without": [], "match": []}"#,
            r#"{"tags": {"version": "stable", "": ""}}"#,
            r#"{"tags": {"version": ["v1", "v2"]}, "not_tags": {"version": ["v3"]}}"#,
            r#"{"without": ["env", "env"]}"#,
            r#"{"match": ["env", "version"], "when_absent": "untagged"}"#,
            r#"{"when_absent": "any"}"#,
            r#"{"health": "any"}"#,
            r#"{"health": "available"}"#,
            r#"{"min_available": 0}"#,
            r#"{"min_available": 4294967295}"#,
            r#"{"min_available_percent": 0}"#,
            r#"{"min_available_percent": 33.3}"#,
            r#"{"min_available_percent": 100}"#,
            r#"{"when_unavailable": "stop"}"#,
            r#"{"when_unavailable": "next"}"#,
            r#"{"overflow": 1.4}"#,
            r#"{"overflow": 1e-300}"#,
            r#"{"overflow": null}"#,
        ]
        .map(tier),
    );
    specs.push(tier(&format!(r#"{{"match": {}}}"#, list(16, |at| format!("\"k{at}\"")))));
    specs.extend(
        [
            r#"[{"percent": 100, "tiers": [{}]}]"#,
            r#"[{"name": "gray", "percent": 0, "tiers": [{}], "spill": true}, {"percent": 100, "tiers": [{}, {}]}]"#,
            r#"[{"percent": 33.4, "tiers": [{}]}, {"percent": 66.6, "tiers": [{}]}], "by": "key", "spill": true"#,
            r#"[{"percent": 100, "tiers": [{}]}], "by": "draw""#,
            r#"[{"percent": 100, "tiers": [{}]}], "tiers": []"#,
        ]
        .map(split),
    );
    specs.push(split(&list(64, |_| r#"{"percent": 1.5625, "tiers": [{}]}"#.into())));
    specs.push(format!(r#"{{"policy": "random", "tiers": {}}}"#, list(64, |_| "{}".into())));
    specs.push(r#"{"policy": "random", "tiers": [{}], "split": [], "counters": true}"#.into());
    for spec in specs {
        assert_eq!(RouteSpec::from_json(&spec).err(), None, "{spec}");
        assert!(schema.takes(&spec), "{spec}");
        let written = RouteSpec::from_json(&spec).unwrap().to_json();
        assert!(schema.takes(&written), "{written}");
    }
}

#[test]
fn route_specs_that_both_refuse() {
    let schema = Schema::new(ROUTE);
    let mut specs: Vec<String> = [
        "null",
        "\"random\"",
        "{}",
        r#"{"policy": "random"}"#,
        r#"{"tiers": [{}]}"#,
        r#"{"policy": "random", "tiers": []}"#,
        r#"{"policy": "random", "tiers": {}}"#,
        r#"{"policy": "random", "tiers": null}"#,
        r#"{"policy": "random", "tiers": [], "split": []}"#,
        r#"{"policy": "random", "tiers": [{}], "split": [{"percent": 100, "tiers": [{}]}]}"#,
        r#"{"policy": "random", "tiers": [{}], "zone": "eu-a"}"#,
        r#"{"policy": "random", "tiers": [{}], "by": "hash"}"#,
        r#"{"policy": "random", "tiers": [{}], "spill": 1}"#,
        r#"{"policy": "random", "tiers": [{}], "counters": "yes"}"#,
    ]
    .map(String::from)
    .into();
    specs.extend(
        [
            "\"fastest\"",
            "\"Random\"",
            "\"\"",
            "null",
            "1",
            "{}",
            r#"["random"]"#,
            r#"{"fastest": {}}"#,
            r#"{"random": {"seed": 1}}"#,
            r#"{"random": null}"#,
            r#"{"random": true}"#,
            r#"{"random": {}, "round_robin": {}}"#,
            r#"{"least_request": {"choices": 2}}"#,
            r#"{"power_of_two": {"choices": 1}}"#,
            r#"{"power_of_two": {"choices": 9}}"#,
            r#"{"power_of_two": {"choices": null}}"#,
            r#"{"power_of_two": {"load": "latency"}}"#,
            r#"{"peak_ewma": {"choices": 1}}"#,
            r#"{"peak_ewma": {"load": "in_flight"}}"#,
            r#"{"consistent_hash": {"algorithm": "jump"}}"#,
            r#"{"consistent_hash": {"slots": 1008}}"#,
            r#"{"consistent_hash": {"slots": 4194302}}"#,
            r#"{"consistent_hash": {"bound": 0.99}}"#,
        ]
        .map(policy),
    );
    specs.extend(
        [
            "null",
            "\"\"",
            r#"{"zones": "eu-a"}"#,
            r#"{"name": null}"#,
            r#"{"name": 1}"#,
            r#"{"tags": null}"#,
            r#"{"tags": ["version"]}"#,
            r#"{"tags": {"version": []}}"#,
            r#"{"tags": {"version": 1}}"#,
            r#"{"tags": {"version": null}}"#,
            r#"{"tags": {"version": ["v1", 2]}}"#,
            r#"{"not_tags": {"version": []}}"#,
            r#"{"not_tags": {"version": {}}}"#,
            r#"{"without": "env"}"#,
            r#"{"without": [1]}"#,
            r#"{"match": "env"}"#,
            r#"{"match": ["env", "env"]}"#,
            r#"{"when_absent": "none"}"#,
            r#"{"zone": []}"#,
            r#"{"zone": null}"#,
            r#"{"zone": [null]}"#,
            r#"{"health": "all"}"#,
            r#"{"health": true}"#,
            r#"{"min_available": -1}"#,
            r#"{"min_available": 0.5}"#,
            r#"{"min_available": "1"}"#,
            r#"{"min_available": 4294967296}"#,
            r#"{"min_available_percent": -0.1}"#,
            r#"{"min_available_percent": 100.1}"#,
            r#"{"min_available_percent": null}"#,
            r#"{"when_unavailable": "fail"}"#,
            r#"{"overflow": 0}"#,
            r#"{"overflow": -1}"#,
            r#"{"overflow": "1.4"}"#,
        ]
        .map(tier),
    );
    specs.push(tier(&format!(r#"{{"match": {}}}"#, list(17, |at| format!("\"k{at}\"")))));
    specs.push(format!(r#"{{"policy": "random", "tiers": {}}}"#, list(65, |_| "{}".into())));
    specs.extend(
        [
            "[]",
            "{}",
            "[{}]",
            r#"[{"percent": 100}]"#,
            r#"[{"tiers": [{}]}]"#,
            r#"[{"percent": 100, "tiers": []}]"#,
            r#"[{"percent": "100", "tiers": [{}]}]"#,
            r#"[{"percent": 101, "tiers": [{}]}]"#,
            r#"[{"percent": -1, "tiers": [{}]}, {"percent": 101, "tiers": [{}]}]"#,
            r#"[{"percent": 100, "tiers": [{"zones": "a"}]}]"#,
            r#"[{"percent": 100, "tiers": [{}], "share": 1}]"#,
            r#"[{"percent": 100, "tiers": [{}], "spill": null}]"#,
        ]
        .map(split),
    );
    specs.push(split(&list(80, |_| r#"{"percent": 1.25, "tiers": [{}]}"#.into())));
    for spec in specs {
        assert!(RouteSpec::from_json(&spec).is_err(), "{spec}");
        assert!(!schema.takes(&spec), "{spec}");
    }
}

/// Rules that a schema has no words for: the engine is stricter.
#[test]
fn route_specs_that_only_the_engine_refuses() {
    let schema = Schema::new(ROUTE);
    for (spec, rule) in [
        (split(r#"[{"percent": 99, "tiers": [{}]}]"#), "percents add up"),
        (split(r#"[{"percent": 60, "tiers": [{}]}, {"percent": 60, "tiers": [{}]}]"#), "percents add up"),
        (policy(r#"{"consistent_hash": {"slots": 65536}}"#), "prime"),
        // To a schema a number without a fraction is an integer, however it is written.
        (tier(r#"{"min_available": 2.0}"#), "invalid type: floating point"),
        // A JSON parser keeps one of two equal keys, before a schema sees them.
        (tier(r#"{"name": "a", "name": "a"}"#), "duplicate field"),
    ] {
        assert!(schema.takes(&spec), "{spec}");
        let error = RouteSpec::from_json(&spec).unwrap_err();
        assert!(error.message().contains(rule), "{error}");
    }
}

#[test]
fn pool_specs() {
    let schema = Schema::new(POOL);
    for spec in [
        "{}",
        r#"{"zone": "eu-a"}"#,
        r#"{"zone": ""}"#,
        r#"{"zone": null}"#,
        r#"{"keep_last": true}"#,
        r#"{"load": {}}"#,
        r#"{"load": {"max_age_s": 0.5}}"#,
        r#"{"zone": "eu-a", "keep_last": false, "load": {"max_age_s": 1e9}}"#,
        r#"{"latency": {}}"#,
        r#"{"latency": {"half_life_s": 5, "default_s": 0.1}}"#,
        r#"{"slow_start": null, "ejection": null}"#,
        r#"{"slow_start": {}, "ejection": {}}"#,
        r#"{"slow_start": {"window_s": 60, "aggression": 0.5}}"#,
        r#"{"ejection": {"consecutive_failures": null, "failure_percentage": null}}"#,
        r#"{"ejection": {"consecutive_failures": 1, "failure_percentage": {}, "interval_s": 1, "base_ejection_s": 1,
            "max_ejection_s": 1, "max_ejection_percent": 100}}"#,
        r#"{"ejection": {"failure_percentage": {"threshold": 0, "minimum_hosts": 0, "request_volume": 0}}}"#,
    ] {
        assert_eq!(PoolSpec::from_json(spec).err(), None, "{spec}");
        assert!(schema.takes(spec), "{spec}");
        let written = PoolSpec::from_json(spec).unwrap().to_json();
        assert!(schema.takes(&written), "{written}");
    }
    for spec in [
        "null",
        "\"eu-a\"",
        r#"{"zones": "eu-a"}"#,
        r#"{"zone": 1}"#,
        r#"{"zone": ["eu-a"]}"#,
        r#"{"keep_last": null}"#,
        r#"{"keep_last": "yes"}"#,
        r#"{"load": null}"#,
        r#"{"load": 30}"#,
        r#"{"load": {"max_age_s": 0}}"#,
        r#"{"load": {"max_age_s": -1}}"#,
        r#"{"load": {"max_age_s": null}}"#,
        r#"{"load": {"max_age": 30}}"#,
        r#"{"latency": null}"#,
        r#"{"latency": {"half_life_s": 0}}"#,
        r#"{"latency": {"default_s": -1}}"#,
        r#"{"slow_start": true}"#,
        r#"{"slow_start": {"window": 60}}"#,
        r#"{"slow_start": {"window_s": 0}}"#,
        r#"{"slow_start": {"aggression": 0}}"#,
        r#"{"ejection": {"consecutive_failures": 0}}"#,
        r#"{"ejection": {"consecutive_failures": 1.5}}"#,
        r#"{"ejection": {"failure_percentage": {"threshold": 101}}}"#,
        r#"{"ejection": {"failure_percentage": {"minimum_hosts": -1}}}"#,
        r#"{"ejection": {"failure_percentage": {"hosts": 1}}}"#,
        r#"{"ejection": {"interval_s": 0}}"#,
        r#"{"ejection": {"base_ejection_s": null}}"#,
        r#"{"ejection": {"max_ejection_s": 0}}"#,
        r#"{"ejection": {"max_ejection_percent": 100.1}}"#,
    ] {
        assert!(PoolSpec::from_json(spec).is_err(), "{spec}");
        assert!(!schema.takes(spec), "{spec}");
    }
}

/// Every object is closed, so that a slip of the pen is seen, and every field says what it means.
#[test]
fn schemas_are_closed_and_described() {
    fn walk(schema: &Value, place: &str) {
        let Some(object) = schema.as_object() else { return };
        if let Some(properties) = object.get("properties").and_then(Value::as_object)
            && object.contains_key("type")
        {
            assert_eq!(object.get("additionalProperties"), Some(&false.into()), "{place}");
            for (name, field) in properties {
                let described = field.get("description").is_some() || field.get("$ref").is_some();
                assert!(described, "{place}/{name}");
            }
        }
        for (key, value) in object {
            match value {
                Value::Array(list) => list.iter().for_each(|value| walk(value, &format!("{place}/{key}"))),
                value => walk(value, &format!("{place}/{key}")),
            }
        }
    }
    for text in [ROUTE, POOL] {
        walk(&serde_json::from_str(text).unwrap(), "");
    }
}
