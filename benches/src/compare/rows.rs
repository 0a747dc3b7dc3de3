//! The rows of a comparison, and how they are written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::measure::Ratio;
use super::quality::Quality;
use crate::failure::Failure;
use crate::text::{Paint, grouped, pad};

#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
}

/// One job through one call of the engine, at one size.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) job: String,
    pub(crate) api: String,
    pub(crate) size: usize,
    pub(crate) threads: u16,
    /// Nanoseconds from one operation to the next, over all threads together.
    pub(crate) ns: f64,
    pub(crate) peers: Vec<Peer>,
    pub(crate) quality: RowQuality,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) ns: f64,
    /// The median of the rounds' ratios, and its 95 % interval.
    pub(crate) times_faster: f64,
    pub(crate) ci_low: f64,
    pub(crate) ci_high: f64,
}

/// The engine's figures, and the peers' by name.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct RowQuality {
    #[serde(flatten)]
    pub(crate) ours: Quality,
    pub(crate) peers: BTreeMap<String, Quality>,
}

impl Peer {
    pub(super) fn new(name: &str, ns: f64, ratio: Ratio) -> Self {
        let (times_faster, ci_low, ci_high) = (ratio.median, ratio.low, ratio.high);
        Self { name: name.to_owned(), ns, times_faster, ci_low, ci_high }
    }
}

/// Three digits, and a unit that fits.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// A number with about three digits.
pub(crate) fn digits(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => grouped(value.round() as u64),
    }
}

pub(crate) fn as_text(report: &Report) -> String {
    let paint = Paint::for_stdout();
    let mut text =
        format!("{}\n{}\n{}\n", report.machine.line(), report.machine.compiler, report.machine.command);
    let (floors, rows): (Vec<&Row>, Vec<&Row>) = report.rows.iter().partition(|row| row.job == "floor");
    if !floors.is_empty() {
        text += &format!("\n{}\n", paint.strong("floor"));
        let line = |row: &&Row| format!("  {}  {:>9}\n", pad(&row.api, 12), time(row.ns));
        text.extend(floors.iter().map(line));
    }
    for group in rows.chunk_by(|one, other| one.job == other.job && one.api == other.api) {
        let Some(first) = group.first() else { continue };
        text += &format!("\n{}\n", paint.strong(&format!("{}, {}", first.job, first.api)));
        text.extend(group.iter().map(|row| block(row, &paint)));
    }
    text
}

fn block(row: &Row, paint: &Paint) -> String {
    let threads = if row.threads > 1 { format!(", {} threads", row.threads) } else { String::new() };
    let size = format!("n = {}{threads}", grouped(row.size as u64));
    let mut text = format!("  {}  {}", pad(&size, 28), paint.strong(&format!("{:>9}", time(row.ns))));
    text += &format!("  {}\n", figures(&row.quality.ours));
    for peer in &row.peers {
        let interval = format!("[{}, {}]", digits(peer.ci_low), digits(peer.ci_high));
        let faster = format!("{:>8} ×", digits(peer.times_faster));
        let faster = if peer.ci_low >= 1.0 { paint.good(&faster) } else { paint.bad(&faster) };
        text += &format!("    {}  {:>9}  {faster}  {interval}\n", pad(&peer.name, 26), time(peer.ns));
    }
    text
}

/// The most telling figures of quality.
fn figures(quality: &Quality) -> String {
    let mut said = Vec::new();
    said.extend(quality.bytes_per_instance.map(|bytes| format!("{bytes:.0} B each")));
    said.extend(quality.prefix_deviation.map(|most| format!("off by {most:.2}")));
    said.extend(quality.longest_burst.map(|burst| format!("burst {burst}")));
    said.join(", ")
}

pub(super) fn write_csv(report: &Report, path: &str) -> Result<(), Failure> {
    let bad = |error: csv::Error| Failure::bad(path, error);
    let mut writer = csv::Writer::from_path(path).map_err(bad)?;
    let head =
        ["job", "api", "size", "threads", "ns", "peer", "peer_ns", "times_faster", "ci_low", "ci_high"];
    writer.write_record(head).map_err(bad)?;
    for row in &report.rows {
        let own = (&row.job, &row.api, row.size, row.threads, row.ns);
        if row.peers.is_empty() {
            writer.serialize((own, ["", "", "", "", ""])).map_err(bad)?;
        }
        for peer in &row.peers {
            let figures = (peer.ns, peer.times_faster, peer.ci_low, peer.ci_high);
            writer.serialize((own, &peer.name, figures)).map_err(bad)?;
        }
    }
    writer.flush().map_err(|error| Failure::bad(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        assert_eq!([4.567, 45.67, 456.7].map(time), ["4.57 ns", "45.7 ns", "457 ns"]);
        assert_eq!([4_567.0, 4.567e6, 4.567e9].map(time), ["4.57 µs", "4.57 ms", "4.57 s"]);
    }
}
