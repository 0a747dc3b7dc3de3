//! Random lists, updates, routes and requests against naive answers.

#[path = "../common/mod.rs"]
mod common;
#[path = "../oracle/mod.rs"]
mod oracle;

mod input;
mod leases;
mod rotations;
mod routing;
mod specs;
