//! What is picked agrees with the shares that are told, to the last pick of a million.

use pointsman::{Branch, Health, Instance, Policy, Pool, Reason, Request, RouteSpec, SplitBy, Tier};

use crate::common::{Hand, PLAIN, dense, plain_route, policies, seeded, weighted};
use crate::harness::{chi_square, never};

/// Picks of each kind.
pub(crate) const PICKS: usize = 1_000_000;

/// Picks where kinds are combined.
pub(crate) const FEWER: usize = 100_000;

/// Instances of every state and of weights that add up to 100 where they may be picked; tags and zones mixed.
pub(crate) fn instances() -> Vec<Instance> {
    let mut list = Vec::new();
    for (at, weight) in [20.0, 1.0, 9.0, 30.0, 5.0, 5.0, 12.0, 18.0].into_iter().enumerate() {
        let version = if at % 2 == 0 { "stable" } else { "gray" };
        let rack = ["r1", "r2", "r3"][at % 3];
        let load = [3.0, 1.0, 1.0, 2.0, 1.0, 9.0, 1.0, 4.0][at];
        let instance = Instance::new(format!("up-{at}")).weight(weight).load(load);
        list.push(instance.tag("version", version).tag("rack", rack));
        let state = Instance::new(format!("out-{at}")).weight(weight).load(0.5);
        let state = state.tag("version", version).tag("rack", rack);
        list.push(match at % 3 {
            0 => state.weight(0.0),
            1 => state.enabled(false),
            _ => state.healthy(false),
        });
    }
    list
}

/// The same with weights whose ratios are no small integers.
pub(crate) fn golden_instances() -> Vec<Instance> {
    let change = |(at, instance): (usize, Instance)| {
        let weight = instance.weight * (1.0 + (at as f64 + 1.0).sqrt() / 7.0);
        instance.weight(weight)
    };
    instances().into_iter().enumerate().map(change).collect()
}

/// A way to ask: the route's tiers, and the request.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) spec: fn(Policy) -> RouteSpec,
    pub(crate) request: Request<'static>,
    /// Whether one set answers every request in turn, so that a rotation is exact.
    pub(crate) in_turn: bool,
    pub(crate) combined: bool,
}

fn one_tier(policy: Policy) -> RouteSpec {
    RouteSpec::new(policy).tier(Tier::new())
}

fn matched(policy: Policy) -> RouteSpec {
    RouteSpec::new(policy).tier(Tier::new().matching("version")).tier(Tier::new())
}

fn split(policy: Policy) -> RouteSpec {
    RouteSpec::new(policy)
        .branch(Branch::new("gray", 12.5).tier(Tier::new().tag("version", "gray")))
        .branch(Branch::new("stable", 87.5).tier(Tier::new().tag("version", "stable")))
}

fn overflow(policy: Policy) -> RouteSpec {
    RouteSpec::new(policy)
        .tier(Tier::new().tag("version", "gray").overflow(1.2))
        .tier(Tier::new().tag("rack", "r1"))
}

fn two_values(policy: Policy) -> RouteSpec {
    RouteSpec::new(policy).tier(Tier::new().matching("version").matching("rack"))
}

pub(crate) const SHAPES: [Shape; 10] = [
    Shape { name: "plain", spec: one_tier, request: PLAIN, in_turn: true, combined: false },
    Shape {
        name: "tags",
        spec: matched,
        request: PLAIN.tags(&[("version", "gray")]),
        in_turn: true,
        combined: false,
    },
    Shape {
        name: "part of the tags",
        spec: two_values,
        request: PLAIN.tags(&[("version", "gray")]),
        in_turn: false,
        combined: true,
    },
    Shape {
        name: "exclusions",
        spec: one_tier,
        request: PLAIN.exclude(&["up-3", "nobody", "up-1", "up-3"]),
        in_turn: false,
        combined: false,
    },
    Shape {
        name: "a dense requirement",
        spec: one_tier,
        request: PLAIN.require(&[("version", "stable")]),
        in_turn: false,
        combined: false,
    },
    Shape {
        name: "a rare requirement, with tags and an exclusion",
        spec: matched,
        request: PLAIN
            .tags(&[("version", "gray")])
            .require(&[("rack", "r1"), ("rack", "r3")])
            .exclude(&["up-3"]),
        in_turn: false,
        combined: true,
    },
    Shape { name: "a split", spec: split, request: PLAIN, in_turn: false, combined: false },
    Shape {
        name: "a split, with an exclusion",
        spec: split,
        request: PLAIN.exclude(&["up-0"]),
        in_turn: false,
        combined: true,
    },
    Shape { name: "overflow", spec: overflow, request: PLAIN, in_turn: false, combined: false },
    Shape {
        name: "overflow, with a requirement",
        spec: overflow,
        request: PLAIN.require(&[("version", "gray")]),
        in_turn: false,
        combined: true,
    },
];

