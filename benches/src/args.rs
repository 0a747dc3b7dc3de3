//! The command line.

use clap::{Parser, Subcommand, value_parser};
use pointsman::Policy;
use pointsman::format::{AddressFamily, Format};
use serde_json::Value;

use crate::compare::Job;
use crate::simulate::Scenario;

const AFTER: &str = "\
Without a command: `run` on an example list that the program carries.

Exit status: 0, 2 for bad arguments or bad input, 3 when no instance can be picked.";

/// Says which instance of a service takes the next request, how evenly and how fast.
#[derive(Debug, Parser)]
#[command(name = "pointsman", version, after_help = AFTER, max_term_width = 80)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Picks many times by each policy: time of a pick, shares expected and observed
    Run(RunArgs),
    /// Shows the instances as they are understood, and what was merged or left out
    Inspect(InspectArgs),
    /// Shows tier by tier what a request finds, and why
    Explain(ExplainArgs),
    /// Simulates servers that queue, slow down or stall, and tells how long requests take
    Simulate(SimulateArgs),
    /// Times the engine beside what would be taken in its stead
    Compare(CompareArgs),
    /// Writes what was measured as one page
    Report(ReportArgs),
    /// Keeps what was measured in the repository, and puts it into the README
    Record(RecordArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// What `compare --json` printed [default: measures]
    #[arg(long, value_name = "RESULTS.json")]
    pub(crate) from: Option<String>,
    /// Writes the README's table from the newest record, and measures nothing
    #[arg(long)]
    pub(crate) table: bool,
    /// Only says whether the README's table is that of the newest record
    #[arg(long, conflicts_with = "table")]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The page to write
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html")]
    pub(crate) output: String,
    /// What `compare --json` printed [default: measures]
    #[arg(long, value_name = "RESULTS.json")]
    pub(crate) from: Option<String>,
    /// Length of the simulator's runs
    #[arg(long, value_name = "F", default_value_t = 0.1, value_parser = scale)]
    pub(crate) scale: f64,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

/// What is compared, and how long.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// Numbers of instances
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "8,64,1000,10000,100000",
        value_parser = size)]
    pub(crate) sizes: Vec<usize>,
    /// Numbers of threads that pick at the same time
    #[arg(long, value_name = "T,…", value_delimiter = ',', default_value = "1,2",
        value_parser = value_parser!(u16).range(1..=256))]
    pub(crate) threads: Vec<u16>,
    /// Jobs [default: all]
    #[arg(long, value_name = "JOB,…", value_delimiter = ',')]
    pub(crate) jobs: Vec<Job>,
    /// Rounds of a pair, fewer where they take long
    #[arg(long, value_name = "N", default_value_t = 41, value_parser = rounds)]
    pub(crate) rounds: usize,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Writes the times to a file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SimulateArgs {
    /// Scenario to run; repeatable [default: all]
    #[arg(long = "scenario", value_name = "NAME", hide_possible_values = true)]
    pub(crate) scenarios: Vec<Scenario>,
    /// Makes another run of the same length
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Length of the runs, in multiples of those whose figures are known
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = scale)]
    pub(crate) scale: f64,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Policy to run: a name, or JSON with options; repeatable [default: that of the route, else all]
    #[arg(long = "policy", value_name = "P", value_parser = policy)]
    pub(crate) policies: Vec<Policy>,
    /// Route spec, a JSON file [default: the --tag keys must match, then the --zone, then everyone]
    #[arg(long, value_name = "SPEC.json")]
    pub(crate) route: Option<String>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Picks counted for each policy [default: 1000000, fewer where a pick looks at a long list]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) picks: Option<u64>,
    /// Threads that pick at the same time
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = value_parser!(u16).range(1..=256))]
    pub(crate) threads: u16,
    /// Latencies by id, JSON or CSV: all policies then pick for requests that take so long [default:
    /// made up, for policies that follow what is in flight]
    #[arg(long, value_name = "FILE")]
    pub(crate) latency_file: Option<String>,
    /// Requests under way at the same time, where they take their time [default: two for each
    /// instance, at most 1000]
    #[arg(long, value_name = "N", value_parser = in_flight)]
    pub(crate) in_flight: Option<usize>,
    /// Makes the counted picks reproducible
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Default for RunArgs {
    fn default() -> Self {
        Self {
            input: InputArgs::default(),
            policies: Vec::new(),
            route: None,
            request: RequestArgs::default(),
            picks: None,
            threads: 1,
            latency_file: None,
            in_flight: None,
            seed: None,
            json: false,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Prints JSON; its `instances` are a plain list
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Route spec, a JSON file
    #[arg(long, value_name = "SPEC.json")]
    pub(crate) route: String,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The document, and how it is read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct InputArgs {
    /// Discovery document, `-` for stdin [default: the example list]
    pub(crate) file: Option<String>,
    /// auto, nacos, consul, kubernetes, eureka, spring or plain
    #[arg(long, value_name = "F", default_value_t)]
    pub(crate) format: Format,
    /// Service to take from a document that holds several
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// Port to take, by name or number, where an instance has several
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<String>,
    /// Leaves bad entries out, where one would refuse the list
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The caller's own zone
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// Metadata key that holds the load
    #[arg(long, value_name = "KEY")]
    pub(crate) load_key: Option<String>,
    /// Eureka: takes the IP address before the host name
    #[arg(long)]
    pub(crate) prefer_ip: bool,
    /// Kubernetes: ipv4 or ipv6
    #[arg(long, value_name = "FAMILY")]
    pub(crate) address_family: Option<AddressFamily>,
}

/// The request that is picked for.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct RequestArgs {
    /// Tag of the request, for tiers that match it; repeatable
    #[arg(long = "tag", value_name = "K=V", value_parser = pair)]
    pub(crate) tags: Vec<(String, String)>,
    /// Tag that the instance must have; repeatable, one key's values are alternatives
    #[arg(long, value_name = "K=V", value_parser = pair)]
    pub(crate) require: Vec<(String, String)>,
    /// Key of the request, for splits and policies that go by one [default: `run` gives such a
    /// policy a new one for each pick]
    #[arg(long, value_name = "K")]
    pub(crate) key: Option<String>,
    /// Id of an instance to keep away from; repeatable
    #[arg(long, value_name = "ID")]
    pub(crate) exclude: Vec<String>,
    /// Id of the instance to take where it is eligible
    #[arg(long, value_name = "ID")]
    pub(crate) prefer: Option<String>,
    /// Takes excluded instances where there is no other
    #[arg(long)]
    pub(crate) relax: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err("must be KEY=VALUE".to_owned()),
    }
}

fn size(text: &str) -> Result<usize, String> {
    within(text, 4..=1_000_000)
}

fn rounds(text: &str) -> Result<usize, String> {
    within(text, 1..=10_000)
}

fn in_flight(text: &str) -> Result<usize, String> {
    within(text, 1..=1_000_000)
}

fn within(text: &str, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("must be from {} to {}", range.start(), range.end())),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "must be a number".to_owned())?;
    if (0.001..=1_000.0).contains(&scale) { Ok(scale) } else { Err("must be from 0.001 to 1000".to_owned()) }
}

fn policy(text: &str) -> Result<Policy, String> {
    let written = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        Value::String(text.to_owned())
    };
    serde_json::from_value(written).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_first_equals_sign_ends_the_key() {
        assert_eq!(pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(pair("a="), Ok(("a".into(), String::new())));
        assert!(pair("a").is_err());
    }

    #[test]
    fn a_policy_is_a_name_or_an_object() {
        assert_eq!(policy("random"), Ok(Policy::Random));
        assert_eq!(policy(r#"{"round_robin": {}}"#), Ok(Policy::RoundRobin));
        assert!(policy("fastest").is_err_and(|error| error.contains("weighted_random")));
        assert!(policy("{").is_err());
    }
}
