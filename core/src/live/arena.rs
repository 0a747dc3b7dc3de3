//! An array that grows under its readers: chunks that double, so that nothing ever moves.

use std::sync::OnceLock;

/// Elements of the first chunk; one in a model, where each is dear.
const FIRST: usize = if cfg!(loom) { 1 } else { 64 };

/// Chunks at most: room for 64 · (2²⁶ − 1) elements.
pub(crate) const CHUNKS: usize = 26;

/// Elements by index. Reading takes no lock; growing is for one writer at a time.
pub(crate) struct Arena<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
}

impl<T: Default> Arena<T> {
    pub(crate) const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS] }
    }

    /// Makes room for indices below `count`.
    pub(crate) fn grow(&self, count: usize) {
        for (at, chunk) in self.chunks.iter().enumerate() {
            if FIRST * ((1 << at) - 1) >= count {
                return;
            }
            chunk.get_or_init(|| (0..FIRST << at).map(|_| T::default()).collect());
        }
    }
}

impl<T> Arena<T> {
    /// The element, if there is room for it.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (chunk, offset) = place(index);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    /// The elements from `begin` on, `count` of them or as many as lie together.
    pub(crate) fn run(&self, begin: usize, count: usize) -> &[T] {
        let (chunk, offset) = place(begin);
        let rest = self
            .chunks
            .get(chunk)
            .and_then(OnceLock::get)
            .and_then(|chunk| chunk.get(offset..))
            .unwrap_or(&[]);
        rest.get(..count).unwrap_or(rest)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.chunks.iter().filter_map(OnceLock::get).map(|chunk| size_of_val(&**chunk)).sum()
    }
}

/// The chunk of an index and the place in it: chunk k holds the indices from FIRST · (2^k − 1) on.
#[inline(always)]
fn place(index: usize) -> (usize, usize) {
    let shifted = index + FIRST;
    let bit = shifted.ilog2();
    ((bit - FIRST.ilog2()) as usize, shifted ^ (1 << bit))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_index_below_the_count_has_its_own_element() {
        let arena: Arena<AtomicUsize> = Arena::new();
        assert!(arena.get(0).is_none());
        arena.grow(1_000);
        for index in 0..1_000 {
            arena.get(index).expect("there is room").store(index, Ordering::Relaxed);
        }
        arena.grow(5_000);
        for index in 0..1_000 {
            assert_eq!(arena.get(index).map(|element| element.load(Ordering::Relaxed)), Some(index));
        }
        let mut index = 0;
        while index < 1_000 {
            let run = arena.run(index, 1_000 - index);
            assert!(run.iter().map(|element| element.load(Ordering::Relaxed)).eq(index..index + run.len()));
            index += run.len();
        }
        assert!(arena.get(4_999).is_some() && arena.get(1 << 40).is_none());
    }
}
