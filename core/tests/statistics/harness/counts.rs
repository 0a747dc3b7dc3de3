//! Counts against shares.

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Uniform};
use statrs::stats_tests::NaNPolicy;
use statrs::stats_tests::ks_test::{KSOneSampleAlternativeMethod, ks_onesample};

use super::Reading;

/// Cells that are expected to be hit less often are put together: below it the statistic does not follow the distribution
/// (W. G. Cochran, "Some methods for strengthening the common χ² tests", 1954).
const LEAST_EXPECTED: f64 = 5.0;

/// Pearson's chi-square of counts against shares that sum to 1. What has no share and was seen is impossible.
pub(crate) fn chi_square(observed: &[u64], shares: &[f64]) -> Reading {
    const NAME: &str = "chi-square";
    assert_eq!(observed.len(), shares.len(), "a share for each count");
    let total: u64 = observed.iter().sum();
    let (mut cells, mut small) = (Vec::new(), (0.0, 0.0));
    for (seen, share) in observed.iter().zip(shares) {
        if *share == 0.0 && *seen > 0 {
            return Reading::p(NAME, 0.0);
        }
        let (seen, expected) = (*seen as f64, share * total as f64);
        if expected >= LEAST_EXPECTED {
            cells.push((seen, expected));
        } else {
            small = (small.0 + seen, small.1 + expected);
        }
    }
    // The pool stands by itself if it is large enough, else with the smallest of the others.
    if small.1 >= LEAST_EXPECTED {
        cells.push(small);
    } else if let Some(smallest) = cells.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1)) {
        *smallest = (smallest.0 + small.0, smallest.1 + small.1);
    }
    if cells.len() < 2 {
        return Reading::p(NAME, 1.0);
    }
    let sum = cells.iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
    let freedom = (cells.len() - 1) as f64;
    let p = ChiSquared::new(freedom).expect("a positive number of degrees of freedom").sf(sum);
    Reading::p(NAME, p)
}

/// The exact probability of a count that is as far out or farther, on either side.
pub(crate) fn binomial(hits: u64, trials: u64, share: f64) -> Reading {
    let distribution = Binomial::new(share, trials).expect("a share between 0 and 1");
    let at_most = distribution.cdf(hits);
    let at_least = if hits == 0 { 1.0 } else { distribution.sf(hits - 1) };
    Reading::p("binomial", (2.0 * at_most.min(at_least)).min(1.0))
}

/// What may not happen once. `trials` is how often it could have.
pub(crate) fn never(hits: u64, trials: u64) -> Reading {
    assert!(trials > 0, "nothing was looked at");
    Reading::distance("never", hits as f64, 0.0)
}

/// The Kolmogorov–Smirnov distance of p-values from the uniform distribution that p-values of a sound sampler have.
pub(crate) fn uniformity(p_values: &[f64]) -> Reading {
    let uniform = Uniform::new(0.0, 1.0).expect("an interval");
    let method = KSOneSampleAlternativeMethod::TwoSidedAsymptotic;
    let tested = ks_onesample(p_values.to_vec(), &uniform, method, NaNPolicy::Error);
    Reading::p("uniformity", tested.expect("two numbers or more").1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chi_square_agrees_with_the_tables() {
        // Counts of 110, 90, 120, 80, 100, 100 come to a statistic of 10 on 5 degrees of freedom: 0.0752.
        let sixth = [1.0 / 6.0; 6];
        let p = chi_square(&[110, 90, 120, 80, 100, 100], &sixth).probability();
        assert!((p - 0.0752).abs() < 1e-4, "{p}");
        assert_eq!(chi_square(&[100; 6], &sixth).probability(), 1.0);
        assert_eq!(chi_square(&[99, 1], &[1.0, 0.0]).probability(), 0.0);
    }

    #[test]
    fn small_cells_are_put_together() {
        let mut shares = vec![1e-4; 100];
        shares.push(0.99);
        let mut counts = vec![0_u64; 100];
        counts[0] = 10;
        counts.push(990);
        assert!(chi_square(&counts, &shares).probability() > 0.999, "ten of what should be ten");
        counts[1] = 40;
        assert!(chi_square(&counts, &shares).is_caught(), "fifty of what should be ten");
    }

    #[test]
    fn binomial_tails_agree_with_sums_by_hand() {
        // Of ten throws of a coin none is heads once in 1,024, on either side.
        assert!((binomial(0, 10, 0.5).probability() - 2.0 / 1_024.0).abs() < 1e-12);
        assert_eq!(binomial(5, 10, 0.5).probability(), 1.0);
        assert!((binomial(9, 10, 0.5).probability() - 22.0 / 1_024.0).abs() < 1e-12);
        assert!((binomial(0, 20_000_000, 1e-6).probability() / (2.0 * (-20.0_f64).exp()) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn even_numbers_are_uniform_and_squares_of_them_are_not() {
        let even: Vec<f64> = (0..1_000).map(|at| (f64::from(at) + 0.5) / 1_000.0).collect();
        assert!(uniformity(&even).probability() > 0.99);
        let squares: Vec<f64> = even.iter().map(|p| p * p).collect();
        assert!(uniformity(&squares).is_caught());
    }
}
