//! Leases, load-aware policies, ramps and ejection, through the public interface.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pointsman::{
    Ejection, Instance, Lease, Load, NoInstance, Outcome, PeakEwma, Policy, Pool, PoolOptions, PoolSpec,
    PowerOfTwo, Reason, Request, Route, RouteSpec, Tier,
};

const SECOND: u64 = 1_000_000_000;
const PLAIN: Request<'static> = Request::new();

fn pool(spec: PoolSpec, instances: impl IntoIterator<Item = Instance>) -> Pool {
    Pool::with(PoolOptions::new().spec(spec).seed(7), instances).expect("a valid pool")
}

fn route(pool: &Pool, policy: Policy) -> Route {
    pool.route(RouteSpec::new(policy).tier(Tier::new())).expect("a valid route")
}

fn id(lease: &Lease) -> String {
    lease.instance().id.to_string()
}

fn in_flight(route: &Route) -> BTreeMap<String, u32> {
    let state = route.explain(&PLAIN).live;
    state
        .into_iter()
        .filter(|state| state.in_flight > 0)
        .map(|state| (state.id.to_string(), state.in_flight))
        .collect()
}

fn picks(route: &Route, count: usize) -> BTreeMap<String, usize> {
    let mut picker = route.picker_seeded(3);
    let mut counts = BTreeMap::new();
    for _ in 0..count {
        *counts.entry(picker.pick(&PLAIN).expect("an instance").instance().id.to_string()).or_default() += 1;
    }
    counts
}

#[test]
fn a_lease_counts_until_it_ends_by_whatever_way() {
    let pool = pool(PoolSpec::new(), [Instance::new("a")]);
    let route = route(&pool, Policy::LeastRequest);
    let leases: Vec<Lease> = (0..4).map(|_| route.lease(&PLAIN).expect("an instance")).collect();
    assert_eq!(in_flight(&route), BTreeMap::from([("a".into(), 4)]));
    let mut leases = leases.into_iter();
    leases.next().expect("four").done(Outcome::Success, Duration::from_millis(3));
    leases.next().expect("four").done(Outcome::Failure, None);
    leases.next().expect("four").done(Outcome::Cancelled, None);
    assert_eq!(in_flight(&route), BTreeMap::from([("a".into(), 1)]));
    drop(leases);
    assert_eq!(in_flight(&route), BTreeMap::new());
}

#[test]
fn a_lease_and_a_kept_pick_outlive_their_pool_and_the_hook_is_told_when_the_last_is_done() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let options = {
        let told = told.clone();
        PoolOptions::new().release(move |user_data| told.lock().expect("no panic").push(user_data))
    };
    let list = ["a", "b", "c"].iter().zip(1..).map(|(id, user_data)| Instance::new(*id).user_data(user_data));
    let pool = Pool::with(options, list).expect("a good list");
    let route = pool.route(RouteSpec::new(Policy::RoundRobin).tier(Tier::new())).expect("a good spec");
    let lease = route.lease(&PLAIN).expect("an instance");
    let kept = route.pick(&PLAIN).expect("an instance").to_owned();
    drop((pool, route));
    let (leased, picked) = (lease.instance().user_data, kept.instance().user_data);
    let told_of = || told.lock().expect("no panic").clone();
    assert_eq!(told_of(), [6 - leased - picked], "the one that nobody holds");
    lease.done(Outcome::Failure, Duration::from_millis(3));
    assert_eq!(told_of()[1..], [leased]);
    drop((kept.clone(), kept));
    assert_eq!(told_of()[2..], [picked]);
}

#[test]
fn a_hook_that_panics_at_the_end_of_the_pool_leaves_open_leases_to_be_told_of() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let options = {
        let told = told.clone();
        PoolOptions::new().release(move |user_data| {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(user_data);
            assert!(user_data != 1, "the hook's own fault");
        })
    };
    let list = [Instance::new("a").user_data(1), Instance::new("b").user_data(2)];
    let pool = Pool::with(options, list).expect("a good list");
    let route = pool.route(RouteSpec::new(Policy::RoundRobin).tier(Tier::new())).expect("a good spec");
    let lease = route.lease(&Request::new().exclude(&["a"])).expect("an instance");
    let end = AssertUnwindSafe(move || drop((pool, route)));
    assert!(catch_unwind(end).is_err(), "the panic reaches who let go of the pool");
    let told_of = || told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(told_of(), [1]);
    lease.done(Outcome::Success, None);
    assert_eq!(told_of(), [1, 2]);
}

