//! Writes the picks of Rust, which Python's have to equal: `cargo run -p pointsman-python --example vectors`.

use pointsman::format::{Options, parse};
use pointsman::{Picker, Pool, Request, Route, RouteSpec};
use serde_json::json;

const PICKS: usize = 64;

const INSTANCES: &str = r#"[
    {"address": "10.0.0.1:80", "weight": 5, "tags": {"version": "stable"}},
    {"address": "10.0.0.2:80", "weight": 3, "tags": {"version": "gray"}},
    {"address": "10.0.0.3:80", "weight": 1.37, "tags": {"version": ["stable", "gray"]}},
    {"address": "10.0.0.4:80", "weight": 0, "tags": {"version": "gray"}},
    {"address": "10.0.0.5:80", "weight": 2, "zone": "west"}]"#;

const ROUTES: [&str; 13] = [
    r#"{"policy": "random", "tiers": [{}]}"#,
    r#"{"policy": "weighted_random", "tiers": [{"match": ["version"]}, {}]}"#,
    r#"{"policy": "round_robin", "tiers": [{"match": ["version"]}, {}]}"#,
    r#"{"policy": "weighted_round_robin", "tiers": [{"match": ["version"]}, {}]}"#,
    r#"{"policy": "weighted_round_robin", "tiers": [{"tags": {"version": "gray"}}]}"#,
    r#"{"policy": "least_load", "tiers": [{}]}"#,
    r#"{"policy": "least_request", "tiers": [{}]}"#,
    r#"{"policy": "power_of_two", "tiers": [{}]}"#,
    r#"{"policy": "peak_ewma", "tiers": [{}]}"#,
    r#"{"policy": "consistent_hash", "tiers": [{}]}"#,
    r#"{"policy": {"consistent_hash": {"algorithm": "maglev"}}, "tiers": [{}]}"#,
    r#"{"policy": {"consistent_hash": {"algorithm": "ketama"}}, "tiers": [{}]}"#,
    r#"{"policy": "weighted_random", "by": "key", "split": [
        {"name": "gray", "percent": 30, "tiers": [{"tags": {"version": "gray"}}]},
        {"name": "rest", "percent": 70, "tiers": [{}]}]}"#,
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::new(parse(INSTANCES, &Options::new())?.instances)?;
    let mut cases = Vec::new();
    for spec in ROUTES {
        let route = pool.route(RouteSpec::from_json(spec)?)?;
        for (seed, tags) in [(7, &[][..]), (u64::MAX, &[("version", "gray")][..])] {
            let picks = picks(&route, seed, tags)?;
            let tag = tags.first().map(|(_, value)| value);
            cases.push(json!({"route": spec, "seed": seed, "version": tag, "picks": picks}).to_string());
        }
    }
    println!("{{\"instances\": {},\n \"cases\": [\n{}]}}", json!(INSTANCES), cases.join(",\n"));
    Ok(())
}

/// Each with a key of its own, so that policies by key have something to go by.
fn picks(
    route: &Route,
    seed: u64,
    tags: &[(&str, &str)],
) -> Result<Vec<(String, usize)>, pointsman::NoInstance> {
    let mut picker: Picker = route.picker_seeded(seed);
    let pick = |at| {
        let key = format!("user-{at}");
        let request = Request::new().tags(tags).key(key.as_bytes());
        let pick = picker.pick(&request)?;
        Ok((pick.instance().id.to_string(), pick.tier()))
    };
    (0..PICKS).map(pick).collect()
}
