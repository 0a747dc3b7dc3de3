//! Changes that are made to fail at some of their points, as `core/tests/faults.rs` makes each fail at every one, but while
//! other threads are at work: a fault is the thread's own.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pointsman::fault::{Fault, arm, disarm};

use crate::harness::Dice;

/// Where a change of one kind is made to fail.
#[derive(Clone, Copy)]
pub(crate) struct Aim {
    /// How many points the last one passed that did not fail; at first a guess.
    points: u64,
}

impl Default for Aim {
    fn default() -> Self {
        Self { points: 50 }
    }
}

impl Aim {
    /// Makes the change, with a fault once in so many times. `None` where the fault came.
    pub(crate) fn attempt<T>(
        &mut self,
        dice: &mut Dice,
        once_in: u64,
        change: impl FnOnce() -> T,
    ) -> Option<T> {
        let known = self.points;
        let fails_at = match dice.below(3) {
            _ if !dice.once_in(once_in) => u64::MAX,
            // Anywhere, or at the last point, or behind it.
            0 => dice.below(known as usize + 1) as u64,
            1 => known.saturating_sub(1),
            _ => known,
        };
        arm(fails_at);
        let outcome = catch_unwind(AssertUnwindSafe(change));
        let left = disarm();
        match outcome {
            Ok(made) => {
                self.points = fails_at - left.expect("it did not fail");
                Some(made)
            }
            Err(panic) if panic.is::<Fault>() => None,
            Err(panic) => resume_unwind(panic),
        }
    }
}
