//! Sequences of updates, routes and requests: the engine gives what the naive answers of `core/tests/oracle` give.

#![no_main]

#[path = "operations/input.rs"]
mod input;
#[allow(dead_code, reason = "the tests of rotations use the rest")]
#[path = "../../core/tests/oracle/mod.rs"]
mod oracle;

use std::collections::BTreeMap;

use input::{Input, Step};
use libfuzzer_sys::fuzz_target;
use oracle::pool::{Change, PlainPool};
use oracle::routing::{Ask, Outcome, Outcomes, Question};
use pointsman::{
    Explanation, NoInstance, Picked, Picker, Pool, PoolOptions, PoolSpec, Request, Route, RouteSpec, Tags,
};

/// Steps of one input, so that inputs stay fast.
const STEPS: usize = 24;

/// The engine and the naive pool side by side.
struct World {
    pool: Pool,
    plain: PlainPool,
    routes: Vec<(Route, Picker)>,
}

fuzz_target!(|input: Input| {
    let mut options = PoolOptions::new().spec(PoolSpec::new().keep_last(input.keep_last));
    options.spec.zone = input.zone.map(|zone| zone.name().to_owned());
    options.seed = input.seed;
    let list = input::list(&input.first);
    let plain = PlainPool::new(list.clone(), options.spec.zone.clone(), input.keep_last);
    let pool = Pool::with(options, list);
    assert_eq!(pool.is_ok(), plain.is_some());
    let (Ok(pool), Some(plain)) = (pool, plain) else { return };
    let mut world = World { pool, plain, routes: Vec::new() };
    input.steps.iter().take(STEPS).for_each(|step| world.step(step));
});

impl World {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Replace(bodies) => {
                let list = input::list(bodies);
                let done = self.pool.replace(list.clone());
                let plain = self.plain.replace(list);
                self.agree(done.ok(), plain);
            }
            Step::Again => {
                let list = self.pool.instances();
                let done = self.pool.replace(list.clone());
                let plain = self.plain.replace(list);
                self.agree(done.ok(), plain);
            }
            Step::Edit(changes) => {
                let changes: Vec<Change> = changes.iter().take(4).map(input::Changed::change).collect();
                let done = self.pool.edit(|edit| {
                    changes.iter().try_for_each(|change| match change {
                        Change::Upsert(instance) => edit.upsert(instance.clone()),
                        Change::Remove(id) => edit.remove(id),
                        Change::Weight(id, weight) => edit.set_weight(id, *weight),
                        Change::Healthy(id, healthy) => edit.set_healthy(id, *healthy),
                        Change::Enabled(id, enabled) => edit.set_enabled(id, *enabled),
                        Change::Tags(id, tags) => edit.set_tags(id, Tags::from_iter(tags.iter().cloned())),
                        Change::Zone(id, zone) => edit.set_zone(id, zone.as_deref()),
                    })
                });
                let plain = self.plain.edit(&changes);
                self.agree(done.ok(), plain);
            }
            Step::Report(id, load) => {
                let done = self.pool.report_load(id.name(), f64::from(*load));
                assert_eq!(done.is_ok(), self.plain.report(id.name(), f64::from(*load)));
            }
            Step::AddRoute(spec, seed) => {
                let spec: RouteSpec = spec.spec();
                let route = self.pool.route(spec).expect("a good spec");
                let picker = route.picker_seeded(*seed);
                self.routes.push((route, picker));
            }
            Step::DropRoute(at) => {
                if !self.routes.is_empty() {
                    let at = usize::from(*at) % self.routes.len();
                    drop(self.routes.swap_remove(at));
                }
                assert_eq!(self.pool.status().routes, self.routes.len());
            }
            Step::Ask(at, ask) => {
                if !self.routes.is_empty() {
                    let at = usize::from(*at) % self.routes.len();
                    let (route, picker) = &mut self.routes[at];
                    look(&self.plain, route, picker, &ask.ask());
                }
            }
        }
    }

    /// After an update: taken or refused alike, and the same list and version.
    fn agree(&self, version: Option<u64>, plain: bool) {
        assert_eq!(version, plain.then_some(self.plain.version));
        assert_eq!(self.pool.version(), self.plain.version);
        assert_eq!(self.pool.instances(), self.plain.list);
        assert_eq!(self.pool.status().stale, !plain);
    }
}

