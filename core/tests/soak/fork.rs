//! A fork in the middle of the load.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pointsman::{Pool, Route};

use crate::common::PLAIN;

/// Forks, and lets the child update and pick while the threads it does not have were in the middle of both. Panics where
/// it could not.
pub(crate) fn child_updates_and_picks(pool: &Pool, routes: &[Route], ids: &[String]) {
    // SAFETY: the child runs `work`, which uses the engine and what is allowed after a fork, and leaves without running
    // anything else of this process.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork");
    if child == 0 {
        // SAFETY: plain system calls. A child that hangs is ended by its alarm.
        unsafe {
            libc::alarm(60);
            let outcome = catch_unwind(AssertUnwindSafe(|| work(pool, routes, ids)));
            libc::_exit(outcome.unwrap_or(9));
        }
    }
    let mut status = 0;
    // SAFETY: the child is this function's own and is not waited for elsewhere.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the child's status; its exit code is what it could not do");
}

/// 0, or the number of the step that went wrong.
fn work(pool: &Pool, routes: &[Route], ids: &[String]) -> i32 {
    if routes.iter().any(|route| route.explain(&PLAIN).live.iter().any(|state| state.in_flight > 0)) {
        return 1;
    }
    let only_the_first = |edit: &mut pointsman::Edit| {
        ids.iter().skip(1).filter(|id| pool.get(id).is_some()).try_for_each(|id| edit.set_enabled(id, false))
    };
    if pool.edit(only_the_first).is_err() {
        return 2;
    }
    for route in routes {
        let shared = route.pick(&PLAIN).map(|pick| *pick.instance().id == *ids[0]);
        let own = route.picker().pick(&PLAIN).map(|pick| *pick.instance().id == *ids[0]);
        let leased = route.lease(&PLAIN).map(|lease| *lease.instance().id == *ids[0]);
        if [shared, own, leased] != [Ok(true); 3] {
            return 3;
        }
    }
    pool.tick();
    0
}
