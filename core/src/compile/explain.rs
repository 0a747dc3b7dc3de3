//! Explanation: tier by tier, what a request finds and why, with the exact share of every instance.
//!
//! Follows the same steps as a pick, with shares of the traffic in place of draws.

use std::sync::Arc;

use serde::Serialize;
use xxhash_rust::xxh64::xxh64;

use super::query::Query;
use super::{CompiledRoute, Snapshot};
use crate::error::Reason;
use crate::live::Live;
use crate::request::Request;
use crate::select::{Asked, Barred, Walk};
use crate::spec::{SplitBy, Tier};

/// What a request finds; see [`crate::Route::explain`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The version of the list.
    pub version: u64,
    /// Number of instances.
    pub instances: usize,
    /// The policy's name.
    pub policy: &'static str,
    /// Each branch of the split; one without a name where there is none.
    pub branches: Vec<BranchExplanation>,
    /// Whether excluded instances have to be taken, for all such requests or some.
    pub relaxed: bool,
    /// Why some or all such requests find no instance.
    pub reason: Option<Reason>,
    /// Whether the policy defines shares for such requests at the loads of now; `power_of_two` and `peak_ewma` do so only
    /// while all loads are equal.
    pub shares_defined: bool,
    /// The exact share of every instance that can be given, in list order, in sum 1 unless some requests find none.
    pub shares: Vec<Share>,
    /// What is known of instances beyond the list: leases, loads, latencies, ramps and ejections. Others are left out.
    pub live: Vec<InstanceState>,
}

/// One branch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BranchExplanation {
    /// The branch's name, or its position; empty where the route has no split.
    pub name: String,
    /// The share of these requests that the split sends here.
    pub share: f64,
    /// Its tiers, in order.
    pub tiers: Vec<TierExplanation>,
}

/// One tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TierExplanation {
    /// The tier's name, or its position.
    pub name: String,
    /// Instances that have what the tier asks for, with the request's `match` values.
    pub members: usize,
    /// Those of them that are available.
    pub available: usize,
    /// Those of them that this request may be given, requirements and exclusions counted.
    pub eligible: usize,
    /// The share of the branch's requests that this tier takes.
    pub share: f64,
    /// Why it takes none: how far it came; `None` where it was used, or was not reached.
    pub reason: Option<Reason>,
    /// Whether the search got to this tier.
    pub reached: bool,
    /// Whether the search ended here without an instance, by `when_unavailable`.
    pub stopped: bool,
    /// Whether the answer comes from a table, or is worked out at pick time because the combination of `match` values has
    /// none, or because of the request's own requirements.
    pub at_pick_time: bool,
    /// The form of the rotation, `equal`, `exact` or `golden`, where the policy is one.
    pub rotation: Option<&'static str>,
    /// The algorithm that is in use, where the policy hashes keys.
    pub hashing: Option<&'static str>,
}

/// What is known of an instance beyond the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InstanceState {
    /// The instance's id.
    pub id: Arc<str>,
    /// Leases that are open.
    pub in_flight: u32,
    /// The reported load, unless it is too old.
    pub load: Option<f64>,
    /// The decaying peak latency in seconds.
    pub latency_s: Option<f64>,
    /// The share of its weight that slow start lets it take.
    pub ramp: f64,
    /// Whether it is ejected.
    pub ejected: bool,
}

/// An instance's share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The instance's id.
    pub id: Arc<str>,
    /// Between 0 and 1.
    pub share: f64,
}

impl Explanation {
    pub(crate) fn nothing(snapshot: &Snapshot) -> Self {
        Self {
            version: snapshot.version,
            instances: snapshot.roster.len(),
            policy: "",
            branches: Vec::new(),
            relaxed: false,
            reason: Some(Reason::Empty),
            shares_defined: true,
            shares: Vec::new(),
            live: Vec::new(),
        }
    }
}

