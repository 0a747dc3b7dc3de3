//! Random numbers: the picker's generator, whose sequence is a promise, and seeds.
//!
//! A picker draws from xoshiro256++ (D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", 2021),
//! its state filled from the seed by SplitMix64 (G. Steele, D. Lea and C. Flood, 2014), as its authors recommend.
//! A seeded pool's shared routes draw from SplitMix64 over an atomic counter. Threads' own generators are fastrand's;
//! they live beside the thread's slot.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::publish::thread_draw;
use crate::sync::{AtomicU64, Ordering};

/// 2⁶⁴ divided by the golden ratio, odd: SplitMix64's step, and the golden rotation's.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where a pick gets its 64-bit numbers from.
pub(crate) trait Draw {
    fn draw(&mut self) -> u64;
}

/// The calling thread's generator.
pub(crate) struct ThreadDraw;

impl Draw for ThreadDraw {
    #[inline]
    fn draw(&mut self) -> u64 {
        thread_draw()
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

/// xoshiro256++.
#[derive(Clone, Debug)]
pub(crate) struct Xoshiro {
    state: [u64; 4],
}

impl Xoshiro {
    pub(crate) fn from_seed(seed: u64) -> Self {
        let mut state = [0; 4];
        let mut walk = seed;
        for word in &mut state {
            walk = walk.wrapping_add(GOLDEN);
            *word = mix(walk);
        }
        Self { state }
    }
}

impl Draw for Xoshiro {
    #[inline]
    fn draw(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }
}

/// SplitMix64's output function: spreads every bit of the input over the output.
#[inline]
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
    let mut bytes = [0_u8; 8];
    #[cfg(all(target_os = "linux", not(miri)))]
    if crate::publish::system_entropy(&mut bytes) {
        return u64::from_ne_bytes(bytes);
    }
    // The standard library's keys come from the system, once a thread, and count up from there.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    bytes = hasher.finish().to_ne_bytes();
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    #[test]
    fn the_picker_generator_is_xoshiro256_plus_plus_seeded_by_splitmix64() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut ours = Xoshiro::from_seed(seed);
            let mut reference = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
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
