//! `report`: what was measured, as one page that explains itself.
//!
//! ```text
//! compare's rows (measured, or from a file) ─┐
//! rotations and single picks, observed here ─┼─▶ charts and tables ─▶ one HTML file
//! the simulator's rows ──────────────────────┘
//! ```

mod chart;
mod observed;
mod page;

use crate::Answer;
use crate::args::ReportArgs;
use crate::compare::{self, Report, Row, digits, time};
use crate::failure::Failure;
use crate::simulate::{self, Scenario};
use crate::text::{check_writable, grouped};
use chart::{Axis, Chart, Series};
use page::Page;

/// The size whose quality is tabled.
const QUALITY_SIZE: usize = 64;

const INSTANCES: Axis = Axis { name: "instances", log: true, show: |n| grouped(n.round() as u64) };
const TIME: Axis = Axis { name: "time", log: true, show: time };

/// Peers that are the same job at another size or number of threads, which charts show by their axes.
const ELSEWHERE: [&str; 2] = ["itself_at_8", "itself_on_one_thread"];

/// What the engine's lines are called, by the call.
const APIS: [&str; 3] = ["picker", "route", "pool"];

pub(crate) fn command(args: &ReportArgs) -> Result<Answer, Failure> {
    check_writable(&args.output)?;
    let report = match &args.from {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::bad(path, error))?;
            serde_json::from_str(&text).map_err(|error| Failure::bad(path, error))?
        }
        None => compare::run(&args.plan.plan())?,
    };
    let html = page(&report, args.scale)?;
    std::fs::write(&args.output, html).map_err(|error| Failure::bad(&args.output, error))?;
    Ok(Answer { text: String::new(), nobody: None })
}

fn page(report: &Report, scale: f64) -> Result<String, Failure> {
    let machine = &report.machine;
    let load = machine.load.map_or("unknown".to_owned(), |load| format!("{load:.1}"));
    let facts = [
        ("processor", machine.processor.clone()),
        ("cores", machine.cores.to_string()),
        ("system", machine.system.clone()),
        ("compiler", machine.compiler.clone()),
        ("load when it began", load),
    ];
    let mut page = Page::new("pointsman, measured", &facts);
    let made = &machine.command;
    page.section(
        "What an operation costs",
        "Each job, done by the engine and by what would be taken in its stead, over lists of different lengths. Lower is \
         faster; a flat line costs the same at any length. `picker` is one thread's own hand, `route` is what threads share.",
    );
    page.charts(&costs(report))?;
    page.table("Least that any pick needs", &["floor", "time"], &floors(report), made);
    if let Some(chart) = scaling(report) {
        page.section(
            "More threads",
            "Picks of all threads together. A straight line upwards is perfect; it cannot rise beyond the cores.",
        );
        page.charts(&chart)?;
    }
    page.section(
        "How even it is",
        "A rotation should keep every instance close to its share at all times. Drawn is how far the worst instance is from \
         its ideal after each turn, on 32 instances of weight 1, 8 of 4 and 2 of 16; below, the figures at 64 instances.",
    );
    let turns = Axis { name: "turn", log: false, show: |turn| format!("{turn:.0}") };
    let off = Axis { name: "turns off", log: false, show: |off| format!("{off:.2}") };
    page.charts(&[Chart {
        title: "weighted rotation, distance from the ideal".to_owned(),
        x: turns,
        y: off,
        series: observed::deviations()?,
        command: "pointsman report".to_owned(),
    }])?;
    let heads = ["job", "by", "share error", "turns off", "burst", "allocations", "bytes each", "keys moved"];
    page.table("Quality at 64 instances", &heads, &qualities(report), made);
    page.section(
        "One pick at a time",
        "Each pick of `weighted_random` over 1,000 instances timed alone, the clock included. A writer that publishes a \
         thousand times a second should not move the line; what lies far right is the machine's own.",
    );
    let took = Axis { name: "time of a pick", log: true, show: time };
    let share = Axis { name: "% of picks", log: true, show: |share| significant(share) };
    page.charts(&[Chart {
        title: "times of single picks".to_owned(),
        x: took,
        y: share,
        series: observed::latencies()?,
        command: "pointsman report".to_owned(),
    }])?;
    simulations(&mut page, scale)?;
    Ok(page.finish())
}

fn significant(value: f64) -> String {
    match value {
        value if value >= 1.0 => format!("{value:.0}"),
        value if value >= 0.001 => format!("{value:.3}").trim_end_matches('0').to_owned(),
        value => format!("{value:.0e}"),
    }
}

/// A chart for each job.
fn costs(report: &Report) -> Vec<Chart> {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.threads == 1 && row.job != "floor").collect();
    rows.chunk_by(|one, other| one.job == other.job).filter_map(|rows| cost(rows, report)).collect()
}