/// Explains a request over a route.
pub(crate) fn explain(
    route: &CompiledRoute,
    snapshot: &Snapshot,
    live: &Live,
    request: &Request<'_>,
) -> Explanation {
    let walk = &Walk { route, snapshot, live, request };
    let roster = &walk.snapshot.roster;
    let spec = &walk.route.spec;
    let outcomes = |exclude: bool| -> Vec<Outcome> {
        let room = walk.room(&[], exclude);
        let barred = walk.barred(&room, &[], exclude);
        (0..walk.route.branches.len()).map(|at| Outcome::of(walk, at, barred)).collect()
    };
    let strict = outcomes(true);
    let loose = (request.relax && !request.exclude.is_empty()).then(|| outcomes(false));
    let by_key = walk.request.key.filter(|_| walk.route.by == SplitBy::Key);
    let sent = |at: usize| match (spec.split.get(at), by_key) {
        (None, _) => 1.0,
        (Some(_), Some(key)) => f64::from(u8::from(walk.route.branch_at(xxh64(key, 0)) == at)),
        (Some(branch), None) => branch.percent / 100.0,
    };
    let mut shares = vec![0.0; roster.len()];
    let (mut reason, mut defined, mut relaxed, mut some_strict) = (None, true, false, false);
    for first in 0..strict.len() {
        let share = sent(first);
        if share == 0.0 {
            continue;
        }
        let mut serve = |each: &[Outcome]| {
            let mut furthest = None;
            for at in (0..each.len()).map(|step| (first + step) % each.len()) {
                let outcome = &each[at];
                if outcome.serves {
                    shares.iter_mut().zip(&outcome.shares).for_each(|(sum, part)| *sum += share * part);
                    defined &= outcome.defined;
                    return Ok(());
                }
                furthest = furthest.max(outcome.furthest);
                if !walk.route.branches[at].spill {
                    break;
                }
            }
            Err(furthest)
        };
        match (serve(&strict), &loose) {
            (Ok(()), _) => some_strict = true,
            (Err(_), Some(loose)) if serve(loose).is_ok() => relaxed = true,
            (Err(furthest), _) => reason = reason.max(furthest),
        }
    }
    let reason = if roster.len() == 0 { Some(Reason::Empty) } else { reason };
    let listed = roster.list.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
    let shares =
        listed.map(|(entry, share)| Share { id: entry.instance.id.clone(), share: *share }).collect();
    // Where excluded instances are taken in some branches only, tiers are told as they are for the others.
    let each = match loose {
        Some(loose) if relaxed && !some_strict => loose,
        _ => strict,
    };
    let branches = each.into_iter().enumerate().map(|(at, outcome)| BranchExplanation {
        name: spec.split.get(at).map_or(String::new(), |branch| named(&branch.name, at)),
        share: sent(at),
        tiers: outcome.tiers,
    });
    Explanation {
        version: walk.snapshot.version,
        instances: roster.len(),
        policy: spec.policy.name(),
        branches: branches.collect(),
        relaxed,
        reason,
        shares_defined: defined,
        shares: if defined { shares } else { Vec::new() },
        live: live_state(walk),
    }
}

fn live_state(walk: &Walk<'_>) -> Vec<InstanceState> {
    let (roster, live, now) = (&walk.snapshot.roster, walk.live, walk.live.now());
    let state = |index: u32| {
        let slot = roster.slot(index);
        Some(InstanceState {
            id: roster.instance(index)?.id.clone(),
            in_flight: live.in_flight(slot),
            load: live.load(slot, now),
            latency_s: live.latency_s(slot, now),
            ramp: roster.ramp(index),
            ejected: roster.ejected.contains(index),
        })
    };
    let is_plain = |state: &InstanceState| {
        state.in_flight == 0
            && state.load.is_none()
            && state.latency_s.is_none()
            && state.ramp == 1.0
            && !state.ejected
    };
    (0..roster.len() as u32).filter_map(state).filter(|state| !is_plain(state)).collect()
}

/// What one branch comes to by itself.
struct Outcome {
    tiers: Vec<TierExplanation>,
    /// By position in the list, in sum 1 where the branch serves.
    shares: Vec<f64>,
    serves: bool,
    /// Whether the policy defines shares.
    defined: bool,
    furthest: Option<Reason>,
}

/// The shares that a tier would give, by position in the list; `None` where its policy defines none.
type Part = Option<Vec<f64>>;