#[test]
fn a_lease_outlives_its_instance_and_never_touches_its_successor() {
    let pool = pool(PoolSpec::new(), [Instance::new("a").user_data(1)]);
    let route = route(&pool, Policy::LeastRequest);
    let old = route.lease(&PLAIN).expect("an instance");
    pool.replace([Instance::new("b")]).expect("accepted");
    pool.replace([Instance::new("a").user_data(2)]).expect("accepted");
    let new = route.lease(&PLAIN).expect("an instance");
    assert_eq!((old.instance().user_data, new.instance().user_data), (1, 2));
    assert_eq!(in_flight(&route), BTreeMap::from([("a".into(), 1)]));
    old.done(Outcome::Success, None);
    assert_eq!(
        in_flight(&route),
        BTreeMap::from([("a".into(), 1)]),
        "the returned id has a count of its own"
    );
    drop(new);
    assert_eq!(in_flight(&route), BTreeMap::new());
}

#[test]
fn counts_survive_updates_of_the_instance() {
    let pool = pool(PoolSpec::new(), [Instance::new("a"), Instance::new("b")]);
    let route = route(&pool, Policy::LeastRequest);
    let lease = route.lease(&PLAIN).expect("an instance");
    let leased = id(&lease);
    pool.edit(|edit| edit.set_weight(&leased, 5.0)).expect("accepted");
    pool.replace([Instance::new("b").zone("z"), Instance::new("a").tag("k", "v")]).expect("accepted");
    assert_eq!(in_flight(&route), BTreeMap::from([(leased, 1)]));
}

#[test]
fn the_lowest_in_flight_over_weight_is_taken() {
    let pool = pool(PoolSpec::new(), [Instance::new("a").weight(2.0), Instance::new("b")]);
    let least = route(&pool, Policy::LeastRequest);
    let strict = |only: &str| {
        let other = if only == "a" { "b" } else { "a" };
        least.lease(&Request::new().exclude(&[other])).expect("an instance")
    };
    let held: Vec<Lease> = (0..10).map(|_| strict("a")).collect();
    assert_eq!(picks(&least, 1_000), BTreeMap::from([("b".into(), 1_000)]), "10 / 2 against 0 / 1");
    drop(held);
    let shares = picks(&least, 9_000);
    assert!((5_800..6_200).contains(&shares["a"]), "idle ones by weight: {shares:?}");
}

#[test]
fn idle_instances_share_equally() {
    let pool = pool(PoolSpec::new(), ["a", "b", "c", "d", "e"].map(Instance::new));
    for policy in
        [Policy::LeastRequest, Policy::PowerOfTwo(PowerOfTwo::new()), Policy::PeakEwma(PeakEwma::new())]
    {
        let counts = picks(&route(&pool, policy.clone()), 1_000);
        assert_eq!(counts.len(), 5);
        assert!(counts.values().all(|count| (149..=251).contains(count)), "{policy:?}: {counts:?}");
    }
}

#[test]
fn equal_loads_come_without_runs() {
    let pool = pool(PoolSpec::new(), [Instance::new("a").weight(50.0), Instance::new("b").weight(50.0)]);
    let route = route(&pool, Policy::LeastRequest);
    let mut picker = route.picker_seeded(11);
    let (mut longest, mut run, mut last) = (0, 0, usize::MAX);
    for _ in 0..1_000 {
        let index = picker.pick(&PLAIN).expect("an instance").index();
        run = if index == last { run + 1 } else { 1 };
        (longest, last) = (longest.max(run), index);
    }
    assert!(longest < 20, "a run of {longest}");
}

#[test]
fn the_worst_of_the_candidates_never_wins() {
    let options = PowerOfTwo::new().load(Load::Reported);
    for loads in [&[0.0, 100.0][..], &[0.0, 1.0, 100.0]] {
        let pool = pool(
            PoolSpec::new(),
            loads.iter().enumerate().map(|(at, load)| Instance::new(format!("i{at}")).load(*load)),
        );
        let counts = picks(&route(&pool, Policy::PowerOfTwo(options.clone())), 10_000);
        assert!(!counts.contains_key(&format!("i{}", loads.len() - 1)), "{counts:?}");
    }
}

