//! Single draws: who owns each of them.
//!
//! The generator of a picker is published and can be run backwards, so that a picker can be made whose first number is any
//! that one likes. What is looked at is then not a table of the engine but whole picks, by way of its public interface.

use super::Reading;

/// SplitMix64's step.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The seed of the picker whose first number is `draw`.
pub(crate) fn seed_that_draws(draw: u64) -> u64 {
    seed_that_draws_behind(0, draw)
}

/// The seed of the picker whose number behind so many others is `draw`.
pub(crate) fn seed_that_draws_behind(others: u64, draw: u64) -> u64 {
    // A picker begins at a mix of its seed, and each number is a mix of a step more.
    let begin = unmix(draw).wrapping_sub(GOLDEN.wrapping_mul(others + 1));
    unmix(begin).wrapping_sub(GOLDEN)
}

/// The inverse of SplitMix64's output function: each multiplication by the inverse of its factor, each shift undone.
fn unmix(value: u64) -> u64 {
    let value = unshift(value, 31).wrapping_mul(inverse(0x94D0_49BB_1331_11EB));
    let value = unshift(value, 27).wrapping_mul(inverse(0xBF58_476D_1CE4_E5B9));
    unshift(value, 30)
}

/// Undoes `value ^ (value >> by)`, for `by` of a third of the bits or more.
fn unshift(value: u64, by: u32) -> u64 {
    value ^ (value >> by) ^ (value >> (2 * by))
}

/// Of an odd number modulo 2⁶⁴, by Newton's iteration: each step doubles the bits that are right, of which 3 are at first.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |so_far, _| so_far.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(so_far))))
}

/// Gives every draw of `bits` bits to its owner and counts. The counts of a sound sampler are the ideals where those are
/// whole numbers, and less than 1 from them where they are not.
pub(crate) fn enumeration(bits: u32, shares: &[f64], owner: impl Fn(u64) -> Option<usize>) -> Reading {
    let mut counts = vec![0_u64; shares.len()];
    let mut lost = 0_u32;
    for draw in 0..1_u64 << bits {
        match owner(draw).and_then(|owner| counts.get_mut(owner)) {
            Some(count) => *count += 1,
            None => lost += 1,
        }
    }
    let distance = |(count, share): (&u64, &f64)| (*count as f64 - share * 2_f64.powi(bits as i32)).abs();
    let worst = counts.iter().zip(shares).map(distance).fold(f64::from(lost), f64::max);
    Reading::distance("enumeration", worst, 1.0 - 1e-6)
}

/// Finds by bisection where each owner's part of the circle of 2⁶⁴ draws ends. The owners must come in order. The bound is
/// the documented one: 2⁻⁵⁰ of the part, and as many points as there are owners.
pub(crate) fn borders(shares: &[f64], owner: impl Fn(u64) -> usize) -> Reading {
    let mut worst = 0.0_f64;
    let mut begin = 0_u128;
    for (rank, share) in shares.iter().enumerate() {
        // The first point behind the owner.
        let (mut low, mut high) = (begin, 1_u128 << 64);
        while low < high {
            let middle = (low + high) / 2;
            if owner(middle as u64) > rank { high = middle } else { low = middle + 1 }
        }
        let ideal = share * 2_f64.powi(64);
        let distance = ((low - begin) as f64 - ideal).abs();
        worst = worst.max(distance / (ideal * 2_f64.powi(-50) + shares.len() as f64));
        begin = low;
    }
    Reading::distance("borders", worst, 1.0)
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};
    use rand_xoshiro::SplitMix64;

    use super::*;

    #[test]
    fn the_seed_of_a_draw_draws_it() {
        for draw in [0, 1, u64::MAX, 1 << 63, 0x1234_5678_9ABC_DEF0] {
            let begin = SplitMix64::seed_from_u64(seed_that_draws(draw)).next_u64();
            assert_eq!(SplitMix64::seed_from_u64(begin).next_u64(), draw);
        }
    }

    #[test]
    fn one_draw_that_goes_astray_is_seen() {
        let shares = [0.25, 0.75];
        assert!(enumeration(8, &shares, |draw| Some(usize::from(draw >= 64))).is_sound());
        assert!(enumeration(8, &shares, |draw| Some(usize::from(draw > 64))).is_caught());
        assert!(enumeration(8, &shares, |draw| (draw < 255).then_some(usize::from(draw >= 64))).is_caught());
    }

    #[test]
    fn a_border_is_found_to_the_point() {
        let at = |border: u64| borders(&[0.25, 0.75], |draw| usize::from(draw >= border));
        assert!(at(1 << 62).is_sound());
        // 2⁻⁵⁰ of a quarter of the circle is 4,096 points.
        assert!(at((1 << 62) + 4_000).is_sound() && at((1 << 62) + 5_000).is_caught());
    }
}
