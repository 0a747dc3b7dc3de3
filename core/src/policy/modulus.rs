//! Remainders without a division.

use super::roulette::scale;

/// Remainders by a number that stays the same: two multiplications in place of a division (P. Barrett, 1986).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus {
    number: u64,
    /// ⌊2⁶⁴ / number⌋, or the largest number that fits.
    inverse: u64,
}

impl Modulus {
    pub(crate) fn new(number: u64) -> Self {
        let inverse = (1_u128 << 64).checked_div(u128::from(number)).unwrap_or(0);
        Self { number, inverse: u64::try_from(inverse).unwrap_or(u64::MAX) }
    }

    /// value mod number; any value where the number is 0.
    #[inline(always)]
    pub(crate) fn of(self, value: u64) -> u64 {
        // The quotient is at most one too small.
        let quotient = scale(value, self.inverse);
        let rest = value.wrapping_sub(quotient.wrapping_mul(self.number));
        if rest >= self.number { rest.wrapping_sub(self.number) } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn remainders_are_remainders(value in any::<u64>(), small in 0_u64..10_000, number in 1_u64..5_000_000) {
            for value in [value, small, u64::MAX - small, number * small, (number * small).saturating_sub(1)] {
                prop_assert_eq!(Modulus::new(number).of(value), value % number);
            }
        }
    }
}
