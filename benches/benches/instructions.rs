//! Instructions of the pick paths, which no noise moves: counted by callgrind, compared with `baseline.json`.
//!
//! ```text
//! make gate                                                       compares; one that grew by more than 3 % fails
//! cargo bench -p pointsman-bench --bench instructions -- --bless  writes the baseline
//! ```
//!
//! Without either each path runs once, as a test. The process calls itself under valgrind, once for each size; callgrind
//! counts inside one function only, and writes a file each time that it returns.

mod common;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use common::{PLAIN, route};
use pointsman::{
    ConsistentHash, Outcome, PeakEwma, Policy, Pool, PowerOfTwo, Request, Route, RouteSpec, Tier,
};
use pointsman_bench::lists::{EXCLUDE, REQUIRE, TAGS, instances, turns};
use serde::{Deserialize, Serialize};

const SIZES: [usize; 3] = [8, 1_000, 100_000];
const TOLERANCE: f64 = 0.03;

/// Picks of a path; of those that look at every instance fewer, so that it is about this number of looks.
const PICKS: u64 = 4_000;
const LOOKS: u64 = 400_000;
/// Tables hash by a seed of their own, and how far a look-up has to probe depends on it: the shortest of so many counts.
const TABLES: usize = 6;
const WARM_UP: u64 = 50;

#[derive(Serialize, Deserialize)]
struct Baseline {
    compiler: String,
    /// Instructions a pick, by path and size.
    instructions: BTreeMap<String, f64>,
}

/// A path: its name, and what does so many picks.
type Case = (&'static str, Box<dyn FnMut(u64)>);

/// The one function that callgrind counts in, by its full name.
const COUNTED_IN: &str = "instructions::gauged_picks";

#[inline(never)]
fn gauged_picks(case: &mut dyn FnMut(u64), picks: u64) {
    case(black_box(picks));
}

fn picks(route: Route, request: Request<'static>) -> Box<dyn FnMut(u64)> {
    Box::new(move |times| {
        for _ in 0..times {
            let _ = black_box(route.pick(black_box(&request)).map(|pick| pick.index()));
        }
    })
}

/// Draws that do not change from run to run, for paths whose length depends on them.
fn through_a_picker(route: &Route, request: Request<'static>) -> Box<dyn FnMut(u64)> {
    let mut picker = route.picker_seeded(1);
    Box::new(move |times| {
        for _ in 0..times {
            let _ = black_box(picker.pick(black_box(&request)).map(|pick| pick.index()));
        }
    })
}

fn leases(pool: &Pool, policy: Policy) -> Box<dyn FnMut(u64)> {
    let (mut picker, mut now) = (route(pool, policy).picker_seeded(1), 1_000_000_000);
    Box::new(move |times| {
        for _ in 0..times {
            now += 1_000_000;
            let lease = picker.lease(black_box(&PLAIN)).expect("an instance");
            lease.done_at(Outcome::Success, Duration::from_millis(2), now);
        }
    })
}

fn by_key(route: Route) -> Box<dyn FnMut(u64)> {
    let mut key = 0_u64;
    Box::new(move |times| {
        for _ in 0..times {
            key += 1;
            let _ = black_box(route.pick(&Request::new().key(&key.to_le_bytes())).map(|pick| pick.index()));
        }
    })
}

fn cases(n: usize) -> Vec<Case> {
    let pool = Pool::new(instances(&turns(n))).expect("a valid list");
    let random = route(&pool, Policy::WeightedRandom);
    let rotation = route(&pool, Policy::WeightedRoundRobin);
    let matching =
        RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().matching("version").matching("env"));
    let matching = || pool.route(matching.clone()).expect("a valid route");
    let mut cases: Vec<Case> = vec![
        ("weighted_random/picker", through_a_picker(&random, PLAIN)),
        ("weighted_random/route", picks(random.clone(), PLAIN)),
        ("weighted_round_robin/picker", through_a_picker(&rotation, PLAIN)),
        ("weighted_round_robin/route", picks(rotation, PLAIN)),
        ("require/picker", through_a_picker(&random, Request::new().require(&REQUIRE))),
        ("retry_exclude/picker", through_a_picker(&random, Request::new().exclude(&EXCLUDE))),
        ("least_request/lease", leases(&pool, Policy::LeastRequest)),
        ("power_of_two/lease", leases(&pool, Policy::PowerOfTwo(PowerOfTwo::new()))),
        ("peak_ewma/lease", leases(&pool, Policy::PeakEwma(PeakEwma::new()))),
        ("consistent_hash/route", by_key(route(&pool, Policy::ConsistentHash(ConsistentHash::new())))),
    ];
    let tagged = || ("match_tags/route", picks(matching(), Request::new().tags(&TAGS)));
    cases.extend((0..TABLES).map(|_| tagged()));
    cases
}

