//! How long requests take at each instance: from a file, or made up.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pointsman::{Instance, Outcome};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, LogNormal};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::failure::Failure;
use crate::input::read_file;

/// The name in a file of everyone whom it does not name.
const OTHERS: &str = "*";

/// Longest latency in milliseconds, almost three hours.
const LONGEST_MS: f64 = 1e7;

/// Of instances without a file: every third takes twice as long.
const MADE_UP_MS: f64 = 10.0;
const SLOW: usize = 3;

/// The 99th percentile of the standard normal distribution.
const Z99: f64 = 2.326_347_874_040_841;

/// How long requests take, by position in the list.
pub(super) struct Latencies {
    of: Vec<Latency>,
    /// Where they are from, for people.
    pub(super) source: String,
}

/// How long requests take at one instance, and how many of them fail.
#[derive(Clone, Debug, PartialEq)]
struct Latency {
    times: Times,
    /// The share of requests that fail, beside samples that failed themselves.
    failures: f64,
}

/// Milliseconds.
#[derive(Clone, Debug, PartialEq)]
enum Times {
    Always(f64),
    /// One of them, all alike.
    Samples(Vec<Sample>),
    Exponential(f64),
    LogNormal {
        times: LogNormal<f64>,
        mean: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    ms: f64,
    failed: bool,
}

/// An entry's object in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    mean: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
    #[serde(default)]
    failures: f64,
}

/// A row of CSV: a request that was seen.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    id: String,
    latency_ms: f64,
    #[serde(default)]
    outcome: SeenOutcome,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum SeenOutcome {
    #[default]
    Success,
    Failure,
}

/// The entries of an object, none of them twice.
struct Entries(BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Unique;
        impl<'de> Visitor<'de> for Unique {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a latency for each id")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((id, value)) = map.next_entry::<String, Value>()? {
                    if entries.contains_key(&id) {
                        return Err(A::Error::custom(format_args!("{id} stands there twice")));
                    }
                    entries.insert(id, value);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Unique)
    }
}

impl Latencies {
    /// What the file says of each instance of the list. JSON where it begins with a brace, else CSV.
    pub(super) fn read(path: &str, instances: &[Instance]) -> Result<Self, Failure> {
        let text = String::from_utf8(read_file(path)?).map_err(|error| Failure::bad(path, error))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let of = parse(text, instances).map_err(|why| Failure::bad(path, why))?;
        Ok(Self { of, source: format!("from {}", crate::text::cut(path, 40)) })
    }

    /// Exponential ones: of every third instance 20 ms in the mean, else 10.
    pub(super) fn made_up(instances: usize) -> Self {
        let mean = |at: usize| if at % SLOW == SLOW - 1 { 2.0 * MADE_UP_MS } else { MADE_UP_MS };
        let latency = |at| Latency { times: Times::Exponential(mean(at)), failures: 0.0 };
        let source = format!("made up, {MADE_UP_MS} ms, every third {} ms", 2.0 * MADE_UP_MS);
        Self { of: (0..instances).map(latency).collect(), source }
    }

    /// The mean at this instance, in milliseconds.
    pub(super) fn mean_ms(&self, at: usize) -> f64 {
        match &self.of[at].times {
            Times::Always(mean) | Times::Exponential(mean) => *mean,
            Times::Samples(samples) => {
                samples.iter().map(|sample| sample.ms).sum::<f64>() / samples.len() as f64
            }
            Times::LogNormal { mean, .. } => *mean,
        }
    }

    /// The next request's time at this instance, and how it ends.
    pub(super) fn draw(&self, at: usize, rng: &mut impl Rng) -> (Duration, Outcome) {
        let latency = &self.of[at];
        let (ms, failed) = match &latency.times {
            Times::Always(ms) => (*ms, false),
            Times::Samples(samples) => {
                let sample = samples[rng.random_range(0..samples.len())];
                (sample.ms, sample.failed)
            }
            Times::Exponential(mean) => (mean * Distribution::<f64>::sample(&Exp1, rng), false),
            Times::LogNormal { times, .. } => (times.sample(rng), false),
        };
        let failed = failed || (latency.failures > 0.0 && rng.random::<f64>() < latency.failures);
        let took = Duration::from_secs_f64(ms.min(LONGEST_MS) / 1e3);
        (took, if failed { Outcome::Failure } else { Outcome::Success })
    }
}

