//! What the models would catch: each operation of the engine that orders or counts something, with a flaw, and the model that
//! fails then. A process runs one mutant; `sync/model.rs` puts the flaw in.
//!
//! Every ordering above relaxed in `publish` is here, or in `SPARE` with the reason why no model fails without it.

use std::env;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Sources that a mutant may be in, by the end of their paths.
const SOURCES: [(&str, &str); 7] = [
    ("src/publish.rs", include_str!("../../src/publish.rs")),
    ("publish/slots.rs", include_str!("../../src/publish/slots.rs")),
    ("publish/hold.rs", include_str!("../../src/publish/hold.rs")),
    ("publish/fork.rs", include_str!("../../src/publish/fork.rs")),
    ("live/load.rs", include_str!("../../src/live/load.rs")),
    ("src/release.rs", include_str!("../../src/release.rs")),
    ("src/route.rs", include_str!("../../src/route.rs")),
];

/// An operation with a flaw, and the model that must fail with it.
struct Mutant {
    file: &'static str,
    /// The operation's line, and which of the lines that have it.
    line: &'static str,
    nth: usize,
    flaw: &'static str,
    caught_by: &'static str,
    /// Whether readers announce themselves by an exchange.
    exchange: bool,
}

const fn mutant(
    file: &'static str,
    line: &'static str,
    flaw: &'static str,
    caught_by: &'static str,
) -> Mutant {
    Mutant { file, line, nth: 0, flaw, caught_by, exchange: false }
}

/// The same where readers announce themselves by an exchange.
const fn exchanging(mutant: Mutant) -> Mutant {
    Mutant { exchange: true, ..mutant }
}

const PICK: &str = "picks::a_pick_sees_one_whole_list_and_an_update_frees_it_after_the_last_reader";
const RETURNED: &str = "picks::a_pick_that_begins_after_an_update_returned_sees_its_list";
const READERS: &str = "picks::two_readers_keep_a_list_until_both_are_done";
const PICKER: &str = "pickers::a_picker_keeps_its_list_and_hands_it_over_when_it_takes_up_the_next";
const HELD: &str = "pickers::what_two_threads_let_go_of_at_once_is_freed_once";
const LEASES: &str = "leases::leases_of_two_threads_are_counted_each";
const LIMIT: &str = "leases::a_limit_of_one_admits_one_of_two_threads_at_a_time";
const ROUTE: &str = "routes::a_route_made_during_an_update_picks_and_leaves_nothing_behind";
const BEGIN: &str = "threads::two_threads_that_begin_at_once_have_a_slot_each";
const REUSE: &str = "threads::a_thread_takes_over_the_slot_of_one_that_ended";
const FREE: &str = "threads::a_slot_that_is_free_goes_to_one_of_two_threads";
const LEASED: &str = "leases::a_lease_outlives_its_instance";
const LAST: &str = "leases::a_lease_outlives_its_pool";

