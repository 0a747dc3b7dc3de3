//! A case as it runs.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fmt, io};

use pointsman::{
    Explanation, Lease, NoInstance, Outcome, Picked, Picker, Pool, PoolError, PoolOptions, PoolSpec, Request,
    Route, RouteError, RouteSpec, UpdateError,
};
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Value, json};

use crate::file::{Asked, Case, Change, Described, Step, Verb, pairs};

/// Most different instances that a step asks for.
const ROOM: usize = 16;

pub(crate) struct World {
    pool: Pool,
    routes: Vec<Route>,
    pickers: Vec<Picker>,
    leases: BTreeMap<String, Lease>,
}

/// What a step gave.
pub(crate) enum Gave {
    Nothing,
    Outcomes(Vec<String>),
    Done(Value),
    Explained(Box<Explanation>),
}

impl World {
    pub(crate) fn of(case: &Case) -> Self {
        let mut options = PoolOptions::new();
        if let Some(spec) = &case.pool {
            options = options.spec(PoolSpec::from_json(&spec.to_string()).expect("a good pool spec"));
        }
        if let Some(seed) = case.seed {
            options = options.seed(seed.0);
        }
        let pool = Pool::with(options, case.instances.iter().map(Described::instance)).expect("a good list");
        let route = |spec: &Value| pool.route(RouteSpec::from_json(&spec.to_string()).expect("a good spec"));
        let routes: Vec<Route> = case.routes.iter().map(|spec| route(spec).expect("a good spec")).collect();
        let pickers = case.pickers.iter().map(|of| routes[of.route].picker_seeded(of.seed.0)).collect();
        Self { pool, routes, pickers, leases: BTreeMap::new() }
    }

    pub(crate) fn run(&mut self, step: &Step) -> Gave {
        match step.verb {
            Verb::Pick => self.picks(step),
            Verb::PickDistinct => Gave::Outcomes(self.distinct(step)),
            Verb::Lease => Gave::Outcomes(step.hold.iter().map(|name| self.lease(step, name)).collect()),
            Verb::Done => {
                let name = step.lease.as_deref().expect("a lease");
                let lease = self.leases.remove(name).expect("the lease is open");
                lease.done(outcome(step), step.latency_s.map(Duration::from_secs_f64));
                Gave::Nothing
            }
            Verb::Report => {
                let id = step.id.as_deref().expect("an id");
                let done = self.pool.report_load(id, step.load.expect("a load"));
                Gave::Done(done.map_or_else(|error| refused(&error), |()| json!({})))
            }
            Verb::Edit => updated(self.pool.edit(|edit| {
                step.changes.iter().try_for_each(|change| match change {
                    Change::Upsert(instance) => edit.upsert(instance.instance()),
                    Change::Remove(id) => edit.remove(id),
                    Change::SetWeight(id, weight) => edit.set_weight(id, *weight),
                    Change::SetHealthy(id, healthy) => edit.set_healthy(id, *healthy),
                    Change::SetEnabled(id, enabled) => edit.set_enabled(id, *enabled),
                })
            })),
            Verb::Replace => updated(self.pool.replace(step.instances.iter().map(Described::instance))),
            Verb::Tick => {
                self.pool.tick();
                Gave::Nothing
            }
            Verb::Explain => {
                let route = &self.routes[step.route.expect("a route")];
                Gave::Explained(Box::new(with(&step.request, None, |request| route.explain(request))))
            }
            Verb::Route => {
                let made = RouteSpec::from_json(spec(step)).and_then(|spec| self.pool.route(spec));
                Gave::Done(made.map_or_else(|error| misspelt(&error), |_| json!({})))
            }
            Verb::Pool => {
                let spec = PoolSpec::from_json(spec(step)).map_err(PoolError::from);
                let made = spec.and_then(|spec| Pool::with(PoolOptions::new().spec(spec), []));
                Gave::Done(match made {
                    Ok(_) => json!({}),
                    Err(PoolError::Spec(error)) => misspelt(&error),
                    Err(error) => panic!("{error}"),
                })
            }
        }
    }

    fn picks(&mut self, step: &Step) -> Gave {
        let keys: Vec<Option<&str>> = match &step.keys {
            Some(keys) => keys.iter().map(|key| Some(&**key)).collect(),
            None => vec![step.request.key.as_deref(); step.times.unwrap_or(1)],
        };
        let pick = |key| with(&step.request, key, |request| self.pick(step, request));
        Gave::Outcomes(keys.into_iter().map(pick).collect())
    }

    fn pick(&mut self, step: &Step, request: &Request<'_>) -> String {
        let pick = match hand(step) {
            Hand::Route(at) => self.routes[at].pick(request),
            Hand::Picker(at) => self.pickers[at].pick(request),
        };
        outcome_of(pick.map(|pick| (pick.instance().id.to_string(), pick.picked())))
    }

