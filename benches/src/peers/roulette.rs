//! The linear roulette of the Spring Cloud LoadBalancer tutorials: on each pick the weights are parsed from the metadata,
//! added up, and walked until a random number is used up.

use std::collections::HashMap;

use rand::RngExt;

/// Instances by their metadata alone.
pub struct Roulette {
    metadata: Vec<HashMap<String, String>>,
}

impl Roulette {
    /// Over instances of these weights.
    pub fn new(weights: &[f64]) -> Self {
        let metadata = |weight: &f64| {
            HashMap::from([
                ("nacos.weight".to_owned(), weight.to_string()),
                ("version".to_owned(), "stable".to_owned()),
            ])
        };
        Self { metadata: weights.iter().map(metadata).collect() }
    }

    fn weight(&self, at: usize) -> f64 {
        self.metadata[at].get("nacos.weight").and_then(|weight| weight.parse().ok()).unwrap_or(1.0)
    }

    /// Parses, adds up and draws.
    pub fn pick(&self) -> usize {
        let n = self.metadata.len();
        let total: f64 = (0..n).map(|at| self.weight(at)).sum();
        let mut left = rand::rng().random_range(0.0..total);
        for at in 0..n {
            left -= self.weight(at);
            if left < 0.0 {
                return at;
            }
        }
        n - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::counts;

    #[test]
    fn shares_follow_the_weights() {
        let roulette = Roulette::new(&[8.0, 2.0]);
        let counts = counts(2, 50_000, || roulette.pick());
        assert!((counts[0] as f64 / 50_000.0 - 0.8).abs() < 0.01, "{counts:?}");
    }
}
