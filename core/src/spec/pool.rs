//! Pool spec: what a pool is told of its surroundings.

use serde::{Deserialize, Serialize};

use super::{is_default, parse, parse_json};
use crate::error::RouteError;

/// Settings of a pool, the same JSON in every language.
///
/// ```
/// let spec = pointsman::PoolSpec::from_json(r#"{"zone": "eu-a", "keep_last": true}"#)?;
/// assert_eq!(spec, pointsman::PoolSpec::new().zone("eu-a").keep_last(true));
/// # Ok::<(), pointsman::RouteError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PoolSpec {
    /// The caller's own zone, which `"zone": "local"` of a tier means. `None`: such a tier puts no constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Whether an empty list is refused, which keeps the last one and shows the pool as stale.
    #[serde(skip_serializing_if = "is_default")]
    pub keep_last: bool,
    /// Reported loads.
    #[serde(deserialize_with = "parse::object", skip_serializing_if = "is_default")]
    pub load: LoadSpec,
    /// Measured latencies.
    #[serde(deserialize_with = "parse::object", skip_serializing_if = "is_default")]
    pub latency: LatencySpec,
    /// Ramps of instances that are new or back. `None`: off. Takes effect in [`crate::Pool::tick`].
    #[serde(deserialize_with = "parse::optional_object", skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStart>,
    /// Ejection of instances that fail. `None`: off. Takes effect in [`crate::Pool::tick`].
    #[serde(deserialize_with = "parse::optional_object", skip_serializing_if = "Option::is_none")]
    pub ejection: Option<Ejection>,
}

/// How measured latencies are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LatencySpec {
    /// Seconds in which a peak decays to half. Finite, above 0.
    pub half_life_s: f64,
    /// What an instance counts as while no candidate has a sample, in seconds. Finite, above 0.
    pub default_s: f64,
}

/// Slow start: an instance that is added after the pool was made, comes up again or returns from ejection takes
/// max(10 %, (elapsed / window)^(1 / aggression)) of its weight. Relative to the most advanced of its set, so that where all
/// are new nothing changes. Without [`crate::Pool::tick`] no ramp moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SlowStart {
    /// How long the ramp takes, in seconds. Finite, above 0.
    pub window_s: f64,
    /// 1 is linear; above 1 rises faster at first, below 1 more slowly. Finite, above 0.
    pub aggression: f64,
}

/// Ejection: an instance whose requests fail is left out for a while, and comes back through slow start. Looked at in
/// [`crate::Pool::tick`] alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Ejection {
    /// Failures in a row that eject, at least 1. `None`: not looked at.
    pub consecutive_failures: Option<u32>,
    /// The share of failures in an interval that ejects. `None`: not looked at.
    #[serde(deserialize_with = "parse::optional_object")]
    pub failure_percentage: Option<FailurePercentage>,
    /// Seconds between looks at the share of failures. Finite, above 0.
    pub interval_s: f64,
    /// Seconds that an instance is left out, times how often it was ejected; the number falls by one for each interval
    /// without a failure. Finite, above 0.
    pub base_ejection_s: f64,
    /// The longest time in seconds. Finite, above 0.
    pub max_ejection_s: f64,
    /// No further ejection while this share of the pool is ejected, 0 to 100. Looked at before each, so at least one
    /// instance is ejected unless it is 0.
    pub max_ejection_percent: f64,
}

/// The share of failures that ejects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct FailurePercentage {
    /// In percent; strictly more ejects. 0 to 100.
    pub threshold: f64,
    /// Fewest instances with enough requests for anyone to be ejected.
    pub minimum_hosts: u32,
    /// Fewest requests of an instance in an interval for it to be looked at.
    pub request_volume: u32,
}

impl Default for LatencySpec {
    fn default() -> Self {
        Self { half_life_s: 10.0, default_s: 1.0 }
    }
}

impl Default for SlowStart {
    fn default() -> Self {
        Self { window_s: 30.0, aggression: 1.0 }
    }
}

