//! What was counted of a run.

use std::ops::Range;

use pointsman::{NoInstance, Picked, Route};

use super::{BATCH, Requests};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::stats::chi_square_p;

/// What was counted.
pub(super) struct Tally {
    pub(super) counts: Vec<u64>,
    /// Picks by branch and tier, in rows of [`pointsman::MAX_TIERS`].
    tiers: Vec<u64>,
    pub(super) refused: u64,
    pub(super) refusal: Option<NoInstance>,
}

pub(super) fn batches(picks: u64) -> impl Iterator<Item = u64> {
    (0..picks).step_by(BATCH as usize).map(move |begin| BATCH.min(picks - begin))
}

/// Picks so many times, on so many threads.
pub(super) fn count(
    route: &Route,
    requests: Requests<'_>,
    instances: usize,
    (picks, threads): (u64, u16),
    progress: &Progress,
) -> Result<Tally, Failure> {
    let threads = u64::from(threads);
    let begin = |thread: u64| picks / threads * thread + thread.min(picks % threads);
    if threads == 1 {
        return Ok(Tally::count(route, requests, instances, 0..picks, progress));
    }
    std::thread::scope(|scope| {
        let mut workers = Vec::with_capacity(threads as usize);
        for thread in 0..threads {
            let work =
                move || Tally::count(route, requests, instances, begin(thread)..begin(thread + 1), progress);
            let worker = std::thread::Builder::new().spawn_scoped(scope, work);
            workers.push(worker.map_err(|error| Failure::bad("--threads", error))?);
        }
        let tallies = workers.into_iter().filter_map(|worker| worker.join().ok());
        Ok(tallies.fold(Tally::new(instances), Tally::plus))
    })
}

impl Tally {
    pub(super) fn new(instances: usize) -> Self {
        let tiers = pointsman::MAX_BRANCHES * pointsman::MAX_TIERS;
        Self { counts: vec![0; instances], tiers: vec![0; tiers], refused: 0, refusal: None }
    }

    fn count(
        route: &Route,
        requests: Requests<'_>,
        instances: usize,
        picks: Range<u64>,
        progress: &Progress,
    ) -> Self {
        let mut tally = Self::new(instances);
        let mut number = picks.start;
        for batch in batches(picks.end - picks.start) {
            for _ in 0..batch {
                let pick = requests.with(number, |request| route.pick(request));
                number += 1;
                match pick {
                    Ok(pick) => tally.add(pick.picked()),
                    Err(refusal) => tally.refuse(refusal),
                }
            }
            progress.add(batch);
        }
        tally
    }

    pub(super) fn add(&mut self, picked: Picked) {
        self.counts[picked.index()] += 1;
        self.tiers[picked.branch() * pointsman::MAX_TIERS + picked.tier()] += 1;
    }

    pub(super) fn refuse(&mut self, refusal: NoInstance) {
        self.refused += 1;
        self.refusal.get_or_insert(refusal);
    }

    fn plus(mut self, other: Self) -> Self {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
        self.tiers.iter_mut().zip(other.tiers).for_each(|(sum, count)| *sum += count);
        self.refused += other.refused;
        self.refusal = self.refusal.or(other.refusal);
        self
    }

    /// Branch and tier that served most; of several the first.
    pub(super) fn busiest_tier(&self) -> Option<(usize, usize)> {
        let most = *self.tiers.iter().max().filter(|most| **most > 0)?;
        let place = self.tiers.iter().position(|count| *count == most)?;
        Some((place / pointsman::MAX_TIERS, place % pointsman::MAX_TIERS))
    }

    /// Refused picks are one cell more.
    pub(super) fn chi_square_p(&self, expected: &[f64], picks: u64) -> Option<f64> {
        if self.refused == 0 {
            return chi_square_p(expected, &self.counts, picks);
        }
        let refused = (1.0 - expected.iter().sum::<f64>()).max(0.0);
        let expected: Vec<f64> = expected.iter().copied().chain([refused]).collect();
        let counts: Vec<u64> = self.counts.iter().copied().chain([self.refused]).collect();
        chi_square_p(&expected, &counts, picks)
    }
}
