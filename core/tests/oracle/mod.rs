//! Naive answers: rotations that are integer arithmetic.

pub(crate) mod rotation;
