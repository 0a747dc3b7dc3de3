//! What the report observes itself: rotations over time, and picks one by one with and without a writer.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pointsman::{Instance, Policy, Pool, Request, Route, RouteSpec, Tier};
use pointsman_bench::lists::{instances, weights};
use pointsman_bench::peers::edf::Edf;
use pointsman_bench::peers::smooth::Smooth;
use pointsman_bench::peers::stride::Stride;

use super::chart::Series;
use crate::failure::Failure;

/// 32 of weight 1, 8 of 4 and 2 of 16: a list on which smooth weighted round robin is more than a turn off.
const MIXED: [(usize, f64); 3] = [(32, 1.0), (8, 4.0), (2, 16.0)];
const CYCLES: usize = 2;

const TIMED_PICKS: usize = 200_000;
const TIMED_INSTANCES: usize = 1_000;
const BETWEEN_UPDATES: Duration = Duration::from_millis(1);

fn bad(error: impl std::fmt::Display) -> Failure {
    Failure::bad("report", error)
}

/// How far the instance that is farthest from its ideal is from it, after each pick.
pub(super) fn deviations() -> Result<Vec<Series>, Failure> {
    let weights: Vec<f64> =
        MIXED.iter().flat_map(|(count, weight)| std::iter::repeat_n(*weight, *count)).collect();
    let list = weights.iter().enumerate().map(|(at, weight)| Instance::new(at.to_string()).weight(*weight));
    let pool = Pool::new(list).map_err(bad)?;
    let route = route(&pool, Policy::WeightedRoundRobin)?;
    let mut picker = route.picker_seeded(1).start_at(0);
    let (mut smooth, mut edf, mut stride) =
        (Smooth::new(&weights), Edf::new(&weights), Stride::new(&weights));
    Ok(vec![
        deviation("pointsman", &weights, || {
            picker.pick(&Request::new()).map_or(usize::MAX, |pick| pick.index())
        }),
        deviation("smooth_wrr", &weights, || smooth.pick()),
        deviation("edf_heap", &weights, || edf.pick()),
        deviation("static_stride", &weights, || stride.pick()),
    ])
}

fn route(pool: &Pool, policy: Policy) -> Result<Route, Failure> {
    pool.route(RouteSpec::new(policy).tier(Tier::new())).map_err(bad)
}

fn deviation(name: &str, weights: &[f64], mut pick: impl FnMut() -> usize) -> Series {
    let total: f64 = weights.iter().sum();
    let mut counts = vec![0.0; weights.len()];
    let points = (1..=total as usize * CYCLES).map(|turn| {
        if let Some(count) = counts.get_mut(pick()) {
            *count += 1.0;
        }
        let off = |(count, weight): (&f64, &f64)| (count - turn as f64 * weight / total).abs();
        (turn as f64, counts.iter().zip(weights).map(off).fold(0.0, f64::max))
    });
    Series { name: name.to_owned(), points: points.collect() }
}

/// Shares of the picks by how long they took, in steps of half an octave; the clock's own time is in them.
pub(super) fn latencies() -> Result<Vec<Series>, Failure> {
    let pool = Pool::new(instances(&weights(TIMED_INSTANCES))).map_err(bad)?;
    let route = route(&pool, Policy::WeightedRandom)?;
    let alone = timed(&route)?;
    let done = AtomicBool::new(false);
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                turn += 1;
                let id = pointsman_bench::lists::address(turn % TIMED_INSTANCES);
                black_box(pool.edit(|edit| edit.set_weight(&id, (turn % 9 + 1) as f64)).is_ok());
                std::thread::sleep(BETWEEN_UPDATES);
            }
        });
        let timed = timed(&route);
        done.store(true, Ordering::Relaxed);
        timed
    })?;
    Ok(vec![shares("no writer", &alone), shares("a writer, 1,000 updates/s", &beside)])
}

fn timed(route: &Route) -> Result<Histogram<u64>, Failure> {
    let mut histogram = Histogram::new(3).map_err(bad)?;
    for _ in 0..TIMED_PICKS {
        let begun = Instant::now();
        black_box(route.pick(black_box(&Request::new())).map(|pick| pick.index()).ok());
        let took = begun.elapsed().as_nanos() as u64;
        histogram.record(took.max(1)).map_err(bad)?;
    }
    Ok(histogram)
}

fn shares(name: &str, histogram: &Histogram<u64>) -> Series {
    let edge = |step: i32| 2_f64.powf(f64::from(step) / 2.0);
    let share = |step: i32| {
        let count = histogram.count_between(edge(step).ceil() as u64, (edge(step + 1).ceil() as u64) - 1);
        (edge(step), count as f64 / histogram.len() as f64 * 100.0)
    };
    let points = (6..48).map(share).filter(|(_, share)| *share > 0.0).collect();
    Series { name: name.to_owned(), points }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_never_as_much_as_a_turn_off_and_smooth_is() {
        let series = deviations().unwrap();
        let most = |at: usize| series[at].points.iter().map(|point| point.1).fold(0.0, f64::max);
        assert!(most(0) < 1.0, "{}", most(0));
        assert!(most(1) > 1.1 && most(2) > 1.0 && most(3) > 1.0);
    }

    #[test]
    fn shares_of_latencies_add_up() {
        for series in latencies().unwrap() {
            let sum: f64 = series.points.iter().map(|point| point.1).sum();
            assert!((sum - 100.0).abs() < 0.1, "{} {sum}", series.name);
        }
    }
}
