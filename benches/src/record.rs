//! `record`: keeps what was measured, and puts the newest into the README.
//!
//! Raw results lie in `benches/record/<machine>/<date>.json`, as text beside it. Paths are those of the repository, in whose
//! root the command runs.

use std::path::{Path, PathBuf};

use time::OffsetDateTime;

use crate::Answer;
use crate::args::RecordArgs;
use crate::compare::{self, Report, digits, time as shown};
use crate::failure::Failure;
use crate::text::grouped;

const FOLDER: &str = "benches/record";
const README: &str = "README.md";
const BEGIN: &str = "<!-- measured: written by `make record` -->\n";
const END: &str = "<!-- measured: end -->\n";

/// Rows of the README: job, call, and the peers beside it.
const SHOWN: [(&str, &str, &[&str]); 11] = [
    ("weighted_random", "picker", &["rand_weighted_index", "rand_distr_alias"]),
    ("weighted_random", "route", &["arc_swap_weighted_index", "metadata_roulette", "pingora_select"]),
    ("weighted_round_robin", "picker", &["smooth_wrr", "edf_heap", "static_stride"]),
    ("weighted_round_robin", "route", &["smooth_wrr_mutex", "pingora_select"]),
    ("match_tags", "route", &["filter_into_list"]),
    ("require", "route", &["filter_into_list"]),
    ("retry_exclude", "route", &["rebuild_without"]),
    ("least_request", "route", &["dubbo_least_active"]),
    ("power_of_two", "route", &["dubbo_least_active", "tower_p2c"]),
    ("consistent_hash", "route", &["ring_160"]),
    ("update_one", "pool", &["build_anew"]),
];

pub(crate) fn command(args: &RecordArgs) -> Result<Answer, Failure> {
    if !args.check && !args.table {
        let report = match &args.from {
            Some(path) => read(Path::new(path))?,
            None => compare::run(&args.plan.plan())?,
        };
        keep(&report)?;
    }
    let newest = newest()?;
    let wanted = with_table(&load(README)?, &table(&read(&newest)?, &newest))?;
    if args.check {
        if load(README)? == wanted {
            return Ok(Answer { text: String::new(), nobody: None });
        }
        let why = format!("its table is not that of {}; `make record-table` writes it", newest.display());
        return Err(Failure::bad(README, why));
    }
    write(Path::new(README), &wanted)?;
    Ok(Answer { text: format!("{}\n", newest.display()), nobody: None })
}

fn load(path: impl AsRef<Path>) -> Result<String, Failure> {
    let path = path.as_ref();
    std::fs::read_to_string(path).map_err(|error| Failure::bad(path.display(), error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::bad(path.display(), error))
}

fn read(path: &Path) -> Result<Report, Failure> {
    serde_json::from_str(&load(path)?).map_err(|error| Failure::bad(path.display(), error))
}

fn keep(report: &Report) -> Result<(), Failure> {
    let folder = Path::new(FOLDER).join(slug(&report.machine.processor, report.machine.cores));
    std::fs::create_dir_all(&folder).map_err(|error| Failure::bad(folder.display(), error))?;
    let name = folder.join(OffsetDateTime::now_utc().date().to_string());
    let json = serde_json::to_string_pretty(report).map_err(|error| Failure::bad("JSON", error))?;
    write(&name.with_extension("json"), &(json + "\n"))?;
    write(&name.with_extension("txt"), &compare::as_text(report))
}

/// A name for a folder.
fn slug(processor: &str, cores: usize) -> String {
    let words = format!("{processor} {cores} cores").to_lowercase();
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The record with the latest date; of several of a day the last by name.
fn newest() -> Result<PathBuf, Failure> {
    let bad = |error: std::io::Error| Failure::bad(FOLDER, error);
    let mut found: Option<PathBuf> = None;
    for machine in std::fs::read_dir(FOLDER).map_err(bad)? {
        let machine = machine.map_err(bad)?.path();
        if !machine.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(machine).map_err(bad)? {
            let file = file.map_err(bad)?.path();
            let is_json = file.extension().is_some_and(|extension| extension == "json");
            let key = |path: &PathBuf| (path.file_name().map(ToOwned::to_owned), path.clone());
            if is_json && found.as_ref().is_none_or(|found| key(found) < key(&file)) {
                found = Some(file);
            }
        }
    }
    found.ok_or_else(|| Failure::bad(FOLDER, "holds no record"))
}

fn with_table(readme: &str, table: &str) -> Result<String, Failure> {
    let missing = || Failure::bad(README, "has no place for the table");
    let (before, rest) = readme.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

/// The engine's time, and how many times faster than each peer, by size.
fn table(report: &Report, path: &Path) -> String {
    let mut sizes: Vec<usize> =
        report.rows.iter().filter(|row| row.job != "floor").map(|row| row.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let columns: String = sizes.iter().map(|size| format!(" {} |", grouped(*size as u64))).collect();
    let mut text = format!("| job, call | beside |{columns}\n|---|---|{}\n", "---:|".repeat(sizes.len()));
    for (job, api, peers) in SHOWN {
        let row = |size: usize| {
            let mut rows = report.rows.iter();
            rows.find(|row| row.job == job && row.api == api && row.size == size && row.threads == 1)
        };
        if !sizes.iter().any(|size| row(*size).is_some()) {
            continue;
        }
        let cells = |cell: &dyn Fn(usize) -> Option<String>| -> String {
            sizes.iter().map(|size| format!(" {} |", cell(*size).unwrap_or_else(|| "–".to_owned()))).collect()
        };
        let times = cells(&|size| Some(shown(row(size)?.ns)));
        text += &format!("| `{job}`, {api} | |{times}\n");
        for name in peers {
            let peer = |size: usize| row(size)?.peers.iter().find(|peer| peer.name == *name);
            // Not every build has every peer.
            if !sizes.iter().any(|size| peer(*size).is_some()) {
                continue;
            }
            let faster = cells(&|size| Some(format!("{} ×", digits(peer(size)?.times_faster))));
            text += &format!("| | `{name}` |{faster}\n");
        }
    }
    let machine = &report.machine;
    let path = path.display().to_string().replace('\\', "/");
    text + &format!("\n{}, {}; `{}`, [raw]({path}).\n", machine.line(), machine.compiler, machine.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_plain_name() {
        assert_eq!(slug("AMD EPYC™ (7B13)", 2), "amd-epyc-7b13-2-cores");
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let readme = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(with_table(&readme, "new\n").unwrap(), format!("a\n{BEGIN}new\n{END}b\n"));
        assert!(with_table("a", "new").is_err());
    }
}
