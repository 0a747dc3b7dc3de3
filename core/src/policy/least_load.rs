//! `least_load`: the lowest reported load.
//!
//! An instance whose report is missing or stale counts as the mean of the reported ones, so that a new instance is
//! neither flooded nor left out. Ties are drawn uniformly. Callers that act on the same delayed reports all run to the same
//! instance; two choices by weight (`power_of_two` with `"load": "reported"`) do not.

use super::eligible::Eligible;
use super::roulette::scale;
use super::table::Table;
use crate::live::Live;
use crate::rng::Draw;

/// What the reports of the eligible come to.
#[derive(Debug, PartialEq)]
pub(crate) struct Reports {
    lowest: f64,
    highest: f64,
}

impl Reports {
    /// Pure arithmetic over the loads; `None` is unreported.
    pub(crate) fn of(loads: impl Iterator<Item = Option<f64>>) -> Self {
        let start = Self { lowest: f64::INFINITY, highest: f64::NEG_INFINITY };
        loads.flatten().fold(start, |so_far, load| Self {
            lowest: so_far.lowest.min(load),
            highest: so_far.highest.max(load),
        })
    }

    /// Whether an instance with this load has the lowest.
    pub(crate) fn is_lowest(&self, load: Option<f64>) -> bool {
        match load {
            Some(load) => load <= self.lowest,
            // The mean of the reports is the lowest only where all are alike, or where there are none.
            None => self.lowest >= self.highest,
        }
    }
}

/// The lowest of the eligible. O(n), one random number.
pub(crate) fn pick(
    table: &Table,
    eligible: &Eligible<'_>,
    live: &Live,
    draw: &mut impl Draw,
) -> Option<usize> {
    let now = live.now();
    let reports = Reports::of(eligible.ranks(table).map(|(_, member)| live.load(member.slot, now)));
    let lowest =
        || eligible.ranks(table).filter(|(_, member)| reports.is_lowest(live.load(member.slot, now)));
    let ties = lowest().count();
    // Reports may change between the passes; then the last that still ties is as good.
    let chosen = scale(draw.draw(), ties as u64) as usize;
    let mut last = None;
    for (at, (rank, _)) in lowest().enumerate() {
        last = Some(rank);
        if at == chosen {
            break;
        }
    }
    last.or_else(|| eligible.ranks(table).next().map(|(rank, _)| rank))
}

/// Each rank's exact share at the loads of now.
pub(crate) fn shares(table: &Table, eligible: &Eligible<'_>, live: &Live) -> Vec<f64> {
    let now = live.now();
    let reports = Reports::of(eligible.ranks(table).map(|(_, member)| live.load(member.slot, now)));
    let lowest: Vec<usize> = eligible
        .ranks(table)
        .filter(|(_, member)| reports.is_lowest(live.load(member.slot, now)))
        .map(|(rank, _)| rank)
        .collect();
    let mut shares = vec![0.0; table.len()];
    lowest.iter().for_each(|rank| shares[*rank] = 1.0 / lowest.len() as f64);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreported_load_counts_as_the_mean() {
        let reports = Reports::of([Some(50.0), Some(30.0), None].into_iter());
        assert!(reports.is_lowest(Some(30.0)) && !reports.is_lowest(Some(50.0)) && !reports.is_lowest(None));
    }

    #[test]
    fn equal_reports_tie_with_the_unreported() {
        let reports = Reports::of([Some(0.1), None, Some(0.1), Some(0.1)].into_iter());
        assert!(reports.is_lowest(None) && reports.is_lowest(Some(0.1)));
    }

    #[test]
    fn without_reports_all_tie() {
        let reports = Reports::of([None, None].into_iter());
        assert!(reports.is_lowest(None));
    }
}
