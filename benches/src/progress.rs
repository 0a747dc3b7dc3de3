//! A progress bar on a terminal, for work of more than a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);

/// Counts steps, and shows them once they take long. Workers may add from any thread.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    terminal: bool,
}

impl Progress {
    pub(crate) fn new(steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let style = "{msg:20} {wide_bar} {percent:>3} % {eta:>4} left";
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, begun: Instant::now(), terminal: std::io::stderr().is_terminal() }
    }

    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    pub(crate) fn add(&self, steps: u64) {
        self.bar.inc(steps);
        if self.terminal && self.bar.is_hidden() && self.begun.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
