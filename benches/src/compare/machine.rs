//! The machine that measured, as far as a reader needs it to judge the figures.

use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) system: String,
    pub(crate) compiler: String,
    /// Runnable processes when it began, a mean of a minute; `None` where the system does not tell.
    pub(crate) load: Option<f64>,
    pub(crate) command: String,
}

impl Machine {
    pub(crate) fn this() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        Self {
            processor: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            compiler: env!("POINTSMAN_COMPILER").to_owned(),
            load: load.and_then(|text| text.split_whitespace().next()?.parse().ok()),
            command: command(),
        }
    }

    pub(crate) fn line(&self) -> String {
        let load = self.load.map_or(String::new(), |load| format!(", load {load:.1}"));
        format!("{}, {} cores, {}{load}", self.processor, self.cores, self.system)
    }
}

/// The command line, without the files it writes.
fn command() -> String {
    let mut words = vec!["pointsman".to_owned()];
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-o" | "--output" | "--csv" => drop(arguments.next()),
            _ => words.push(argument),
        }
    }
    words.join(" ")
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" "))
}
