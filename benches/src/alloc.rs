//! The program's allocator: the system's, which counts what the thread takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// What a thread has taken so far.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) allocations: u64,
    /// Bytes taken, less those given back.
    pub(crate) bytes: i64,
}

thread_local! {
    static TAKEN: Cell<Taken> = const { Cell::new(Taken { allocations: 0, bytes: 0 }) };
}

fn count(allocations: u64, bytes: i64) {
    // A thread that is ending counts no more.
    let _ = TAKEN.try_with(|taken| {
        let before = taken.get();
        taken.set(Taken { allocations: before.allocations + allocations, bytes: before.bytes + bytes });
    });
}

/// What the calling thread has taken so far.
pub(crate) fn taken() -> Taken {
    TAKEN.with(Cell::get)
}

// SAFETY: every call goes to the system's allocator as it came; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the caller's promises are the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_counted_and_given_back() {
        let before = taken();
        let held = std::hint::black_box(Box::new([0_u8; 100]));
        let during = taken();
        assert_eq!((during.allocations - before.allocations, during.bytes - before.bytes), (1, 100));
        drop(held);
        assert_eq!(taken().bytes, before.bytes);
    }
}
