//! What the program and the benches measure by: the lists that are picked from, and what would be taken in the engine's stead.

pub mod lists;
pub mod peers;
