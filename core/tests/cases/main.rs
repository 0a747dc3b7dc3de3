//! What went wrong in the field: weights, rotations, updates, tags, zones, retries, processes, threads.

#[path = "../common/mod.rs"]
mod common;

mod arithmetic;
mod concurrency;
mod exclusion;
mod loads;
mod processes;
mod reasons;
mod round_robin;
mod tags;
mod updates;
mod weighted_rotation;
mod weights;
mod zones;
