//! Random weights against naive answers.

#[path = "../common/mod.rs"]
mod common;
#[path = "../oracle/mod.rs"]
mod oracle;

mod rotations;
