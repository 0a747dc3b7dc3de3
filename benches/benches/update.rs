//! Updates: one weight among many, beside building the pool anew; the tables of each policy; and what time brings about.

mod common;

use std::hint::black_box;

use common::{PLAIN, assert_shares, expected, route};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use pointsman::{
    Algorithm, ConsistentHash, Ejection, Instance, Outcome, Policy, Pool, PoolOptions, PoolSpec, Request,
    Route,
};
use pointsman_bench::lists::{self, address, instances, turns, weights};

const N: usize = 10_000;

fn four_routes(pool: &Pool) -> Vec<Route> {
    lists::four_routes().into_iter().map(|spec| pool.route(spec).expect("a valid route")).collect()
}

fn update_one(c: &mut Criterion) {
    let mut group = c.benchmark_group("update_one");
    group.sample_size(20);
    let list = instances(&weights(N));
    let pool = Pool::new(list.clone()).expect("a valid list");
    let routes = four_routes(&pool);
    let mut round = 0_usize;
    let mut change = || {
        round += 1;
        let (at, weight) = (round * 31 % N, (round % 50 + 1) as f64);
        pool.edit(|edit| edit.set_weight(&address(at), weight)).expect("accepted");
        (at, weight)
    };
    // The change is what routes pick by.
    let (at, weight) = change();
    let sum: f64 = pool.instances().iter().map(|instance| instance.weight).sum();
    assert!((expected(&pool, &routes[0], &PLAIN)[at] - weight / sum).abs() < 1e-12);
    assert_eq!(pool.status().routes, 4);
    group.bench_function("weight", |b| b.iter(&mut change));
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
        let mut key = 0_u64;
        assert_shares(policy.name(), &expected(&pool, &kept, &PLAIN), || {
            key += 1;
            kept.pick(&Request::new().key(&key.to_le_bytes())).expect("an instance").index()
        });
    }
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    group.sample_size(20);
    for policy in Policy::all() {
        let pool = Pool::new(instances(&turns(1_000))).expect("a valid list");
        let built = route(&pool, policy.clone());
        let mut key = 0_u64;
        assert_shares(policy.name(), &expected(&pool, &built, &PLAIN), || {
            key += 1;
            built.pick(&Request::new().key(&key.to_le_bytes())).expect("an instance").index()
        });
        drop(built);
        group.bench_function(policy.name(), |b| b.iter(|| route(&pool, policy.clone())));
    }
    group.finish();
}

/// A second of the pools' time.
const SECOND: u64 = 1_000_000_000;

/// What `tick` costs: where there is nothing to do, where a ramp moves, and where an instance is ejected.
fn tick(c: &mut Criterion) {
    let mut group = c.benchmark_group("tick");
    group.sample_size(20);
    let n = 1_000;
    let spec = PoolSpec::new().slow_start(30.0, 1.0).ejection(Ejection::default());
    let make = || {
        let options = PoolOptions::new().spec(spec.clone());
        let pool = Pool::with(options, instances(&vec![1.0; n])).expect("a valid list");
        let route = route(&pool, Policy::WeightedRandom);
        (pool, route)
    };
    let share = |pool: &Pool, route: &Route, at: usize| expected(pool, route, &PLAIN)[at];

    let (idle, _kept) = make();
    let mut now = SECOND;
    group.bench_function("idle", |b| {
        b.iter(|| {
            now += SECOND;
            idle.tick_at(now)
        });
    });
    assert!(idle.status().ejected.is_empty());

    let ramping = || {
        let (pool, route) = make();
        pool.edit(|edit| edit.upsert(Instance::new("new"))).expect("accepted");
        (pool, route)
    };
    let (pool, route) = ramping();
    assert!((share(&pool, &route, n) / share(&pool, &route, 0) - 0.1).abs() < 1e-9, "a tenth at first");
    pool.tick_at(15 * SECOND + SECOND / 10);
    let half = share(&pool, &route, n) / share(&pool, &route, 0);
    assert!((half - 0.5).abs() < 0.05, "half of it after half of the time, not {half}");
    group.bench_function("ramp", |b| {
        b.iter_batched(
            ramping,
            |(pool, route)| {
                pool.tick_at(15 * SECOND);
                (pool, route)
            },
            BatchSize::PerIteration,
        );
    });

    let failing = || {
        let (pool, route) = make();
        let only = Request::new().prefer("10.0.0.7:8080");
        for _ in 0..5 {
            let lease = route.lease(&only).expect("an instance");
            lease.done_at(Outcome::Failure, None, SECOND);
        }
        assert!(pool.tick_due(), "five failures in a row");
        (pool, route)
    };
    let (pool, route) = failing();
    pool.tick_at(2 * SECOND);
    assert_eq!(pool.status().ejected.len(), 1);
    assert_eq!(share(&pool, &route, 7), 0.0);
    group.bench_function("ejection", |b| {
        b.iter_batched(
            failing,
            |(pool, route)| {
                pool.tick_at(2 * SECOND);
                (pool, route)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, update_one, hashing, build, tick);
criterion_main!(benches);
