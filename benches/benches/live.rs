//! Leases and load-aware policies.

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{pool, route, turns};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pointsman::{ConsistentHash, Outcome, Policy, PowerOfTwo, Request};

const PLAIN: Request<'static> = Request::new();

fn leases(c: &mut Criterion) {
    let mut group = c.benchmark_group("leases");
    let pool = pool(&turns(100));
    let plain = route(&pool, Policy::WeightedRandom);
    group.bench_function("pick", |b| b.iter(|| plain.pick(black_box(&PLAIN)).map(|pick| pick.index())));
    group.bench_function("lease_and_done", |b| {
        b.iter(|| {
            plain.lease(black_box(&PLAIN)).map(|lease| lease.done(Outcome::Success, Duration::from_millis(2)))
        });
    });
    let two = route(&pool, Policy::PowerOfTwo(PowerOfTwo::new()));
    group.bench_function("power_of_two_pick", |b| {
        b.iter(|| two.pick(black_box(&PLAIN)).map(|pick| pick.index()));
    });
    group.bench_function("power_of_two_lease_and_done", |b| {
        b.iter(|| {
            two.lease(black_box(&PLAIN)).map(|lease| lease.done(Outcome::Success, Duration::from_millis(2)))
        });
    });
    let hashed = route(&pool, Policy::ConsistentHash(ConsistentHash::new()));
    let mut key = 0_u64;
    group.bench_function("consistent_hash_pick", |b| {
        b.iter(|| {
            key += 1;
            hashed.pick(&Request::new().key(&key.to_le_bytes())).map(|pick| pick.index())
        });
    });
    group.finish();
    assert!(plain.explain(&PLAIN).live.iter().all(|state| state.in_flight == 0));
}

fn least_request(c: &mut Criterion) {
    let mut group = c.benchmark_group("least_request");
    for n in [100, 1_000] {
        let pool = pool(&turns(n));
        let least = route(&pool, Policy::LeastRequest);
        let held: Vec<_> = (0..n).map(|_| least.lease(&PLAIN).expect("an instance")).collect();
        group.bench_function(BenchmarkId::new("route", n), |b| {
            b.iter(|| least.pick(black_box(&PLAIN)).map(|pick| pick.index()));
        });
        drop(held);
        // What servers behind shared handles come to: each its own allocation, with more than the count in it.
        let servers: Vec<Arc<([u64; 12], AtomicU32, f64)>> =
            turns(n).iter().map(|weight| Arc::new(([0; 12], AtomicU32::new(1), *weight))).collect();
        group.bench_function(BenchmarkId::new("scan_of_arcs", n), |b| {
            b.iter(|| {
                let cost = |at: usize| f64::from(servers[at].1.load(Ordering::Relaxed)) / servers[at].2;
                (0..servers.len()).min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, leases, least_request);
criterion_main!(benches);
