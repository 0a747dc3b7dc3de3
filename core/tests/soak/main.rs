//! The soak: fresh seeds, and load with faults, for as long as one likes.
//!
//! | set | time | seed |
//! |---|---|---|
//! | neither, as where all tests are run | 5 s | always the same, so that no p-value is low now and then |
//! | `SOAK_SECONDS`, as by `make soak` | that | fresh |
//! | `SOAK_SEED`, with or without `SOAK_SECONDS` | that, or 5 s | that: the choices of a run whose seed was printed |
//!
//! The seed is printed at the beginning, and again with what failed. Choices are made by the seed alone; which of them meet is
//! up to the threads.

#[path = "../common/mod.rs"]
mod common;
#[path = "../statistics/drawn.rs"]
mod drawn;
#[path = "../statistics/harness/mod.rs"]
mod harness;

mod armed;
mod clock;
mod control;
#[cfg(unix)]
mod fork;
mod held;
mod limits;
mod load;
mod memory;
mod reader;
mod routes;
mod statistics;
mod truth;
mod wholesale;
mod writer;

use std::hash::{BuildHasher, RandomState};
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What a part is told.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) seed: u64,
    /// How long it is to take.
    pub(crate) time: Duration,
    /// Whether there is time for large sizes.
    pub(crate) long: bool,
}

/// A part: its name, its share of the time, and what it does. It returns what it has to report, or panics.
type Part = (&'static str, f64, fn(Order) -> Vec<String>);

const PARTS: [Part; 6] = [
    ("watching", 0.0, control::run),
    ("statistics", 0.3, statistics::run),
    ("load", 0.5, load::run),
    ("limits", 0.05, limits::run),
    ("held picks", 0.0, held::run),
    ("wholesale", 0.1, wholesale::run),
];

/// Of runs that are told nothing.
const FIXED_SEED: u64 = 1;

fn main() -> ExitCode {
    if !is_asked_for() {
        return ExitCode::SUCCESS;
    }
    let (time, given): (Option<f64>, Option<u64>) =
        (from_environment("SOAK_SECONDS"), from_environment("SOAK_SEED"));
    let seconds = time.unwrap_or(5.0);
    let (seed, is) = match (given, time) {
        (Some(given), _) => (given, "given"),
        (None, Some(_)) => (RandomState::new().hash_one(0), "fresh"),
        (None, None) => (FIXED_SEED, "fixed"),
    };
    println!("soak of {seconds} s, SOAK_SEED={seed} ({is})");
    give_up_after(Duration::from_secs_f64(seconds * 10.0) + Duration::from_secs(180));
    let mut failed = Vec::new();
    for (name, share, run) in PARTS {
        let order = Order { seed, time: Duration::from_secs_f64(seconds * share), long: seconds >= 30.0 };
        let begin = Instant::now();
        let outcome = catch_unwind(|| run(order));
        println!(
            "{name}: {}, {:.1} s",
            if outcome.is_ok() { "ok" } else { "FAILED" },
            begin.elapsed().as_secs_f64()
        );
        match outcome {
            Ok(lines) => lines.iter().for_each(|line| println!("  {line}")),
            Err(_) => failed.push(name),
        }
    }
    println!("longest stall: {}", control::longest_stall());
    if failed.is_empty() {
        println!("soak: ok");
        return ExitCode::SUCCESS;
    }
    println!("soak: FAILED in {}; again with SOAK_SECONDS={seconds} SOAK_SEED={seed}", failed.join(", "));
    ExitCode::FAILURE
}

/// By the arguments that a test program is given: filters by name, and lists.
fn is_asked_for() -> bool {
    if cfg!(miri) {
        println!("soak: not under Miri, which cannot fork and has no time");
        return false;
    }
    let is_meant = |filter: &String| "soak".contains(filter.as_str());
    let (mut filters, mut arguments) = (Vec::new(), std::env::args().skip(1));
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--list" => {
                println!("soak: test");
                return false;
            }
            "--ignored" => return false,
            "--skip" if arguments.next().is_some_and(|skipped| is_meant(&skipped)) => return false,
            "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
            option if option.starts_with('-') => {}
            _ => filters.push(argument),
        }
    }
    filters.is_empty() || filters.iter().any(is_meant)
}

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A part that hangs is a failure, not a run without an end.
fn give_up_after(limit: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        println!("soak: FAILED, no end within {limit:?}");
        std::process::exit(1);
    });
}
