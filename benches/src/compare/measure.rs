//! Times that a drifting machine does not bend: short blocks in the order A B B A, and the ratio of each such round.
//!
//! What slows the machine down for longer than a round slows both alike, and a slope over a round cancels out. The ratios'
//! median is the answer; its 95 % interval comes from a bootstrap over the rounds.
//!
//! One thread is timed by its own processor time, so that what other processes take does not count. Several are timed by the
//! wall, since waiting for each other does.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::contender::{Block, Contender};

/// How long a block is to take.
const BLOCK: Duration = Duration::from_micros(300);

/// Time for a pair, beyond which rounds are left out.
const PATIENCE: Duration = Duration::from_secs(2);

/// Fewest rounds.
const FEWEST: usize = 5;

const RESAMPLES: usize = 1_000;

/// A contender's hands, one for each thread, and how much they do in a block.
pub(crate) struct Running {
    hands: Vec<Block>,
    times: u64,
    /// Nanoseconds of the blocks so far, each for one operation.
    pub(crate) blocks: Vec<f64>,
}

/// A ratio, with the interval that it lies in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Running {
    /// Warms up, and finds out how many operations fill a block.
    pub(crate) fn new(contender: &Contender, threads: u16) -> Self {
        let hands = (0..threads).map(|_| contender.hand()).collect();
        let mut running = Self { hands, times: 1, blocks: Vec::new() };
        loop {
            // The quicker of two, so that a cold start or an interruption is not taken for the work.
            let spent = running.block().min(running.block()) * running.times as f64 * f64::from(threads);
            if spent >= BLOCK.as_nanos() as f64 / 2.0 || running.times >= 1 << 40 {
                break;
            }
            let growth = (BLOCK.as_nanos() as f64 / spent.max(1.0)).clamp(2.0, 16.0);
            running.times = (running.times as f64 * growth) as u64;
        }
        running.blocks.clear();
        running
    }

    /// One block: nanoseconds an operation, of all threads together.
    fn block(&mut self) -> f64 {
        let times = self.times;
        let threads = self.hands.len() as f64;
        let spent = match self.hands.as_mut_slice() {
            [hand] => {
                let begun = processor_time();
                hand(times);
                (processor_time() - begun).as_nanos() as f64
            }
            hands => {
                let gate = Barrier::new(hands.len());
                let wait_and_work = |hand: &mut Block| {
                    gate.wait();
                    timed(hand, times)
                };
                let spent: f64 = std::thread::scope(|scope| {
                    let work = hands.iter_mut().map(|hand| scope.spawn(|| wait_and_work(hand)));
                    let work: Vec<_> = work.collect();
                    work.into_iter().filter_map(|thread| thread.join().ok()).sum()
                });
                spent / threads
            }
        };
        let ns = spent / times as f64 / threads;
        self.blocks.push(ns);
        ns
    }
}

/// The processor time that this thread has used.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Where the system does not tell, the wall's.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    use std::sync::LazyLock;
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed()
}

fn timed(hand: &mut Block, times: u64) -> f64 {
    let begun = Instant::now();
    hand(times);
    begun.elapsed().as_nanos() as f64
}

/// Measures one alone.
pub(crate) fn alone(running: &mut Running, rounds: usize) {
    for _ in 0..rounds {
        running.block();
    }
}

/// How many times faster `ours` is than `peer`.
pub(crate) fn pair(ours: &mut Running, peer: &mut Running, rounds: usize) -> Ratio {
    let mut ratios = Vec::with_capacity(rounds);
    let begun = Instant::now();
    while ratios.len() < rounds && (ratios.len() < FEWEST || begun.elapsed() < PATIENCE) {
        let (first, second) = (ours.block(), peer.block());
        let (third, fourth) = (peer.block(), ours.block());
        ratios.push((second + third) / (first + fourth));
    }
    interval(&mut ratios)
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match (values.len(), values.get(values.len() / 2)) {
        (even, Some(upper)) if even.is_multiple_of(2) => (values[even / 2 - 1] + upper) / 2.0,
        (_, middle) => middle.copied().unwrap_or(f64::NAN),
    }
}

/// The median and its 95 % interval by the percentiles of a bootstrap, with a fixed seed.
fn interval(values: &mut [f64]) -> Ratio {
    let mut rng = SplitMix64::seed_from_u64(1);
    let mut resampled = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            resampled.iter_mut().for_each(|value| *value = values[rng.random_range(0..values.len())]);
            median(&mut resampled)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| medians[((RESAMPLES - 1) as f64 * share).round() as usize];
    Ratio { median: median(values), low: at(0.025), high: at(0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_few() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn the_interval_holds_the_median_and_ignores_an_outlier() {
        let mut values: Vec<f64> = (0..31).map(|at| 2.0 + f64::from(at) / 100.0).collect();
        values[30] = 1_000.0;
        let ratio = interval(&mut values);
        assert!((ratio.median - 2.15).abs() < 1e-9);
        assert!(ratio.low < ratio.median && ratio.median < ratio.high && ratio.high < 2.3, "{ratio:?}");
    }

    #[test]
    fn a_slow_first_time_does_not_shorten_the_blocks() {
        let late = || {
            let mut first = true;
            move || {
                if std::mem::take(&mut first) {
                    let begun = processor_time();
                    while processor_time() - begun < BLOCK {}
                }
            }
        };
        assert!(Running::new(&Contender::does("late", late), 1).times > 1_000);
    }

    #[test]
    fn twice_the_work_takes_about_twice_as_long() {
        let work = |rounds: u64| {
            move || {
                move || {
                    std::hint::black_box((0..rounds).map(std::hint::black_box).sum::<u64>());
                }
            }
        };
        let (one, two) = (Contender::does("one", work(500)), Contender::does("two", work(2_000)));
        let ratio = pair(&mut Running::new(&one, 1), &mut Running::new(&two, 1), 9);
        assert!((2.0..8.0).contains(&ratio.median), "{ratio:?}");
    }
}
