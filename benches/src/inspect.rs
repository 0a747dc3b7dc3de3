//! `inspect`: a document as it is understood.

use std::collections::BTreeMap;

use pointsman::Instance;
use pointsman::format::{Ignored, Merged, Report};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::Answer;
use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::state;
use crate::text::{self, ID, LINE, Paint, ROWS, counted, cut, grouped, pad, printable, wrapped};

#[derive(Serialize)]
struct Answered<'a> {
    source: pointsman::format::Format,
    taken: usize,
    merged: &'a [Merged],
    ignored: &'a [Ignored],
    notes: &'a [String],
    instances: Vec<Listed<'a>>,
}

/// Every field of the plain format, so that the list can be read again.
#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    address: &'a str,
    weight: f64,
    zone: Option<&'a str>,
    tags: BTreeMap<&'a str, Vec<&'a str>>,
    healthy: bool,
    enabled: bool,
    load: Option<f64>,
    max_in_flight: Option<u32>,
    user_data: u64,
}

pub(crate) fn command(args: &InspectArgs) -> Result<Answer, Failure> {
    let input = Input::read(&args.input)?;
    // What a pool refuses is not understood.
    input.pool(None)?;
    let text = if args.json { as_json(&input)? } else { as_text(&input, args) };
    Ok(Answer { text, nobody: None })
}

fn as_json(input: &Input) -> Result<String, Failure> {
    let Report { format, taken, merged, ignored, notes, .. } = &input.found.report;
    let instances = input.found.instances.iter().map(listed).collect();
    text::json(&Answered { source: *format, taken: *taken, merged, ignored, notes, instances })
}

fn listed(instance: &Instance) -> Listed<'_> {
    let mut tags: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in instance.tags.iter() {
        tags.entry(key).or_default().push(value);
    }
    Listed {
        id: &instance.id,
        address: &instance.address,
        weight: instance.weight,
        zone: instance.zone.as_deref(),
        tags,
        healthy: instance.healthy,
        enabled: instance.enabled,
        load: instance.load,
        max_in_flight: instance.max_in_flight,
        user_data: instance.user_data,
    }
}

fn as_text(input: &Input, args: &InspectArgs) -> String {
    let paint = Paint::for_stdout();
    let instances = &input.found.instances;
    let report = &input.found.report;
    let available = instances.iter().filter(|instance| state(instance).is_none()).count();
    let mut text = format!(
        "{} from {} ({}), {} available",
        counted(instances.len(), "instance"),
        cut(&input.name, 40),
        report.format,
        grouped(available as u64),
    );
    if let Some(zone) = args.input.zone.as_deref() {
        let near = instances.iter().filter(|instance| instance.zone.as_deref() == Some(zone)).count();
        text += &format!(", {} in zone {}", grouped(near as u64), cut(zone, 20));
    }
    text += "\n\n";
    text += &table(instances, &paint);
    let merged = report
        .merged
        .iter()
        .map(|merged| format!("{}: {} gave way to {}", merged.address, merged.dropped, merged.kept));
    text += &section("merged", merged, &paint);
    let ignored = report.ignored.iter().map(|ignored| format!("{}: {}", ignored.path, ignored.reason));
    text += &section("left out", ignored, &paint);
    text += &section("notes", report.notes.iter().cloned(), &paint);
    text
}

fn table(instances: &[Instance], paint: &Paint) -> String {
    if instances.is_empty() {
        return String::new();
    }
    let shown = &instances[..instances.len().min(ROWS)];
    let head = ["instance", "weight", "state", "zone", "load", "tags"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(shown.iter().map(columns)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    // What the other columns leave is for the tags.
    let room = LINE.saturating_sub(widths.iter().map(|width| width + 2).sum()).max(8);
    let [_, weights, _, _, loads] = widths;
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let [id, weight, state, zone, load, tags] = row;
        let state = pad(state, widths[2]);
        let state = match state.trim_end() {
            "up" => paint.good(&state),
            "down" | "drained" | "disabled" => paint.bad(&state),
            _ => state,
        };
        let line = format!(
            "{}  {weight:>weights$}  {state}  {}  {load:>loads$}  {}",
            pad(id, widths[0]),
            pad(zone, widths[3]),
            shortened(tags, room),
        );
        text += &if at == 0 { paint.strong(line.trim_end()) } else { line.trim_end().to_owned() };
        text.push('\n');
    }
    if shown.len() < instances.len() {
        text += &format!("… and {} more\n", grouped((instances.len() - shown.len()) as u64));
    }
    text
}

/// The cells of a row, in the order of the head.
fn columns(instance: &Instance) -> [String; 6] {
    let number = |value: f64| {
        let text = value.to_string();
        if text.len() <= 7 { text } else { format!("{value:.1e}") }
    };
    // The zone has a column of its own.
    let tags =
        instance.tags.iter().filter(|(key, value)| *key != "zone" || instance.zone.as_deref() != Some(value));
    let tags: Vec<String> = tags.map(|(key, value)| format!("{key}={value}")).collect();
    [
        cut(&instance.id, ID).into_owned(),
        number(instance.weight),
        state(instance).unwrap_or("up").to_owned(),
        instance.zone.as_deref().map_or("-".to_owned(), |zone| cut(zone, 14).into_owned()),
        instance.load.map_or("-".to_owned(), number),
        tags.join(" "),
    ]
}

/// The front of a text in at most `width` columns.
fn shortened(text: &str, width: usize) -> String {
    let text = printable(text);
    match text.char_indices().nth(width) {
        None => text.into_owned(),
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

fn section(title: &str, lines: impl ExactSizeIterator<Item = String>, paint: &Paint) -> String {
    let count = lines.len();
    if count == 0 {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint.strong(title));
    for line in lines.take(ROWS) {
        text += &wrapped(&line);
    }
    if count > ROWS {
        text += &format!("  … and {} more\n", grouped((count - ROWS) as u64));
    }
    text
}
