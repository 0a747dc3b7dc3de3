//! Makes calls panic, for tests.

use std::sync::atomic::{AtomicU32, Ordering};

/// Calls to come, of functions and of the release hook, of which the last panics; 0 is off.
static COUNTDOWN: AtomicU32 = AtomicU32::new(0);

/// Lets the call after `skip` others panic, from any thread.
#[unsafe(no_mangle)]
pub extern "C" fn pointsman_test_panic(skip: u32) {
    COUNTDOWN.store(skip.saturating_add(1), Ordering::SeqCst);
}

pub(super) fn trip() {
    let before = COUNTDOWN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    assert!(before != Ok(1), "a forced panic");
}
