//! The jobs: for each what the engine does, and what does the same in its stead.

mod filtered;
mod hashed;
mod loaded;
mod plain;
mod updates;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use clap::ValueEnum;
use pointsman::{Pool, PoolOptions, PoolSpec, Request, Route, RouteSpec};
use pointsman_bench::lists::{ZONE, instances};

use super::contender::Contender;
use crate::alloc::taken;
use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Job {
    Uniform,
    WeightedRandom,
    WeightedRoundRobin,
    MatchTags,
    Require,
    ZoneFallback,
    RetryExclude,
    LeastRequest,
    PowerOfTwo,
    Lease,
    LeasePaced,
    ConsistentHash,
    UpdateOne,
    ReplaceAll,
}

/// A job over a list of some size.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) ours: Vec<Contender>,
    pub(crate) peers: Vec<Contender>,
    /// The share that each instance should get.
    pub(crate) expected: Option<Vec<f64>>,
    /// By contender, `pointsman` for the engine's: keys moved when an instance goes, in multiples of those that must.
    pub(crate) keys_moved: HashMap<&'static str, f64>,
}

impl Job {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(crate) fn setup(self, n: usize) -> Result<Setup, Failure> {
        match self {
            Self::Uniform => plain::uniform(n),
            Self::WeightedRandom => plain::weighted_random(n),
            Self::WeightedRoundRobin => plain::weighted_round_robin(n),
            Self::MatchTags => filtered::match_tags(n),
            Self::Require => filtered::require(n),
            Self::ZoneFallback => filtered::zone_fallback(n),
            Self::RetryExclude => filtered::retry_exclude(n),
            Self::LeastRequest => loaded::least_request(n),
            Self::PowerOfTwo => loaded::power_of_two(n),
            Self::Lease => loaded::lease(n),
            Self::LeasePaced => loaded::lease_paced(n),
            Self::ConsistentHash => hashed::consistent_hash(n),
            Self::UpdateOne => updates::update_one(n),
            Self::ReplaceAll => updates::replace_all(n),
        }
    }

    /// Whether threads have something to share.
    pub(crate) fn is_pick(self) -> bool {
        !matches!(self, Self::UpdateOne | Self::ReplaceAll)
    }
}

/// A request without constraints.
pub(super) const PLAIN: Request<'static> = Request::new();

/// A pool, a route of it, and the heap bytes they take for each instance.
pub(super) struct Engine {
    pub(super) pool: Pool,
    pub(super) route: Route,
    pub(super) bytes: f64,
}

impl Engine {
    pub(super) fn new(weights: &[f64], spec: RouteSpec) -> Result<Self, Failure> {
        let before = taken().bytes;
        let options = PoolOptions::new().spec(PoolSpec::new().zone(ZONE));
        let pool = Pool::with(options, instances(weights)).map_err(bad)?;
        let route = pool.route(spec).map_err(bad)?;
        Ok(Self { pool, route, bytes: (taken().bytes - before) as f64 / weights.len() as f64 })
    }

    /// Through a picker, from the canonical start of a rotation, without constraints: with a constant for a request, as in a
    /// program that has none.
    pub(super) fn plain_picker(&self, name: &'static str) -> Contender {
        let route = self.route.clone();
        let make = move || {
            let mut picker = route.picker_seeded(1).start_at(0);
            move || picker.pick(&PLAIN).map_or(usize::MAX, |pick| pick.index())
        };
        Contender::picks(name, make).api("picker").bytes(self.bytes)
    }

    /// The same through the route, which threads share.
    pub(super) fn plain_route(&self, name: &'static str) -> Contender {
        let route = self.route.clone();
        let make = move || {
            let route = route.clone();
            route.start_at(0);
            move || route.pick(&PLAIN).map_or(usize::MAX, |pick| pick.index())
        };
        Contender::picks(name, make).api("route").bytes(self.bytes)
    }

    pub(super) fn plain(&self) -> Vec<Contender> {
        vec![self.plain_picker("pointsman"), self.plain_route("pointsman")]
    }

    /// Through a picker, with a request that only the call tells.
    pub(super) fn picker(&self, name: &'static str, request: Request<'static>) -> Contender {
        let route = self.route.clone();
        let make = move || {
            let mut picker = route.picker_seeded(1);
            move || picker.pick(black_box(&request)).map_or(usize::MAX, |pick| pick.index())
        };
        Contender::picks(name, make).api("picker").bytes(self.bytes)
    }

    /// The same through the route.
    pub(super) fn route(&self, name: &'static str, request: Request<'static>) -> Contender {
        let route = self.route.clone();
        let make = move || {
            let route = route.clone();
            move || route.pick(black_box(&request)).map_or(usize::MAX, |pick| pick.index())
        };
        Contender::picks(name, make).api("route").bytes(self.bytes)
    }

    pub(super) fn both(&self, request: Request<'static>) -> Vec<Contender> {
        vec![self.picker("pointsman", request), self.route("pointsman", request)]
    }

    /// The share that each instance of the list should get; `None` where the policy defines none.
    pub(super) fn expected(&self, request: &Request<'_>) -> Option<Vec<f64>> {
        let list = self.pool.instances();
        let places: HashMap<Arc<str>, usize> =
            list.iter().enumerate().map(|(at, instance)| (instance.id.clone(), at)).collect();
        let mut expected = vec![0.0; list.len()];
        let explained = self.route.explain(request);
        for share in explained.shares.iter().filter(|_| explained.shares_defined) {
            expected[*places.get(&share.id)?] = share.share;
        }
        explained.shares_defined.then_some(expected)
    }
}

pub(super) fn bad(error: impl std::fmt::Display) -> Failure {
    Failure::bad("compare", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::quality::judge;

    /// What is compared does the same.
    #[test]
    fn every_contender_of_every_job_gives_the_shares_that_it_should() {
        for job in Job::value_variants() {
            for n in [8, 64] {
                let setup = job.setup(n).unwrap();
                assert!(!setup.ours.is_empty() && !setup.peers.is_empty(), "{job:?}");
                let expected = setup.expected.as_deref();
                for contender in setup.ours.iter().chain(&setup.peers) {
                    let mut hand = contender.hand();
                    hand(3);
                    let unlike = contender.is_of_another_kind() || contender.name == "tower_p2c";
                    let quality = judge(contender, expected.filter(|_| !unlike), 1.0);
                    let error = quality.largest_share_error.unwrap_or(0.0);
                    assert!(error < 0.03, "{job:?} {n} {} {}: {error}", contender.name, contender.api);
                    if contender.name == "pointsman" && job.is_pick() {
                        assert_eq!(quality.allocations_per_pick, Some(0.0), "{job:?} {}", contender.api);
                    }
                }
            }
        }
    }
}
