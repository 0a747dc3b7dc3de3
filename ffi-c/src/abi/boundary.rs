//! The panic boundary, and how an error gets to the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::outputs::Answer;
use crate::codes::{POINTSMAN_PANIC, pointsman_result};
use crate::error::{Fault, pointsman_error};

/// Runs the body of a call. What the engine guarantees of a panic (nothing shows, the handle works) makes the assertion true.
#[inline(always)]
pub(crate) fn guard(
    error: *mut pointsman_error,
    body: impl FnOnce() -> Result<(), Fault>,
) -> pointsman_result {
    guard_answer(error, || match body() {
        Ok(()) => Answer::DONE,
        Err(fault) => Answer::refused(error, fault),
    })
}

/// As [`guard`], for bodies that tell of their faults themselves.
#[inline(always)]
pub(crate) fn guard_answer(error: *mut pointsman_error, body: impl FnOnce() -> Answer) -> pointsman_result {
    catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "test-panic")]
        super::test_panic::trip();
        body().code()
    }))
    .unwrap_or_else(|payload| tell(error, panicked(payload)))
}

/// The body of a call, of which `?` leaves no more than the body.
#[inline(always)]
pub(crate) fn run<T>(body: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    body()
}

/// As [`guard`], for calls that return their value; the default one where they panic.
pub(crate) fn guard_value<T: Default>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "test-panic")]
        super::test_panic::trip();
        body()
    }))
    .unwrap_or_else(|payload| {
        discard(payload);
        T::default()
    })
}

#[cold]
#[inline(never)]
pub(super) fn tell(error: *mut pointsman_error, fault: Fault) -> pointsman_result {
    let code = fault.code();
    if !error.is_null() {
        // A panic while the text is written leaves the code, which is what counts.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let filled = pointsman_error::of(&fault);
            // SAFETY: not NULL, so by the caller's promise a `pointsman_error`, perhaps of a later version, whose first
            // fields are these. Its `size` may be uninitialised and is neither read nor written.
            unsafe {
                (&raw mut (*error).code).write(filled.code);
                (&raw mut (*error).branch).write(filled.branch);
                (&raw mut (*error).index).write(filled.index);
                (&raw mut (*error).field).write(filled.field);
                (&raw mut (*error).message).write(filled.message);
            }
        }));
    }
    code
}

fn panicked(payload: Box<dyn Any + Send>) -> Fault {
    let text = payload.downcast_ref::<&str>().copied().map(String::from);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let fault = Fault::new(POINTSMAN_PANIC, "", text.unwrap_or_else(|| "a panic without a text".into()));
    discard(payload);
    fault
}

/// Drops what a panic carried; a payload whose destructor panics is leaked.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}
