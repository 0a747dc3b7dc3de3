//! Route and pool specs: as bytes, and as JSON put together from the words that specs use. What is taken prints as JSON that
//! reads back equal, makes a route, and answers a request; what is refused says where and why.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use pointsman::{Instance, Pool, PoolOptions, PoolSpec, Request, RouteError, RouteSpec};
use serde_json::{Map, Value, json};

/// Words of specs, and others.
const WORDS: [&str; 56] = [
    "policy",
    "tiers",
    "split",
    "by",
    "spill",
    "counters",
    "name",
    "tags",
    "not_tags",
    "without",
    "match",
    "when_absent",
    "zone",
    "health",
    "min_available",
    "min_available_percent",
    "overflow",
    "when_unavailable",
    "percent",
    "random",
    "weighted_random",
    "round_robin",
    "weighted_round_robin",
    "least_load",
    "least_request",
    "power_of_two",
    "peak_ewma",
    "consistent_hash",
    "choices",
    "load",
    "in_flight",
    "reported",
    "algorithm",
    "rendezvous",
    "maglev",
    "ketama",
    "slots",
    "bound",
    "draw",
    "key",
    "local",
    "any",
    "available",
    "untagged",
    "next",
    "stop",
    "keep_last",
    "max_age_s",
    "latency",
    "half_life_s",
    "slow_start",
    "window_s",
    "ejection",
    "version",
    "gray",
    "",
];

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Text(&'a str),
    Route(Tree),
    Pool(Tree),
    /// A good frame with a tree in one place.
    Tier(u8, Tree),
    Policy(Tree),
}

/// Any JSON of little depth over the words.
#[derive(Debug)]
struct Tree(Value);

impl<'a> Arbitrary<'a> for Tree {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        tree(u, 4).map(Self)
    }
}

fn tree(u: &mut Unstructured<'_>, depth: u8) -> arbitrary::Result<Value> {
    let kinds = if depth == 0 { 5 } else { 7 };
    Ok(match u.int_in_range(0..=kinds)? {
        0 => Value::Null,
        1 => u.arbitrary::<bool>()?.into(),
        2 => u.arbitrary::<i64>()?.into(),
        3 => json!(u.arbitrary::<f64>()?),
        4 => json!(u.int_in_range(0..=100_u8)?),
        5 => word(u)?.into(),
        6 => (0..u.int_in_range(0..=4)?)
            .map(|_| tree(u, depth - 1))
            .collect::<arbitrary::Result<Vec<_>>>()?
            .into(),
        _ => {
            let mut members = Map::new();
            for _ in 0..u.int_in_range(0..=5)? {
                members.insert(word(u)?.to_owned(), tree(u, depth - 1)?);
            }
            members.into()
        }
    })
}

fn word(u: &mut Unstructured<'_>) -> arbitrary::Result<&'static str> {
    u.choose(&WORDS).copied()
}

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Text(text) => {
            route(text);
            pool(text);
        }
        Input::Route(tree) => route(&tree.0.to_string()),
        Input::Pool(tree) => pool(&tree.0.to_string()),
        Input::Tier(field, tree) => {
            let field = WORDS[usize::from(field) % WORDS.len()];
            route(&json!({"policy": "weighted_random", "tiers": [{field: tree.0}, {}]}).to_string());
            route(&json!({"policy": "random", "split": [{"name": "a", "percent": 100, "tiers": [{}], field: tree.0}]}).to_string());
        }
        Input::Policy(tree) => route(&json!({"policy": tree.0, "tiers": [{}]}).to_string()),
    }
});

fn route(text: &str) {
    let pool = Pool::new([
        Instance::new("a:1").weight(2.0).tag("version", "gray").zone("local"),
        Instance::new("b:1").tag("", "any"),
    ]);
    let pool = pool.expect("a good list");
    let made = match RouteSpec::from_json(text) {
        Ok(spec) => pool.route(spec),
        Err(error) => return is_told(&error),
    };
    let made = match made {
        Ok(made) => made,
        Err(error) => return is_told(&error),
    };
    let printed = serde_json::to_string(made.spec()).expect("a spec is JSON");
    assert_eq!(RouteSpec::from_json(&printed).as_ref(), Ok(made.spec()), "{printed}");
    let request = Request::new().tags(&[("version", "gray"), ("", "any")]).key(b"key");
    let picked = made.pick(&request).map(|pick| pick.instance().id.clone());
    let told = made.explain(&request);
    assert_eq!(picked.is_err() && told.reason.is_none(), false, "{told:?}");
    if let Ok(id) = picked
        && told.shares_defined
    {
        assert!(told.shares.iter().any(|share| share.id == id && share.share > 0.0), "{id} of {told:?}");
    }
}

fn pool(text: &str) {
    let made = match PoolSpec::from_json(text) {
        Ok(spec) => Pool::with(PoolOptions::new().spec(spec), [Instance::new("a:1")]),
        Err(error) => return is_told(&error),
    };
    let Ok(made) = made else { return };
    let printed = serde_json::to_string(made.spec()).expect("a spec is JSON");
    assert_eq!(PoolSpec::from_json(&printed).as_ref(), Ok(made.spec()), "{printed}");
    made.tick();
}

fn is_told(error: &RouteError) {
    assert!(!error.path().is_empty() && !error.message().is_empty());
}
