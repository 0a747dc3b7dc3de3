//! The atomics that the engine is made of, in one place, so that a model checker's can stand in for them.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
