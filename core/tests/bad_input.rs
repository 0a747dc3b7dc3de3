//! Bad input is refused whole, and the error names the place, the value and the limit.

mod common;

use common::{PLAIN, equal, plain_route};
use pointsman::{
    Branch, Instance, MAX_BRANCHES, MAX_INSTANCES, MAX_MATCH_KEYS, MAX_TAGS, MAX_TIERS, Policy, Pool,
    PoolError, PoolOptions, PoolSpec, RouteError, RouteSpec, Tags, Tier, UpdateError, ZoneRule,
};

/// Refused in every way that an instance can come, and nothing changed.
fn refused(bad: &Instance) -> UpdateError {
    let pool = Pool::new(equal(&["good"])).expect("a good list");
    let route = plain_route(&pool, Policy::WeightedRandom);
    let in_list = pool.replace([Instance::new("first"), bad.clone()]).expect_err("a bad instance");
    assert_eq!(in_list.index(), Some(1));
    let status = pool.status();
    assert!(status.stale && status.refused.is_some_and(|refused| refused.message == in_list.to_string()));
    let in_edit = pool
        .edit(|edit| {
            edit.remove("good")?;
            edit.upsert(bad.clone())
        })
        .expect_err("a bad instance");
    assert_eq!((in_edit.field(), in_edit.offending()), (in_list.field(), in_list.offending()));
    assert!(pool.status().refused.is_some_and(|refused| refused.message == in_edit.to_string()));
    let at_once = Pool::new([bad.clone()]).expect_err("a bad instance");
    let with = Pool::with(PoolOptions::new(), [bad.clone()]).expect_err("a bad instance");
    assert_eq!(with.to_string(), at_once.to_string());
    assert_eq!((pool.version(), pool.instances()), (1, equal(&["good"])));
    assert!((0..100).all(|_| route.pick(&PLAIN).is_ok_and(|pick| &*pick.instance().id == "good")));
    assert_eq!(pool.replace(equal(&["good"])), Ok(1));
    assert!(!pool.status().stale, "a good list ends it");
    in_list
}

#[test]
fn numbers_outside_their_limits_are_refused_with_the_instance_the_field_and_the_value() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.001] {
        for field in ["weight", "load"] {
            let bad = Instance::new("bad");
            let error = refused(&if field == "weight" { bad.weight(value) } else { bad.load(value) });
            assert_eq!((error.instance(), error.field()), (Some("bad"), field));
            assert_eq!(
                (error.offending(), error.limit()),
                (&*value.to_string(), "must be finite and not negative")
            );
            let text = error.to_string();
            assert!(
                ["bad", field, &value.to_string(), "finite"].iter().all(|part| text.contains(part)),
                "{text}"
            );
        }
        let pool = Pool::new(equal(&["good"])).expect("a good list");
        assert_eq!(pool.report_load("good", value).expect_err("a bad load").field(), "load");
        assert_eq!(pool.edit(|edit| edit.set_weight("good", value)).expect_err("bad").field(), "weight");
    }
    let error = refused(&Instance::new("bad").max_in_flight(0));
    assert_eq!((error.field(), error.offending()), ("max_in_flight", "0"));
}

#[test]
fn empty_ids_and_addresses_and_too_many_tags_are_refused() {
    assert_eq!(refused(&Instance::new("host").id("")).field(), "id");
    assert_eq!(refused(&Instance::new("").id("named")).field(), "address");
    assert_eq!(refused(&Instance::new("")).field(), "id");
    let tags = |n: usize| -> Tags { (0..n).map(|at| ("key", at.to_string())).collect() };
    let error = refused(&Instance::new("bad").tags(tags(MAX_TAGS + 1)));
    assert_eq!((error.instance(), error.field(), error.offending()), (Some("bad"), "tags", "65 pairs"));
    let pool = Pool::new([Instance::new("good").tags(tags(MAX_TAGS))]).expect("64 pairs are fine");
    let error = pool.edit(|edit| edit.set_tags("good", tags(MAX_TAGS + 1))).expect_err("too many");
    assert_eq!((error.instance(), error.field()), (Some("good"), "tags"));
}