#[test]
fn candidates_are_drawn_by_weight() {
    let weights = [("a", 0.99), ("b", 0.005), ("c", 0.005)];
    let pool = pool(PoolSpec::new(), weights.map(|(id, weight)| Instance::new(id).weight(weight)));
    let counts = picks(&route(&pool, Policy::PowerOfTwo(PowerOfTwo::new())), 10_000);
    assert!(counts["a"].abs_diff(9_900) <= 40 && counts["b"].abs_diff(50) <= 28, "{counts:?}");
}

#[test]
fn small_candidate_sets_are_no_trouble() {
    let pool = pool(PoolSpec::new(), [Instance::new("a"), Instance::new("b").healthy(false)]);
    for policy in [
        Policy::PowerOfTwo(PowerOfTwo::new().choices(8)),
        Policy::PeakEwma(PeakEwma::new()),
        Policy::LeastRequest,
    ] {
        let route = route(&pool, policy);
        assert_eq!(&*route.pick(&PLAIN).expect("one is up").instance().id, "a");
        let refused = route.pick(&Request::new().exclude(&["a"])).expect_err("nobody is left");
        assert_eq!(refused.reason, Reason::Excluded);
    }
    pool.replace([]).expect("an empty list is a list");
    let route = route(&pool, Policy::PowerOfTwo(PowerOfTwo::new()));
    assert_eq!(route.pick(&PLAIN).expect_err("nobody").reason, Reason::Empty);
}

#[test]
fn an_instance_that_fails_fast_ranks_last() {
    let pool = pool(PoolSpec::new(), ["a", "b", "c"].map(Instance::new));
    let route = route(&pool, Policy::PeakEwma(PeakEwma::new().choices(3)));
    for (id, outcome, millis) in
        [("a", Outcome::Failure, 1), ("b", Outcome::Success, 100), ("c", Outcome::Success, 100)]
    {
        let others: Vec<&str> = ["a", "b", "c"].into_iter().filter(|other| *other != id).collect();
        for _ in 0..5 {
            let lease = route.lease(&Request::new().exclude(&others)).expect("an instance");
            lease.done(outcome, Duration::from_millis(millis));
        }
    }
    assert!(!picks(&route, 1_000).contains_key("a"));
    assert_ne!(&*route.pick(&Request::new().exclude(&["b"])).expect("one").instance().id, "a");
}

#[test]
fn a_failure_counts_as_slow_also_before_any_success() {
    let pool = pool(PoolSpec::new(), ["a", "b"].map(Instance::new));
    let route = route(&pool, Policy::PeakEwma(PeakEwma::new()));
    for (other, outcome) in [("b", Outcome::Failure), ("a", Outcome::Success)] {
        let lease = route.lease(&Request::new().exclude(&[other])).expect("an instance");
        lease.done(outcome, Duration::from_millis(100));
    }
    assert_eq!(picks(&route, 100), BTreeMap::from([("b".into(), 100)]));
}

#[test]
fn the_faster_of_two_idle_instances_is_taken() {
    let pool = pool(PoolSpec::new(), ["a", "b"].map(Instance::new));
    let route = route(&pool, Policy::PeakEwma(PeakEwma::new()));
    for (other, millis) in [("b", 10), ("a", 1_000)] {
        let lease = route.lease(&Request::new().exclude(&[other])).expect("an instance");
        lease.done(Outcome::Success, Duration::from_millis(millis));
    }
    assert_eq!(picks(&route, 1_000), BTreeMap::from([("a".into(), 1_000)]));
}

#[test]
fn a_new_instance_without_a_load_is_not_flooded() {
    let pool = pool(PoolSpec::new(), [Instance::new("a").load(50.0), Instance::new("b").load(30.0)]);
    let route = route(&pool, Policy::LeastLoad);
    pool.replace([Instance::new("a"), Instance::new("b"), Instance::new("c")]).expect("accepted");
    assert_eq!(
        picks(&route, 1_000),
        BTreeMap::from([("b".into(), 1_000)]),
        "the reports survived, c counts as 40"
    );
}

#[test]
fn a_report_grows_old() {
    let pool = pool(PoolSpec::new().load_max_age_s(30.0), ["a", "b"].map(Instance::new));
    let route = route(&pool, Policy::LeastLoad);
    pool.report_load_at("a", 1.0, SECOND).expect("in the pool");
    pool.report_load_at("b", 9.0, 20 * SECOND).expect("in the pool");
    assert_eq!(picks(&route, 100), BTreeMap::from([("a".into(), 100)]));
    pool.tick_at(32 * SECOND);
    let counts = picks(&route, 1_000);
    assert!(
        counts["a"] > 400 && counts["b"] > 400,
        "only b's report is left, and a counts as it: {counts:?}"
    );
}