pub(crate) fn counts(hand: &mut Hand, request: &Request<'_>, n: usize, picks: usize) -> Vec<u64> {
    let mut counts = vec![0_u64; n];
    for _ in 0..picks {
        match hand.index(request) {
            Ok(index) => counts[index] += 1,
            Err(none) => panic!("{none}"),
        }
    }
    counts
}

/// Who is out by `may_be_picked` was not picked once.
fn assert_never_others(pool: &Pool, counts: &[u64], what: &str, may_be_picked: impl Fn(&Instance) -> bool) {
    let list = pool.instances();
    let others = list.iter().zip(counts).filter(|(instance, _)| !may_be_picked(instance));
    let hits = others.map(|(_, count)| count).sum();
    never(hits, counts.iter().sum()).assert_sound(&format!("{what}: {counts:?}"));
}

/// Neither down nor drained nor disabled.
fn is_available(instance: &Instance) -> bool {
    instance.healthy && instance.enabled && instance.weight > 0.0
}

fn assert_shares_hold(policy: &Policy, list: Vec<Instance>, most: usize) {
    let pool = seeded(1, list);
    for shape in SHAPES {
        let route = pool.route((shape.spec)(policy.clone())).expect("a good spec");
        let told = dense(&route.shares(&shape.request), &pool);
        assert!((told.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        for (which, mut hand) in Hand::both(&route, 2).into_iter().enumerate() {
            let picks = if shape.combined { FEWER } else { most };
            let counts = counts(&mut hand, &shape.request, pool.len(), picks);
            let what = format!("{policy:?}, {}, {which}: {counts:?} for {told:?}", shape.name);
            chi_square(&counts, &told).assert_sound(&what);
            let excluded: &[&str] = match shape.name {
                "exclusions" => &["up-3", "up-1"],
                "a split, with an exclusion" => &["up-0"],
                name if name.ends_with("an exclusion") => &["up-3"],
                _ => &[],
            };
            assert_never_others(&pool, &counts, &what, |instance| {
                is_available(instance) && !excluded.contains(&&*instance.id)
            });
        }
    }
}

#[test]
fn random_picks_are_the_shares() {
    assert_shares_hold(&Policy::Random, instances(), PICKS);
}

#[test]
fn weighted_random_picks_are_the_shares() {
    assert_shares_hold(&Policy::WeightedRandom, instances(), PICKS);
    assert_shares_hold(&Policy::WeightedRandom, golden_instances(), FEWER);
}

#[test]
fn round_robin_picks_are_the_shares() {
    assert_shares_hold(&Policy::RoundRobin, instances(), PICKS);
}

#[test]
fn weighted_round_robin_picks_are_the_shares() {
    assert_shares_hold(&Policy::WeightedRoundRobin, instances(), PICKS);
    assert_shares_hold(&Policy::WeightedRoundRobin, golden_instances(), FEWER);
}

#[test]
fn least_load_picks_are_the_shares() {
    assert_shares_hold(&Policy::LeastLoad, instances(), PICKS);
}

#[test]
fn unhealthy_instances_are_picked_only_where_the_tier_takes_any() {
    let pool = seeded(7, instances());
    for policy in policies() {
        let spec = RouteSpec::new(policy.clone()).tier(Tier::new().health(Health::Any));
        let route = pool.route(spec).expect("a good spec");
        for mut hand in Hand::both(&route, 8) {
            let counts = counts(&mut hand, &PLAIN, pool.len(), 200_000);
            let what = format!("{policy:?}");
            assert_never_others(&pool, &counts, &what, |instance| instance.enabled && instance.weight > 0.0);
            let unhealthy = |(instance, count): (&Instance, &u64)| if instance.healthy { 0 } else { *count };
            assert!(pool.instances().iter().zip(&counts).map(unhealthy).sum::<u64>() > 0, "{policy:?}");
        }
    }
}

#[test]
fn the_first_pick_of_a_fresh_pool_is_drawn_by_weight() {
    let list = weighted(&[("a", 50.0), ("b", 10.0), ("c", 30.0), ("d", 10.0)]);
    let uneven = weighted(&[("a", 5.1), ("b", 1.03), ("c", std::f64::consts::E), ("d", 1.0)]);
    for list in [list, uneven] {
        for policy in policies() {
            let (mut shared, mut own, mut told) = (vec![0; 4], vec![0; 4], Vec::new());
            for _ in 0..2_000 {
                // Without a seed: the numbers are the system's.
                let pool = Pool::new(list.clone()).expect("a good list");
                let route = plain_route(&pool, policy.clone());
                shared[route.pick(&PLAIN).expect("an instance").index()] += 1;
                own[route.picker().pick(&PLAIN).expect("an instance").index()] += 1;
                if told.is_empty() {
                    told = dense(&route.shares(&PLAIN), &pool);
                }
            }
            for counts in [shared, own] {
                let what = format!("{policy:?}: {counts:?} for {told:?}");
                chi_square(&counts, &told).assert_sound_unseeded(&what);
            }
        }
    }
}

#[test]
fn a_split_by_key_sends_a_key_always_the_same_way_and_moves_keys_one_way_only() {
    let pool = seeded(15, instances());
    let by_key = |percent: f64| {
        let spec = RouteSpec::new(Policy::WeightedRandom)
            .branch(Branch::new("gray", percent).tier(Tier::new().tag("version", "gray")))
            .branch(Branch::new("stable", 100.0 - percent).tier(Tier::new().tag("version", "stable")))
            .by(SplitBy::Key);
        pool.route(spec).expect("a good spec")
    };
    let routes = [0.0, 5.0, 12.5, 50.0, 100.0].map(by_key);
    let mut grays = [0_u32; 5];
    for key in 0..20_000_u32 {
        let key = format!("user-{key}");
        let request = PLAIN.key(key.as_bytes());
        let mut was_gray = false;
        for (at, route) in routes.iter().enumerate() {
            let is_gray = route.pick(&request).expect("an instance").branch() == 0;
            assert_eq!(route.picker_seeded(1).pick(&request).map(|pick| pick.branch() == 0), Ok(is_gray));
            assert!(is_gray || !was_gray, "{key} left the raised branch");
            (was_gray, grays[at]) = (is_gray, grays[at] + u32::from(is_gray));
        }
    }
    for (gray, (expected, slack)) in
        grays.iter().zip([(0, 0), (1_000, 124), (2_500, 188), (10_000, 283), (20_000, 0)])
    {
        assert!(gray.abs_diff(expected) <= slack, "{grays:?}");
    }
}

#[test]
fn relaxed_picks_of_some_branches_count_in_the_shares() {
    let pool = seeded(17, weighted(&[("a", 1.0), ("b", 3.0)]));
    let only = |id: &str| Tier::new().tag("id", id);
    pool.replace(["a", "b"].map(|id| Instance::new(id).tag("id", id))).expect("a good list");
    let spec = RouteSpec::new(Policy::WeightedRandom)
        .branch(Branch::new("first", 25.0).tier(only("a")))
        .branch(Branch::new("second", 75.0).tier(only("b")));
    let route = pool.route(spec).expect("a good spec");
    let request = PLAIN.exclude(&["a"]);
    assert_eq!(dense(&route.shares(&request), &pool), [0.0, 0.75]);
    assert_eq!(route.explain(&request).reason, Some(Reason::Excluded));
    let told = dense(&route.shares(&request.relax(true)), &pool);
    let counts = counts(&mut Hand::Route(route), &request.relax(true), 2, 100_000);
    chi_square(&counts, &[0.25, 0.75]).assert_sound("relaxed picks of one branch");
    assert_eq!(told, [0.25, 0.75]);
}