fn cost(rows: &[&Row], report: &Report) -> Option<Chart> {
    let job = rows.first()?.job.clone();
    let mut series: Vec<Series> = Vec::new();
    for api in APIS {
        let points: Vec<(f64, f64)> =
            rows.iter().filter(|row| row.api == api).map(|row| (row.size as f64, row.ns)).collect();
        if !points.is_empty() {
            series.push(Series { name: format!("pointsman, {api}"), points });
        }
    }
    // Peers are measured beside each call; those beside the last one stand for all.
    let last = &rows.last()?.api;
    for row in rows.iter().filter(|row| row.api == *last) {
        for peer in row.peers.iter().filter(|peer| !ELSEWHERE.contains(&&*peer.name)) {
            let point = (row.size as f64, peer.ns);
            match series.iter_mut().find(|series| series.name == peer.name) {
                Some(series) => series.points.push(point),
                None => series.push(Series { name: peer.name.clone(), points: vec![point] }),
            }
        }
    }
    Some(Chart { title: job, x: INSTANCES, y: TIME, series, command: report.machine.command.clone() })
}

/// Picks a second by threads, where more than one number was measured.
fn scaling(report: &Report) -> Option<Vec<Chart>> {
    let size = report.rows.iter().filter(|row| row.threads > 1).map(|row| row.size);
    let size = size.min_by_key(|size| size.abs_diff(QUALITY_SIZE))?;
    let mut charts: Vec<Chart> = Vec::new();
    let jobs = ["uniform", "weighted_random", "weighted_round_robin", "power_of_two", "lease"];
    for job in jobs {
        let of = |api: &str| {
            let rows = report.rows.iter().filter(|row| row.job == job && row.api == api && row.size == size);
            rows.map(|row| (f64::from(row.threads), 1e3 / row.ns)).collect::<Vec<_>>()
        };
        let series = APIS.iter().map(|api| Series { name: format!("pointsman, {api}"), points: of(api) });
        let series: Vec<Series> = series.filter(|series| series.points.len() > 1).collect();
        if series.is_empty() {
            continue;
        }
        charts.push(Chart {
            title: format!("{job}, {} instances", grouped(size as u64)),
            x: Axis {
                name: "threads",
                log: false,
                show: |threads| format!("{threads:.1}").replace(".0", ""),
            },
            y: Axis { name: "million picks a second", log: false, show: |millions| format!("{millions:.0}") },
            series,
            command: report.machine.command.clone(),
        });
    }
    (!charts.is_empty()).then_some(charts)
}

fn floors(report: &Report) -> Vec<Vec<String>> {
    let rows = report.rows.iter().filter(|row| row.job == "floor");
    rows.map(|row| vec![row.api.replace('_', " "), time(row.ns)]).collect()
}

fn qualities(report: &Report) -> Vec<Vec<String>> {
    let mut table = Vec::new();
    let rows = report.rows.iter().filter(|row| row.size == QUALITY_SIZE && row.threads == 1);
    for row in rows.filter(|row| row.api != "pool" && row.job != "floor") {
        let number = |value: Option<f64>| value.map_or("–".to_owned(), digits);
        let mut line = |by: String, quality: &compare::Quality| {
            table.push(vec![
                row.job.clone(),
                by,
                quality
                    .largest_share_error
                    .map_or("–".to_owned(), |error| format!("{:.3} %", error * 100.0)),
                number(quality.prefix_deviation),
                quality.longest_burst.map_or("–".to_owned(), grouped),
                number(quality.allocations_per_pick),
                quality.bytes_per_instance.map_or("–".to_owned(), |bytes| grouped(bytes.round() as u64)),
                number(quality.keys_moved),
            ]);
        };
        line(format!("pointsman, {}", row.api), &row.quality.ours);
        if row.api == "route" {
            row.quality.peers.iter().for_each(|(name, quality)| line(name.clone(), quality));
        }
    }
    table
}

fn simulations(page: &mut Page, scale: f64) -> Result<(), Failure> {
    page.section(
        "What it does to waiting",
        "Simulated servers with queues, slow ones among them, one that stalls, and proxies with old news; times in seconds \
         that requests spend in the system.",
    );
    let rows = simulate::run(Scenario::all(), scale, 1)?;
    for rows in rows.chunk_by(|one, other| one.scenario == other.scenario) {
        let Some(first) = rows.first() else { continue };
        let heads = ["policy", "choices", "mean", "p99", "p99.9", "over 1 s", "backlog"];
        let line = |row: &simulate::Row| {
            vec![
                row.policy.to_owned(),
                row.choices.map_or("–".to_owned(), |choices| choices.to_string()),
                format!("{:.3}", row.mean),
                format!("{:.3}", row.p99),
                format!("{:.3}", row.p999),
                format!("{:.2} %", (1.0 - row.within_1s) * 100.0),
                if row.diverges { "diverges" } else { "bounded" }.to_owned(),
            ]
        };
        let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
        let command = format!("pointsman simulate --scale {scale} --scenario {}", first.name);
        page.table(first.scenario.about(), &heads, &lines, &command);
    }
    Ok(())
}
