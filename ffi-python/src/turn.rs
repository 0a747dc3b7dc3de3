//! Updates of one pool take turns, also across a fork.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A lock for detached threads. It holds the id of the process whose thread has it, so that a child that was forked
/// meanwhile does not wait for a thread it has not got.
#[derive(Default)]
pub(crate) struct Turn {
    process: AtomicU32,
}

pub(crate) struct Taken<'a>(&'a Turn);

impl Turn {
    pub(crate) fn take(&self) -> Taken<'_> {
        let process = std::process::id();
        let mut tries = 0_u32;
        loop {
            let holder = self.process.load(Ordering::Relaxed);
            // Acquire pairs with the release in `drop`.
            let taken =
                || self.process.compare_exchange(holder, process, Ordering::Acquire, Ordering::Relaxed);
            if holder != process && taken().is_ok() {
                return Taken(self);
            }
            tries += 1;
            if tries < 32 {
                std::thread::yield_now();
            } else {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.process.store(0, Ordering::Release);
    }
}
