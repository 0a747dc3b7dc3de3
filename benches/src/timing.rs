//! Nanoseconds a pick.
//!
//! Timed is [`Route::pick`], the call that any thread may make, in a loop that does nothing else: no counting, and no
//! clock but between batches. Every thread measures its own loop while the others run; the figure is the mean of the
//! threads, the median of the rounds. Routes of a seeded pool share one generator, which costs, so the pool is one without
//! a seed.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pointsman::Route;

use crate::failure::Failure;
use crate::run::Requests;

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(15);
const LARGEST_BATCH: u64 = 4_096;

/// Nanoseconds that each of so many threads spends on a pick.
pub(crate) fn ns_per_pick(route: &Route, requests: Requests<'_>, threads: u16) -> Result<f64, Failure> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    // The round before the first warms caches and the threads' generators, and is not counted.
    one_round(route, requests, threads)?;
    for _ in 0..ROUNDS {
        rounds.push(one_round(route, requests, threads)?);
    }
    rounds.sort_unstable_by(f64::total_cmp);
    Ok(rounds[ROUNDS / 2])
}

fn one_round(route: &Route, requests: Requests<'_>, threads: u16) -> Result<f64, Failure> {
    if threads == 1 {
        return Ok(one_thread(route, requests));
    }
    let gate = Mutex::new(());
    let sum = std::thread::scope(|scope| {
        let closed = gate.lock();
        let mut workers = Vec::with_capacity(threads.into());
        for _ in 0..threads {
            let work = || {
                drop(gate.lock());
                one_thread(route, requests)
            };
            let worker = std::thread::Builder::new().spawn_scoped(scope, work);
            workers.push(worker.map_err(|error| Failure::bad("--threads", error))?);
        }
        drop(closed);
        Ok(workers.into_iter().filter_map(|worker| worker.join().ok()).sum::<f64>())
    })?;
    Ok(sum / f64::from(threads))
}

fn one_thread(route: &Route, requests: Requests<'_>) -> f64 {
    let mut batch = 1;
    let mut picks = 0;
    let begun = Instant::now();
    loop {
        for _ in 0..batch {
            requests.with(picks, |request| {
                let pick = route.pick(black_box(request));
                let _ = black_box(pick.as_ref().map(|pick| pick.instance().user_data));
            });
            picks += 1;
        }
        let spent = begun.elapsed();
        if spent >= ROUND {
            return spent.as_nanos() as f64 / picks as f64;
        }
        batch = LARGEST_BATCH.min(batch * 2);
    }
}