fn parse(text: &str, instances: &[Instance]) -> Result<Vec<Latency>, String> {
    let entries = if text.trim_start().starts_with('{') { json(text)? } else { csv(text)? };
    let of = |instance: &Instance| {
        let entry = entries.get(&*instance.id).or_else(|| entries.get(OTHERS));
        entry.cloned().ok_or_else(|| format!("has no latency for {}, and none for {OTHERS:?}", instance.id))
    };
    instances.iter().map(of).collect()
}

fn json(text: &str) -> Result<BTreeMap<String, Latency>, String> {
    let Entries(entries) = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let read = |(id, value): (String, Value)| match latency(value) {
        Ok(latency) => Ok((id, latency)),
        Err(why) => Err(format!("{id}: {why}")),
    };
    entries.into_iter().map(read).collect()
}

fn latency(value: Value) -> Result<Latency, String> {
    let plain = |times| Latency { times, failures: 0.0 };
    match value {
        Value::Number(ms) => Ok(plain(Times::Always(checked("latency", ms.as_f64())?))),
        Value::Array(samples) => {
            let sample = |value: &Value| Ok(Sample { ms: checked("sample", value.as_f64())?, failed: false });
            let samples = samples.iter().map(sample).collect::<Result<Vec<_>, String>>()?;
            if samples.is_empty() { Err("no samples".to_owned()) } else { Ok(plain(Times::Samples(samples))) }
        }
        Value::Object(_) => {
            let written: Written = serde_json::from_value(value).map_err(|error| error.to_string())?;
            if !(0.0..=1.0).contains(&written.failures) {
                return Err(format!("failures: {}, must be from 0 to 1", written.failures));
            }
            let times = match (written.mean, written.p50, written.p99) {
                (Some(mean), None, None) => Times::Exponential(checked("mean", Some(mean))?),
                (None, Some(p50), Some(p99)) => through(p50, p99)?,
                _ => return Err("must have either mean, or p50 and p99".to_owned()),
            };
            Ok(Latency { times, failures: written.failures })
        }
        _ => Err("must be a number, a list of them, or an object".to_owned()),
    }
}

/// The log-normal distribution with these percentiles.
fn through(p50: f64, p99: f64) -> Result<Times, String> {
    let (p50, p99) = (checked("p50", Some(p50))?, checked("p99", Some(p99))?);
    if p50 == 0.0 || p99 < p50 {
        return Err(format!("p50: {p50}, must be above 0 and at most p99, {p99}"));
    }
    let deviation = (p99 / p50).ln() / Z99;
    let times = LogNormal::new(p50.ln(), deviation).map_err(|error| error.to_string())?;
    Ok(Times::LogNormal { times, mean: p50 * (deviation * deviation / 2.0).exp() })
}

fn csv(text: &str) -> Result<BTreeMap<String, Latency>, String> {
    let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    for row in reader.deserialize() {
        let row: Seen = row.map_err(|error| error.to_string())?;
        let ms = checked("latency_ms", Some(row.latency_ms)).map_err(|why| format!("{}: {why}", row.id))?;
        let failed = row.outcome == SeenOutcome::Failure;
        samples.entry(row.id).or_default().push(Sample { ms, failed });
    }
    let latency = |samples| Latency { times: Times::Samples(samples), failures: 0.0 };
    Ok(samples.into_iter().map(|(id, samples)| (id, latency(samples))).collect())
}