impl Default for Ejection {
    fn default() -> Self {
        Self {
            consecutive_failures: Some(5),
            failure_percentage: Some(FailurePercentage::default()),
            interval_s: 10.0,
            base_ejection_s: 30.0,
            max_ejection_s: 300.0,
            max_ejection_percent: 10.0,
        }
    }
}

impl Default for FailurePercentage {
    fn default() -> Self {
        Self { threshold: 85.0, minimum_hosts: 5, request_volume: 50 }
    }
}

/// How reported loads are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LoadSpec {
    /// A report older than this many seconds counts as unreported. Finite, above 0. Age is measured by the pool's
    /// latest time, which updates, reports and `tick` set: without any of them no report grows old.
    pub max_age_s: f64,
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self { max_age_s: 30.0 }
    }
}

impl PoolSpec {
    /// The default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the caller's own zone.
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Sets whether an empty list is refused.
    pub fn keep_last(mut self, keep_last: bool) -> Self {
        self.keep_last = keep_last;
        self
    }

    /// Sets the age in seconds beyond which a reported load counts as unreported.
    pub fn load_max_age_s(mut self, seconds: f64) -> Self {
        self.load.max_age_s = seconds;
        self
    }

    /// Sets how latencies are taken.
    pub fn latency(mut self, half_life_s: f64, default_s: f64) -> Self {
        self.latency = LatencySpec { half_life_s, default_s };
        self
    }

    /// Turns slow start on.
    pub fn slow_start(mut self, window_s: f64, aggression: f64) -> Self {
        self.slow_start = Some(SlowStart { window_s, aggression });
        self
    }

    /// Turns ejection on.
    pub fn ejection(mut self, ejection: Ejection) -> Self {
        self.ejection = Some(ejection);
        self
    }

    /// Reads a spec from JSON and checks it.
    ///
    /// # Errors
    ///
    /// Broken JSON, an unknown field, a value outside its limits; the error names the place.
    pub fn from_json(text: &str) -> Result<Self, RouteError> {
        let spec: Self = parse_json(text)?;
        spec.check()?;
        Ok(spec)
    }

    /// The spec as JSON, fields at their defaults left out. Numbers keep every digit: what passes
    /// [`check`](Self::check) reads back equal.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Checks every value. [`crate::Pool::with`] does it too.
    ///
    /// # Errors
    ///
    /// The first value outside its limits, with its place.
    pub fn check(&self) -> Result<(), RouteError> {
        positive("load.max_age_s", self.load.max_age_s)?;
        positive("latency.half_life_s", self.latency.half_life_s)?;
        positive("latency.default_s", self.latency.default_s)?;
        if let Some(slow_start) = &self.slow_start {
            positive("slow_start.window_s", slow_start.window_s)?;
            positive("slow_start.aggression", slow_start.aggression)?;
        }
        self.ejection.as_ref().map_or(Ok(()), Ejection::check)
    }
}

impl Ejection {
    fn check(&self) -> Result<(), RouteError> {
        if self.consecutive_failures == Some(0) {
            return Err(RouteError::new("ejection.consecutive_failures", "0, must be at least 1"));
        }
        if let Some(percentage) = &self.failure_percentage {
            percent("ejection.failure_percentage.threshold", percentage.threshold)?;
        }
        positive("ejection.interval_s", self.interval_s)?;
        positive("ejection.base_ejection_s", self.base_ejection_s)?;
        positive("ejection.max_ejection_s", self.max_ejection_s)?;
        percent("ejection.max_ejection_percent", self.max_ejection_percent)
    }
}

fn percent(path: &str, value: f64) -> Result<(), RouteError> {
    if value.is_finite() && (0.0..=100.0).contains(&value) {
        return Ok(());
    }
    Err(RouteError::new(path, format!("{value}, must be between 0 and 100")))
}

fn positive(path: &str, value: f64) -> Result<(), RouteError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(RouteError::new(path, format!("{value}, must be finite and above 0")))
}
