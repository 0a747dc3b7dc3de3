//! `run`: picks many times by each policy.
//!
//! For each policy a pool of its own, so that figures do not depend on what ran before: [`Route::pick`] on all threads for
//! the shares, or, where requests in flight change what is picked, [`Route::lease`] in simulated time, see [`load`]; for a
//! rotation, one more route from its canonical start for the prefixes; and a loop that only picks for the time, see
//! [`crate::timing`].

mod latencies;
mod load;
mod tally;

use std::collections::BTreeSet;
use std::sync::Arc;

use pointsman::format::Format;
use pointsman::{Explanation, NoInstance, Policy, Reason, Request, Route, RouteSpec, Tier, ZoneRule};
use serde::Serialize;

use crate::Answer;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::input::{Asked, Input, Spec};
use crate::progress::Progress;
use crate::stats::{Prefixes, fraction, max_share_error};
use crate::{render, text, timing};
use latencies::Latencies;
use load::{Load, Waits};
use tally::{batches, count};

/// Picks counted for each policy, unless the arguments say how many.
const PICKS: u64 = 1_000_000;

/// Of policies that look at every instance, so many looks, and not fewer picks than this.
const LOOKS: u64 = 200_000_000;
const LEAST_PICKS: u64 = 10_000;

/// Picks between two reports to the progress bar.
const BATCH: u64 = 1 << 10;

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) instances: usize,
    pub(crate) source: Format,
    pub(crate) runs: Vec<Outcome>,
    /// Where latencies are from and how many requests are in flight, where some run goes by leases.
    #[serde(skip)]
    pub(crate) load: Option<(String, usize)>,
}

/// What one policy did. `None` where a figure does not apply.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) policy: &'static str,
    /// The tier that served most, by name or position, behind its branch where there is a split.
    pub(crate) tier: Option<String>,
    pub(crate) threads: u16,
    pub(crate) picks: u64,
    pub(crate) ns_per_pick: Option<f64>,
    pub(crate) max_share_error: Option<f64>,
    pub(crate) chi_square_p: Option<f64>,
    pub(crate) max_prefix_deviation: Option<f64>,
    /// Every instance, in the order of the list.
    pub(crate) shares: Vec<Line>,
    pub(crate) no_instance: Option<Reason>,
    /// The form of the rotation, and the bound of its prefix deviation.
    #[serde(skip)]
    pub(crate) rotation: Option<(&'static str, f64)>,
    /// Whether each pick had a key of its own.
    #[serde(skip)]
    pub(crate) keys: bool,
    /// What requests came to, where they took their time.
    #[serde(skip)]
    pub(crate) waits: Option<Waits>,
}

#[derive(Serialize)]
pub(crate) struct Line {
    pub(crate) id: Arc<str>,
    pub(crate) expected: Option<f64>,
    pub(crate) observed: f64,
    /// The mean latency of its requests, where they took their time.
    #[serde(skip)]
    pub(crate) latency_ms: Option<f64>,
}

/// The requests of a run: one and the same, or each with a key of its own for a policy that goes by keys.
#[derive(Clone, Copy)]
pub(crate) struct Requests<'a> {
    request: Request<'a>,
    keys: bool,
}

impl Requests<'_> {
    #[inline]
    pub(crate) fn with<R>(&self, number: u64, pick: impl FnOnce(&Request<'_>) -> R) -> R {
        if self.keys { pick(&self.request.key(&number.to_le_bytes())) } else { pick(&self.request) }
    }
}

