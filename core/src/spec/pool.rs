//! Pool spec: what a pool is told of its surroundings.

use serde::{Deserialize, Serialize};

use super::{is_default, parse_json};
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
    #[serde(skip_serializing_if = "is_default")]
    pub load: LoadSpec,
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

    /// The spec as JSON, fields at their defaults left out.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Checks every value. [`crate::Pool::with`] does it too.
    ///
    /// # Errors
    ///
    /// The first value outside its limits, with its place.
    pub fn check(&self) -> Result<(), RouteError> {
        positive("load.max_age_s", self.load.max_age_s)
    }
}

fn positive(path: &str, value: f64) -> Result<(), RouteError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(RouteError::new(path, format!("{value}, must be finite and above 0")))
}
