//! `simulate`: what each policy makes of servers that queue, of slow ones, of one that stalls, and of old news.
//!
//! A discrete-event simulation: Poisson arrivals, servers that take what comes first, and the engine itself deciding, told
//! the simulation's time. The same seed gives the same figures, and all policies of a scenario the same requests.

mod scenarios;
pub(crate) mod tally;
#[cfg(test)]
mod tests;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pointsman::Policy;
use serde::Serialize;

use crate::Answer;
use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::text::{self, Paint, pad};
pub(crate) use scenarios::Scenario;
use tally::Tally;

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) scenarios: Vec<Row>,
}

/// What one policy came to in one scenario; times in seconds.
#[derive(Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) policy: &'static str,
    /// Candidates, for the policies that draw some.
    pub(crate) choices: Option<u32>,
    pub(crate) mean: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    /// The part of the requests that took at most a second.
    pub(crate) within_1s: f64,
    /// Whether the backlog grows without end; the times then only tell how long the run was.
    pub(crate) diverges: bool,
    #[serde(skip)]
    pub(crate) largest_share: f64,
    #[serde(skip)]
    pub(crate) scenario: Scenario,
}

pub(crate) fn command(args: &SimulateArgs) -> Result<Answer, Failure> {
    let chosen = if args.scenarios.is_empty() { Scenario::all() } else { &args.scenarios };
    let report = Report { scenarios: run(chosen, args.scale, args.seed)? };
    let text = if args.json { text::json(&report)? } else { as_text(&report) };
    Ok(Answer { text, nobody: None })
}

/// Runs the scenarios with all of their policies, on as many threads as there are processors.
pub(crate) fn run(scenarios: &[Scenario], scale: f64, seed: u64) -> Result<Vec<Row>, Failure> {
    let pairs = |scenario: Scenario| scenario.policies().into_iter().map(move |policy| (scenario, policy));
    let jobs: Vec<(Scenario, Policy)> = scenarios.iter().copied().flat_map(pairs).collect();
    let progress = Progress::new(jobs.len() as u64);
    progress.say("simulate");
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(jobs.len())));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, policy)) = jobs.get(place) else { break };
            let row = one(*scenario, policy, scale, seed);
            rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((place, row));
            progress.add(1);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let mut rows = rows.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    rows.sort_by_key(|(place, _)| *place);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Runs one scenario with one policy.
pub(crate) fn one(scenario: Scenario, policy: &Policy, scale: f64, seed: u64) -> Result<Row, Failure> {
    let world = scenario.world(scale);
    let (mut tally, mut diverges, mut largest_share) = (Tally::new(), false, 0.0_f64);
    for repetition in 0..scenario.repetitions(scale) {
        let measured = world.run(policy, seed.wrapping_mul(1_000_003).wrapping_add(repetition as u64))?;
        tally.plus(measured.tally);
        diverges |= measured.diverges;
        largest_share = largest_share.max(measured.largest_share);
    }
    Ok(Row {
        name: scenario.to_string(),
        policy: policy.name(),
        choices: match policy {
            Policy::PowerOfTwo(options) => Some(options.choices),
            Policy::PeakEwma(options) => Some(options.choices),
            _ => None,
        },
        mean: tally.mean_s(),
        p99: tally.quantile_s(0.99),
        p999: tally.quantile_s(0.999),
        within_1s: tally.within_1s(),
        diverges,
        largest_share,
        scenario,
    })
}

fn as_text(report: &Report) -> String {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    for rows in report.scenarios.chunk_by(|one, other| one.scenario == other.scenario) {
        let Some(first) = rows.first() else { continue };
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!("{gap}{}\n", paint.strong(&first.name));
        text += &format!("{}; times in seconds\n", first.scenario.about());
        let heads = ["choices", "mean", "p99", "p99.9", "over 1 s", "top share"];
        text += &format!(
            "  {}  {:>7}  {:>8}  {:>8}  {:>8}  {:>9}  {:>9}\n",
            pad("policy", 14),
            heads[0],
            heads[1],
            heads[2],
            heads[3],
            heads[4],
            heads[5]
        );
        rows.iter().for_each(|row| text += &line(row, &paint));
    }
    text
}

fn line(row: &Row, paint: &Paint) -> String {
    let choices = row.choices.map_or("-".to_owned(), |choices| choices.to_string());
    // Only windows with enough requests tell a share.
    let share = if row.largest_share > 0.0 { format!("{:.2} ×", row.largest_share) } else { "-".to_owned() };
    let mut text = format!(
        "  {}  {choices:>7}  {:>8.3}  {:>8.3}  {:>8.3}  {:>9}  {share:>9}",
        pad(row.policy, 14),
        row.mean,
        row.p99,
        row.p999,
        text::percent(1.0 - row.within_1s),
    );
    if row.diverges {
        text = format!("{}\n    {}", text, paint.bad("diverges: the backlog grows for as long as it runs"));
    }
    text + "\n"
}