#[test]
fn an_id_that_comes_twice_is_refused_with_both_places() {
    let pool = Pool::new(equal(&["good"])).expect("a good list");
    let error = pool.replace(equal(&["a", "b", "c", "b"])).expect_err("b comes twice");
    assert_eq!((error.instance(), error.field(), error.index()), (Some("b"), "id", Some(3)));
    assert!(error.limit().contains("number 1"), "{}", error.limit());
    assert_eq!((pool.version(), pool.len()), (1, 1));
}

#[test]
fn an_edit_of_an_id_that_is_not_there_changes_nothing() {
    let pool = Pool::new(equal(&["good"])).expect("a good list");
    type Change = fn(&mut pointsman::Edit) -> Result<(), UpdateError>;
    let changes: [Change; 7] = [
        |edit| edit.remove("gone"),
        |edit| edit.set_weight("gone", 1.0),
        |edit| edit.set_healthy("gone", true),
        |edit| edit.set_enabled("gone", true),
        |edit| edit.set_tags("gone", Tags::new()),
        |edit| edit.set_zone("gone", None),
        |edit| {
            edit.upsert(Instance::new("gone"))?;
            edit.remove("gone")?;
            edit.set_weight("gone", 1.0)
        },
    ];
    for change in changes {
        let outcome = pool.edit(|edit| {
            edit.set_weight("good", 5.0)?;
            change(edit)
        });
        let error = outcome.expect_err("nobody has that id");
        assert_eq!((error.instance(), error.field()), (Some("gone"), "id"));
        assert_eq!((pool.version(), pool.instances()), (1, equal(&["good"])));
        assert!(pool.status().stale);
    }
    assert!(pool.report_load("gone", 1.0).is_err());
    assert!(pool.get("gone").is_none());
}

#[test]
fn more_than_a_million_instances_are_refused() {
    let pool = Pool::new(equal(&["good"])).expect("a good list");
    let many = std::iter::repeat_n(Instance::new("same"), MAX_INSTANCES + 1);
    let error = pool.replace(many).expect_err("too many");
    assert_eq!((error.instance(), error.field(), error.offending()), (None, "instances", "1000001"));
    assert!(error.limit().contains("1000000"), "{}", error.limit());
    assert_eq!((pool.version(), pool.len()), (1, 1));
}

#[test]
fn a_long_value_is_cut_in_the_error() {
    let id = "é".repeat(10_000);
    let error = Pool::new([Instance::new(id.as_str()).weight(f64::NAN)]).expect_err("a bad weight");
    assert!(error.to_string().len() < 400 && error.instance().is_some_and(|id| id.starts_with('é')));
}

/// Refused as JSON at this place, with these words in the message.
#[track_caller]
fn refused_json(text: &str, path: &str, words: &str) {
    let error = RouteSpec::from_json(text).expect_err(text);
    assert_eq!(error.path(), path, "{text}: {error}");
    assert!(error.message().contains(words), "{text}: {error}");
    assert!(error.to_string().contains(words));
}

/// Refused as JSON and by the pool alike, at this place.
#[track_caller]
fn refused_spec(spec: RouteSpec, path: &str, words: &str) {
    let error: RouteError = spec.check().expect_err(path);
    assert_eq!(error.path(), path, "{error}");
    assert!(error.message().contains(words), "{error}");
    let pool = Pool::new(equal(&["good"])).expect("a good list");
    assert_eq!(pool.route(spec).map(|_| ()), Err(error));
    assert_eq!(pool.status().routes, 0);
}

fn spec() -> RouteSpec {
    RouteSpec::new(Policy::Random)
}