#[rustfmt::skip]
const MUTANTS: &[Mutant] = &[
    // A pick: what it loads is whole, and stays as long as it is read.
    mutant("src/publish.rs", "let node = self.current.load(Ordering::SeqCst);", "relaxed", PICK),
    Mutant { nth: 1, ..mutant("src/publish.rs", "let node = self.current.load(Ordering::SeqCst);", "relaxed", PICKER) },
    mutant("src/publish.rs", "self.current.swap(next.into_raw(), Ordering::SeqCst)", "relaxed", PICK),
    mutant("publish/slots.rs", "EPOCH.fetch_add(1, Ordering::SeqCst)", "relaxed", PICK),
    mutant("publish/slots.rs", "EPOCH.fetch_add(1, Ordering::SeqCst)", "skipped", PICK),
    mutant("publish/slots.rs", "self.epoch.store(epoch, Ordering::Release);", "relaxed", PICK),
    mutant("publish/slots.rs", "self.epoch.store(epoch, Ordering::Release);", "skipped", PICK),
    mutant("publish/slots.rs", "crate::sync::model::fence();", "skipped", PICK),
    mutant("publish/fork.rs", "crate::sync::model::fence();", "skipped", PICK),
    mutant("publish/slots.rs", "self.epoch.store(0, Ordering::Release);", "relaxed", PICK),
    mutant("publish/slots.rs", "self.epoch.store(0, Ordering::Release);", "skipped", PICK),
    mutant("publish/slots.rs", "self.epoch.load(Ordering::SeqCst)", "relaxed", PICK),

    // The same without a writer's barrier.
    exchanging(mutant("publish/slots.rs", "slot.announce(EPOCH.load(Ordering::Acquire));", "relaxed", PICK)),
    exchanging(mutant("publish/slots.rs", "self.epoch.swap(epoch, Ordering::SeqCst);", "relaxed", PICK)),
    exchanging(mutant("publish/slots.rs", "self.epoch.swap(epoch, Ordering::SeqCst);", "skipped", PICK)),
    exchanging(mutant("publish/slots.rs", "self.epoch.fetch_add(0, Ordering::SeqCst)", "relaxed", PICK)),
    exchanging(mutant("publish/slots.rs", "SLOTS.compare_exchange(head, head, Ordering::SeqCst, Ordering::Relaxed)", "relaxed", PICK)),
    exchanging(Mutant { nth: 1, ..mutant("src/publish.rs", "let node = self.current.load(Ordering::SeqCst);", "relaxed", PICKER) }),
    exchanging(mutant("src/publish.rs", "let node = self.current.load(Ordering::SeqCst);", "relaxed", PICK)),
    exchanging(mutant("src/publish.rs", "self.current.swap(next.into_raw(), Ordering::SeqCst)", "relaxed", PICK)),
    exchanging(mutant("publish/slots.rs", "EPOCH.fetch_add(1, Ordering::SeqCst)", "relaxed", PICK)),
    exchanging(mutant("publish/slots.rs", "self.epoch.swap(0, Ordering::Release);", "relaxed", PICK)),

    // Threads: a slot has one owner at a time, and no slot is missed.
    mutant("publish/slots.rs", "slot.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)", "relaxed", REUSE),
    mutant("publish/slots.rs", "slot.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)", "split", FREE),
    mutant("publish/slots.rs", "self.taken.store(false, Ordering::Release);", "relaxed", REUSE),
    mutant("publish/slots.rs", "SLOTS.compare_exchange(head, slot, Ordering::SeqCst, Ordering::Relaxed)", "relaxed", BEGIN),
    mutant("publish/slots.rs", "SLOTS.compare_exchange(head, slot, Ordering::SeqCst, Ordering::Relaxed)", "split", BEGIN),
    mutant("publish/slots.rs", "SLOTS.load(Ordering::SeqCst)", "relaxed", BEGIN),

    // Counts and the retired list: freed once, after the last reader, by a writer.
    mutant("publish/hold.rs", "let mut next = self.head.swap(ptr::null_mut(), Ordering::Acquire);", "relaxed", HELD),
    mutant("publish/hold.rs", "self.head.compare_exchange_weak(head, header.as_ptr(), Ordering::Release, Ordering::Relaxed)", "relaxed", HELD),
    mutant("publish/hold.rs", "self.head.compare_exchange_weak(head, header.as_ptr(), Ordering::Release, Ordering::Relaxed)", "split", HELD),
    mutant("publish/hold.rs", "header.count.fetch_sub(1, Ordering::AcqRel)", "relaxed", HELD),
    mutant("publish/hold.rs", "header.count.fetch_sub(1, Ordering::AcqRel)", "split", HELD),
    mutant("publish/hold.rs", "self.0.head.compare_exchange(ptr::null_mut(), closed(), Ordering::Relaxed, Ordering::Relaxed)", "split", LAST),
    mutant("publish/hold.rs", "(*node).header.count.fetch_add(1, Ordering::Relaxed)", "split", LEASES),
    mutant("publish/hold.rs", "(*node).header.count.fetch_add(1, Ordering::Relaxed)", "skipped", PICKER),

    // Leases: each is counted, and given back, once.
    mutant("live/load.rs", "self.0.fetch_add(1, Ordering::Relaxed);", "split", LEASES),
    mutant("live/load.rs", "self.0.fetch_sub(1, Ordering::Relaxed);", "split", LEASES),
    mutant("live/load.rs", "self.0.fetch_sub(1, Ordering::Relaxed);", "skipped", LEASED),
    mutant("live/load.rs", "self.0.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed)", "split", LIMIT),
    mutant("src/release.rs", "self.taken.store(true, Ordering::Relaxed);", "skipped", LEASED),

    // Routes: one that is dropped is left out.
    mutant("src/route.rs", "self.alive.store(false, Ordering::Relaxed);", "skipped", ROUTE),
];

