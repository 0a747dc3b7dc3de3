//! Slots of live state, and who may use them.
//!
//! Every value of an id in the pool shares the id's slot handle, and so does every lease of it. The slot is free when the
//! last of them is dropped, which is on a writer's thread. A returning id gets a new slot, so that a lease from before never
//! counts on it.

use std::sync::Arc;

use super::Live;
use crate::sync::Mutex;

/// Which slots are taken.
#[derive(Default)]
pub(super) struct SlotBook {
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
    live: Arc<Live>,
}

impl SlotBook {
    fn take(&self) -> u32 {
        let mut pages = self.pages.lock();
        pages.free.pop().unwrap_or_else(|| {
            pages.made += 1;
            pages.made - 1
        })
    }

    /// Keeps the lock, for a test to see who waits for it.
    #[cfg(test)]
    pub(super) fn keep_locked(&self) -> impl Sized + '_ {
        self.pages.lock()
    }

    /// Slots ever made: every number is below.
    pub(super) fn made(&self) -> usize {
        self.pages.lock().made as usize
    }
}

impl Slot {
    pub(crate) fn open(live: &Arc<Live>) -> Arc<Self> {
        Arc::new(Self { number: live.slots.take(), live: live.clone() })
    }

    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.live.slots.pages.lock().free.push(self.number);
    }
}
