//! Slots of live state, and who may use them.
//!
//! Every value of an id in the pool shares the id's slot handle, and so does every lease of it. The slot is free when the
//! last of them is dropped, which is on a writer's thread. A returning id gets a new slot, so that a lease from before never
//! counts on it.

use std::sync::Arc;

use crate::sync::Mutex;

/// The slots of a pool.
#[derive(Default)]
pub(crate) struct SlotBook {
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    free: Vec<u32>,
    made: u32,
}

/// The right to one slot.
pub(crate) struct Slot {
    number: u32,
    book: Arc<SlotBook>,
}

impl SlotBook {
    pub(crate) fn open(self: &Arc<Self>) -> Arc<Slot> {
        let mut pages = self.pages.lock();
        let number = pages.free.pop().unwrap_or_else(|| {
            pages.made += 1;
            pages.made - 1
        });
        Arc::new(Slot { number, book: self.clone() })
    }

    /// Slots ever made: every number is below.
    pub(crate) fn made(&self) -> usize {
        self.pages.lock().made as usize
    }
}

impl Slot {
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.book.pages.lock().free.push(self.number);
    }
}
