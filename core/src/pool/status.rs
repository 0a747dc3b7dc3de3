//! What a pool tells of itself.

use serde::Serialize;

use super::commit::Core;
use crate::live::SECOND;

/// What a pool tells of itself; see [`crate::Pool::status`]. Ages are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// The version in force.
    pub version: u64,
    /// Number of instances.
    pub instances: usize,
    /// Number of instances that are enabled and healthy and have a weight above zero.
    pub available: usize,
    /// Number of routes.
    pub routes: usize,
    /// Since the last update that was accepted, whether it changed anything or not.
    pub age_s: f64,
    /// Whether an update was refused since, so that the list in force may be out of date.
    pub stale: bool,
    /// The last refused update, until one is accepted.
    pub refused: Option<Refused>,
    /// Values that wait to be freed.
    pub retired: usize,
    /// Bytes of the list in force, its indices and tables, and the live state.
    pub bytes: usize,
}

/// An update that was refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Refused {
    /// The error's text.
    pub message: String,
    /// Since it was refused.
    pub age_s: f64,
}

impl Core {
    pub(crate) fn status(&self, now: u64) -> Status {
        let seconds = |since: u64| now.saturating_sub(since) as f64 / SECOND;
        let (accepted, refused, routes) = self.history();
        let snapshot = self.published.load();
        let roster = &snapshot.roster;
        let available = |at| (roster.usable.word(at) & roster.up.word(at)).count_ones() as usize;
        let compiled: usize = snapshot.routes.iter().flatten().map(|route| route.heap_bytes()).sum();
        Status {
            version: snapshot.version,
            instances: roster.len(),
            available: (0..roster.usable.len()).map(available).sum(),
            routes,
            age_s: seconds(accepted),
            stale: refused.is_some(),
            refused: refused.map(|(message, at)| Refused { message, age_s: seconds(at) }),
            retired: self.retired(),
            bytes: roster.heap_bytes() + compiled + self.live.heap_bytes(),
        }
    }
}