impl Outcome {
    fn of(walk: &Walk<'_>, branch: usize, barred: Barred<'_>) -> Self {
        let n = walk.snapshot.roster.len();
        let mut outcome =
            Self { tiers: Vec::new(), shares: vec![0.0; n], serves: false, defined: true, furthest: None };
        let mut parts: Vec<Option<Part>> = Vec::new();
        let mut left = 1.0;
        let mut searching = true;
        for (number, tier) in walk.route.branches[branch].tiers.iter().enumerate() {
            let asked = Asked::of(&walk.snapshot.roster, walk.request, tier);
            let (mut explained, part) =
                outcome.tier(walk, &asked, barred, tier_spec(walk, branch, number), number);
            explained.reached = searching;
            let stays = if asked.take == u64::MAX { 1.0 } else { asked.take as f64 / 2_f64.powi(64) };
            if searching {
                match &part {
                    Some(_) => {
                        explained.share = left * stays;
                        left -= explained.share;
                        searching = stays < 1.0;
                    }
                    None => {
                        let reason = explained.reason.unwrap_or(Reason::NoMatch);
                        outcome.furthest = outcome.furthest.max(Some(reason));
                        explained.stopped = reason > Reason::NoMatch && tier.stops(asked.members());
                        searching = !explained.stopped;
                    }
                }
            } else {
                explained.reason = None;
            }
            outcome.tiers.push(explained);
            parts.push(part);
        }
        // Nobody behind takes what a tier gave away.
        if left > 0.0
            && let Some(first) = outcome.tiers.iter_mut().find(|tier| tier.share > 0.0)
        {
            first.share += left;
        }
        for (tier, part) in outcome.tiers.iter().zip(parts) {
            match part.filter(|_| tier.share > 0.0) {
                Some(Some(part)) => {
                    outcome.shares.iter_mut().zip(part).for_each(|(sum, share)| *sum += tier.share * share);
                }
                Some(None) => outcome.defined = false,
                None => {}
            }
        }
        outcome.serves = outcome.tiers.iter().any(|tier| tier.share > 0.0);
        outcome
    }

    /// One tier by itself: what it holds, and the shares it would give, by position in the list.
    fn tier(
        &self,
        walk: &Walk<'_>,
        asked: &Asked<'_>,
        barred: Barred<'_>,
        spec: Option<&Tier>,
        number: usize,
    ) -> (TierExplanation, Option<Part>) {
        let roster = &walk.snapshot.roster;
        let without_require = Request { require: &[], ..*walk.request };
        let counts = match asked.group {
            Some(group) if !asked.at_pick_time => (group.members, group.available),
            Some(_) => {
                let query = Query::new(roster, asked.tier, &without_require, true);
                let counts = query.counts(asked.tier.rules.any_health);
                (counts.members, counts.available)
            }
            None => (0, 0),
        };
        let mut explained = TierExplanation {
            name: named(spec.map_or("", |tier| &tier.name), number),
            members: counts.0,
            available: counts.1,
            eligible: 0,
            share: 0.0,
            reason: asked.verdict.err(),
            reached: false,
            stopped: false,
            at_pick_time: asked.at_pick_time || !walk.request.require.is_empty(),
            rotation: asked.group.and_then(|group| group.set.rotation()),
            hashing: asked.group.and_then(|group| group.set.hashing()),
        };
        if asked.verdict.is_err() {
            return (explained, None);
        }
        let mut shares = Some(vec![0.0; roster.len()]);
        let came = walk.among(asked, barred, |group, eligible| {
            let table = &group.set.table;
            explained.eligible = eligible.ranks(table).count();
            let by_rank = match walk.preferred(eligible, table) {
                Some(preferred) => Some(
                    (0..table.len()).map(|rank| f64::from(u8::from(rank == preferred))).collect::<Vec<_>>(),
                ),
                None => group.set.shares(eligible, walk.request.key, walk.live),
            };
            match (by_rank, &mut shares) {
                (Some(by_rank), Some(shares)) => {
                    for (member, share) in table.members().zip(by_rank) {
                        shares[member.index as usize] = share;
                    }
                }
                _ => shares = None,
            }
            (explained.eligible > 0).then_some(())
        });
        explained.reason = came.err();
        (explained, came.is_ok().then_some(shares))
    }
}

fn tier_spec<'a>(walk: &'a Walk<'_>, branch: usize, number: usize) -> Option<&'a Tier> {
    let spec = &walk.route.spec;
    spec.split.get(branch).map_or(&spec.tiers, |branch| &branch.tiers).get(number)
}

fn named(name: &str, position: usize) -> String {
    if name.is_empty() { position.to_string() } else { name.to_owned() }
}
