//! The text of `run`: a table of the policies, then the instances of each.

use std::cmp::Reverse;

use pointsman::Instance;

use crate::args::RunArgs;
use crate::input::Input;
use crate::run::{Line, Outcome, Report};
use crate::text::{Paint, ROWS, bar, counted, grouped, id, id_width, pad, percent};

const BAR: usize = 24;
const POLICY: usize = 20;

/// A chi-square p-value below this, or a rotation beyond its bound, is not put down to chance.
const SUSPICIOUS_P: f64 = 1e-4;

/// Slack for the rounding of ideal counts.
const ROUNDING: f64 = 1e-6;

pub(crate) fn run(report: &Report, input: &Input, args: &RunArgs) -> String {
    let paint = Paint::for_stdout();
    let mut text = format!(
        "{} from {} ({}), {}\n\n",
        counted(report.instances, "instance"),
        crate::text::cut(&input.name, 40),
        report.source,
        counted(args.threads.into(), "thread"),
    );
    let heads = ["ns a pick", "share error", "chi-square p", "prefix deviation"];
    text += &paint.strong(&format!(
        "{:POLICY$}  {:>9}  {:>11}  {:>12}  {:>17}",
        "policy", heads[0], heads[1], heads[2], heads[3]
    ));
    text.push('\n');
    for outcome in &report.runs {
        text += &summary(outcome, &paint);
    }
    if let Some((source, in_flight)) = &report.load {
        text += &waits(&report.runs, source, *in_flight, &paint);
    }
    for outcome in &report.runs {
        text += &shares(outcome, input, args, &paint);
    }
    text
}

fn summary(outcome: &Outcome, paint: &Paint) -> String {
    let policy = pad(outcome.policy, POLICY);
    if let (Some(reason), None) = (outcome.no_instance, &outcome.tier) {
        return format!("{policy}  {}\n", paint.bad(&format!("no instance: {reason}")));
    }
    let figure = |value: Option<f64>, show: fn(f64) -> String| value.map_or("-".to_owned(), show);
    let judged = |text: String, good: bool| if good { paint.good(&text) } else { paint.bad(&text) };
    let chi = format!("{:>12}", figure(outcome.chi_square_p, |p| format!("{p:.4}")));
    let chi = match outcome.chi_square_p {
        Some(p) => judged(chi, p > SUSPICIOUS_P),
        None => chi,
    };
    let prefix = match (outcome.max_prefix_deviation, outcome.rotation) {
        (Some(most), Some((_, bound))) => {
            judged(format!("{:>17}", format!("{most:.3} (≤ {bound:.3})")), most <= bound + ROUNDING)
        }
        _ => format!("{:>17}", "-"),
    };
    format!(
        "{policy}  {:>9}  {:>11}  {chi}  {prefix}\n",
        figure(outcome.ns_per_pick, |ns| format!("{ns:.1}")),
        figure(outcome.max_share_error, |error| format!("{error:.6}")),
    )
}

/// What requests came to by the policies that leased for them.
fn waits(runs: &[Outcome], source: &str, in_flight: usize, paint: &Paint) -> String {
    let mut text = format!("\n{} in flight; latencies {source}\n", counted(in_flight, "request"));
    let heads = ["mean ms", "p99 ms", "failed"];
    let heads = format!("{:POLICY$}  {:>9}  {:>9}  {:>9}", "policy", heads[0], heads[1], heads[2]);
    text += &format!("{}\n", paint.strong(&heads));
    for (outcome, waits) in runs.iter().filter_map(|run| Some((run, run.waits.as_ref()?))) {
        let failed = percent(waits.failed);
        let policy = pad(outcome.policy, POLICY);
        text += &format!("{policy}  {:>9.2}  {:>9.2}  {failed:>9}\n", waits.mean_ms, waits.p99_ms);
    }
    text
}

fn shares(outcome: &Outcome, input: &Input, args: &RunArgs, paint: &Paint) -> String {
    let Some(tier) = &outcome.tier else { return String::new() };
    let form = outcome.rotation.map_or(String::new(), |(form, _)| format!(", {form} rotation"));
    let tier = crate::text::cut(tier, 24);
    let picks = grouped(outcome.picks);
    let keys = if outcome.keys { ", each with a key of its own" } else { "" };
    let title = format!("{}{form}, tier {tier}, {picks} picks{keys}", outcome.policy);
    let mut text = format!("\n{}", paint.strong(&title));
    if let Some(reason) = outcome.no_instance {
        text += &paint.bad(&format!("; some requests find none: {reason}"));
    }
    let (shown, left) = top(&outcome.shares);
    let width = id_width(shown.iter().map(|index| &*outcome.shares[*index].id));
    let largest = shown.iter().map(|index| highest(&outcome.shares[*index])).fold(0.0, f64::max);
    // Where no share is to be expected, what requests take there says more.
    let slow = outcome.waits.is_some() && outcome.shares.iter().all(|line| line.expected.is_none());
    let head = if slow { "mean ms" } else { "expected" };
    text += &format!("\n  {}  {}  {head:>9}  {:>9}\n", pad("", width), pad("", BAR), "observed");
    for index in shown {
        let line = &outcome.shares[index];
        let drawn = match why_none(&input.found.instances[index], line, args) {
            Some(why) => paint.faint(&pad(why, BAR)),
            None => paint.good(&pad(&bar(line.observed, largest, BAR), BAR)),
        };
        let told = match line.latency_ms.filter(|_| slow) {
            Some(ms) => format!("{ms:>9.2}  {:>9}", percent(line.observed)),
            None => figures(line.expected, line.observed),
        };
        text += &format!("  {}  {drawn}  {told}\n", id(&line.id, width));
    }
    if !left.is_empty() {
        let rest = left.iter().map(|index| &outcome.shares[*index]);
        let expected = rest.clone().try_fold(0.0, |sum, line| line.expected.map(|share| sum + share));
        let observed = rest.map(|line| line.observed).sum();
        let count = format!("… and {} more, together", grouped(left.len() as u64));
        text += &format!("  {}  {}\n", pad(&count, width + 2 + BAR), figures(expected, observed));
    }
    text
}

fn figures(expected: Option<f64>, observed: f64) -> String {
    format!("{:>9}  {:>9}", expected.map_or("-".to_owned(), percent), percent(observed))
}

fn highest(line: &Line) -> f64 {
    line.observed.max(line.expected.unwrap_or(0.0))
}

/// The rows to show and those to leave out: all in the order of the list, or those with the most.
fn top(lines: &[Line]) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    if lines.len() <= ROWS {
        return (order, Vec::new());
    }
    // Shares are not negative, so their bits are in order.
    let rank = |line: &Line| (line.expected.unwrap_or(line.observed).to_bits(), line.observed.to_bits());
    order.sort_by_key(|index| Reverse(rank(&lines[*index])));
    let left = order.split_off(ROWS);
    (order, left)
}

/// Why an instance that was not picked has no share.
fn why_none(instance: &Instance, line: &Line, args: &RunArgs) -> Option<&'static str> {
    if highest(line) > 0.0 {
        return None;
    }
    Some(state(instance).unwrap_or(if args.request.exclude.iter().any(|id| **id == *instance.id) {
        "excluded"
    } else {
        "not chosen"
    }))
}

/// What keeps an instance from being picked, by its own values.
pub(crate) fn state(instance: &Instance) -> Option<&'static str> {
    match instance {
        Instance { enabled: false, .. } => Some("disabled"),
        Instance { weight: 0.0, .. } => Some("drained"),
        Instance { healthy: false, .. } => Some("down"),
        _ => None,
    }
}