/// What decides among the instances of a route.
enum Chance {
    /// Independent draws: counts are multinomial.
    Draws,
    /// The turns of one rotation, of this form over so many instances.
    Turns(&'static str, usize),
    /// Draws and turns together, or keys: neither statistic is known.
    Other,
}

pub(crate) fn command(args: &RunArgs) -> Result<Answer, Failure> {
    let input = Input::read(&args.input)?;
    let specs = specs(args)?;
    let asked = Asked::new(&args.request);
    let instances = input.found.instances.len();
    let latencies = match &args.latency_file {
        Some(path) => Latencies::read(path, &input.found.instances)?,
        None => Latencies::made_up(instances),
    };
    let in_flight = args.in_flight.unwrap_or_else(|| load::in_flight(instances));
    let load = Load { latencies: &latencies, in_flight, seed: args.seed.unwrap_or(1) };
    let steps = specs.iter().map(|spec| steps(args, &spec.spec.policy, instances));
    let progress = Progress::new(steps.fold(0, u64::saturating_add));
    let mut runs = Vec::with_capacity(specs.len());
    let mut nobody = None;
    for spec in &specs {
        progress.say(spec.spec.policy.name());
        let by_key = matches!(spec.spec.policy, Policy::ConsistentHash(_));
        let requests = Requests { request: asked.request(), keys: by_key && args.request.key.is_none() };
        let (outcome, refusal) = run(args, &input, spec, requests, &load, &progress)?;
        nobody = nobody.or(refusal);
        runs.push(outcome);
    }
    drop(progress);
    let leased = runs.iter().any(|run| run.waits.is_some());
    let load = leased.then(|| (latencies.source.clone(), in_flight));
    let report = Report { instances, source: input.found.report.format, runs, load };
    let text = if args.json { text::json(&report)? } else { render::run(&report, &input, args) };
    Ok(Answer { text, nobody: nobody.map(|refusal| format!("{}: {refusal}", input.name)) })
}

/// The routes to run: one for each policy.
fn specs(args: &RunArgs) -> Result<Vec<Spec>, Failure> {
    let given = args.route.as_deref().map(Spec::read).transpose()?;
    let policies = match &given {
        _ if !args.policies.is_empty() => args.policies.clone(),
        Some(given) => vec![given.spec.policy.clone()],
        None => Policy::all(),
    };
    let (name, base) = match given {
        // A policy of the command line stands in for the file's; all else that can be wrong is in the file.
        Some(given) => (given.name, given.spec),
        None => ("--policy".to_owned(), default_route(args)),
    };
    let with = |policy| {
        let mut spec = base.clone();
        spec.policy = policy;
        Spec { name: name.clone(), spec }
    };
    Ok(policies.into_iter().map(with).collect())
}

/// Without a route, what the arguments suggest: the tags of the request match, near ones first, then everyone.
fn default_route(args: &RunArgs) -> RouteSpec {
    let keys: BTreeSet<&str> = args.request.tags.iter().map(|(key, _)| key.as_str()).collect();
    let tags = |tier: Tier| keys.iter().fold(tier, |tier, key| tier.matching(*key));
    let mut tiers = Vec::new();
    match (keys.is_empty(), args.input.zone.is_none()) {
        (true, true) => {}
        (false, true) => tiers.push(tags(Tier::new().name("same tags"))),
        (true, false) => tiers.push(Tier::new().name("near").zone(ZoneRule::Local)),
        (false, false) => {
            tiers.push(tags(Tier::new().name("same tags, near").zone(ZoneRule::Local)));
            tiers.push(tags(Tier::new().name("same tags")));
        }
    }
    tiers.push(Tier::new().name("all"));
    tiers.into_iter().fold(RouteSpec::new(Policy::Random), RouteSpec::tier)
}

fn run(
    args: &RunArgs,
    input: &Input,
    spec: &Spec,
    requests: Requests<'_>,
    load: &Load<'_>,
    progress: &Progress,
) -> Result<(Outcome, Option<NoInstance>), Failure> {
    let picks = picks(args, &spec.spec.policy, input.found.instances.len());
    let pool = input.pool(args.seed)?;
    let route = spec.route(&pool)?;
    let explained = route.explain(&requests.request);
    let follows = load::follows(&spec.spec.policy);
    // What requests in flight decide has no share that it should get.
    let expected = expected(input, &explained).filter(|_| !follows);
    let (tally, waits) = if follows || args.latency_file.is_some() {
        load::count(&pool, &route, requests, picks, load, progress)?
    } else {
        let threads = (picks, args.threads);
        (count(&route, requests, input.found.instances.len(), threads, progress)?, None)
    };
    let served = picks - tally.refused;

    let shares = input.found.instances.iter().enumerate().map(|(index, instance)| Line {
        id: instance.id.clone(),
        expected: expected.as_ref().map(|shares| shares[index]),
        observed: fraction(tally.counts[index], picks),
        latency_ms: waits.as_ref().map(|_| load.latencies.mean_ms(index)),
    });
    let mut outcome = Outcome {
        policy: spec.spec.policy.name(),
        tier: tally.busiest_tier().map(|(branch, tier)| tier_name(&explained, branch, tier)),
        threads: args.threads,
        picks,
        ns_per_pick: None,
        max_share_error: None,
        chi_square_p: None,
        max_prefix_deviation: None,
        shares: shares.collect(),
        no_instance: tally.refusal.map(|refusal| refusal.reason),
        rotation: None,
        keys: requests.keys,
        waits,
    };
    if served == 0 {
        return Ok((outcome, tally.refusal));
    }
    if let Some(expected) = &expected {
        outcome.max_share_error = Some(max_share_error(expected, &tally.counts, picks));
        match chance(&explained, requests.keys) {
            Chance::Draws => outcome.chi_square_p = tally.chi_square_p(expected, picks),
            Chance::Turns(form, n) => {
                outcome.max_prefix_deviation =
                    Some(prefixes(&spec.route(&pool)?, &requests.request, expected, picks, progress));
                outcome.rotation = Some((form, bound(form, n, picks)));
            }
            Chance::Other => {}
        }
    }
    let timed = if args.seed.is_some() { spec.route(&input.pool(None)?)? } else { route };
    outcome.ns_per_pick = Some(timing::ns_per_pick(&timed, requests, args.threads)?);
    Ok((outcome, None))
}

/// A policy that looks at every instance is given fewer picks on a long list.
fn picks(args: &RunArgs, policy: &Policy, instances: usize) -> u64 {
    args.picks.unwrap_or(match policy.name() {
        "least_load" | "least_request" => (LOOKS / instances.max(1) as u64).clamp(LEAST_PICKS, PICKS),
        _ => PICKS,
    })
}

fn rotates(policy: &str) -> bool {
    policy.ends_with("round_robin")
}

/// Picks in all: rotations are walked a second time.
fn steps(args: &RunArgs, policy: &Policy, instances: usize) -> u64 {
    let walks = if rotates(policy.name()) { 2 } else { 1 };
    picks(args, policy, instances).saturating_mul(walks)
}

/// The expected share of every instance, in the order of the list; `None` where the policy defines none.
fn expected(input: &Input, explained: &Explanation) -> Option<Vec<f64>> {
    if !explained.shares_defined {
        return None;
    }
    let mut listed = explained.shares.iter().peekable();
    let of = |id: &Arc<str>| listed.next_if(|share| share.id == *id).map_or(0.0, |share| share.share);
    Some(input.found.instances.iter().map(|instance| &instance.id).map(of).collect())
}

/// A rotation takes a turn only for a request that leaves its set whole; others draw from the set.
fn chance(explained: &Explanation, keys: bool) -> Chance {
    if keys {
        return Chance::Other;
    }
    let branches = explained.branches.iter().filter(|branch| branch.share > 0.0);
    let used: Vec<_> = branches.flat_map(|branch| &branch.tiers).filter(|tier| tier.share > 0.0).collect();
    let turns = used.iter().filter_map(|tier| {
        let whole = !tier.at_pick_time && tier.eligible == tier.available;
        tier.rotation.filter(|_| whole).map(|form| Chance::Turns(form, tier.eligible))
    });
    match (turns.collect::<Vec<_>>().as_mut_slice(), used.len()) {
        ([], _) => Chance::Draws,
        ([turns], 1) => std::mem::replace(turns, Chance::Other),
        _ => Chance::Other,
    }
}

/// What the engine promises for every prefix from the canonical start.
fn bound(form: &str, n: usize, picks: u64) -> f64 {
    match form {
        "golden" => 1.0 + 0.42 * (picks as f64).ln(),
        _ if n < 2 => 0.0,
        "equal" => 1.0 - 1.0 / n as f64,
        _ => 1.0 - 1.0 / (2 * n - 2) as f64,
    }
}

fn tier_name(explained: &Explanation, branch: usize, tier: usize) -> String {
    let Some(branch) = explained.branches.get(branch) else { return tier.to_string() };
    let name = branch.tiers.get(tier).map_or_else(|| tier.to_string(), |tier| tier.name.clone());
    if branch.name.is_empty() { name } else { format!("{}/{name}", branch.name) }
}

fn prefixes(route: &Route, request: &Request<'_>, expected: &[f64], picks: u64, progress: &Progress) -> f64 {
    route.start_at(0);
    let mut prefixes = Prefixes::new(expected);
    for batch in batches(picks) {
        for _ in 0..batch {
            if let Ok(pick) = route.pick(request) {
                prefixes.add(pick.index());
            }
        }
        progress.add(batch);
    }
    prefixes.finish()
}
