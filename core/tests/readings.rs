//! What handles tell of themselves, and in which words.

use pointsman::{
    Branch, Instance, NoInstance, OnUnavailable, Picked, Policy, Pool, PoolOptions, PoolSpec, PowerOfTwo,
    Reason, Request, RouteSpec, Tier,
};

fn pool() -> Pool {
    let of = |id: &str, version: &str| Instance::new(id).tag("version", version);
    Pool::new([of("a", "stable"), of("b", "gray"), of("c", "stable")]).expect("a good list")
}

#[test]
fn counters_tell_tiers_by_name_or_number_and_refusals_by_reason() {
    let pool = pool();
    let spec = RouteSpec::new(Policy::RoundRobin)
        .tier(Tier::new().name("same").matching("version"))
        .tier(Tier::new().tag("version", "stable"))
        .counters(true);
    let route = pool.route(spec).expect("a good spec");
    for tags in [&[("version", "gray")][..], &[("version", "none")], &[("version", "none")]] {
        route.pick(&Request::new().tags(tags)).expect("an instance");
    }
    let all = ["a", "b", "c"];
    let relaxed = route.pick(&Request::new().exclude(&all).relax(true)).map(|pick| pick.relaxed());
    assert_eq!(relaxed, Ok(true));
    let refused = route.pick(&Request::new().exclude(&all)).map(|_| ()).expect_err("all are excluded");
    assert_eq!(refused.reason, Reason::Excluded);

    let counters = route.counters().expect("the spec asks for them");
    let tiers: Vec<_> = counters.tiers.iter().map(|tier| (&*tier.branch, &*tier.tier)).collect();
    assert_eq!(tiers, [("", "same"), ("", "1")]);
    assert_eq!(counters.tiers.iter().map(|tier| tier.picks).sum::<u64>(), 4);
    assert_eq!(counters.tiers[1].picks, 2, "those that asked for what nobody has");
    assert_eq!(counters.relaxed, 1);
    let reasons: u64 = counters.refused.values().sum();
    assert_eq!((counters.refused["excluded"], reasons), (1, 1));
    assert_eq!(counters.refused.len(), Reason::ALL.len(), "those that never occurred are there too");

    let silent = pool.route(RouteSpec::new(Policy::Random).tier(Tier::new())).expect("a good spec");
    assert!(silent.counters().is_none());
}

#[test]
fn counters_of_a_split_tell_the_branch_by_name_or_number() {
    let pool = pool();
    let stable = || Tier::new().tag("version", "stable");
    let spec = RouteSpec::new(Policy::WeightedRandom)
        .branch(Branch::new("new", 25.0).tier(Tier::new().tag("version", "gray")))
        .branch(Branch::new("", 75.0).tier(stable()).tier(Tier::new()))
        .counters(true);
    let route = pool.route(spec).expect("a good spec");
    let branches: Vec<usize> =
        (0..400).map(|_| route.pick(&Request::new()).expect("an instance").branch()).collect();
    let of = |branch| branches.iter().filter(|picked| **picked == branch).count() as u64;
    let counters = route.counters().expect("the spec asks for them");
    let tiers: Vec<_> = counters.tiers.iter().map(|tier| (&*tier.branch, &*tier.tier, tier.picks)).collect();
    assert_eq!(tiers, [("new", "0", of(0)), ("1", "0", of(1)), ("1", "1", 0)]);
    assert!(of(0) > 50 && of(1) > 200, "{tiers:?}");
}

#[test]
fn refusals_say_in_words_how_far_they_came() {
    let pool = pool();
    let route = pool
        .route(RouteSpec::new(Policy::Random).tier(Tier::new().tag("version", "stable")))
        .expect("a good spec");
    let words =
        |request: &Request<'_>| route.pick(request).map(|_| ()).map_err(|refused| refused.to_string());
    let none = "no instance: no instance matches (tier 0)";
    assert_eq!(words(&Request::new().require(&[("version", "gray")])), Err(none.into()));
    let excluded = "no instance: every available instance is excluded (tier 0)";
    assert_eq!(words(&Request::new().exclude(&["a", "c"])), Err(excluded.into()));
    let texts: std::collections::BTreeSet<String> = Reason::ALL.iter().map(Reason::to_string).collect();
    assert_eq!(texts.len(), Reason::ALL.len(), "each reason has words of its own");
    pool.replace([]).expect("an empty list is a list");
    assert!(pool.is_empty());
    assert_eq!(words(&Request::default()), Err("no instance: the pool is empty (tier 0)".into()));
    let explained = route.explain(&Request::new());
    assert_eq!((explained.reason, explained.instances), (Some(Reason::Empty), 0));
}

