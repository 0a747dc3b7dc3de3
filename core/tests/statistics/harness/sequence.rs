//! Sequences: independence of what should be drawn afresh, evenness of what should take turns.

use statrs::distribution::{ContinuousCDF, Normal};

use super::Reading;
use super::counts::chi_square;

/// The number of picks that are the same as the one before, against that of independent picks. Exact mean and variance,
/// and the normal distribution that it tends to (A. M. Mood, "The distribution theory of runs", 1940).
pub(crate) fn repeats(picks: &[usize], shares: &[f64]) -> Reading {
    let pairs = picks.len() as f64 - 1.0;
    let power = |n: i32| shares.iter().map(|share| share.powi(n)).sum::<f64>();
    let (two, three) = (power(2), power(3));
    let variance = pairs * two * (1.0 - two) + 2.0 * (pairs - 1.0) * (three - two * two);
    let seen = picks.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
    let normal = Normal::new(0.0, 1.0).expect("a positive deviation");
    Reading::p("repeats", 2.0 * normal.sf((seen - pairs * two).abs() / variance.sqrt()))
}

/// Pairs of picks that lie `lag` apart against the product of the shares. Every pick is in one pair, so that pairs are
/// independent too.
pub(crate) fn serial(picks: &[usize], shares: &[f64], lag: usize) -> Reading {
    let pairs = picks.chunks_exact(2 * lag).flat_map(|chunk| (0..lag).map(|at| (chunk[at], chunk[at + lag])));
    let mut counts = vec![0; shares.len() * shares.len()];
    pairs.for_each(|(before, after)| counts[before * shares.len() + after] += 1);
    Reading { instrument: "serial", ..chi_square(&counts, &product(shares, shares)) }
}

/// Two choices that were made together against the product of their shares.
pub(crate) fn together(
    pairs: impl IntoIterator<Item = (usize, usize)>,
    first: &[f64],
    second: &[f64],
) -> Reading {
    let mut counts = vec![0; first.len() * second.len()];
    pairs.into_iter().for_each(|(one, other)| counts[one * second.len() + other] += 1);
    Reading { instrument: "together", ..chi_square(&counts, &product(first, second)) }
}

/// Two sequences that should know nothing of each other, at every distance up to `most`, either of them ahead: the smallest
/// probability, times how many there are.
pub(crate) fn lagged(one: &[usize], other: &[usize], shares: &[f64], most: usize) -> Reading {
    let at = |ahead: &[usize], behind: &[usize], lag: usize| {
        let pairs = ahead.iter().skip(lag).copied().zip(behind.iter().copied());
        together(pairs, shares, shares).probability()
    };
    let either = (1..=most).flat_map(|lag| [at(one, other, lag), at(other, one, lag)]);
    let least = either.fold(at(one, other, 0), f64::min);
    Reading::p("lagged", (least * (2 * most + 1) as f64).min(1.0))
}

fn product(first: &[f64], second: &[f64]) -> Vec<f64> {
    first.iter().flat_map(|one| second.iter().map(move |other| one * other)).collect()
}

/// The largest distance of any count from its ideal at any turn, as a part of the bound for that turn.
pub(crate) fn discrepancy(
    turns: impl IntoIterator<Item = usize>,
    shares: &[f64],
    bound: impl Fn(u32) -> f64,
) -> Reading {
    let (mut counts, mut worst) = (vec![0_u32; shares.len()], 0.0_f64);
    for (turn, at) in (1..).zip(turns) {
        counts[at] += 1;
        for (count, share) in counts.iter().zip(shares) {
            let distance = (f64::from(*count) - share * f64::from(turn)).abs();
            worst = worst.max(distance / bound(turn));
        }
    }
    Reading::distance("discrepancy", worst, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::Dice;
    use super::*;

    #[test]
    fn a_sequence_without_repeats_and_one_of_pairs_are_both_seen() {
        let shares = [0.25; 4];
        let in_turn: Vec<usize> = (0..1_000).map(|at| at % 4).collect();
        let in_pairs: Vec<usize> = (0..1_000).map(|at| at / 2 * 7 % 4).collect();
        assert!(repeats(&in_turn, &shares).is_caught() && repeats(&in_pairs, &shares).is_caught());
        assert!(serial(&in_turn, &shares, 1).is_caught() && serial(&in_turn, &shares, 4).is_caught());
    }

    #[test]
    fn all_pairs_once_are_together_as_they_should_and_equal_ones_are_not() {
        let shares = [0.1; 10];
        let all = (0..1_000).map(|at| (at % 10, at / 10 % 10));
        assert_eq!(together(all, &shares, &shares).probability(), 1.0);
        assert!(together((0..1_000).map(|at| (at % 10, at % 10)), &shares, &shares).is_caught());
    }

    #[test]
    fn a_copy_is_seen_up_to_the_distance_that_is_looked_at_and_by_itself_not_at_the_same_place() {
        let shares = [0.25; 4];
        let mut dice = Dice::new(1);
        let one: Vec<usize> = (0..10_000).map(|_| dice.below(4)).collect();
        for lag in 0..=3 {
            for (ahead, behind) in [(&one[lag..], &one[..]), (&one[..], &one[lag..])] {
                assert_eq!(lagged(ahead, behind, &shares, 2).is_caught(), lag <= 2, "{lag}");
                let pairs = ahead.iter().copied().zip(behind.iter().copied());
                assert_eq!(together(pairs, &shares, &shares).is_caught(), lag == 0, "{lag}");
            }
        }
    }

    #[test]
    fn turns_are_measured_at_every_turn() {
        let reading = discrepancy([0, 1, 0, 1], &[0.5, 0.5], |_| 0.5);
        assert_eq!(reading, Reading::distance("discrepancy", 1.0, 1.0));
        assert!(discrepancy([0, 0, 1, 1], &[0.5, 0.5], |_| 0.5).is_caught());
    }
}
