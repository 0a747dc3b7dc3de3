//! Places in a build at which a test can make it fail, to see that nothing of it is published then.
//!
//! With the feature `fault-points`, which only the engine's own tests turn on, a thread that has armed itself unwinds at the
//! point it named. Without it a point is nothing.

#[cfg(feature = "fault-points")]
mod armed {
    use std::cell::Cell;

    thread_local! {
        /// Points that are still to be passed before the one that fails.
        static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// What a failing point unwinds with: its name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Fault(pub &'static str);

    /// Lets this thread pass so many points and unwind at the next one, once.
    pub fn arm(points: u64) {
        LEFT.set(Some(points));
    }

    /// Calls the fault off, and says how many points were still to be passed; `None` where it has come.
    pub fn disarm() -> Option<u64> {
        LEFT.take()
    }

    pub(crate) fn point(name: &'static str) {
        match LEFT.get() {
            None => {}
            Some(0) => {
                LEFT.set(None);
                // Without the panic hook, whose messages would hide real ones.
                std::panic::resume_unwind(Box::new(Fault(name)));
            }
            Some(left) => LEFT.set(Some(left - 1)),
        }
    }
}

#[cfg(feature = "fault-points")]
pub(crate) use armed::point;
#[cfg(feature = "fault-points")]
pub use armed::{Fault, arm, disarm};

/// Nothing.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub(crate) fn point(_name: &'static str) {}
