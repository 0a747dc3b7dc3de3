//! Conformance vectors: what the engine promises to answer, in files that the suites of every language run. `README.md` says
//! what is promised and how a vector is added.
//!
//! `POINTSMAN_VECTORS=write` fills what is marked with "?" in files whose origin is the engine, and changes nothing else.

mod file;
mod world;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use file::{FORMAT, File, Origin, UNFILLED, read_all};
use pointsman::{Algorithm, Policy, Reason, RouteSpec};
use serde_json::Value;
use world::World;

#[test]
fn the_engine_gives_what_the_vectors_promise() {
    let mut wrong = String::new();
    for (path, text) in read_all() {
        let file = File::parse(&path, &text);
        for case in &file.cases {
            let mut world = World::of(case);
            for (number, step) in case.steps.iter().enumerate() {
                let gave = Value::from(world.run(step));
                if gave != step.gives {
                    let _ = writeln!(
                        wrong,
                        "{}, {:?}, step {number}:\n  promised {}\n  gave     {gave}",
                        path.display(),
                        case.name,
                        step.gives
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn only_what_is_marked_is_written_and_only_where_the_engine_is_the_origin() {
    let write = std::env::var_os("POINTSMAN_VECTORS").is_some_and(|what| what == "write");
    for (path, text) in read_all() {
        let file = File::parse(&path, &text);
        let unfilled = file.cases.iter().flat_map(|case| &case.steps).filter(|step| step.is_unfilled());
        assert_eq!(unfilled.count(), text.matches(UNFILLED).count(), "a mark that is no promise");
        if !text.contains(UNFILLED) {
            continue;
        }
        let is_ours = file.origin() == Origin::Engine;
        assert!(is_ours, "{}: what its origin has to give is marked with \"?\"", path.display());
        assert!(write, "{}: a promise is marked with \"?\"; `make vectors` writes it", path.display());
        std::fs::write(&path, filled(&file, &text)).expect("the vectors can be written");
    }
}

/// The text with each mark replaced by what the engine gives.
fn filled(file: &File, text: &str) -> String {
    let mut parts = text.split(UNFILLED);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for case in &file.cases {
        let mut world = World::of(case);
        for step in &case.steps {
            let gave = world.run(step);
            if step.is_unfilled() {
                let _ = write!(filled, "\"gives\": {gave}");
                filled += parts.next().expect("a part behind every mark");
            }
        }
    }
    filled
}

#[test]
fn the_vectors_cover_every_policy_algorithm_and_reason() {
    let mut missing: BTreeSet<String> = Policy::all().iter().map(|policy| policy.name().to_owned()).collect();
    missing.extend(Reason::ALL.iter().map(|reason| format!("!{}", reason.as_str())));
    missing.extend(["rendezvous", "maglev", "ketama"].map(str::to_owned));
    for (path, text) in read_all() {
        let file = File::parse(&path, &text);
        assert_eq!(file.format, FORMAT, "{}", path.display());
        let mut names = BTreeSet::new();
        for case in &file.cases {
            assert!(names.insert(&case.name), "{}: {:?} twice", path.display(), case.name);
            for spec in &case.routes {
                let spec = RouteSpec::from_json(&spec.to_string()).expect("a good spec");
                missing.remove(spec.policy.name());
                if let Policy::ConsistentHash(options) = spec.policy {
                    missing.remove(match options.algorithm {
                        Algorithm::Rendezvous => "rendezvous",
                        Algorithm::Maglev => "maglev",
                        _ => "ketama",
                    });
                }
            }
            let outcomes = case.steps.iter().filter_map(|step| step.gives.as_array()).flatten();
            for outcome in outcomes.filter_map(Value::as_str) {
                missing.remove(outcome.split('@').next().unwrap_or_default());
            }
        }
    }
    assert!(missing.is_empty(), "no vector has {missing:?}");
}
