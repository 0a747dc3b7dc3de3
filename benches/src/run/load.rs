//! Requests that take their time, for policies that follow what is in flight and how long it takes.
//!
//! A fixed number of requests is under way. Each holds a lease until its latency is over, in simulated time; then the next
//! begins. The engine is told the simulation's time, so a run is as long as its picks take.

use std::time::Duration;

use pointsman::{Lease, Outcome, Policy, Pool, Route};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::latencies::Latencies;
use super::tally::Tally;
use super::{BATCH, Requests};
use crate::departures::Departures;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::simulate::tally::Tally as Times;

const SECOND: u64 = 1_000_000_000;

/// How often the list's loads are reported again, well within the age at which they count no more.
const REPORT: u64 = 10 * SECOND;

/// Unless the arguments say how many are under way: two for each instance, but not more than this.
const MOST_IN_FLIGHT: usize = 1_000;

pub(super) struct Load<'a> {
    pub(super) latencies: &'a Latencies,
    pub(super) in_flight: usize,
    pub(super) seed: u64,
}

/// What requests came to.
pub(crate) struct Waits {
    pub(crate) mean_ms: f64,
    pub(crate) p99_ms: f64,
    /// The share that failed.
    pub(crate) failed: f64,
}

struct Underway {
    lease: Lease,
    took: Duration,
    outcome: Outcome,
}

/// Whether leases and their outcomes change what the policy picks.
pub(super) fn follows(policy: &Policy) -> bool {
    match policy {
        Policy::LeastRequest | Policy::PeakEwma(_) => true,
        Policy::PowerOfTwo(options) => options.load == pointsman::Load::InFlight,
        Policy::ConsistentHash(options) => options.bound.is_some(),
        _ => false,
    }
}

pub(super) fn in_flight(instances: usize) -> usize {
    (2 * instances).clamp(1, MOST_IN_FLIGHT)
}

/// Leases so many times, and counts. Waits are `None` where no request was served.
pub(super) fn count(
    pool: &Pool,
    route: &Route,
    requests: Requests<'_>,
    picks: u64,
    load: &Load<'_>,
    progress: &Progress,
) -> Result<(Tally, Option<Waits>), Failure> {
    let list = pool.instances();
    let mut tally = Tally::new(list.len());
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(load.seed);
    let mut under_way: Departures<Underway> = Departures::new();
    let (mut times, mut served, mut failed) = (Times::new(), 0_u64, 0_u64);
    // Behind the time at which the pool was made.
    let (mut now, mut reported) = (SECOND, SECOND);
    for number in 0..picks {
        if under_way.len() >= load.in_flight {
            now = end_next(&mut under_way).unwrap_or(now);
        }
        if now - reported >= REPORT {
            reported = now;
            for instance in list.iter() {
                let Some(load) = instance.load else { continue };
                let said = pool.report_load_at(&instance.id, load, now);
                said.map_err(|error| Failure::bad(&instance.id, error))?;
            }
        }
        match requests.with(number, |request| route.lease(request)) {
            Ok(lease) => {
                let picked = lease.picked();
                let (took, outcome) = load.latencies.draw(picked.index(), &mut rng);
                tally.add(picked);
                times.add(took.as_nanos() as u64);
                (served, failed) = (served + 1, failed + u64::from(outcome == Outcome::Failure));
                under_way.put(now.saturating_add(took.as_nanos() as u64), Underway { lease, took, outcome });
            }
            Err(refusal) => {
                tally.refuse(refusal);
                // Who finds all of them full comes again when one is not.
                now = end_next(&mut under_way).unwrap_or(now);
            }
        }
        if number % BATCH == BATCH - 1 {
            progress.add(BATCH);
        }
    }
    progress.add(picks % BATCH);
    let waits = (served > 0).then(|| Waits {
        mean_ms: times.mean_s() * 1e3,
        p99_ms: times.quantile_s(0.99) * 1e3,
        failed: failed as f64 / served as f64,
    });
    Ok((tally, waits))
}

/// Ends the request whose time is over first. Returns that time.
fn end_next(under_way: &mut Departures<Underway>) -> Option<u64> {
    let (at, gone) = under_way.next()?;
    gone.lease.done_at(gone.outcome, gone.took, at);
    Some(at)
}
