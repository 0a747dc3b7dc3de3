//! `pointsman`: shows what the engine makes of a service's instances.
//!
//! ```text
//! args ─▶ input (document ─▶ pool) ─▶ a command ─▶ a report ─▶ text or JSON on stdout
//! ```
//!
//! A command returns its report and, where no instance can be picked, why; only this file prints and exits.

mod alloc;
mod args;
mod compare;
mod departures;
mod explain;
mod failure;
mod input;
mod inspect;
mod progress;
mod record;
mod render;
mod report;
mod run;
mod simulate;
mod stats;
mod text;
mod timing;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind as ClapKind;

use args::{Args, Command, RunArgs};
use failure::Failure;

/// What a command has to say.
struct Answer {
    /// For stdout, complete.
    text: String,
    /// Why no instance can be picked, where none can.
    nobody: Option<String>,
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) if matches!(error.kind(), ClapKind::DisplayHelp | ClapKind::DisplayVersion) => {
            // Help for a reader who has gone is no failure.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&Failure::arguments(&error)),
    };
    let answer = match args.command.unwrap_or_else(|| Command::Run(RunArgs::default())) {
        Command::Run(args) => run::command(&args),
        Command::Inspect(args) => inspect::command(&args),
        Command::Explain(args) => explain::command(&args),
        Command::Compare(args) => compare::command(&args),
        Command::Record(args) => record::command(&args),
        Command::Report(args) => report::command(&args),
        Command::Simulate(args) => simulate::command(&args),
    };
    match answer.and_then(print) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(why)) => fail(&Failure::Nobody(why)),
        Err(failure) => fail(&failure),
    }
}

/// Writes the answer. A reader that stops early, `head` say, has what it wanted.
fn print(answer: Answer) -> Result<Option<String>, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(answer.text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::bad("stdout", error)),
        _ => Ok(answer.nobody),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    let line = format!("pointsman: {failure}");
    let _ = writeln!(std::io::stderr(), "{}", text::printable(&line));
    ExitCode::from(failure.status())
}