fn checked(what: &str, ms: Option<f64>) -> Result<f64, String> {
    match ms {
        Some(ms) if (0.0..=LONGEST_MS).contains(&ms) => Ok(ms),
        Some(ms) => Err(format!("{what}: {ms}, must be from 0 to {LONGEST_MS} milliseconds")),
        None => Err(format!("{what}: must be a number")),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::SplitMix64;

    use super::*;

    fn list(ids: &[&str]) -> Vec<Instance> {
        ids.iter().map(|id| Instance::new(*id)).collect()
    }

    /// Sorted draws of the only instance, in milliseconds, and the share that failed.
    fn draws(text: &str) -> (Vec<f64>, f64) {
        let latencies = Latencies { of: parse(text, &list(&["a"])).unwrap(), source: String::new() };
        let mut rng = SplitMix64::seed_from_u64(1);
        let drawn: Vec<_> = (0..20_000).map(|_| latencies.draw(0, &mut rng)).collect();
        let mut ms: Vec<f64> = drawn.iter().map(|(took, _)| took.as_secs_f64() * 1e3).collect();
        let mean = ms.iter().sum::<f64>() / 20_000.0;
        assert!((mean / latencies.mean_ms(0) - 1.0).abs() < 0.03, "{text}: {mean}");
        ms.sort_by(f64::total_cmp);
        let failed = drawn.iter().filter(|(_, outcome)| *outcome == Outcome::Failure).count();
        (ms, failed as f64 / 20_000.0)
    }

    #[test]
    fn each_form_gives_its_distribution() {
        assert_eq!(draws(r#"{"a": 12.5}"#).0, [12.5; 20_000]);
        let (samples, _) = draws(r#"{"a": [1, 2, 2, 4]}"#);
        assert!((samples.partition_point(|ms| *ms < 3.0) as f64 / 20_000.0 - 0.75).abs() < 0.02);
        let (exponential, failed) = draws(r#"{"*": {"mean": 20, "failures": 0.25}}"#);
        assert!((exponential[10_000] / (20.0 * 2.0_f64.ln()) - 1.0).abs() < 0.05);
        assert!((failed - 0.25).abs() < 0.02);
        let (normal, failed) = draws(r#"{"a": {"p50": 10, "p99": 80}}"#);
        assert!((normal[10_000] / 10.0 - 1.0).abs() < 0.05 && (normal[19_800] / 80.0 - 1.0).abs() < 0.15);
        assert_eq!(failed, 0.0);
        let (seen, failed) = draws("id,latency_ms,outcome\na,5,success\na, 50, failure\nb,1,success\n");
        assert!((seen[0], seen[19_999]) == (5.0, 50.0) && (failed - 0.5).abs() < 0.02);
    }

    #[test]
    fn made_up_ones_are_twice_as_long_at_every_third() {
        let latencies = Latencies::made_up(6);
        let mean = |at: usize| latencies.of[at].times.clone();
        assert_eq!([0, 1, 3, 4].map(mean), [const { Times::Exponential(10.0) }; 4]);
        assert_eq!([2, 5].map(mean), [const { Times::Exponential(20.0) }; 2]);
    }

    #[test]
    fn the_examples_of_the_documentation_are_read() {
        let readme = include_str!("../../README.md");
        let block = |kind| readme.split_once(kind).unwrap().1.split_once("```").unwrap().0;
        let ids = ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080", "10.0.0.4:8080"];
        let of = parse(block("```json\n"), &list(&ids)).unwrap();
        assert_eq!((of[2].times.clone(), of[2].failures), (Times::Exponential(20.0), 0.05));
        assert!(matches!(of[3].times, Times::LogNormal { .. }));
        let of = parse(block("```csv\n"), &list(&ids)).unwrap();
        assert_eq!(
            of[0].times,
            Times::Samples(vec![Sample { ms: 12.5, failed: false }, Sample { ms: 0.4, failed: true }])
        );
        assert_eq!(of[1], of[3]);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_place() {
        for (text, why) in [
            ("{", "EOF while parsing"),
            (r#"{"a": 1, "a": 2}"#, "a stands there twice"),
            (r#"{"b": 1}"#, "has no latency for a"),
            (r#"{"a": -1}"#, "a: latency: -1, must be from 0 to"),
            (r#"{"a": "fast"}"#, "a: must be a number, a list"),
            (r#"{"a": []}"#, "a: no samples"),
            (r#"{"a": [1, null]}"#, "a: sample: must be a number"),
            (r#"{"a": {"p95": 1}}"#, "a: unknown field `p95`"),
            (r#"{"a": {"mean": 1, "p50": 1, "p99": 2}}"#, "a: must have either mean"),
            (r#"{"a": {"p50": 2, "p99": 1}}"#, "a: p50: 2, must be above 0"),
            (r#"{"a": {"mean": 1, "failures": 2}}"#, "a: failures: 2, must be from 0 to 1"),
            ("", "has no latency for a"),
            ("id,ms\na,1\n", "unknown field `ms`"),
            ("id,latency_ms\na,NaN\n", "a: latency_ms: NaN, must be from 0"),
            ("id,latency_ms\na,fast\n", "line: 2"),
            ("id,latency_ms,outcome\na,1,lost\n", "unknown variant `lost`"),
        ] {
            let said = parse(text, &list(&["a"])).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