/// The names of the paths, and how many picks are counted.
fn plan(n: usize) -> Vec<(&'static str, u64)> {
    let looks = (LOOKS / n as u64).clamp(4, PICKS);
    let looking = |name: &str| ["require/picker", "least_request/lease"].contains(&name);
    let picks = |name| (name, if looking(name) { looks } else { PICKS });
    cases(SIZES[0]).into_iter().map(|(name, _)| picks(name)).collect()
}

/// What runs under valgrind.
fn run(n: usize) {
    for ((_, mut case), (_, picks)) in cases(n).into_iter().zip(plan(n)) {
        case(WARM_UP.min(picks));
        gauged_picks(&mut *case, picks);
    }
}

/// Instructions a pick of every path at this size.
fn count(n: usize) -> Result<Vec<(String, f64)>, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("instructions-{n}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={COUNTED_IN}"))
        .arg(format!("--dump-after={COUNTED_IN}"))
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(exe)
        .args(["--count", &n.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let named = plan(n).into_iter().enumerate();
    named
        .map(|(at, (name, picks))| {
            let file = folder.join(format!("out.{}", at + 1));
            let text = std::fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
            let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
            let total: f64 = total.and_then(|total| total.trim().parse().ok()).ok_or("no total")?;
            Ok((format!("{name}/{n}"), (total / picks as f64 * 10.0).round() / 10.0))
        })
        .collect()
}

fn count_all() -> Result<Baseline, String> {
    let mut instructions = BTreeMap::new();
    for n in SIZES {
        for (name, counted) in count(n)? {
            let shortest = instructions.entry(name).or_insert(counted);
            *shortest = counted.min(*shortest);
        }
    }
    Ok(Baseline { compiler: env!("POINTSMAN_COMPILER").to_owned(), instructions })
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline.json")
}

fn bless() -> Result<(), String> {
    let text = serde_json::to_string_pretty(&count_all()?).map_err(|error| error.to_string())?;
    std::fs::write(path(), text + "\n").map_err(|error| error.to_string())
}

fn gate() -> Result<(), String> {
    let text = std::fs::read_to_string(path()).map_err(|error| format!("baseline.json: {error}"))?;
    let baseline: Baseline =
        serde_json::from_str(&text).map_err(|error| format!("baseline.json: {error}"))?;
    let now = count_all()?;
    if now.compiler != baseline.compiler {
        println!("the baseline is of {}, this is {}", baseline.compiler, now.compiler);
    }
    let mut grown = Vec::new();
    println!("{:36} {:>12} {:>12}", "instructions a pick", "baseline", "now");
    for (name, count) in &now.instructions {
        let Some(before) = baseline.instructions.get(name) else {
            grown.push(format!("{name} is not in the baseline"));
            continue;
        };
        let change = count / before - 1.0;
        println!("{name:36} {before:>12.1} {count:>12.1} {:>+7.1} %", change * 100.0);
        if change > TOLERANCE {
            grown.push(format!("{name} grew by {:.1} %", change * 100.0));
        }
    }
    if grown.is_empty() { Ok(()) } else { Err(grown.join("\n")) }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let size = args.iter().position(|arg| arg == "--count").and_then(|at| args.get(at + 1)?.parse().ok());
    let done = match size {
        Some(n) => {
            run(n);
            Ok(())
        }
        None if has("--bless") => bless(),
        None if has("--gate") => gate(),
        None => {
            cases(SIZES[0]).into_iter().for_each(|(_, mut case)| case(1));
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!(
                "{why}\nif that is meant: cargo bench -p pointsman-bench --bench instructions -- --bless"
            );
            ExitCode::FAILURE
        }
    }
}
