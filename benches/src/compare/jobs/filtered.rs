//! Picks with constraints, beside filtering into a list.

use pointsman::{Policy, Request, RouteSpec, Tier, ZoneRule};
use pointsman_bench::lists::{EXCLUDE, REQUIRE, TAGS, ZONE, instances, weights};
use pointsman_bench::peers::filter::Filter;

use super::{Engine, Setup};
use crate::compare::contender::Contender;
use crate::failure::Failure;

fn spec() -> RouteSpec {
    RouteSpec::new(Policy::WeightedRandom)
}

fn setup(
    n: usize,
    spec: RouteSpec,
    request: Request<'static>,
    name: &'static str,
    pick: fn(&mut Filter) -> usize,
) -> Result<Setup, Failure> {
    let weights = weights(n);
    let engine = Engine::new(&weights, spec)?;
    let filter = Filter::new(instances(&weights));
    let peer = Contender::picks(name, move || {
        let mut filter = filter.clone();
        move || pick(&mut filter)
    });
    let (ours, expected) = (engine.both(request), engine.expected(&request));
    Ok(Setup { ours, peers: vec![peer], expected, ..Setup::default() })
}

pub(super) fn match_tags(n: usize) -> Result<Setup, Failure> {
    let spec = spec().tier(Tier::new().matching("version").matching("env"));
    setup(n, spec, Request::new().tags(&TAGS), "filter_into_list", |filter| filter.tagged(&TAGS))
}

pub(super) fn require(n: usize) -> Result<Setup, Failure> {
    let request = Request::new().require(&REQUIRE);
    setup(n, spec().tier(Tier::new()), request, "filter_into_list", |filter| filter.tagged(&REQUIRE))
}

pub(super) fn zone_fallback(n: usize) -> Result<Setup, Failure> {
    let spec = spec().tier(Tier::new().zone(ZoneRule::Local)).tier(Tier::new());
    setup(n, spec, Request::new(), "filter_into_list", |filter| filter.near(ZONE))
}

pub(super) fn retry_exclude(n: usize) -> Result<Setup, Failure> {
    let request = Request::new().exclude(&EXCLUDE);
    setup(n, spec().tier(Tier::new()), request, "rebuild_without", |filter| filter.without(&EXCLUDE))
}