#[test]
fn a_spec_has_tiers_or_a_split_and_not_both() {
    refused_spec(spec(), "tiers", "at least 1");
    refused_spec(spec().tier(Tier::new()).branch(Branch::new("", 100.0).tier(Tier::new())), "split", "both");
    refused_spec(spec().branch(Branch::new("", 100.0)), "split[0].tiers", "0 tiers");
    refused_json(r#"{"policy": "random"}"#, "tiers", "at least 1");
    refused_json(r#"{"policy": "random", "tiers": []}"#, "tiers", "at least 1");
    let both = r#"{"policy": "random", "tiers": [{}], "split": [{"percent": 100, "tiers": [{}]}]}"#;
    refused_json(both, "split", "both");
    let many = (0..=MAX_TIERS).fold(spec(), |spec, _| spec.tier(Tier::new()));
    refused_spec(many, "tiers", "65 tiers");
    let branch = || Branch::new("", 100.0 / (MAX_BRANCHES + 1) as f64).tier(Tier::new());
    refused_spec((0..=MAX_BRANCHES).fold(spec(), |spec, _| spec.branch(branch())), "split", "65 branches");
}

#[test]
fn percents_must_add_up_and_lie_between_0_and_100() {
    let split = |percents: &[f64]| {
        percents.iter().fold(spec(), |spec, percent| spec.branch(Branch::new("", *percent).tier(Tier::new())))
    };
    refused_spec(split(&[50.0, 49.0]), "split", "99");
    refused_spec(split(&[0.0, 0.0]), "split", "add up to 0");
    refused_spec(split(&[60.0, 50.0]), "split", "110");
    refused_spec(split(&[-10.0, 110.0]), "split[0].percent", "-10");
    refused_spec(split(&[0.0, 100.5]), "split[1].percent", "100.5");
    refused_spec(split(&[100.0, f64::NAN]), "split[1].percent", "NaN");
    for fine in [&[33.3, 33.3, 33.4][..], &[100.0 / 3.0; 3], &[0.0, 100.0], &[0.1, 99.9]] {
        assert_eq!(split(fine).check(), Ok(()), "{fine:?}");
    }
}

#[test]
fn numbers_of_a_tier_outside_their_limits_are_refused_at_their_place() {
    for percent in [100.5, -1.0, f64::NAN, f64::INFINITY] {
        let tier = Tier::new().min_available_percent(percent);
        refused_spec(
            spec().tier(Tier::new()).tier(tier.clone()),
            "tiers[1].min_available_percent",
            "0 and 100",
        );
        let branch = Branch::new("", 100.0).tier(tier);
        refused_spec(spec().branch(branch), "split[0].tiers[0].min_available_percent", &percent.to_string());
    }
    for factor in [0.0, -1.4, f64::NAN, f64::INFINITY] {
        refused_spec(spec().tier(Tier::new().overflow(factor)), "tiers[0].overflow", "above 0");
    }
    refused_json(
        r#"{"policy": "random", "tiers": [{"min_available_percent": 101}]}"#,
        "tiers[0].min_available_percent",
        "101",
    );
    assert_eq!(spec().tier(Tier::new().min_available_percent(100.0)).check(), Ok(()));
}

#[test]
fn keys_and_names_of_a_tier_are_checked_at_their_place() {
    let keys = (0..=MAX_MATCH_KEYS).fold(Tier::new(), |tier, at| tier.matching(format!("k{at}")));
    refused_spec(spec().tier(keys), "tiers[0].match", "17 keys");
    refused_spec(
        spec().tier(Tier::new().matching("a").matching("b").matching("a")),
        "tiers[0].match[2]",
        "again",
    );
    refused_spec(spec().tier(Tier::new().zone(ZoneRule::Named(Vec::new()))), "tiers[0].zone", "at least 1");
    refused_json(r#"{"policy": "random", "tiers": [{"zone": []}]}"#, "tiers[0].zone", "at least 1");
    refused_json(r#"{"policy": "random", "tiers": [{"tags": {"v": []}}]}"#, "tiers[0].tags.v", "at least 1");
    refused_json(
        r#"{"policy": "random", "tiers": [{"not_tags": {"v": []}}]}"#,
        "tiers[0].not_tags.v",
        "at least 1",
    );
}

#[test]
fn unknown_fields_policies_and_words_are_refused_at_their_place() {
    let tier = |text: &str| format!(r#"{{"policy": "random", "tiers": [{{}}, {text}]}}"#);
    refused_json(&tier(r#"{"zones": "a"}"#), "tiers[1].zones", "zones");
    refused_json(&tier(r#"{"health": "good"}"#), "tiers[1].health", "good");
    refused_json(&tier(r#"{"when_absent": "none"}"#), "tiers[1].when_absent", "none");
    refused_json(&tier(r#"{"when_unavailable": "fail"}"#), "tiers[1].when_unavailable", "fail");
    refused_json(&tier(r#"{"min_available": -1}"#), "tiers[1].min_available", "-1");
    refused_json(&tier(r#"{"match": "version"}"#), "tiers[1].match", "version");
    refused_json(&tier(r#"{"tags": {"v": 1}}"#), "tiers[1].tags.v", "1");
    refused_json(r#"{"policy": "fastest", "tiers": [{}]}"#, "policy", "fastest");
    refused_json(r#"{"policy": {"fastest": {}}, "tiers": [{}]}"#, "policy.fastest", "fastest");
    refused_json(r#"{"policy": {"random": {"speed": 1}}, "tiers": [{}]}"#, "policy.random.speed", "speed");
    refused_json(r#"{"policy": 7, "tiers": [{}]}"#, "policy", "policy");
    refused_json(r#"{"policy": "random", "tiers": [{}], "seed": 1}"#, "seed", "seed");
    refused_json(
        r#"{"policy": "random", "split": [{"percent": 100, "tiers": [{}], "by": "key"}]}"#,
        "split[0].by",
        "by",
    );
    refused_json(
        r#"{"policy": "random", "by": "id", "split": [{"percent": 100, "tiers": [{}]}]}"#,
        "by",
        "id",
    );
    refused_json(r#"{"policy": "random", "split": [{"tiers": [{}]}]}"#, "split[0]", "percent");
    refused_json(r#"{"tiers": [{}]}"#, ".", "policy");
    refused_json(r#"{"policy": "random", "tiers": [{}]} more"#, ".", "trailing");
    refused_json("", ".", "EOF");
    refused_json("[]", ".", "");
}

#[test]
fn a_place_is_never_empty_and_keys_that_look_like_several_steps_are_quoted() {
    refused_json(r#"{"": 1}"#, "[\"\"]", "unknown field");
    refused_json(
        r#"{"policy": "random", "tiers": [{"tags": {"": 1}}]}"#,
        "tiers[0].tags[\"\"]",
        "a value or a list of values",
    );
    refused_json(
        r#"{"policy": "random", "tiers": [{"tags": {"app.kubernetes.io/name": [1]}}]}"#,
        "tiers[0].tags[\"app.kubernetes.io/name\"][0]",
        "a string",
    );
    refused_json(
        r#"{"policy": "random", "tiers": [{"not_tags": {"a.b": []}}]}"#,
        "tiers[0].not_tags[\"a.b\"]",
        "0 values",
    );
}

#[test]
fn the_error_of_an_unknown_policy_lists_those_there_are() {
    let error = RouteSpec::from_json(r#"{"policy": "fastest", "tiers": [{}]}"#).expect_err("unknown");
    for policy in Policy::all() {
        assert!(error.message().contains(policy.name()), "{error}");
    }
}

#[test]
fn every_policy_is_written_by_its_name_or_as_an_object() {
    for policy in Policy::all() {
        let name = policy.name();
        for text in [format!(r#""{name}""#), format!(r#"{{"{name}": {{}}}}"#)] {
            let text = format!(r#"{{"policy": {text}, "tiers": [{{}}]}}"#);
            assert_eq!(RouteSpec::from_json(&text).map(|spec| spec.policy), Ok(policy.clone()));
        }
    }
}

#[test]
fn a_pool_spec_is_checked_like_a_route_spec() {
    for (text, path) in [
        (r#"{"zones": "a"}"#, "zones"),
        (r#"{"load": {"max_age_s": 0}}"#, "load.max_age_s"),
        (r#"{"load": {"max_age_s": -1}}"#, "load.max_age_s"),
        (r#"{"load": {"age": 1}}"#, "load.age"),
        (r#"{"keep_last": "yes"}"#, "keep_last"),
    ] {
        assert_eq!(PoolSpec::from_json(text).expect_err(text).path(), path);
    }
    let spec = PoolSpec::new().load_max_age_s(f64::NAN);
    let error = Pool::with(PoolOptions::new().spec(spec), equal(&["good"])).expect_err("a bad spec");
    assert!(matches!(error, PoolError::Spec(error) if error.path() == "load.max_age_s"));
}
