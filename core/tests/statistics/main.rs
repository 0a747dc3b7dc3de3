//! What is picked agrees with the shares that are told, and picks are as independent as draws should be. The instruments are
//! in `harness`; that they would see a wrong sampler is shown in `power`.

#[path = "../common/mod.rs"]
mod common;

mod candidates;
mod drawn;
mod extremes;
mod harness;
mod independence;
mod loaded;
mod one_pick;
mod points;
mod power;
mod rotations;
mod shares;
