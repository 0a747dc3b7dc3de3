//! Updates: one weight among many, beside building the pool anew; and the tables of hashing policies.

mod common;

use std::hint::black_box;

use common::{address, instances, route, turns, weights};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use pointsman::{Algorithm, ConsistentHash, Policy, Pool, Route, RouteSpec, Tier};

const N: usize = 10_000;

fn four_routes(pool: &Pool) -> Vec<Route> {
    let specs = [
        RouteSpec::new(Policy::WeightedRandom).tier(Tier::new()),
        RouteSpec::new(Policy::WeightedRoundRobin).tier(Tier::new()),
        RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().matching("version")).tier(Tier::new()),
        RouteSpec::new(Policy::LeastRequest).tier(Tier::new().tag("env", "prod")),
    ];
    specs.into_iter().map(|spec| pool.route(spec).expect("a valid route")).collect()
}

fn update_one(c: &mut Criterion) {
    let mut group = c.benchmark_group("update_one");
    group.sample_size(20);
    let list = instances(&weights(N));
    let pool = Pool::new(list.clone()).expect("a valid list");
    let routes = four_routes(&pool);
    let mut round = 0_usize;
    group.bench_function("weight", |b| {
        b.iter(|| {
            round += 1;
            pool.edit(|edit| edit.set_weight(&address(round * 31 % N), (round % 50 + 1) as f64))
                .expect("accepted")
        });
    });
    assert_eq!(routes.len(), pool.status().routes);
    group.bench_function("build_anew", |b| {
        b.iter_batched(
            || list.clone(),
            |list| {
                let pool = Pool::new(list).expect("a valid list");
                black_box(four_routes(&pool));
                pool
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn hashing(c: &mut Criterion) {
    let mut group = c.benchmark_group("hashing");
    group.sample_size(10);
    for algorithm in [Algorithm::Rendezvous, Algorithm::Maglev, Algorithm::Ketama] {
        let pool = Pool::new(instances(&vec![1.0; 1_000])).expect("a valid list");
        let policy = Policy::ConsistentHash(ConsistentHash::new().algorithm(algorithm));
        let name = format!("{algorithm:?}").to_lowercase();
        group.bench_function(format!("{name}_build_1000"), |b| b.iter(|| route(&pool, policy.clone())));
        let kept = route(&pool, policy.clone());
        let mut round = 0_usize;
        group.bench_function(format!("{name}_change_one"), |b| {
            b.iter(|| {
                round += 1;
                let weight = if round.is_multiple_of(2) { 1.0 } else { 2.0 };
                pool.edit(|edit| edit.set_weight(&address(7), weight)).expect("accepted")
            });
        });
        assert!(kept.pick(&pointsman::Request::new().key(b"k")).is_ok());
    }
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    group.sample_size(20);
    let list = instances(&turns(1_000));
    for policy in Policy::all() {
        if policy.name() == "consistent_hash" {
            continue;
        }
        let pool = Pool::new(list.clone()).expect("a valid list");
        group.bench_function(policy.name(), |b| {
            b.iter(|| {
                let route = route(&pool, policy.clone());
                assert!(route.pick(&pointsman::Request::new()).is_ok());
                route
            });
        });
    }
    group.finish();
}

criterion_group!(benches, update_one, hashing, build);
criterion_main!(benches);
