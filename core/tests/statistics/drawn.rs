//! Everything that draws, over lists whose shares are worked out here by hand and not by the engine.

use pointsman::{
    Branch, ConsistentHash, Instance, Lease, Load, PeakEwma, Policy, Pool, PowerOfTwo, Request, Route,
    RouteSpec, Tier,
};

use crate::common::{PLAIN, plain_route, seeded};

/// Weights of the six instances that are used throughout.
pub(crate) const WEIGHTS: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];

/// Loads of the same, each another, so that of any candidates one is the lowest.
pub(crate) const LOADS: [f64; 6] = [4.0, 1.0, 6.0, 3.0, 2.0, 5.0];

/// Leases on the same while they are under load. For their weights the fourth and the sixth have the fewest, as many as each
/// other, and so do the first two with more.
pub(crate) const IN_FLIGHT: [u32; 6] = [1, 2, 6, 1, 3, 2];

/// A route and a request whose picks are independent draws with these shares.
pub(crate) struct Drawn {
    pub(crate) name: &'static str,
    pub(crate) route: Route,
    pub(crate) request: Request<'static>,
    pub(crate) shares: Vec<f64>,
    /// Open as long as there are picks.
    _held: Vec<Lease>,
}

/// Opens so many leases on each, in the order of the list.
pub(crate) fn hold(pool: &Pool, counts: &[u32]) -> Vec<Lease> {
    let (route, list) = (plain_route(pool, Policy::Random), pool.instances());
    let of = |(instance, count): (&Instance, &u32)| {
        let lease = || route.lease(&PLAIN.prefer(&instance.id)).expect("it is there");
        let held: Vec<Lease> = (0..*count).map(|_| lease()).collect();
        assert!(held.iter().all(|lease| lease.instance().id == instance.id));
        held
    };
    list.iter().zip(counts).flat_map(of).collect()
}

/// Leases for the weight.
pub(crate) fn costs(in_flight: &[u32], weights: &[f64]) -> Vec<f64> {
    in_flight.iter().zip(weights).map(|(count, weight)| f64::from(*count) / weight).collect()
}

/// Six instances with the weights and loads above; even ones are gray.
pub(crate) fn six(seed: u64) -> Pool {
    let instance = |at: usize| {
        let version = if at.is_multiple_of(2) { "gray" } else { "stable" };
        Instance::new(format!("i{at}")).weight(WEIGHTS[at]).load(LOADS[at]).tag("version", version)
    };
    seeded(seed, (0..6).map(instance).collect())
}

