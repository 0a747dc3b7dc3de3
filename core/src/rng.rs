//! Random numbers: the picker's generator, whose sequence is a promise, and seeds.
//!
//! A picker draws from SplitMix64 (G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", 2014),
//! begun at a mix of the seed, so that neighbouring seeds lie far apart on its one cycle. A seeded pool's shared routes draw
//! from the same algorithm over an atomic counter. It passes the batteries of tests that such generators are held to, has a
//! state of one word, and costs an addition between one number and the next. Threads' own generators are fastrand's; they
//! live beside the thread's slot.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::sync::{AtomicU64, Ordering};

/// 2⁶⁴ divided by the golden ratio, odd: SplitMix64's step, and the golden rotation's.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where a pick gets its 64-bit numbers from.
pub(crate) trait Draw {
    fn draw(&mut self) -> u64;

    /// Two numbers, as two calls give them.
    #[inline(always)]
    fn draw_two(&mut self) -> [u64; 2] {
        [self.draw(), self.draw()]
    }
}

/// A generator that threads share: SplitMix64 over an atomic counter. The order of draws is that of the additions.
pub(crate) struct SharedDraw<'a>(pub(crate) &'a AtomicU64);

impl Draw for SharedDraw<'_> {
    #[inline]
    fn draw(&mut self) -> u64 {
        mix(self.0.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN))
    }
}

/// A picker's generator: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct PickerRng(u64);

impl PickerRng {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GOLDEN)))
    }
}

impl Draw for PickerRng {
    #[inline(always)]
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

/// SplitMix64's output function: spreads every bit of the input over the output.
#[inline(always)]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A number made of both.
#[inline]
pub(crate) fn mix2(a: u64, b: u64) -> u64 {
    mix(mix(a.wrapping_add(GOLDEN)) ^ b)
}

/// A number that differs between calls, threads, processes and hosts. One system call where the system has one for it,
/// no allocation, so that a fork handler may use it.
pub(crate) fn entropy() -> u64 {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(drawn) = crate::publish::system_entropy() {
        return drawn;
    }
    // The standard library's keys come from the system, once a thread, and count up from there.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    #[test]
    fn the_picker_generator_is_splitmix64_begun_at_a_mix_of_the_seed() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut ours = PickerRng::from_seed(seed);
            let mut begin = rand_xoshiro::SplitMix64::seed_from_u64(seed);
            let mut reference = rand_xoshiro::SplitMix64::seed_from_u64(begin.next_u64());
            for _ in 0..1_000 {
                assert_eq!(ours.draw(), reference.next_u64());
            }
        }
    }

    #[test]
    fn the_shared_generator_is_splitmix64() {
        let state = AtomicU64::new(42);
        let mut reference = rand_xoshiro::SplitMix64::seed_from_u64(42);
        for _ in 0..1_000 {
            assert_eq!(SharedDraw(&state).draw(), reference.next_u64());
        }
    }

    #[test]
    fn entropy_differs_between_calls() {
        let drawn: std::collections::HashSet<u64> = (0..1_000).map(|_| entropy()).collect();
        assert_eq!(drawn.len(), 1_000);
    }
}
