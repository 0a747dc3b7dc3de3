//! Picks with constraints: request tags, requirements and exclusions, beside filtering into a list.

mod common;

use std::hint::black_box;

use common::{assert_shares, expected, pool, route};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pointsman::{Policy, Pool, Request, Route, RouteSpec, Tier};
use pointsman_bench::lists::{EXCLUDE, REQUIRE, TAGS, instances, weights};
use pointsman_bench::peers::filter::Filter;

/// The longest list that is filtered as often as shares take to tell.
const LONGEST_FILTERED: usize = 64;

/// Both draw by weight from those that have what the request asks for, and nobody else.
fn assert_both(pool: &Pool, route: &Route, request: &Request<'_>, mut filter: impl FnMut() -> usize) {
    let shares = expected(pool, route, request);
    assert!(shares.contains(&0.0));
    assert_shares("route", &shares, || route.pick(request).expect("an instance").index());
    if shares.len() <= LONGEST_FILTERED {
        assert_shares("filter", &shares, filter);
    } else {
        assert!((0..100).all(|_| shares[filter()] > 0.0));
    }
}

fn match_tags(c: &mut Criterion) {
    let mut group = c.benchmark_group("match_tags");
    for n in [64, 1_000, 10_000] {
        let pool = pool(&weights(n));
        let plain = route(&pool, Policy::WeightedRandom);
        let spec =
            RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().matching("version").matching("env"));
        let matching = pool.route(spec).expect("a valid route");
        let request = Request::new().tags(&TAGS);
        let mut filter = Filter::new(instances(&weights(n)));
        assert_both(&pool, &matching, &request, || filter.tagged(&TAGS));
        group.bench_function(BenchmarkId::new("unfiltered", n), |b| {
            b.iter(|| plain.pick(black_box(&Request::new())).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("two_tags", n), |b| {
            b.iter(|| matching.pick(black_box(&request)).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("filter_into_a_list", n), |b| {
            b.iter(|| filter.tagged(black_box(&TAGS)));
        });
    }
    group.finish();
}

fn require(c: &mut Criterion) {
    let mut group = c.benchmark_group("require");
    let n = 1_024;
    let pool = pool(&weights(n));
    let route = route(&pool, Policy::WeightedRandom);
    let request = Request::new().require(&REQUIRE);
    let mut filter = Filter::new(instances(&weights(n)));
    assert_both(&pool, &route, &request, || filter.tagged(&REQUIRE));
    group.bench_function(BenchmarkId::new("three", n), |b| {
        b.iter(|| route.pick(black_box(&request)).map(|pick| pick.index()));
    });
    group.bench_function(BenchmarkId::new("filter_into_a_list", n), |b| {
        b.iter(|| filter.tagged(black_box(&REQUIRE)));
    });
    group.finish();
}

fn exclude(c: &mut Criterion) {
    let mut group = c.benchmark_group("exclude");
    let n = 8;
    let pool = pool(&weights(n));
    let route = route(&pool, Policy::WeightedRandom);
    let request = Request::new().exclude(&EXCLUDE);
    let mut filter = Filter::new(instances(&weights(n)));
    assert_both(&pool, &route, &request, || filter.without(&EXCLUDE));
    group.bench_function("three_of_eight", |b| {
        b.iter(|| route.pick(black_box(&request)).map(|pick| pick.index()));
    });
    group.bench_function("rebuild_without", |b| b.iter(|| filter.without(black_box(&EXCLUDE))));
    group.finish();
}

criterion_group!(benches, match_tags, require, exclude);
criterion_main!(benches);
