//! One pick without constraints, by each policy, beside what a Rust programmer would write by hand.

mod common;

use std::hint::black_box;

use arc_swap::ArcSwap;
use common::{Smooth, pool, route, turns, weights};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pointsman::{Policy, Request};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_xoshiro::SplitMix64;

const PLAIN: Request<'static> = Request::new();

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
        let index = WeightedIndex::new(&weights).expect("valid weights");
        let mut rng = SplitMix64::seed_from_u64(1);
        assert_share_of_the_heaviest(&weights, || index.sample(&mut rng));
        group.bench_function(BenchmarkId::new("rand_weighted_index", n), |b| {
            b.iter(|| index.sample(&mut rng))
        });
        let swap = ArcSwap::from_pointee((weights.clone(), index));
        group.bench_function(BenchmarkId::new("arc_swap_weighted_index", n), |b| {
            b.iter(|| swap.load().1.sample(&mut rand::rng()));
        });
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
        group.bench_function(BenchmarkId::new("picker", n), |b| {
            b.iter(|| picker.pick(black_box(&PLAIN)).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("route", n), |b| {
            b.iter(|| route.pick(black_box(&PLAIN)).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("smooth_bare", n), |b| b.iter(|| smooth.pick()));
    }
    group.finish();
}

fn assert_counts_of_a_cycle(weights: &[f64], cycle: usize, mut pick: impl FnMut() -> usize) {
    let mut counts = vec![0_usize; weights.len()];
    (0..cycle).for_each(|_| counts[pick()] += 1);
    assert!(counts.iter().zip(weights).all(|(count, weight)| *count == *weight as usize));
}

fn every_policy(c: &mut Criterion) {
    let mut group = c.benchmark_group("every_policy");
    let pool = pool(&turns(100));
    for policy in Policy::all() {
        let route = route(&pool, policy.clone());
        let request = Request::new().key(b"user-1");
        assert!(route.pick(&request).is_ok());
        let mut picker = route.picker_seeded(1);
        group.bench_function(BenchmarkId::new("picker", policy.name()), |b| {
            b.iter(|| picker.pick(black_box(&request)).map(|pick| pick.index()));
        });
        group.bench_function(BenchmarkId::new("route", policy.name()), |b| {
            b.iter(|| route.pick(black_box(&request)).map(|pick| pick.index()));
        });
    }
    group.finish();
}

criterion_group!(benches, weighted_random, weighted_round_robin, every_policy);
criterion_main!(benches);