    fn distinct(&mut self, step: &Step) -> Vec<String> {
        let mut room = [Picked::default(); ROOM];
        let room = &mut room[..step.times.expect("how many")];
        let drawn = with(&step.request, step.request.key.as_deref(), |request| {
            let Hand::Route(at) = hand(step) else { panic!("only routes are asked for several") };
            let picks = self.routes[at].pick_distinct(request, room)?;
            Ok(picks.iter().map(|instance| instance.id.to_string()).collect())
        });
        drawn.unwrap_or_else(|error| vec![outcome_of(Err(error))])
    }

    fn lease(&mut self, step: &Step, name: &str) -> String {
        let lease = with(&step.request, step.request.key.as_deref(), |request| match hand(step) {
            Hand::Route(at) => self.routes[at].lease(request),
            Hand::Picker(at) => self.pickers[at].lease(request),
        });
        let outcome = lease.map(|lease| {
            let found = (lease.instance().id.to_string(), lease.picked());
            assert!(self.leases.insert(name.to_owned(), lease).is_none(), "{name:?} is held already");
            found
        });
        outcome_of(outcome)
    }
}

enum Hand {
    Route(usize),
    Picker(usize),
}

fn hand(step: &Step) -> Hand {
    match (step.route, step.picker) {
        (Some(route), None) => Hand::Route(route),
        (None, Some(picker)) => Hand::Picker(picker),
        _ => panic!("a route or a picker"),
    }
}

fn spec(step: &Step) -> &str {
    step.spec.as_deref().expect("a spec")
}

fn outcome(step: &Step) -> Outcome {
    match step.outcome.as_deref() {
        Some("success") => Outcome::Success,
        Some("failure") => Outcome::Failure,
        Some("cancelled") => Outcome::Cancelled,
        other => panic!("outcome {other:?}"),
    }
}

fn with<T>(asked: &Asked, key: Option<&str>, ask: impl FnOnce(&Request<'_>) -> T) -> T {
    let (tags, require) = (pairs(&asked.tags), pairs(&asked.require));
    let exclude: Vec<&str> = asked.exclude.iter().map(|id| &**id).collect();
    let mut request = Request::new().tags(&tags).require(&require).exclude(&exclude).relax(asked.relax);
    if let Some(id) = &asked.prefer {
        request = request.prefer(id);
    }
    if let Some(key) = key.or(asked.key.as_deref()) {
        request = request.key(key.as_bytes());
    }
    ask(&request)
}

/// `id@branch.tier`, with ` relaxed` behind it where that is so; `!reason@branch.tier` where there is no instance.
fn outcome_of(pick: Result<(String, Picked), NoInstance>) -> String {
    match pick {
        Ok((id, picked)) => {
            let relaxed = if picked.relaxed() { " relaxed" } else { "" };
            format!("{id}@{}.{}{relaxed}", picked.branch(), picked.tier())
        }
        Err(none) => format!("!{}@{}.{}", none.reason.as_str(), none.branch, none.tier),
    }
}

fn updated(version: Result<u64, UpdateError>) -> Gave {
    Gave::Done(version.map_or_else(|error| refused(&error), |version| json!({"version": version})))
}

fn refused(error: &UpdateError) -> Value {
    json!({"error": error.to_string(), "at": error.field()})
}

fn misspelt(error: &RouteError) -> Value {
    json!({"error": error.to_string(), "at": error.path()})
}

/// For comparing. Numbers have gone through text, as those of the files have.
impl From<Gave> for Value {
    fn from(gave: Gave) -> Self {
        match gave {
            Gave::Nothing => Self::Null,
            Gave::Outcomes(outcomes) => outcomes.into(),
            Gave::Done(value) => value,
            Gave::Explained(explanation) => {
                let text = serde_json::to_string(&explanation).expect("an explanation is JSON");
                serde_json::from_str(&text).expect("JSON reads back")
            }
        }
    }
}

/// Begins a line with each element of a list.
struct Elements;

impl Formatter for Elements {
    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        writer.write_all(b"\n           ")
    }
}

/// For the files: at the indentation of a step's fields.
impl fmt::Display for Gave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => panic!("such a step promises nothing"),
            Self::Done(value) => value.fmt(f),
            Self::Explained(explanation) => {
                let mut text = Vec::new();
                let mut out = serde_json::Serializer::with_formatter(&mut text, Elements);
                explanation.serialize(&mut out).expect("an explanation is JSON");
                f.write_str(std::str::from_utf8(&text).expect("JSON is text"))
            }
            Self::Outcomes(outcomes) => {
                f.write_str("[")?;
                let mut width = 20;
                for (at, outcome) in outcomes.iter().enumerate() {
                    let text = Value::from(outcome.as_str()).to_string();
                    let comma = if at > 0 { ", " } else { "" };
                    width += text.len() + comma.len();
                    if width > 118 {
                        width = 11 + text.len();
                        write!(f, ",\n          {text}")?;
                    } else {
                        write!(f, "{comma}{text}")?;
                    }
                }
                f.write_str("]")
            }
        }
    }
}