#[test]
fn picks_and_handles_tell_where_they_come_from() {
    let spec = PoolSpec::new().zone("z1").latency(2.0, 0.1);
    let options = PoolOptions::new().spec(spec);
    let pool = Pool::with(options, (0..3).map(|at| Instance::new(format!("i{at}")))).expect("a good list");
    assert_eq!((pool.spec().latency.half_life_s, pool.spec().latency.default_s), (2.0, 0.1));
    let route = pool.route(RouteSpec::new(Policy::WeightedRandom).tier(Tier::new())).expect("a good spec");
    let mut picker = route.picker_seeded(1);
    assert_eq!(picker.route().spec(), route.spec());
    let mut out = [Picked::default(); 5];
    let picks = picker.pick_distinct(&Request::new(), &mut out).expect("instances");
    assert!(!picks.is_empty());
    assert_eq!((picks.len(), picks.version()), (3, pool.version()));
    let pick = route.pick(&Request::new()).expect("an instance");
    assert_eq!((pick.picked().index(), pick.picked().tier()), (pick.index(), pick.tier()));
    let kept = pick.to_owned();
    drop(pick);
    assert_eq!(*kept.instance().id, format!("i{}", kept.picked().index()));
    for text in [format!("{pool:?}"), format!("{route:?}"), format!("{picker:?}"), format!("{kept:?}")] {
        assert!(text.len() > 4, "{text}");
    }
    assert!(format!("{kept:?}").contains(&*kept.instance().id));
    let lease = route.lease(&Request::new()).expect("an instance");
    assert!(format!("{lease:?}").contains(&*lease.instance().id));
    let refused: Result<(), NoInstance> = route.pick(&Request::new()).map(|_| ());
    assert_eq!(refused, Ok(()));
}

#[test]
fn pickers_of_two_threads_share_no_cache_line() {
    // Two lines of 64 bytes, as crossbeam's `CachePadded` has it on the processors that fetch lines in pairs.
    assert!(align_of::<pointsman::Picker>() >= 128 && size_of::<pointsman::Picker>() <= 384);
}

/// Half of the requests to gray instances, half to stable ones.
fn halves(policy: Policy) -> RouteSpec {
    let half = |version: &str| Branch::new(version, 50.0).tier(Tier::new().tag("version", version));
    RouteSpec::new(policy).branch(half("gray")).branch(half("stable"))
}

#[test]
fn shares_are_undefined_as_soon_as_one_branch_has_none() {
    let pool = pool();
    let route = pool.route(halves(Policy::PowerOfTwo(PowerOfTwo::default()))).expect("a good spec");
    let told = route.explain(&Request::new());
    let shares: Vec<_> = told.shares.iter().map(|share| (&*share.id, share.share)).collect();
    assert_eq!((told.shares_defined, shares), (true, vec![("a", 0.25), ("b", 0.5), ("c", 0.25)]));
    let stable = pool.route(RouteSpec::new(Policy::RoundRobin).tier(Tier::new().tag("version", "stable")));
    let _lease = stable.expect("a good spec").lease(&Request::new()).expect("an instance");
    let told = route.explain(&Request::new());
    assert_eq!((told.shares_defined, told.shares.len()), (false, 0));
    assert!(told.branches.iter().all(|branch| branch.share == 0.5), "{told:?}");
}

#[test]
fn tiers_are_told_as_excluded_instances_leave_them_unless_all_requests_have_to_take_those() {
    let route = pool().route(halves(Policy::Random)).expect("a good spec");
    let told = |exclude: &[&str]| {
        let told = route.explain(&Request::new().exclude(exclude).relax(true));
        let eligible: Vec<_> = told.branches.iter().map(|branch| branch.tiers[0].eligible).collect();
        (told.relaxed, eligible, told.shares.iter().map(|share| share.share).sum::<f64>())
    };
    assert_eq!(told(&["a"]), (false, vec![1, 1], 1.0));
    assert_eq!(told(&["b"]), (true, vec![0, 2], 1.0), "the gray half takes what is excluded");
    assert_eq!(told(&["a", "b", "c"]), (true, vec![1, 2], 1.0));
}

#[test]
fn a_tier_that_is_not_reached_does_not_leave_shares_undefined() {
    let pool = pool();
    let spec =
        RouteSpec::new(Policy::PowerOfTwo(PowerOfTwo::default())).tier(Tier::new().tag("version", "gray"));
    let route = pool.route(spec.tier(Tier::new())).expect("a good spec");
    let stable = pool.route(RouteSpec::new(Policy::RoundRobin).tier(Tier::new().tag("version", "stable")));
    let _lease = stable.expect("a good spec").lease(&Request::new()).expect("an instance");
    let told = route.explain(&Request::new());
    assert_eq!((told.shares_defined, told.shares.len()), (true, 1));
    assert!(!route.explain(&Request::new().exclude(&["b"])).shares_defined);
}

#[test]
fn a_tier_that_stops_lets_a_request_pass_whose_requirements_nobody_in_it_meets() {
    let tiers = [Tier::new().tag("version", "gray").when_unavailable(OnUnavailable::Stop), Tier::new()];
    let spec = tiers.into_iter().fold(RouteSpec::new(Policy::Random), RouteSpec::tier);
    let route = pool().route(spec).expect("a good spec");
    let told = |request: &Request<'_>| {
        let told = route.explain(request);
        let tiers = &told.branches[0].tiers;
        (tiers[0].reason, tiers[0].stopped, tiers[1].reached, route.pick(request).is_ok())
    };
    let requires = Request::new().require(&[("version", "stable")]);
    assert_eq!(told(&requires), (Some(Reason::NoMatch), false, true, true));
    assert_eq!(told(&Request::new().exclude(&["b"])), (Some(Reason::Excluded), true, false, false));
}
