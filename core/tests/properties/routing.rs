//! Sequences of updates, routes and requests: the engine gives what the rules give.

use std::collections::BTreeMap;

use pointsman::{
    Explanation, NoInstance, Pick, Picked, Picker, Pool, PoolOptions, PoolSpec, Request, Route, RouteSpec,
    Tags,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::input::{Step, ask, list, spec, steps, zone};
use crate::oracle::pool::{Change, PlainPool};
use crate::oracle::routing::{Ask, Outcome, Outcomes, Question};

/// The engine and the naive pool side by side.
struct World {
    pool: Pool,
    plain: PlainPool,
    routes: Vec<(Route, Picker)>,
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_answer_is_what_the_rules_give(
        first in list(),
        zone in zone(),
        keep_last in any::<bool>(),
        seed in proptest::option::of(any::<u64>()),
        steps in steps(),
    ) {
        let mut options = PoolOptions::new().spec(PoolSpec::new().keep_last(keep_last));
        options.spec.zone.clone_from(&zone);
        options.seed = seed;
        let pool = Pool::with(options, first.clone());
        let plain = PlainPool::new(first, zone, keep_last);
        prop_assert_eq!(pool.is_ok(), plain.is_some());
        if let (Ok(pool), Some(plain)) = (pool, plain) {
            let mut world = World { pool, plain, routes: Vec::new() };
            for step in steps {
                world.step(step)?;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// A route with counters knows no short cuts: what it picks is what the rules come to, number by number.
    #[test]
    fn short_cuts_draw_what_the_long_way_draws(
        first in list(),
        zone in zone(),
        spec in spec(),
        asks in proptest::collection::vec(ask(), 1..6),
        seed in any::<u64>(),
    ) {
        let mut options = PoolOptions::new();
        options.spec.zone = zone;
        if let Ok(pool) = Pool::with(options, first) {
            let [short, long] = [false, true].map(|counters| pool.route(spec.clone().counters(counters)));
            let mut short = short.expect("a good spec").picker_seeded(seed);
            let mut long = long.expect("a good spec").picker_seeded(seed);
            for ask in asks {
                for _ in 0..8 {
                    let picks = with_request(&ask, |request| {
                        [&mut short, &mut long].map(|picker| picker.pick(request).map(|pick| pick.picked()))
                    });
                    prop_assert_eq!(picks[0], picks[1]);
                }
            }
        }
    }
}

impl World {
    fn step(&mut self, step: Step) -> TestCaseResult {
        match step {
            Step::Replace(list) => {
                let done = self.pool.replace(list.clone());
                let plain = self.plain.replace(list);
                self.agree(done.ok(), plain)
            }
            Step::Again => {
                let list = self.pool.instances();
                let before = self.pool.version();
                let done = self.pool.replace(list.clone());
                prop_assert!(done.is_err() || done == Ok(before), "an identical list is no new version");
                let plain = self.plain.replace(list);
                self.agree(done.ok(), plain)
            }
            Step::Edit(changes) => {
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
                self.agree(done.ok(), plain)
            }
            Step::Report(id, load) => {
                prop_assert_eq!(self.pool.report_load(&id, load).is_ok(), self.plain.report(&id, load));
                Ok(())
            }
            Step::AddRoute(spec) => {
                prop_assert_eq!(RouteSpec::from_json(&spec.to_json()), Ok((*spec).clone()));
                match self.pool.route(*spec) {
                    Ok(route) => {
                        let picker = route.picker();
                        self.routes.push((route, picker));
                    }
                    Err(error) => prop_assert!(false, "{error}"),
                }
                prop_assert_eq!(self.pool.version(), self.plain.version, "a route leaves the version");
                Ok(())
            }
            Step::DropRoute(at) => {
                if !self.routes.is_empty() {
                    self.routes.swap_remove(at.index(self.routes.len()));
                }
                prop_assert_eq!(self.pool.status().routes, self.routes.len());
                Ok(())
            }
            Step::Ask(at, ask) => {
                if self.routes.is_empty() {
                    return Ok(());
                }
                let at = at.index(self.routes.len());
                let (route, picker) = &mut self.routes[at];
                with_request(&ask, |request| check(&self.plain, route, picker, &ask, request))
            }
        }
    }

    /// After an update: taken or refused alike, and the same list and version.
    fn agree(&self, version: Option<u64>, plain: bool) -> TestCaseResult {
        prop_assert_eq!(version, plain.then_some(self.plain.version));
        prop_assert_eq!(self.pool.version(), self.plain.version);
        prop_assert_eq!(self.pool.instances(), self.plain.list.clone());
        let status = self.pool.status();
        prop_assert_eq!(status.stale, !plain);
        let usable = |i: &&pointsman::Instance| i.enabled && i.healthy && i.weight > 0.0;
        prop_assert_eq!(status.available, self.plain.list.iter().filter(usable).count());
        Ok(())
    }
}

fn with_request<T>(ask: &Ask, use_it: impl FnOnce(&Request<'_>) -> T) -> T {
    let tags: Vec<(&str, &str)> = ask.tags.iter().map(|(key, value)| (&**key, &**value)).collect();
    let require: Vec<(&str, &str)> = ask.require.iter().map(|(key, value)| (&**key, &**value)).collect();
    let exclude: Vec<&str> = ask.exclude.iter().map(|id| &**id).collect();
    let mut request = Request::new().tags(&tags).require(&require).exclude(&exclude).relax(ask.relax);
    if let Some(prefer) = &ask.prefer {
        request = request.prefer(prefer);
    }
    if let Some(key) = &ask.key {
        request = request.key(key);
    }
    use_it(&request)
}

fn check(
    plain: &PlainPool,
    route: &Route,
    picker: &mut Picker,
    ask: &Ask,
    request: &Request<'_>,
) -> TestCaseResult {
    let question = Question { pool: plain, spec: route.spec(), ask, drawn: &[] };
    let outcomes = question.outcomes();
    check_explanation(&question, &outcomes, &route.explain(request))?;
    for _ in 0..4 {
        check_pick(&question, &outcomes, route.pick(request))?;
        check_pick(&question, &outcomes, picker.pick(request))?;
    }
    let mut out = [Picked::default(); 4];
    let drawn = route.pick_distinct(request, &mut out).map(|picks| picks.picked().to_vec());
    check_distinct(&question, drawn, out.len())?;
    let drawn = picker.pick_distinct(request, &mut out).map(|picks| picks.picked().to_vec());
    check_distinct(&question, drawn, out.len())
}

fn check_explanation(question: &Question<'_>, outcomes: &Outcomes, told: &Explanation) -> TestCaseResult {
    let list = &question.pool.list;
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    for (share, outcome) in outcomes.iter().filter(|(share, _)| *share > 0.0) {
        if let Outcome::Pick { index, .. } = outcome {
            *shares.entry(*index).or_default() += share;
        }
    }
    let expected: Vec<&str> = shares.keys().map(|index| &*list[*index].id).collect();
    let listed: Vec<&str> = told.shares.iter().map(|share| &*share.id).collect();
    prop_assert_eq!(listed, expected, "who has a share, {:?}", told);
    for (told, share) in told.shares.iter().zip(shares.values()) {
        prop_assert!((told.share - share).abs() < 1e-9, "{:?} should be {}", told, share);
    }
    let possible = || outcomes.iter().filter(|(share, _)| *share > 0.0).map(|(_, outcome)| outcome);
    let reasons = possible().filter_map(|outcome| match outcome {
        Outcome::Refused { reason, .. } => Some(*reason),
        Outcome::Pick { .. } => None,
    });
    prop_assert_eq!(told.reason, reasons.max(), "why some find nobody, {:?}", told);
    let relaxed = possible().any(|outcome| matches!(outcome, Outcome::Pick { relaxed: true, .. }));
    prop_assert_eq!(told.relaxed, relaxed, "whether excluded instances are taken, {:?}", told);
    prop_assert_eq!((told.version, told.instances), (question.pool.version, list.len()));
    prop_assert_eq!(told.policy, question.spec.policy.name());
    let tiers = match question.spec.split.is_empty() {
        true => vec![&question.spec.tiers],
        false => question.spec.split.iter().map(|branch| &branch.tiers).collect(),
    };
    let sent = question.first_branches();
    prop_assert_eq!(told.branches.len(), tiers.len());
    for (at, (branch, tiers)) in told.branches.iter().zip(tiers).enumerate() {
        let share = sent.iter().find(|(first, _)| *first == at).map_or(0.0, |(_, share)| *share);
        prop_assert!((branch.share - share).abs() < 1e-9);
        prop_assert_eq!(branch.tiers.len(), tiers.len());
        for (told, tier) in branch.tiers.iter().zip(tiers) {
            let held = question.held(tier, true);
            prop_assert_eq!((told.members, told.available), (held.members.len(), held.available.len()));
        }
    }
    Ok(())
}

fn refused(none: NoInstance) -> Outcome {
    Outcome::Refused { reason: none.reason, tier: none.tier.into(), branch: none.branch.into() }
}

fn picked(picked: Picked) -> Outcome {
    Outcome::Pick {
        index: picked.index(),
        tier: picked.tier(),
        branch: picked.branch(),
        relaxed: picked.relaxed(),
    }
}

fn is_possible(outcomes: &Outcomes, outcome: Outcome) -> TestCaseResult {
    let possible = outcomes.iter().any(|(share, listed)| *share > 0.0 && *listed == outcome);
    prop_assert!(possible, "{:?} is none of {:?}", outcome, outcomes);
    Ok(())
}

fn check_pick(
    question: &Question<'_>,
    outcomes: &Outcomes,
    pick: Result<Pick<'_>, NoInstance>,
) -> TestCaseResult {
    let pick = match pick {
        Ok(pick) => pick,
        Err(none) => return is_possible(outcomes, refused(none)),
    };
    is_possible(outcomes, picked(pick.picked()))?;
    prop_assert_eq!(pick.version(), question.pool.version);
    prop_assert_eq!(pick.instance(), &question.pool.list[pick.index()]);
    let split = &question.spec.split;
    let tiers = split.get(pick.branch()).map_or(&question.spec.tiers, |branch| &branch.tiers);
    prop_assert_eq!(pick.tier_name(), &tiers[pick.tier()].name);
    prop_assert_eq!(pick.branch_name(), split.get(pick.branch()).map_or("", |branch| &branch.name));
    let kept = pick.to_owned();
    prop_assert_eq!((kept.instance(), kept.version()), (pick.instance(), pick.version()));
    Ok(())
}

/// Each as if those before it were excluded; and as many as there are.
fn check_distinct(
    question: &Question<'_>,
    drawn: Result<Vec<Picked>, NoInstance>,
    room: usize,
) -> TestCaseResult {
    let drawn = match drawn {
        Ok(drawn) => drawn,
        Err(none) => return is_possible(&question.outcomes(), refused(none)),
    };
    prop_assert!((1..=room).contains(&drawn.len()));
    let indices: Vec<usize> = drawn.iter().map(|picked| picked.index()).collect();
    for (at, one) in drawn.iter().enumerate() {
        let next = Question { drawn: &indices[..at], ..*question };
        is_possible(&next.outcomes(), picked(*one))?;
    }
    if drawn.len() < room {
        let next = Question { drawn: &indices, ..*question };
        let ends =
            |(share, outcome): &(f64, Outcome)| *share > 0.0 && matches!(outcome, Outcome::Refused { .. });
        prop_assert!(next.outcomes().iter().any(ends), "there are more than {:?}", indices);
    }
    Ok(())
}
