//! Consistent hashing as it is written by hand: a ring of 160 points an instance, found by binary search; and the modulo.

use xxhash_rust::xxh64::xxh64;

const POINTS: usize = 160;

/// Points in order, and whose they are.
#[derive(Clone)]
pub struct Ring {
    points: Vec<(u64, u32)>,
}

impl Ring {
    /// Over instances of these names.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let points = |(at, name): (usize, &'a str)| {
            (0..POINTS).map(move |point| (xxh64(format!("{name}-{point}").as_bytes(), 0), at as u32))
        };
        let mut points: Vec<_> = names.enumerate().flat_map(points).collect();
        points.sort_unstable();
        Self { points }
    }

    /// The owner of the first point behind the key's hash.
    #[inline]
    pub fn owner(&self, key: &[u8]) -> usize {
        let at = self.points.partition_point(|(point, _)| *point < xxh64(key, 0));
        self.points[if at == self.points.len() { 0 } else { at }].1 as usize
    }
}

/// The key's hash, modulo the number of instances.
#[inline]
pub fn modulo(n: usize, key: &[u8]) -> usize {
    (xxh64(key, 0) % n as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_of_what_goes_move() {
        let names = ["a", "b", "c", "d"];
        let (before, after) = (Ring::new(names.into_iter()), Ring::new(names.into_iter().take(3)));
        for key in 0..1_000_u64 {
            let key = key.to_le_bytes();
            assert!(before.owner(&key) == 3 || before.owner(&key) == after.owner(&key));
        }
    }

    #[test]
    fn a_modulo_moves_almost_all() {
        let keys = (0..1_000_u64).map(u64::to_le_bytes);
        assert!(keys.filter(|key| modulo(4, key) != modulo(3, key)).count() > 600);
    }
}
