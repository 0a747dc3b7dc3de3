//! Naive answers: a pool that is a plain list, tiers that are evaluated by comparing strings, and rotations that are integer
//! arithmetic. Slow, short, and with nothing shared with the engine but the types of its input.

pub(crate) mod live;
pub(crate) mod pool;
pub(crate) mod rotation;
pub(crate) mod routing;
