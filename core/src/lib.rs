//! pointsman: given a service's instances, with weights, tags, zones, health and load, it says which one takes the next
//! request. It opens no socket and starts no thread.

#![deny(unsafe_code)]

mod compile;
mod counters;
mod error;
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
pub use error::{FormatError, NoInstance, Reason, RouteError, UpdateError};
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
