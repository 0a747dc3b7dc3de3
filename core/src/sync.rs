//! The atomics, locks and statics that the engine is made of, in one place, so that a model checker's can stand in for them:
//! loom's, where `--cfg loom` is given. See `tests/models`.

#[cfg(loom)]
pub(crate) mod model;

#[cfg(not(loom))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(loom)]
pub(crate) use model::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex};
pub(crate) use std::sync::atomic::Ordering;

/// Statics of the process. A model's are made anew for each of its executions.
#[cfg(not(loom))]
macro_rules! global {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;)+) => {
        $($(#[$meta])* static $name: $type = $init;)+
    };
}

#[cfg(loom)]
macro_rules! global {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;)+) => {
        // Not dropped, since loom does that where there is no model any more if one has failed.
        $(loom::lazy_static! {
            $(#[$meta])* static ref $name: std::mem::ManuallyDrop<$type> = std::mem::ManuallyDrop::new($init);
        })+
    };
}

/// Statics of a thread, with values that a constant expression makes.
#[cfg(not(loom))]
macro_rules! per_thread {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;)+) => {
        std::thread_local! { $($(#[$meta])* static $name: $type = const { $init };)+ }
    };
}

#[cfg(loom)]
macro_rules! per_thread {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;)+) => {
        loom::thread_local! { $($(#[$meta])* static $name: $type = $init;)+ }
    };
}

pub(crate) use {global, per_thread};
