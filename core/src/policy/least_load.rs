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
    use super::super::table::Member;
    use super::*;

    struct Fixed(u64);

    impl Draw for Fixed {
        fn draw(&mut self) -> u64 {
            self.0
        }
    }

    fn of_loads(loads: &[Option<f64>]) -> (Table, Live) {
        let live = Live::new(&crate::PoolSpec::new());
        live.grow(loads.len());
        for (slot, load) in (0..).zip(loads) {
            load.iter().for_each(|load| live.report(slot, *load, 0));
        }
        let members = (0..loads.len() as u32).map(|at| Member { index: at, slot: at }).collect();
        (Table::new(members, vec![1.0; loads.len()]), live)
    }

    #[test]
    fn the_lowest_are_drawn_alike_and_nobody_else() {
        for (loads, skips, lowest) in [
            (&[Some(5.0), Some(3.0), None, Some(3.0)][..], &[][..], &[1, 3][..]),
            (&[Some(5.0), Some(3.0), None, Some(3.0)], &[1], &[3]),
            (&[Some(5.0), Some(3.0), None, Some(3.0)], &[1, 2, 3], &[0]),
            (&[None, None, None], &[], &[0, 1, 2]),
            (&[Some(0.0), Some(0.0), None, Some(0.0)], &[0], &[1, 2, 3]),
            (&[Some(1.0)], &[0], &[]),
        ] {
            let (table, live) = of_loads(loads);
            let eligible = Eligible { skips, filter: None };
            let mut counts = vec![0.0; loads.len()];
            for draw in 0..600_u64 {
                let drawn = pick(&table, &eligible, &live, &mut Fixed(draw * (u64::MAX / 600)));
                assert_eq!(drawn.is_none(), lowest.is_empty());
                drawn.iter().for_each(|rank| counts[*rank] += 1.0 / 600.0);
            }
            let shares = shares(&table, &eligible, &live);
            assert_eq!(shares.len(), loads.len());
            for (rank, (count, share)) in counts.iter().zip(&shares).enumerate() {
                let ideal = if lowest.contains(&rank) { 1.0 / lowest.len() as f64 } else { 0.0 };
                assert!((count - ideal).abs() < 0.005, "{loads:?} without {skips:?}: {counts:?}");
                assert!((share - ideal).abs() < 1e-12, "{loads:?} without {skips:?}: {shares:?}");
            }
        }
    }

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
