//! Route and pool specs: routing as data, the same JSON in every language.
//!
//! `core/schema/route.schema.json` and `core/schema/pool.schema.json` describe the same documents for other tools.

mod parse;
mod policy;
mod pool;
mod tier;

pub use policy::{Algorithm, ConsistentHash, Load, PeakEwma, Policy, PowerOfTwo};
pub use pool::{Ejection, FailurePercentage, LatencySpec, LoadSpec, PoolSpec, SlowStart};
pub use tier::{Health, OnUnavailable, Tier, Values, WhenAbsent, ZoneRule};

pub(crate) use parse::parse_json;
pub(crate) use policy::is_prime;

use serde::{Deserialize, Serialize};

use crate::error::RouteError;

/// The most tiers of a route or of a branch.
pub const MAX_TIERS: usize = 64;

/// The most branches of a split.
pub const MAX_BRANCHES: usize = 64;

/// The most `match` keys of a tier.
pub const MAX_MATCH_KEYS: usize = 16;

/// How far the percents of a split may be from 100 in sum, for the sake of fractions that have no exact `f64`.
const PERCENT_SLACK: f64 = 1e-6;

/// How a route chooses: a policy, and either an ordered list of tiers or a split with tiers in each branch.
///
/// ```
/// use pointsman::{Policy, RouteSpec, Tier};
///
/// let built = RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().matching("version")).tier(Tier::new());
/// let parsed = RouteSpec::from_json(r#"{"policy": "weighted_random", "tiers": [{"match": ["version"]}, {}]}"#)?;
/// assert_eq!(built, parsed);
/// # Ok::<(), pointsman::RouteError>(())
/// ```
///
/// Unknown fields, unknown policies and unknown words are errors that name the place:
///
/// ```
/// let error = pointsman::RouteSpec::from_json(r#"{"policy": "random", "tiers": [{"zones": "a"}]}"#).unwrap_err();
/// assert_eq!(error.path(), "tiers[0].zones");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RouteSpec {
    /// How one instance is taken out of the set of the tier that is used.
    pub policy: Policy,
    /// Acceptable sets in order of preference; 1 to [`MAX_TIERS`], unless there is a split.
    #[serde(default, deserialize_with = "parse::objects", skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// Shares of the traffic with tiers of their own; 1 to [`MAX_BRANCHES`], in place of `tiers`.
    #[serde(default, deserialize_with = "parse::objects", skip_serializing_if = "Vec::is_empty")]
    pub split: Vec<Branch>,
    /// What chooses the branch.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: SplitBy,
    /// Whether a request whose branch cannot serve goes on to the branches after it, round the end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spill: bool,
    /// Whether the route counts its picks; see [`crate::Route::counters`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub counters: bool,
}

/// A share of a route's traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Branch {
    /// What picks, `explain` and counters call it. Empty: its position.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Share in percent, fractions allowed. The percents of a split add up to 100.
    pub percent: f64,
    /// Acceptable sets in order of preference, 1 to [`MAX_TIERS`].
    #[serde(deserialize_with = "parse::objects")]
    pub tiers: Vec<Tier>,
    /// As `spill` of the route, for this branch alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spill: bool,
}

/// What chooses the branch of a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SplitBy {
    /// A draw for each request.
    #[default]
    Draw,
    /// XXH64 (seed 0) of the request's key, as a point of the circle on which the branches lie in their order: a key
    /// always goes the same way, and a percentage raised at the expense of the branch behind it only moves keys into
    /// the raised branch. A request without a key goes by a draw.
    Key,
}

impl RouteSpec {
    /// A route of the given policy; add tiers or branches.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            tiers: Vec::new(),
            split: Vec::new(),
            by: SplitBy::Draw,
            spill: false,
            counters: false,
        }
    }

    /// Adds a tier behind the others.
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tiers.push(tier);
        self
    }

    /// Adds a branch behind the others.
    pub fn branch(mut self, branch: Branch) -> Self {
        self.split.push(branch);
        self
    }

    /// Sets what chooses the branch.
    pub fn by(mut self, by: SplitBy) -> Self {
        self.by = by;
        self
    }

    /// Sets whether a request whose branch cannot serve goes on to the next.
    pub fn spill(mut self, spill: bool) -> Self {
        self.spill = spill;
        self
    }

    /// Sets whether the route counts its picks.
    pub fn counters(mut self, counters: bool) -> Self {
        self.counters = counters;
        self
    }

    /// Reads a spec from JSON and checks it.
    ///
    /// # Errors
    ///
    /// Broken JSON, an unknown field, policy or word, a value outside its limits; the error names the place.
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

    /// Checks every value. [`crate::Pool::route`] does it too.
    ///
    /// # Errors
    ///
    /// The first value outside its limits, with its place.
    pub fn check(&self) -> Result<(), RouteError> {
        self.policy.check()?;
        match (self.tiers.is_empty(), self.split.is_empty()) {
            (true, true) => Err(RouteError::new("tiers", "0 tiers, must have at least 1, or a split")),
            (false, false) => Err(RouteError::new("split", "both tiers and split, must have one of them")),
            (false, true) => check_tiers("tiers", &self.tiers),
            (true, false) => self.check_split(),
        }
    }

    fn check_split(&self) -> Result<(), RouteError> {
        if self.split.len() > MAX_BRANCHES {
            let message = format!("{} branches, must be at most {MAX_BRANCHES}", self.split.len());
            return Err(RouteError::new("split", message));
        }
        for (position, branch) in self.split.iter().enumerate() {
            let place = format!("split[{position}]");
            if !(branch.percent.is_finite() && (0.0..=100.0).contains(&branch.percent)) {
                let message = format!("{}, must be between 0 and 100", branch.percent);
                return Err(RouteError::new(format!("{place}.percent"), message));
            }
            check_tiers(&format!("{place}.tiers"), &branch.tiers)?;
        }
        let sum: f64 = self.split.iter().map(|branch| branch.percent).sum();
        if (sum - 100.0).abs() > PERCENT_SLACK {
            return Err(RouteError::new("split", format!("percents add up to {sum}, must be 100")));
        }
        Ok(())
    }
}

impl Branch {
    /// A branch with the given name and share; add tiers.
    pub fn new(name: impl Into<String>, percent: f64) -> Self {
        Self { name: name.into(), percent, tiers: Vec::new(), spill: false }
    }

    /// Adds a tier behind the others.
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tiers.push(tier);
        self
    }

    /// Sets whether a request that this branch cannot serve goes on to the next.
    pub fn spill(mut self, spill: bool) -> Self {
        self.spill = spill;
        self
    }
}

fn check_tiers(place: &str, tiers: &[Tier]) -> Result<(), RouteError> {
    if tiers.is_empty() || tiers.len() > MAX_TIERS {
        let message = format!("{} tiers, must be 1 to {MAX_TIERS}", tiers.len());
        return Err(RouteError::new(place, message));
    }
    tiers.iter().enumerate().try_for_each(|(position, tier)| tier.check(&format!("{place}[{position}]")))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
