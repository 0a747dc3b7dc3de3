//! pointsman: given a service's instances, with weights, tags, zones, health and load, it says which one takes the next
//! request. It opens no socket, starts no thread, and reads no clock while it picks.
//!
//! # A tour
//!
//! A [`Pool`] holds the [`Instance`]s of one service; [`format::parse`] reads them from what a registry sends. A [`Route`] is a
//! way to choose among them: a [`Policy`] and an ordered list of [`Tier`]s, as builders or as JSON ([`RouteSpec`]). For each
//! [`Request`], [`Route::pick`] answers with a [`Pick`], or with the [`Reason`] why nobody can take it ([`NoInstance`]).
//!
//! - Hold the answer until the request ends: [`Route::lease`], which load-aware policies, limits and ejection count by.
//! - One thread that picks in a loop, or picks that repeat from a seed: [`Route::picker`].
//! - Several different instances at once: [`Route::pick_distinct`].
//! - Change the list: [`Pool::replace`] and [`Pool::edit`], all or nothing.
//! - See why: [`Route::explain`], [`Route::shares`], [`Route::counters`], [`Pool::status`].
//! - Let time have its effect: [`Pool::tick`].
//!
//! # Guarantees
//!
//! No pick takes a lock, waits, or allocates, but that a thread's first may allocate once; none frees what an update
//! replaced. A pick sees one whole list, and one that begins after an update has returned sees that update's. Nothing here
//! panics on what it is given.

#![deny(unsafe_code)]

// Unit tests share lists and requests with the tests of the public interface.
#[cfg(test)]
extern crate self as pointsman;

mod compile;
mod counters;
mod error;
#[cfg(feature = "fault-points")]
#[doc(hidden)]
pub mod fault;
#[cfg(not(feature = "fault-points"))]
mod fault;
pub mod format;
mod instance;
mod lease;
mod live;
mod pick;
mod picker;
mod policy;
mod pool;
mod position;
#[allow(unsafe_code)]
mod publish;
mod release;
mod request;
mod rng;
mod route;
mod select;
mod spec;
mod sync;
mod tags;

pub use compile::explain::{BranchExplanation, Explanation, InstanceState, Share, TierExplanation};
pub use counters::{RouteCounters, TierCount};
pub use error::{FormatError, NoInstance, PoolError, Reason, RouteError, UpdateError};
pub use instance::{Instance, MAX_INSTANCES, MAX_TAGS};
pub use lease::{Lease, Outcome};
pub use pick::{OwnedPick, Pick, Picked, Picks};
pub use picker::Picker;
pub use pool::{Edit, Ejected, Pool, PoolOptions, Refused, Status};
pub use request::Request;
pub use route::Route;
pub use spec::{
    Algorithm, Branch, ConsistentHash, Ejection, FailurePercentage, Health, LatencySpec, Load, LoadSpec,
    MAX_BRANCHES, MAX_MATCH_KEYS, MAX_TIERS, OnUnavailable, PeakEwma, Policy, PoolSpec, PowerOfTwo,
    RouteSpec, SlowStart, SplitBy, Tier, Values, WhenAbsent, ZoneRule,
};
pub use tags::Tags;

/// The README's examples, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