/// Orderings above relaxed in `publish` without which no model fails, and why.
#[rustfmt::skip]
const SPARE: &[(&str, &str, usize, &str)] = &[
    ("publish/slots.rs", "std::sync::atomic::compiler_fence(Ordering::SeqCst);", 0, "a compiler's fence; a model has the processor's"),
    ("publish/slots.rs", "let head = SLOTS.load(Ordering::Acquire);", 0, "the exchange behind it acquires the same head"),
    ("publish/slots.rs", "behind(SLOTS.load(Ordering::Acquire))", 0, "loom is not told of what a slot holds besides atomics"),
];

/// The numbers of the lines that have this text, from 1.
fn lines_with(file: &str, text: &str) -> Vec<usize> {
    let (_, source) = SOURCES.iter().find(|(path, _)| *path == file).expect("a source in the list");
    source.lines().zip(1..).filter(|(line, _)| line.contains(text)).map(|(_, number)| number).collect()
}

/// The line that a mutant or a spare ordering is in.
fn line_of(file: &str, text: &str, nth: usize) -> usize {
    let lines = lines_with(file, text);
    *lines.get(nth).unwrap_or_else(|| panic!("{file} has not so many lines {text:?}"))
}

impl Mutant {
    /// `FILE:LINE:FLAW`.
    fn name(&self) -> String {
        format!("{}:{}:{}", self.file, line_of(self.file, self.line, self.nth), self.flaw)
    }

    /// Runs its model with the flaw in. What the model said if it failed.
    fn run(&self) -> Result<String, String> {
        let mut command = alone(self.caught_by, self.exchange);
        let output = command.env("POINTSMAN_MUTANT", self.name()).output().expect("the program runs");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let panicked = said.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
        match panicked {
            Some(message) if !output.status.success() => Ok(message.to_owned()),
            _ => Err(said.into_owned()),
        }
    }
}

/// This program with one model alone.
fn alone(model: &str, exchange: bool) -> Command {
    let mut command = Command::new(env::current_exe().expect("the tests' own program"));
    command.args(["--exact", model, "--nocapture"]).env("RUST_BACKTRACE", "0");
    if exchange {
        command.env("POINTSMAN_PINS", "exchange");
    }
    command
}

#[test]
fn the_models_of_pins_hold_without_a_barrier_of_the_writers() {
    for model in [PICK, RETURNED, READERS, PICKER, BEGIN, REUSE] {
        let output = alone(model, true).output().expect("the program runs");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{model}:\n{said}");
    }
}

#[test]
fn every_mutant_is_caught() {
    let next = AtomicUsize::new(0);
    let missed = Mutex::new(Vec::new());
    let work = || {
        while let Some(mutant) = MUTANTS.get(next.fetch_add(1, Ordering::Relaxed)) {
            match mutant.run() {
                Ok(message) => println!("{}: {message}", mutant.name()),
                Err(said) => missed.lock().expect("no panic").push(format!(
                    "{} {:?} does not fail {}:\n{said}",
                    mutant.name(),
                    mutant.line,
                    mutant.caught_by
                )),
            }
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let missed = missed.into_inner().expect("no panic");
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_strong_ordering_is_a_mutant_or_has_a_reason_why_not() {
    let mutants = MUTANTS.iter().filter(|mutant| mutant.flaw == "relaxed");
    let mutants = mutants.map(|mutant| (mutant.file, line_of(mutant.file, mutant.line, mutant.nth)));
    let spare = SPARE.iter().map(|(file, text, nth, reason)| {
        assert!(!reason.is_empty());
        (*file, line_of(file, text, *nth))
    });
    let known: Vec<(&str, usize)> = mutants.chain(spare).collect();
    for file in ["src/publish.rs", "publish/slots.rs", "publish/hold.rs"] {
        let strong = ["Acquire", "Release", "AcqRel", "SeqCst"];
        let strong = strong.iter().flat_map(|order| lines_with(file, &format!("Ordering::{order}")));
        for line in strong {
            assert!(known.contains(&(file, line)), "{file}:{line} is in no model's mutants");
        }
    }
}