#[test]
fn loads_that_are_no_loads_are_refused_whole() {
    let pool = pool(PoolSpec::new(), ["a", "b"].map(Instance::new));
    for (id, load) in [("a", f64::NAN), ("a", -1.0), ("a", f64::INFINITY), ("nobody", 1.0)] {
        let error = pool.report_loads([("b", 5.0), (id, load)]).expect_err("refused");
        assert_eq!(error.instance(), Some(id));
    }
    assert!(route(&pool, Policy::LeastLoad).explain(&PLAIN).live.is_empty());
}

#[test]
fn a_full_instance_is_passed_over_and_the_reason_says_so() {
    let pool =
        pool(PoolSpec::new(), [Instance::new("a").max_in_flight(2), Instance::new("b").max_in_flight(1)]);
    for policy in Policy::all() {
        let route = route(&pool, policy.clone());
        let mut held: Vec<Lease> = (0..3).map(|_| route.lease(&PLAIN).expect("there is room")).collect();
        let refused: NoInstance = route.lease(&PLAIN).expect_err("all are full");
        assert_eq!(refused.reason, Reason::Saturated, "{policy:?}");
        assert_eq!(route.pick(&PLAIN).expect_err("all are full").reason, Reason::Saturated);
        assert_eq!(
            route.pick(&Request::new().exclude(&["a", "b"])).expect_err("none").reason,
            Reason::Excluded
        );
        let freed = held.pop().expect("three");
        let free = id(&freed);
        drop(freed);
        assert_eq!(id(&route.lease(&PLAIN).expect("one has room")), free);
    }
}

#[test]
fn counts_are_the_open_leases_whatever_threads_do() {
    let pool = pool(PoolSpec::new(), (0..8).map(|at| Instance::new(format!("i{at}"))));
    let route = route(&pool, Policy::PowerOfTwo(PowerOfTwo::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut held = std::collections::VecDeque::new();
                for _ in 0..20_000 {
                    held.push_back(route.lease(&PLAIN).expect("an instance"));
                    if held.len() > 10 {
                        held.pop_front().expect("ten").done(Outcome::Success, Duration::from_micros(50));
                    }
                }
            });
        }
        scope.spawn(|| {
            for round in 0..300 {
                pool.edit(|edit| edit.set_weight(&format!("i{}", round % 8), f64::from(round % 5 + 1)))
                    .expect("accepted");
            }
        });
    });
    assert_eq!(in_flight(&route), BTreeMap::new());
}

