//! Pools, routes and claims that the benches share.

#![allow(dead_code)]

use pointsman::{Policy, Pool, Request, Route, RouteSpec, Tier};
use pointsman_bench::lists::instances;

pub(crate) const PLAIN: Request<'static> = Request::new();

pub(crate) fn pool(weights: &[f64]) -> Pool {
    Pool::new(instances(weights)).expect("a valid list")
}

pub(crate) fn route(pool: &Pool, policy: Policy) -> Route {
    pool.route(RouteSpec::new(policy).tier(Tier::new())).expect("a valid route")
}

/// The share that each instance of the list should get.
pub(crate) fn expected(pool: &Pool, route: &Route, request: &Request<'_>) -> Vec<f64> {
    let mut shares = route.shares(request).into_iter().peekable();
    let of = |id: &str| shares.next_if(|share| &*share.id == id).map_or(0.0, |share| share.share);
    pool.instances().iter().map(|instance| &*instance.id).map(of).collect()
}

/// Picks that claims are made on.
const PICKS: usize = 63_000;

/// Seven standard deviations of the chi-square statistic.
const SIGMAS: f64 = 7.0;

/// How many times further than draws from their shares the owners of keys may be: tables of slots and points on a ring are
/// only as even as the hash. Weights that were not looked at would be further.
const HASHED: f64 = 10.0;

/// The picks are distributed by these shares: their chi-square statistic is one that draws have, or less.
pub(crate) fn assert_shares(policy: &str, expected: &[f64], mut pick: impl FnMut() -> usize) {
    let mut counts = vec![0_usize; expected.len()];
    (0..PICKS).for_each(|_| counts[pick()] += 1);
    let mut statistic = 0.0;
    for (count, share) in counts.iter().zip(expected) {
        let (count, ideal) = (*count as f64, share * PICKS as f64);
        assert!(ideal > 0.0 || count == 0.0, "{policy}: {count} picks of an instance without a share");
        statistic += if ideal > 0.0 { (count - ideal).powi(2) / ideal } else { 0.0 };
    }
    let freedom = expected.iter().filter(|share| **share > 0.0).count() as f64 - 1.0;
    let hashed = policy.starts_with("consistent_hash");
    let limit = (freedom + SIGMAS * (2.0 * freedom).sqrt()) * if hashed { HASHED } else { 1.0 };
    assert!(statistic < limit, "{policy}: chi-square {statistic} of {freedom}, at most {limit}");
}
