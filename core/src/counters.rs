//! Route counters: how often each tier was used and each reason given. Opt-in, in shards, so that threads that pick at the
//! same time do not write to the same line.

use std::collections::BTreeMap;

use crossbeam_utils::CachePadded;
use serde::Serialize;

use crate::error::{NoInstance, Reason};
use crate::pick::Picked;
use crate::spec::{RouteSpec, Tier};
use crate::sync::{AtomicU64, Ordering};

/// Shards; threads beyond share them.
const SHARDS: usize = 16;

/// What a route has counted since it was made; see [`crate::Route::counters`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RouteCounters {
    /// Picks of each tier of each branch, in order.
    pub tiers: Vec<TierCount>,
    /// Requests without an instance, by the word for the reason; every reason is there.
    pub refused: BTreeMap<&'static str, u64>,
    /// Picks of an instance that the request excluded.
    pub relaxed: u64,
}

/// Picks of one tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TierCount {
    /// The branch's name, or its position; empty where the route has no split.
    pub branch: String,
    /// The tier's name, or its position.
    pub tier: String,
    /// Picks.
    pub picks: u64,
}

pub(crate) struct Counters {
    /// Where each branch's tiers begin in a shard.
    begins: Box<[usize]>,
    shards: Box<[CachePadded<Shard>]>,
}

struct Shard {
    picks: Box<[AtomicU64]>,
    refused: [AtomicU64; Reason::ALL.len()],
    relaxed: AtomicU64,
}

impl Counters {
    pub(crate) fn new(spec: &RouteSpec) -> Self {
        let lists = tier_lists(spec);
        let begins = lists.iter().scan(0, |end, (_, tiers)| {
            let begin = *end;
            *end += tiers.len();
            Some(begin)
        });
        let tiers: usize = lists.iter().map(|(_, tiers)| tiers.len()).sum();
        let shard = || Shard {
            picks: (0..tiers).map(|_| AtomicU64::new(0)).collect(),
            refused: std::array::from_fn(|_| AtomicU64::new(0)),
            relaxed: AtomicU64::new(0),
        };
        Self { begins: begins.collect(), shards: (0..SHARDS).map(|_| CachePadded::new(shard())).collect() }
    }

    pub(crate) fn add(&self, outcome: &Result<Picked, NoInstance>, thread: usize) {
        let Some(shard) = self.shards.get(thread % SHARDS) else { return };
        let counter = match outcome {
            Ok(picked) => {
                if picked.relaxed {
                    shard.relaxed.fetch_add(1, Ordering::Relaxed);
                }
                let begin = self.begins.get(picked.branch()).copied().unwrap_or(0);
                shard.picks.get(begin + picked.tier())
            }
            Err(refused) => shard.refused.get(refused.reason as usize),
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn sum(&self, spec: &RouteSpec) -> RouteCounters {
        let total = |of: &dyn Fn(&Shard) -> u64| self.shards.iter().map(|shard| of(shard)).sum::<u64>();
        let mut sum = RouteCounters {
            relaxed: total(&|shard| shard.relaxed.load(Ordering::Relaxed)),
            ..Default::default()
        };
        let mut at = 0;
        for (branch, tiers) in tier_lists(spec) {
            for (number, tier) in tiers.iter().enumerate() {
                let tier = if tier.name.is_empty() { number.to_string() } else { tier.name.clone() };
                let picks = total(&|shard| shard.picks[at].load(Ordering::Relaxed));
                sum.tiers.push(TierCount { branch: branch.clone(), tier, picks });
                at += 1;
            }
        }
        for reason in Reason::ALL {
            let refused = total(&|shard| shard.refused[reason as usize].load(Ordering::Relaxed));
            sum.refused.insert(reason.as_str(), refused);
        }
        sum
    }
}

/// The tiers of each branch, with its name.
fn tier_lists(spec: &RouteSpec) -> Vec<(String, &[Tier])> {
    if spec.split.is_empty() {
        return vec![(String::new(), &spec.tiers)];
    }
    let named = spec.split.iter().enumerate().map(|(at, branch)| {
        let name = if branch.name.is_empty() { at.to_string() } else { branch.name.clone() };
        (name, &*branch.tiers)
    });
    named.collect()
}
