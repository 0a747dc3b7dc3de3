//! Picks with constraints: request tags, requirements and exclusions, beside filtering into a list.

mod common;

use std::hint::black_box;

use common::{instances, pool, route, weights};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pointsman::{Instance, Policy, Request, RouteSpec, Tier};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_xoshiro::SplitMix64;

const TAGS: [(&str, &str); 2] = [("version", "gray"), ("env", "prod")];
const REQUIRE: [(&str, &str); 3] = [("version", "gray"), ("env", "prod"), ("arch", "arm")];

/// What a tutorial does: filters into a list, sums its weights and draws.
fn filter_and_draw<'a>(
    list: &'a [Instance],
    wanted: &[(&str, &str)],
    rng: &mut SplitMix64,
) -> Option<&'a Instance> {
    let matching: Vec<&Instance> = list
        .iter()
        .filter(|instance| wanted.iter().all(|(key, value)| instance.tags.contains(key, value)))
        .collect();
    let index = WeightedIndex::new(matching.iter().map(|instance| instance.weight)).ok()?;
    Some(matching[index.sample(rng)])
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
        let pick = matching.pick(&request).expect("an instance");
        assert!(TAGS.iter().all(|(key, value)| pick.instance().tags.contains(key, value)));
        drop(pick);
        group.bench_function(BenchmarkId::new("unfiltered", n), |b| {
            b.iter(|| plain.pick(black_box(&Request::new())).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("two_tags", n), |b| {
            b.iter(|| matching.pick(black_box(&request)).map(|pick| pick.index()));
        });
        let (list, mut rng) = (instances(&weights(n)), SplitMix64::seed_from_u64(1));
        group.bench_function(BenchmarkId::new("filter_into_a_list", n), |b| {
            b.iter(|| filter_and_draw(black_box(&list), &TAGS, &mut rng).map(|instance| instance.weight));
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
    let pick = route.pick(&request).expect("an instance");
    assert!(REQUIRE.iter().all(|(key, value)| pick.instance().tags.contains(key, value)));
    drop(pick);
    group.bench_function(BenchmarkId::new("three", n), |b| {
        b.iter(|| route.pick(black_box(&request)).map(|pick| pick.index()));
    });
    let (list, mut rng) = (instances(&weights(n)), SplitMix64::seed_from_u64(1));
    group.bench_function(BenchmarkId::new("filter_into_a_list", n), |b| {
        b.iter(|| filter_and_draw(black_box(&list), &REQUIRE, &mut rng).map(|instance| instance.weight));
    });
    group.finish();
}

fn exclude(c: &mut Criterion) {
    let mut group = c.benchmark_group("exclude");
    let n = 8;
    let (pool, list) = (pool(&weights(n)), instances(&weights(n)));
    let route = route(&pool, Policy::WeightedRandom);
    let excluded: Vec<&str> = list[..3].iter().map(|instance| &*instance.id).collect();
    let request = Request::new().exclude(&excluded);
    assert!(route.pick(&request).expect("an instance").index() >= 3);
    group.bench_function("three_of_eight", |b| {
        b.iter(|| route.pick(black_box(&request)).map(|pick| pick.index()));
    });
    let mut rng = SplitMix64::seed_from_u64(1);
    group.bench_function("rebuild_without", |b| {
        b.iter(|| {
            let left: Vec<&Instance> =
                list.iter().filter(|instance| !excluded.contains(&&*instance.id)).collect();
            let index =
                WeightedIndex::new(left.iter().map(|instance| instance.weight)).expect("valid weights");
            left[index.sample(&mut rng)].weight
        });
    });
    group.finish();
}

criterion_group!(benches, match_tags, require, exclude);
criterion_main!(benches);
