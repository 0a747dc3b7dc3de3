//! What a pool tells of itself.

use std::sync::Arc;

use serde::Serialize;

use super::commit::{Core, History};
use crate::compile::CompiledRoute;
use crate::live::SECOND;
use crate::spec::{Algorithm, Policy};

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
    /// Instances that are left out because their requests fail.
    pub ejected: Vec<Ejected>,
    /// Rendezvous tables that have grown too large and are compiled as maglev.
    pub maglev_instead: usize,
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

/// An instance that is left out because its requests fail.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ejected {
    /// The instance's id.
    pub id: Arc<str>,
    /// `consecutive_failures` or `failure_percentage`.
    pub reason: &'static str,
    /// Until it may return.
    pub returns_in_s: f64,
    /// How often it was ejected, less the clean intervals since.
    pub times: u32,
}

impl Core {
    pub(crate) fn status(&self, now: u64) -> Status {
        let seconds = |since: u64| now.saturating_sub(since) as f64 / SECOND;
        let History { accepted, refused, routes } = self.history();
        let ejected = self.ejected(now);
        let snapshot = self.published.load();
        let roster = &snapshot.roster;
        let available = |at| (roster.usable.word(at) & roster.up.word(at)).count_ones() as usize;
        let replaced = |route: &Arc<CompiledRoute>| match &route.spec.policy {
            Policy::ConsistentHash(options) if options.algorithm == Algorithm::Rendezvous => {
                route.groups().filter(|group| group.set.hashing() == Some("maglev")).count()
            }
            _ => 0,
        };
        let compiled: usize = snapshot.routes.iter().flatten().map(|route| route.heap_bytes()).sum();
        Status {
            version: snapshot.version,
            instances: roster.len(),
            available: (0..roster.usable.len()).map(available).sum(),
            routes,
            age_s: seconds(accepted),
            stale: refused.is_some(),
            refused: refused.map(|(message, at)| Refused { message, age_s: seconds(at) }),
            ejected,
            maglev_instead: snapshot.routes.iter().flatten().map(replaced).sum(),
            retired: self.retired(),
            bytes: roster.heap_bytes() + compiled + self.live.heap_bytes(),
        }
    }

    fn ejected(&self, now: u64) -> Vec<Ejected> {
        self.write(|writer| {
            let roster = &writer.current.roster;
            let ejected = writer.clock.ejected(roster);
            let told = ejected.filter_map(|(index, until, cause, times)| {
                let id = roster.instance(index)?.id.clone();
                let returns_in_s = until.saturating_sub(now) as f64 / SECOND;
                Some(Ejected { id, reason: cause.as_str(), returns_in_s, times })
            });
            told.collect()
        })
    }
}
