//! Why the program ends without success, as one line and an exit status.

use std::fmt;

/// Why the program ends without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Arguments or input that cannot be used: status 2.
    Bad(String),
    /// No instance can be picked: status 3.
    Nobody(String),
}

impl Failure {
    /// Something that is wrong at a place, which is a file or an argument.
    pub(crate) fn bad(place: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::Bad(format!("{place}: {why}"))
    }

    /// What the argument parser says, without its usage text.
    pub(crate) fn arguments(error: &clap::Error) -> Self {
        let said = error.render().to_string();
        let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        let wanted = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let line = wanted.collect::<Vec<_>>().join(" ");
        Self::Bad(line.strip_prefix("error: ").unwrap_or(&line).to_owned())
    }

    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Bad(_) => 2,
            Self::Nobody(_) => 3,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(why) | Self::Nobody(why) => f.write_str(why),
        }
    }
}