/// Weights to shares.
pub(crate) fn by_weight(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// The weights of those for whom `is_in` holds.
fn only(is_in: impl Fn(usize) -> bool) -> Vec<f64> {
    let weight = |(at, weight): (usize, &f64)| if is_in(at) { *weight } else { 0.0 };
    by_weight(&WEIGHTS.iter().enumerate().map(weight).collect::<Vec<_>>())
}

/// How often each wins of so many that are drawn by weight without replacement, where the lowest load does and the first drawn
/// of equals. Follows every order of drawing.
pub(crate) fn winners(weights: &[f64], loads: &[f64], choices: usize) -> Vec<f64> {
    fn follow(weights: &[f64], loads: &[f64], left: usize, drawn: &mut Vec<usize>, p: f64, out: &mut [f64]) {
        let rest = || (0..weights.len()).filter(|at| !drawn.contains(at));
        let sum: f64 = rest().map(|at| weights[at]).sum();
        let next: Vec<usize> = rest().collect();
        if left == 0 || next.is_empty() {
            let winner = drawn.iter().min_by(|a, b| loads[**a].total_cmp(&loads[**b]));
            out[*winner.expect("one was drawn")] += p;
            return;
        }
        for at in next {
            drawn.push(at);
            follow(weights, loads, left - 1, drawn, p * weights[at] / sum, out);
            drawn.pop();
        }
    }
    let mut shares = vec![0.0; weights.len()];
    follow(weights, loads, choices, &mut Vec::new(), 1.0, &mut shares);
    shares
}

/// All of it. One pool, so that a seed of it is a seed of all.
pub(crate) fn all(seed: u64) -> Vec<Drawn> {
    let pool = six(seed);
    let plain = |policy: Policy| plain_route(&pool, policy);
    let route = |spec: RouteSpec| pool.route(spec).expect("a good spec");
    let reported = |choices| Policy::PowerOfTwo(PowerOfTwo::new().choices(choices).load(Load::Reported));
    let excluded = PLAIN.exclude(&["i5", "i1"]);
    let without = || only(|at| at != 5 && at != 1);
    let split = RouteSpec::new(Policy::WeightedRandom)
        .branch(Branch::new("gray", 12.5).tier(Tier::new().tag("version", "gray")))
        .branch(Branch::new("stable", 87.5).tier(Tier::new().tag("version", "stable")));
    let (gray, stable) = (only(|at| at % 2 == 0), only(|at| at % 2 == 1));
    let split_shares = gray.iter().zip(&stable).map(|(gray, stable)| 0.125 * gray + 0.875 * stable);
    let drawn = |name, route, request, shares| Drawn { name, route, request, shares, _held: Vec::new() };
    let [two, least] = under_load(seed);
    vec![
        drawn("random", plain(Policy::Random), PLAIN, vec![1.0 / 6.0; 6]),
        drawn("weighted_random", plain(Policy::WeightedRandom), PLAIN, by_weight(&WEIGHTS)),
        drawn(
            "random, with exclusions",
            plain(Policy::Random),
            excluded,
            vec![0.25, 0.0, 0.25, 0.25, 0.25, 0.0],
        ),
        drawn("weighted_random, with exclusions", plain(Policy::WeightedRandom), excluded, without()),
        drawn(
            "weighted_random, with a requirement",
            plain(Policy::WeightedRandom),
            PLAIN.require(&[("version", "gray")]),
            gray.clone(),
        ),
        drawn(
            "weighted_round_robin, with exclusions",
            plain(Policy::WeightedRoundRobin),
            excluded,
            without(),
        ),
        drawn("weighted_random, in a split", route(split), PLAIN, split_shares.collect()),
        drawn("least_request, idle", plain(Policy::LeastRequest), PLAIN, by_weight(&WEIGHTS)),
        drawn("power_of_two, idle", plain(Policy::PowerOfTwo(PowerOfTwo::new())), PLAIN, by_weight(&WEIGHTS)),
        drawn("power_of_two, by load", plain(reported(2)), PLAIN, winners(&WEIGHTS, &LOADS, 2)),
        drawn("power_of_two, four by load", plain(reported(4)), PLAIN, winners(&WEIGHTS, &LOADS, 4)),
        drawn("peak_ewma, idle", plain(Policy::PeakEwma(PeakEwma::new())), PLAIN, by_weight(&WEIGHTS)),
        drawn(
            "consistent_hash, without a key",
            plain(Policy::ConsistentHash(ConsistentHash::new().slots(1_009))),
            PLAIN,
            by_weight(&WEIGHTS),
        ),
        ties(seed),
        two,
        least,
    ]
}

/// `power_of_two` and `least_request` while leases are held.
fn under_load(seed: u64) -> [Drawn; 2] {
    let of = |name, policy, shares| {
        let pool = six(seed);
        let (route, _held) = (plain_route(&pool, policy), hold(&pool, &IN_FLIGHT));
        Drawn { name, route, request: PLAIN, shares, _held }
    };
    let won = winners(&WEIGHTS, &costs(&IN_FLIGHT, &WEIGHTS), 2);
    [
        of("power_of_two, under load", Policy::PowerOfTwo(PowerOfTwo::new()), won),
        of("least_request, under load", Policy::LeastRequest, vec![0.0, 0.0, 0.0, 1.0 / 3.0, 0.0, 2.0 / 3.0]),
    ]
}

/// `least_load` where three of five have the lowest load.
fn ties(seed: u64) -> Drawn {
    let loads = [2.0, 1.0, 1.0, 3.0, 1.0];
    let pool =
        seeded(seed, (0..5).map(|at| Instance::new(format!("i{at}")).load(loads[at]).weight(2.0)).collect());
    let third = 1.0 / 3.0;
    Drawn {
        name: "least_load, ties",
        route: plain_route(&pool, Policy::LeastLoad),
        request: PLAIN,
        shares: vec![0.0, third, third, 0.0, third],
        _held: Vec::new(),
    }
}

#[test]
fn winners_by_hand() {
    // Of weights 1, 1, 2 with the first the least loaded: it loses only where the others are drawn.
    let shares = winners(&[1.0, 1.0, 2.0], &[0.0, 1.0, 2.0], 2);
    let neither = 0.25 * (2.0 / 3.0) + 0.5 * 0.5;
    assert!((shares[0] - (1.0 - neither)).abs() < 1e-12 && shares[2] == 0.0, "{shares:?}");
    // Where the last two are equals, the first drawn of them wins where both are drawn.
    let shares = winners(&[1.0, 1.0, 2.0], &[0.0, 1.0, 1.0], 2);
    assert!((shares[1] - 0.25 * (2.0 / 3.0)).abs() < 1e-12 && (shares[2] - 0.25).abs() < 1e-12, "{shares:?}");
}
