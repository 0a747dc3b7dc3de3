//! How far what was observed is from what was to be expected.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Cells that are expected to be hit less often are put together: the chi-square approximation needs about five.
const LEAST_EXPECTED: f64 = 5.0;

/// The largest distance between a share expected and a share observed.
pub(crate) fn max_share_error(expected: &[f64], counts: &[u64], picks: u64) -> f64 {
    let errors = expected.iter().zip(counts).map(|(share, count)| (share - fraction(*count, picks)).abs());
    errors.fold(0.0, f64::max)
}

/// The probability that independent draws from these shares are at least as far from them as the counts are. `None`
/// where nothing is left to chance.
pub(crate) fn chi_square_p(expected: &[f64], counts: &[u64], picks: u64) -> Option<f64> {
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut small = (0.0, 0.0);
    for (share, count) in expected.iter().zip(counts) {
        let (share, count) = (share * picks as f64, *count as f64);
        if share == 0.0 && count > 0.0 {
            return Some(0.0);
        }
        if share < LEAST_EXPECTED {
            small = (small.0 + share, small.1 + count);
        } else {
            cells.push((share, count));
        }
    }
    let smallest = cells.iter_mut().min_by(|one, other| one.0.total_cmp(&other.0));
    match smallest {
        Some(cell) if small.0 < LEAST_EXPECTED => *cell = (cell.0 + small.0, cell.1 + small.1),
        _ => cells.push(small),
    }
    let freedom = cells.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let statistic: f64 = cells.iter().map(|(share, count)| (count - share).powi(2) / share).sum();
    Some(ChiSquared::new(freedom as f64).ok()?.sf(statistic))
}

/// The largest deviation of any instance's count from its ideal over every prefix of a sequence of picks.
///
/// An instance's deviation falls from one of its picks to the next, so its extremes are right before and right after its
/// picks, and at the end: O(1) a pick.
pub(crate) struct Prefixes<'a> {
    expected: &'a [f64],
    counts: Vec<u64>,
    picks: u64,
    largest: f64,
}

impl<'a> Prefixes<'a> {
    pub(crate) fn new(expected: &'a [f64]) -> Self {
        Self { expected, counts: vec![0; expected.len()], picks: 0, largest: 0.0 }
    }

    pub(crate) fn add(&mut self, index: usize) {
        self.look(index);
        self.picks += 1;
        self.counts[index] += 1;
        self.look(index);
    }

    pub(crate) fn finish(mut self) -> f64 {
        (0..self.counts.len()).for_each(|index| self.look(index));
        self.largest
    }

    fn look(&mut self, index: usize) {
        let ideal = self.expected[index] * self.picks as f64;
        self.largest = self.largest.max((self.counts[index] as f64 - ideal).abs());
    }
}

pub(crate) fn fraction(count: u64, picks: u64) -> f64 {
    count as f64 / picks as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_errors_are_absolute() {
        assert_eq!(max_share_error(&[0.5, 0.25, 0.25], &[2, 2, 0], 4), 0.25);
        assert_eq!(max_share_error(&[], &[], 4), 0.0);
    }

    /// 11.07 is the 95th percentile of five degrees of freedom.
    #[test]
    fn chi_square_agrees_with_the_tables() {
        let sixth = [1.0 / 6.0; 6];
        let counts = [100 + 33, 100 - 33, 100, 100, 100, 100];
        let p = chi_square_p(&sixth, &counts, 600).unwrap();
        let statistic = 2.0 * 33.0 * 33.0 / 100.0;
        assert!((p - ChiSquared::new(5.0).unwrap().sf(statistic)).abs() < 1e-12);
        assert!((ChiSquared::new(5.0).unwrap().sf(11.070) - 0.05).abs() < 1e-4);
        assert_eq!(chi_square_p(&sixth, &[100; 6], 600), Some(1.0));
    }

    #[test]
    fn an_instance_without_a_share_must_not_be_picked() {
        assert_eq!(chi_square_p(&[1.0, 0.0], &[99, 1], 100), Some(0.0));
    }

    #[test]
    fn one_cell_is_no_matter_of_chance() {
        assert_eq!(chi_square_p(&[1.0, 0.0], &[100, 0], 100), None);
        assert_eq!(chi_square_p(&[0.5, 0.5], &[1, 0], 1), None);
    }

    #[test]
    fn rare_cells_are_put_together() {
        let mut shares = vec![0.9];
        shares.extend([0.001; 100]);
        let mut counts = vec![900];
        counts.extend([1; 100]);
        assert_eq!(chi_square_p(&shares, &counts, 1_000), Some(1.0));
    }

    #[test]
    fn prefixes_see_what_every_step_would_show() {
        let shares = [0.5, 0.3, 0.2];
        let sequence = [2, 0, 0, 1, 0, 1, 2, 0, 1, 0, 0, 0, 0];
        let mut counts = [0.0; 3];
        let mut naive = 0.0_f64;
        let mut prefixes = Prefixes::new(&shares);
        for (turn, index) in sequence.into_iter().enumerate() {
            prefixes.add(index);
            counts[index] += 1.0;
            for (share, count) in shares.iter().zip(counts) {
                naive = naive.max((count - share * (turn + 1) as f64).abs());
            }
        }
        assert_eq!(prefixes.finish(), naive);
    }
}