fn pairs(owned: &[(String, String)]) -> Vec<(&str, &str)> {
    owned.iter().map(|(key, value)| (&**key, &**value)).collect()
}

fn look(plain: &PlainPool, route: &Route, picker: &mut Picker, ask: &Ask) {
    let (tags, require) = (pairs(&ask.tags), pairs(&ask.require));
    let exclude: Vec<&str> = ask.exclude.iter().map(|id| &**id).collect();
    let mut request = Request::new().tags(&tags).require(&require).exclude(&exclude).relax(ask.relax);
    if let Some(prefer) = &ask.prefer {
        request = request.prefer(prefer);
    }
    if let Some(key) = &ask.key {
        request = request.key(key);
    }
    let question = Question { pool: plain, spec: route.spec(), ask, drawn: &[] };
    let outcomes = question.outcomes();
    is_explained(&question, &outcomes, &route.explain(&request));
    for _ in 0..3 {
        for pick in [route.pick(&request), picker.pick(&request)] {
            let found = pick.map(|pick| {
                assert_eq!(pick.version(), plain.version);
                assert_eq!(pick.instance(), &plain.list[pick.index()]);
                pick.picked()
            });
            is_possible(&outcomes, outcome(found));
        }
    }
    let mut room = [Picked::default(); 4];
    let drawn = route.pick_distinct(&request, &mut room).map(|picks| picks.picked().to_vec());
    are_distinct(&question, drawn, room.len());
    let drawn = picker.pick_distinct(&request, &mut room).map(|picks| picks.picked().to_vec());
    are_distinct(&question, drawn, room.len());
}

fn outcome(found: Result<Picked, NoInstance>) -> Outcome {
    match found {
        Ok(picked) => Outcome::Pick {
            index: picked.index(),
            tier: picked.tier(),
            branch: picked.branch(),
            relaxed: picked.relaxed(),
        },
        Err(none) => {
            Outcome::Refused { reason: none.reason, tier: none.tier.into(), branch: none.branch.into() }
        }
    }
}

fn is_possible(outcomes: &Outcomes, outcome: Outcome) {
    let possible = outcomes.iter().any(|(share, listed)| *share > 0.0 && *listed == outcome);
    assert!(possible, "{outcome:?} is none of {outcomes:?}");
}

fn is_explained(question: &Question<'_>, outcomes: &Outcomes, told: &Explanation) {
    let list = &question.pool.list;
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    let mut reason = None;
    for (share, outcome) in outcomes.iter().filter(|(share, _)| *share > 0.0) {
        match outcome {
            Outcome::Pick { index, .. } => *shares.entry(*index).or_default() += share,
            Outcome::Refused { reason: why, .. } => reason = reason.max(Some(*why)),
        }
    }
    assert_eq!(told.reason, reason, "{told:?}");
    assert_eq!((told.version, told.instances), (question.pool.version, list.len()));
    assert_eq!(told.shares.len(), shares.len(), "{told:?} is not {shares:?}");
    for (told, (index, share)) in told.shares.iter().zip(&shares) {
        assert_eq!(told.id, list[*index].id);
        assert!((told.share - share).abs() < 1e-9, "{told:?} should be {share}");
    }
}

/// Each as if those before it were excluded; and as many as there are.
fn are_distinct(question: &Question<'_>, drawn: Result<Vec<Picked>, NoInstance>, room: usize) {
    let drawn = match drawn {
        Ok(drawn) => drawn,
        Err(none) => return is_possible(&question.outcomes(), outcome(Err(none))),
    };
    assert!((1..=room).contains(&drawn.len()));
    let indices: Vec<usize> = drawn.iter().map(|picked| picked.index()).collect();
    for (at, one) in drawn.iter().enumerate() {
        let next = Question { drawn: &indices[..at], ..*question };
        is_possible(&next.outcomes(), outcome(Ok(*one)));
    }
    if drawn.len() < room {
        let next = Question { drawn: &indices, ..*question };
        let ends =
            |(share, outcome): &(f64, Outcome)| *share > 0.0 && matches!(outcome, Outcome::Refused { .. });
        assert!(next.outcomes().iter().any(ends), "there are more than {indices:?}");
    }
}
