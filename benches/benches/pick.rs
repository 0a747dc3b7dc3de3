//! One pick without constraints, by each policy, beside what a Rust programmer would write by hand.

mod common;

use std::hint::black_box;

use common::{PLAIN, assert_shares, expected, pool, route};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pointsman::{
    Algorithm, ConsistentHash, Load, PeakEwma, Policy, Pool, PoolOptions, PoolSpec, PowerOfTwo, Request,
};
use pointsman_bench::lists::{instances, turns, weights};
use pointsman_bench::peers::drawn::{Bare, Swapped};
use pointsman_bench::peers::smooth::Smooth;

fn weighted_random(c: &mut Criterion) {
    let mut group = c.benchmark_group("weighted_random");
    for n in [8, 64, 1_000, 10_000, 100_000] {
        let weights = weights(n);
        let pool = pool(&weights);
        let route = route(&pool, Policy::WeightedRandom);
        let mut picker = route.picker_seeded(1);
        assert_share_of_the_heaviest(&weights, || picker.pick(&PLAIN).expect("an instance").index());
        group.bench_function(BenchmarkId::new("picker", n), |b| {
            b.iter(|| picker.pick(black_box(&PLAIN)).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("route", n), |b| {
            b.iter(|| route.pick(black_box(&PLAIN)).map(|pick| pick.index()));
        });
        let mut bare = Bare::new(&weights).expect("valid weights");
        assert_share_of_the_heaviest(&weights, || bare.pick());
        group.bench_function(BenchmarkId::new("rand_weighted_index", n), |b| b.iter(|| bare.pick()));
        let swapped = Swapped::new(&weights).expect("valid weights");
        assert_share_of_the_heaviest(&weights, || swapped.pick());
        group.bench_function(BenchmarkId::new("arc_swap_weighted_index", n), |b| b.iter(|| swapped.pick()));
    }
    group.finish();
}

/// Half a percent of a hundred thousand draws is more than five sigma.
fn assert_share_of_the_heaviest(weights: &[f64], mut draw: impl FnMut() -> usize) {
    let heavy = |at: usize| weights[at] > 50.0;
    let ideal = weights.iter().filter(|weight| **weight > 50.0).sum::<f64>() / weights.iter().sum::<f64>();
    let share = (0..100_000).filter(|_| heavy(draw())).count() as f64 / 100_000.0;
    assert!((share - ideal).abs() < 0.01, "{share} for {ideal}");
}

fn weighted_round_robin(c: &mut Criterion) {
    let mut group = c.benchmark_group("weighted_round_robin");
    for n in [8, 64, 1_000] {
        let weights = turns(n);
        let pool = pool(&weights);
        let route = route(&pool, Policy::WeightedRoundRobin);
        let mut picker = route.picker_seeded(1);
        let mut smooth = Smooth::new(&weights);
        let cycle = weights.iter().sum::<f64>() as usize;
        assert_counts_of_a_cycle(&weights, cycle, || picker.pick(&PLAIN).expect("an instance").index());
        assert_counts_of_a_cycle(&weights, cycle, || route.pick(&PLAIN).expect("an instance").index());
        assert_counts_of_a_cycle(&weights, cycle, || smooth.pick());
        // Both hands lie in the frame of their loop, as in a program that keeps one a thread, and give an index.
        group.bench_function(BenchmarkId::new("picker", n), |b| {
            let mut picker = route.picker_seeded(1);
            b.iter(|| picker.pick(black_box(&PLAIN)).map_or(usize::MAX, |pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("route", n), |b| {
            b.iter(|| route.pick(black_box(&PLAIN)).map_or(usize::MAX, |pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("smooth_bare", n), |b| {
            let mut smooth = Smooth::new(&weights);
            b.iter(|| smooth.pick());
        });
    }
    group.finish();
}

fn assert_counts_of_a_cycle(weights: &[f64], cycle: usize, mut pick: impl FnMut() -> usize) {
    let mut counts = vec![0_usize; weights.len()];
    (0..cycle).for_each(|_| counts[pick()] += 1);
    assert!(counts.iter().zip(weights).all(|(count, weight)| *count == *weight as usize));
}

/// Each policy, and what its options make another path of.
fn policies() -> Vec<(String, Policy)> {
    let hash = |algorithm| ConsistentHash::new().algorithm(algorithm);
    let options = [
        ("power_of_two, 8 choices", Policy::PowerOfTwo(PowerOfTwo::new().choices(8))),
        ("power_of_two, reported", Policy::PowerOfTwo(PowerOfTwo::new().load(Load::Reported))),
        ("peak_ewma, 8 choices", Policy::PeakEwma(PeakEwma::new().choices(8))),
        ("consistent_hash, maglev", Policy::ConsistentHash(hash(Algorithm::Maglev))),
        ("consistent_hash, ketama", Policy::ConsistentHash(hash(Algorithm::Ketama))),
        ("consistent_hash, bounded", Policy::ConsistentHash(ConsistentHash::new().bound(1.25))),
    ];
    let all = Policy::all().into_iter().map(|policy| (policy.name().to_owned(), policy));
    all.chain(options.map(|(name, policy)| (name.to_owned(), policy))).collect()
}

/// A pool as it comes, and one with everything on that follows the instances.
fn pools() -> [(&'static str, Pool); 2] {
    let list = || instances(&turns(100));
    let live = PoolSpec::new().slow_start(30.0, 1.0).ejection(pointsman::Ejection::default());
    let live = Pool::with(PoolOptions::new().spec(live), list()).expect("a valid list");
    [("every_policy", Pool::new(list()).expect("a valid list")), ("ejection_and_slow_start_on", live)]
}

fn every_policy(c: &mut Criterion) {
    for (name, pool) in pools() {
        let mut group = c.benchmark_group(name);
        for (name, policy) in policies() {
            let route = route(&pool, policy);
            let shares = expected(&pool, &route, &PLAIN);
            let mut picker = route.picker_seeded(1);
            let mut owners = Vec::new();
            let mut keys = (0_u64..).map(u64::to_le_bytes);
            assert_shares(&name, &shares, || {
                let key = keys.next().unwrap_or_default();
                owners.push(picker.pick(&Request::new().key(&key)).expect("an instance").index());
                owners[owners.len() - 1]
            });
            let mut keys = (0_u64..).map(u64::to_le_bytes).zip(owners);
            assert_shares(&name, &shares, || {
                let (key, owner) = keys.next().unwrap_or_default();
                let at = route.pick(&Request::new().key(&key)).expect("an instance").index();
                assert!(at == owner || !name.starts_with("consistent_hash"), "one owner for a key");
                at
            });
            let request = Request::new().key(b"user-1");
            group.bench_function(BenchmarkId::new("picker", &name), |b| {
                b.iter(|| picker.pick(black_box(&request)).map(|pick| pick.index()));
            });
            group.bench_function(BenchmarkId::new("route", &name), |b| {
                b.iter(|| route.pick(black_box(&request)).map(|pick| pick.index()));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, weighted_random, weighted_round_robin, every_policy);
criterion_main!(benches);
