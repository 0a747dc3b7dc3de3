//! Leases, load-aware policies and keys.

mod common;

use std::hint::black_box;
use std::time::Duration;

use common::{PLAIN, assert_shares, expected, pool, route};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pointsman::{
    ConsistentHash, Ejection, Outcome, PeakEwma, Policy, Pool, PoolOptions, PoolSpec, PowerOfTwo, Request,
    Route,
};
use pointsman_bench::lists::{instances, turns};
use pointsman_bench::peers::scan::Scan;
use xxhash_rust::xxh64::xxh64;

const LATENCY: Duration = Duration::from_millis(2);

fn lease_and_done(route: &Route) -> bool {
    let lease = route.lease(black_box(&PLAIN));
    lease.map(|lease| lease.done(Outcome::Success, LATENCY)).is_ok()
}

/// The same in one moment, in which no latency decays.
fn leased(route: &Route) -> usize {
    const MOMENT: u64 = 1_000_000_000;
    let lease = route.lease(&PLAIN).expect("an instance");
    let at = lease.picked().index();
    lease.done_at(Outcome::Success, LATENCY, MOMENT);
    at
}

/// Picks, and picks that are counted as in flight and end.
fn leases(c: &mut Criterion) {
    let mut group = c.benchmark_group("leases");
    let specs = [("", PoolSpec::new()), (", ejection on", PoolSpec::new().ejection(Ejection::default()))];
    for (name, spec) in specs {
        for (policy_name, policy) in [
            ("weighted_random", Policy::WeightedRandom),
            ("least_request", Policy::LeastRequest),
            ("power_of_two", Policy::PowerOfTwo(PowerOfTwo::new())),
            ("peak_ewma", Policy::PeakEwma(PeakEwma::new())),
            ("consistent_hash, bounded", Policy::ConsistentHash(ConsistentHash::new().bound(1.25))),
        ] {
            let options = PoolOptions::new().spec(spec.clone());
            let pool = Pool::with(options, instances(&turns(100))).expect("a valid list");
            let route = route(&pool, policy);
            // One at a time and all as fast: the shares of idle instances, whatever the policy follows.
            let shares = expected(&pool, &route, &PLAIN);
            assert_shares(policy_name, &shares, || leased(&route));
            let id = |what| BenchmarkId::new(what, format!("{policy_name}{name}"));
            group.bench_function(id("pick"), |b| {
                b.iter(|| route.pick(black_box(&PLAIN)).map(|pick| pick.index()));
            });
            group.bench_function(id("lease_and_done"), |b| b.iter(|| lease_and_done(&route)));
            assert!(route.explain(&PLAIN).live.iter().all(|state| state.in_flight == 0));
        }
    }
    group.finish();
}

fn least_request(c: &mut Criterion) {
    let mut group = c.benchmark_group("least_request");
    for n in [100, 1_000] {
        let weights = turns(n);
        let pool = pool(&weights);
        let least = route(&pool, Policy::LeastRequest);
        let scan = Scan::new(&weights);
        // As many in flight as both would give: for each instance its weight.
        let mut held = Vec::new();
        let (mut ours, mut theirs) = (vec![0.0; n], vec![0.0; n]);
        for _ in 0..weights.iter().sum::<f64>() as usize {
            held.push(least.lease(&PLAIN).expect("an instance"));
            ours[held[held.len() - 1].picked().index()] += 1.0;
            let at = scan.pick();
            scan.begin(at);
            theirs[at] += 1.0;
        }
        assert!(ours == weights && theirs == weights);
        group.bench_function(BenchmarkId::new("route", n), |b| {
            b.iter(|| least.pick(black_box(&PLAIN)).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("scan_of_arcs", n), |b| b.iter(|| scan.pick()));
        drop(held);
    }
    group.finish();
}

/// The whole of a pick by key and what of it is hashing: the difference is the look-up, to be set beside a draw by weight.
fn look_up(c: &mut Criterion) {
    let mut group = c.benchmark_group("look_up");
    for n in [100, 1_000] {
        let pool = pool(&turns(n));
        let hashed = route(&pool, Policy::ConsistentHash(ConsistentHash::new()));
        let drawn = route(&pool, Policy::WeightedRandom);
        let keys: Vec<[u8; 16]> = (0..4_096_u128).map(|key| (key * key * 7_919).to_le_bytes()).collect();
        // A number, which comes back in a register.
        let pick = |route: &Route, key: &[u8]| {
            route.pick(&Request::new().key(key)).map_or(usize::MAX, |pick| pick.index())
        };
        assert!(keys.iter().all(|key| pick(&hashed, key) < n && pick(&hashed, key) == pick(&hashed, key)));
        let mut turn = 0_usize;
        let mut next = move || {
            turn = (turn + 1) % keys.len();
            keys[turn]
        };
        group.bench_function(BenchmarkId::new("consistent_hash", n), |b| b.iter(|| pick(&hashed, &next())));
        group.bench_function(BenchmarkId::new("hashing_alone", n), |b| b.iter(|| xxh64(&next(), 0)));
        group.bench_function(BenchmarkId::new("key_alone", n), |b| b.iter(&mut next));
        group.bench_function(BenchmarkId::new("weighted_random", n), |b| {
            b.iter(|| drawn.pick(black_box(&PLAIN)).map(|pick| pick.index()));
        });
    }
    group.finish();
}

criterion_group!(benches, leases, least_request, look_up);
criterion_main!(benches);
