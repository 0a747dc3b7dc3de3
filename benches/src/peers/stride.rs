//! The static stride scheduler, expected O(mean / highest weight), as gRPC's weighted round robin has it: rounds over the
//! list, in which an instance is passed over unless its weight has added up to another whole.

const WHOLE: u64 = u16::MAX as u64;

/// Half a round, so that neighbours of equal weight are not all passed over in the same round.
const OFFSET: u64 = WHOLE / 2;

/// Scaled weights, and the place in the sequence.
#[derive(Clone)]
pub struct Stride {
    weights: Vec<u64>,
    sequence: u64,
}

impl Stride {
    /// Over instances of these weights.
    pub fn new(weights: &[f64]) -> Self {
        let highest = weights.iter().copied().fold(0.0, f64::max);
        let scaled = |weight: &f64| ((weight / highest * WHOLE as f64).round() as u64).max(1);
        Self { weights: weights.iter().map(scaled).collect(), sequence: 0 }
    }

    /// The next that is not passed over.
    #[inline]
    pub fn pick(&mut self) -> usize {
        let n = self.weights.len() as u64;
        loop {
            let (round, at) = (self.sequence / n, self.sequence % n);
            self.sequence += 1;
            let weight = self.weights[at as usize];
            if (weight * round + at * OFFSET) % WHOLE >= WHOLE - weight {
                return at as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{counts, order};

    #[test]
    fn equal_weights_keep_the_order_of_the_list() {
        let mut stride = Stride::new(&[3.0; 3]);
        assert_eq!(order(6, || stride.pick()), [0, 1, 2].repeat(2));
    }

    #[test]
    fn one_two_goes_heavy_light_heavy() {
        let mut stride = Stride::new(&[1.0, 2.0]);
        assert_eq!(order(6, || stride.pick()), [1, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn shares_follow_the_weights() {
        let mut stride = Stride::new(&[5.0, 3.0, 2.0]);
        let counts = counts(3, 10_000, || stride.pick());
        assert!(counts.iter().zip([5_000, 3_000, 2_000]).all(|(count, ideal)| count.abs_diff(ideal) < 10));
    }
}
