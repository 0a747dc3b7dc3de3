//! What happens at `fork`, and the barrier that readers leave to writers.
//!
//! Before the fork the handler waits until no commit is under way, so that the child finds every writer's lock free and
//! every pool whole. In the child it frees the slots of the threads that do not exist there, raises the generation, by
//! which generators and in-flight counts notice that they are in another process, and draws an offset that sets the
//! child's rotations apart from its parent's.

// Where nothing forks, little of this is used.
#![cfg_attr(any(loom, miri), allow(dead_code, unused_imports))]

// Not the model checker's: nothing forks in a model, and each access would be a point at which it tries every other thread.
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::rng;

/// Forks between this process and the one that loaded the library.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Added to every ticket of an unseeded rotation. 0 in the process that loaded the library.
static OFFSET: AtomicU64 = AtomicU64::new(0);

/// Commits under way, in all pools.
static COMMITS: AtomicU32 = AtomicU32::new(0);

/// Whether a fork is about to happen, so that commits wait.
static FORKING: AtomicBool = AtomicBool::new(false);

/// Whether writers make readers' stores visible, by `membarrier(2)`.
static WRITERS_BARRIER: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn fork_generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

#[inline]
pub(crate) fn process_offset() -> u64 {
    OFFSET.load(Ordering::Relaxed)
}

#[inline]
pub(super) fn barrier_by_writers() -> bool {
    #[cfg(loom)]
    return crate::sync::model::has_barrier();
    #[cfg(not(loom))]
    WRITERS_BARRIER.load(Ordering::Relaxed)
}

/// Held while a commit is under way, or another lock of the engine is. A fork waits for it, and it waits for a fork. Never
/// held while the host's code runs.
pub(crate) struct CommitGate(());

impl CommitGate {
    pub(crate) fn enter() -> Self {
        loop {
            // SeqCst here and in `prepare`: of a commit and a fork that meet, at least one sees the other.
            COMMITS.fetch_add(1, Ordering::SeqCst);
            if !FORKING.load(Ordering::SeqCst) {
                return Self(());
            }
            COMMITS.fetch_sub(1, Ordering::SeqCst);
            while FORKING.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
    }
}

impl Drop for CommitGate {
    fn drop(&mut self) {
        // Release pairs with the load in `prepare`: the child sees the commit whole.
        COMMITS.fetch_sub(1, Ordering::Release);
    }
}

/// A number from the system; `None` where it has none to give.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn system_entropy() -> Option<u64> {
    let mut bytes = [0_u8; 8];
    // SAFETY: the pointer and the length are those of `bytes`.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    (usize::try_from(got) == Ok(bytes.len())).then(|| u64::from_ne_bytes(bytes))
}

#[cfg(all(unix, not(miri), not(loom)))]
mod imp {
    use std::sync::Once;

    use super::super::slots;
    use super::*;

    /// Installs the handlers and asks for the barrier, once in a process. Called before the first pool is published.
    pub(crate) fn watch_forks() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            register_barrier();
            // SAFETY: the handlers are functions of this library, which is never unloaded while they are registered,
            // and do nothing that is not allowed between fork and exec: atomics, thread-locals without destructors,
            // and a system call for entropy.
            unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
        });
    }

    extern "C" fn prepare() {
        // Two threads that fork at once take turns.
        while FORKING.swap(true, Ordering::SeqCst) {
            std::thread::yield_now();
        }
        while COMMITS.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }

    extern "C" fn in_parent() {
        FORKING.store(false, Ordering::SeqCst);
    }

    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        OFFSET.store(rng::entropy(), Ordering::Relaxed);
        COMMITS.store(0, Ordering::SeqCst);
        slots::forget_other_threads();
        register_barrier();
        FORKING.store(false, Ordering::SeqCst);
    }

    #[cfg(target_os = "linux")]
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    #[cfg(target_os = "linux")]
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;

    #[cfg(target_os = "linux")]
    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes numbers only and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Once on, the flag stays: a reader that relied on it may be pinned.
    #[cfg(target_os = "linux")]
    fn register_barrier() {
        if membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED) {
            WRITERS_BARRIER.store(true, Ordering::SeqCst);
        }
    }

    /// A barrier on every running thread of the process. False where it was promised and could not be had.
    #[cfg(target_os = "linux")]
    pub(crate) fn writers_barrier() -> bool {
        !barrier_by_writers() || membarrier(PRIVATE_EXPEDITED)
    }

    #[cfg(not(target_os = "linux"))]
    fn register_barrier() {}

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn writers_barrier() -> bool {
        true
    }
}

#[cfg(not(all(unix, not(miri), not(loom))))]
mod imp {
    pub(crate) fn watch_forks() {}

    pub(crate) fn writers_barrier() -> bool {
        #[cfg(loom)]
        if super::barrier_by_writers() {
            crate::sync::model::fence();
        }
        true
    }
}

pub(crate) use imp::watch_forks;
pub(super) use imp::writers_barrier;