#[test]
fn a_new_instance_ramps_from_a_tenth_of_its_weight() {
    let pool = pool(PoolSpec::new().slow_start(10.0, 1.0), ["a", "b"].map(Instance::new));
    let route = route(&pool, Policy::WeightedRandom);
    assert_eq!(route.shares(&PLAIN)[0].share, 0.5, "the first list does not ramp");
    pool.tick_at(0);
    pool.edit(|edit| edit.upsert(Instance::new("c"))).expect("accepted");
    let share = |pool: &Pool| {
        pool.route(RouteSpec::new(Policy::WeightedRandom).tier(Tier::new())).expect("valid").shares(&PLAIN)
    };
    let ramped = |part: f64| part / (2.0 + part);
    assert!((share(&pool)[2].share - ramped(0.1)).abs() < 1e-9);
    let began = pool.tick_at(0).expect("a ramp is under way");
    let version = pool.version();
    pool.tick_at(began + 5 * SECOND);
    let half_way = share(&pool)[2].share;
    assert!(half_way > ramped(0.5) && half_way < ramped(0.8), "{half_way}");
    assert_eq!(pool.version(), version, "a tick is no new list");
    pool.tick_at(20 * SECOND);
    assert!((share(&pool)[2].share - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(pool.tick_at(20 * SECOND), None, "nothing is left to do");
}

#[test]
fn a_tick_at_the_time_that_the_last_one_named_does_what_was_due() {
    for (window, aggression) in [(10.0, 1.0), (30.0, 1.0), (7.3, 2.0), (0.001, 0.3), (30.0, 1_000.0)] {
        let mut ejection = Ejection::default();
        ejection.base_ejection_s = 1e-12;
        ejection.interval_s = window / 7.0;
        let pool =
            pool(PoolSpec::new().slow_start(window, aggression).ejection(ejection), [Instance::new("a")]);
        let mut now = 1_000 * SECOND + 496_515_837;
        pool.tick_at(now);
        pool.edit(|edit| edit.upsert(Instance::new("b"))).expect("accepted");
        for _ in 0..200 {
            let next = pool.tick_at(now).expect("the interval is always to come");
            assert!(next > now, "{window} {aggression}: nothing more to do at {now}, and yet {next}");
            now = next;
        }
        let ramps = route(&pool, Policy::Random).explain(&PLAIN).live;
        assert!(ramps.is_empty(), "{window} {aggression}: the ramp is over: {ramps:?}");
    }
}

#[test]
fn a_ramp_is_relative_and_never_empties_a_tier() {
    let pool = pool(PoolSpec::new().slow_start(100.0, 1.0), []);
    pool.replace(["a", "b", "c"].map(Instance::new)).expect("accepted");
    let route = route(&pool, Policy::WeightedRandom);
    let shares = route.shares(&PLAIN);
    assert!(shares.iter().all(|share| (share.share - 1.0 / 3.0).abs() < 1e-9), "{shares:?}");
    pool.replace([Instance::new("a")]).expect("accepted");
    assert_eq!(picks(&route, 100), BTreeMap::from([("a".into(), 100)]));
}

#[test]
fn shares_of_instances_that_all_ramp_are_as_their_ramps() {
    let pool = pool(PoolSpec::new().slow_start(100.0, 1.0), [Instance::new("a")]);
    pool.tick_at(0);
    let new = |id: &str, weight: f64| Instance::new(id).weight(weight).tag("version", "new");
    pool.edit(|edit| edit.upsert(new("b", 1.0))).expect("accepted");
    pool.tick_at(60 * SECOND);
    pool.edit(|edit| edit.upsert(new("c", 4.0))).expect("accepted");
    pool.tick_at(61 * SECOND);
    let spec = RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().tag("version", "new"));
    let route = pool.route(spec).expect("a good spec");
    let ramps: Vec<f64> = route.explain(&PLAIN).live.iter().map(|state| state.ramp).collect();
    assert!(ramps.len() == 2 && ramps[1] < ramps[0] && ramps[0] < 0.9, "{ramps:?}");
    let shares = route.shares(&PLAIN);
    let expected = ramps[0] / (ramps[0] + 4.0 * ramps[1]);
    assert!((shares[0].share - expected).abs() < 1e-9, "{shares:?} by {ramps:?}");
}

#[test]
fn instances_that_ramp_alike_keep_their_weights_among_each_other() {
    let pool = pool(PoolSpec::new().slow_start(70.0, 1.0), [Instance::new("a")]);
    pool.tick_at(0);
    let new = |id: &str, weight: f64| Instance::new(id).weight(weight).tag("version", "new");
    pool.replace([Instance::new("a"), new("b", 2.0), new("c", 1.0)]).expect("accepted");
    pool.tick_at(37 * SECOND);
    let spec = RouteSpec::new(Policy::WeightedRoundRobin).tier(Tier::new().tag("version", "new"));
    let told = pool.route(spec).expect("a good spec").explain(&PLAIN);
    assert!(told.live.len() == 2 && told.live.iter().all(|state| state.ramp < 0.9), "{told:?}");
    // By decimal weights, an exact cycle.
    assert_eq!(told.branches[0].tiers[0].rotation, Some("exact"));
}

#[test]
fn a_weight_that_was_tiny_is_not_starved_when_it_grows() {
    let pool = pool(PoolSpec::new(), ["a", "b"].map(Instance::new));
    let route = route(&pool, Policy::WeightedRoundRobin);
    pool.edit(|edit| edit.upsert(Instance::new("c").weight(1.0 / 300_000.0))).expect("accepted");
    let mut picker = route.picker_seeded(1);
    (0..100).for_each(|_| assert!(picker.pick(&PLAIN).is_ok()));
    pool.edit(|edit| edit.set_weight("c", 1.0)).expect("accepted");
    let counts = (0..300).filter(|_| picker.pick(&PLAIN).expect("an instance").index() == 2).count();
    assert!(counts.abs_diff(100) <= 1, "{counts}");
}

fn fail(route: &Route, id: &str, ids: &[&str], times: usize, now: u64) {
    let others: Vec<&str> = ids.iter().copied().filter(|other| *other != id).collect();
    for _ in 0..times {
        route.lease(&Request::new().exclude(&others)).expect("it is up").done_at(Outcome::Failure, None, now);
    }
}

#[test]
fn consecutive_failures_eject_for_a_time_that_grows() {
    let ids = ["a", "b", "c", "d"];
    let pool = pool(PoolSpec::new().ejection(Ejection::default()), ids.map(Instance::new));
    let route = route(&pool, Policy::WeightedRandom);
    fail(&route, "a", &ids, 4, SECOND);
    assert!(!pool.tick_due());
    fail(&route, "a", &ids, 1, SECOND);
    assert!(pool.tick_due(), "the fifth reaches the limit");
    assert!(picks(&route, 100).contains_key("a"), "only a tick ejects");
    pool.tick_at(SECOND);
    assert!(!pool.tick_due() && !picks(&route, 1_000).contains_key("a"));
    let status = pool.status();
    assert_eq!(
        (status.ejected.len(), &*status.ejected[0].id, status.ejected[0].reason),
        (1, "a", "consecutive_failures")
    );
    pool.tick_at(30 * SECOND);
    assert!(!picks(&route, 1_000).contains_key("a"), "30 s are not over");
    pool.tick_at(31 * SECOND);
    assert!(picks(&route, 1_000).contains_key("a"));
    fail(&route, "a", &ids, 5, 32 * SECOND);
    pool.tick_at(32 * SECOND);
    pool.tick_at(91 * SECOND);
    assert!(!picks(&route, 1_000).contains_key("a"), "the second time lasts 60 s");
    pool.tick_at(92 * SECOND);
    assert!(picks(&route, 1_000).contains_key("a"));
}

#[test]
fn no_more_than_the_share_is_ejected_but_always_one() {
    let ids = ["a", "b", "c", "d"];
    let pool = pool(PoolSpec::new().ejection(Ejection::default()), ids.map(Instance::new));
    let route = route(&pool, Policy::WeightedRandom);
    for id in ids {
        fail(&route, id, &ids, 5, SECOND);
    }
    pool.tick_at(SECOND);
    assert_eq!(pool.status().ejected.len(), 1);
    assert_eq!(picks(&route, 1_000).len(), 3);
}

#[test]
fn an_ejected_instance_serves_where_health_is_not_looked_at() {
    let pool = pool(PoolSpec::new().ejection(Ejection::default()), [Instance::new("a")]);
    let spec = r#"{"policy": "random", "tiers": [{}, {"name": "panic", "health": "any"}]}"#;
    let route = pool.route(RouteSpec::from_json(spec).expect("valid")).expect("valid");
    (0..5).for_each(|_| route.lease(&PLAIN).expect("it is up").done_at(Outcome::Failure, None, 0));
    pool.tick_at(0);
    assert_eq!(route.pick(&PLAIN).expect("the last tier takes it").tier_name(), "panic");
}

#[test]
fn a_high_share_of_failures_ejects_at_the_end_of_the_interval() {
    let ids = ["a", "b", "c", "d", "e"];
    let mut ejection = Ejection::default();
    ejection.consecutive_failures = None;
    let pool = pool(PoolSpec::new().ejection(ejection), ids.map(Instance::new));
    let route = route(&pool, Policy::WeightedRandom);
    for id in ids {
        let others: Vec<&str> = ids.iter().copied().filter(|other| *other != id).collect();
        for at in 0..60 {
            let outcome = if id == "a" && at % 10 != 0 { Outcome::Failure } else { Outcome::Success };
            route.lease(&Request::new().exclude(&others)).expect("it is up").done_at(outcome, None, SECOND);
        }
    }
    pool.tick_at(9 * SECOND);
    assert!(pool.status().ejected.is_empty(), "the interval is not over");
    pool.tick_at(10 * SECOND);
    let ejected = pool.status().ejected;
    assert_eq!((ejected.len(), &*ejected[0].id, ejected[0].reason), (1, "a", "failure_percentage"));
}

#[test]
fn a_clock_that_steps_back_is_no_trouble() {
    let pool = pool(
        PoolSpec::new().ejection(Ejection::default()).slow_start(10.0, 1.0),
        ["a", "b"].map(Instance::new),
    );
    let route = route(&pool, Policy::PeakEwma(PeakEwma::new()));
    for now in [5 * SECOND, 0, 9 * SECOND, SECOND, u64::MAX, 0] {
        route.lease(&PLAIN).expect("an instance").done_at(Outcome::Success, Duration::from_millis(1), now);
        pool.tick_at(now);
    }
    assert_eq!(in_flight(&route), BTreeMap::new());
}
