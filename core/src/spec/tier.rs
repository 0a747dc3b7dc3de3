//! Tiers: acceptable sets of instances.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MAX_MATCH_KEYS, is_default};
use crate::error::RouteError;
use crate::format::{join, step};

/// One acceptable set of instances. A route uses the first of its tiers that is usable for the request.
///
/// An empty tier accepts every available instance.
///
/// ```
/// use pointsman::{Tier, ZoneRule};
///
/// let near_and_stable = Tier::new().name("near").zone(ZoneRule::Local).tag("version", "stable").min_available(2);
/// # let _ = near_and_stable;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Tier {
    /// What picks, `explain` and counters call it. Empty: its position.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The instance has, for every key, the value or one of the values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, Values>,
    /// The instance has none of these pairs of key and value. One without the key is not kept out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_tags: BTreeMap<String, Values>,
    /// The instance has none of these keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Keys whose value comes from the request's tags; an instance must have the request's value. At most
    /// [`MAX_MATCH_KEYS`].
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<String>,
    /// What holds when the request lacks a `match` key.
    #[serde(skip_serializing_if = "is_default")]
    pub when_absent: WhenAbsent,
    /// Which zones.
    #[serde(skip_serializing_if = "is_default")]
    pub zone: ZoneRule,
    /// Whether instances that are down or ejected are taken too.
    #[serde(skip_serializing_if = "is_default")]
    pub health: Health,
    /// The tier is usable only with at least this many instances that can be picked, counted before exclusions and
    /// requirements. 0 counts as 1.
    #[serde(skip_serializing_if = "is_one")]
    pub min_available: u32,
    /// And at least this share of its members, in percent, 0 to 100, counted in the same way.
    #[serde(skip_serializing_if = "is_default")]
    pub min_available_percent: f64,
    /// What happens when the tier has members for the request and none that can be picked.
    #[serde(skip_serializing_if = "is_default")]
    pub when_unavailable: OnUnavailable,
    /// A factor above 0: the tier takes min(1, factor × its available share) of the traffic, and the rest goes to the
    /// next usable tier. `None`: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<f64>,
}

/// One value or several; in JSON a string or a list of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(pub Vec<String>);

/// What holds when the request lacks a `match` key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhenAbsent {
    /// The key puts no constraint.
    #[default]
    Any,
    /// Only instances without the key.
    Untagged,
}

/// Which zones a tier takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZoneRule {
    /// Any zone, and instances without one.
    #[default]
    Any,
    /// The pool's own zone; no constraint where the pool has none. In JSON `"local"`.
    Local,
    /// One of these zones. In JSON a name or a list of names; a zone that is literally named local is `["local"]`.
    Named(Vec<String>),
}

/// Whether a tier looks at health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Health {
    /// Only instances that are healthy and not ejected.
    #[default]
    Available,
    /// Those that are down or ejected too. Disabled ones and those of weight zero stay out.
    Any,
}

/// What happens when a tier has members for the request and none that can be picked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnUnavailable {
    /// The next tier is tried.
    #[default]
    Next,
    /// The search ends: traffic of this tier goes nowhere else, also when all that could take it are excluded or full. Where
    /// only the request's requirements are met by nobody, the tier has no members for it and the next one is tried.
    Stop,
}

impl Default for Tier {
    fn default() -> Self {
        Self {
            name: String::new(),
            tags: BTreeMap::new(),
            not_tags: BTreeMap::new(),
            without: Vec::new(),
            matching: Vec::new(),
            when_absent: WhenAbsent::Any,
            zone: ZoneRule::Any,
            health: Health::Available,
            min_available: 1,
            min_available_percent: 0.0,
            when_unavailable: OnUnavailable::Next,
            overflow: None,
        }
    }
}

impl Tier {
    /// A tier that accepts every available instance.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The instance has the value, or one of the values given for the key.
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.entry(key.into()).or_default().0.push(value.into());
        self
    }

    /// The instance does not have the pair.
    pub fn not_tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.not_tags.entry(key.into()).or_default().0.push(value.into());
        self
    }

    /// The instance does not have the key.
    pub fn without(mut self, key: impl Into<String>) -> Self {
        self.without.push(key.into());
        self
    }

    /// The instance has the request's value of the key.
    pub fn matching(mut self, key: impl Into<String>) -> Self {
        self.matching.push(key.into());
        self
    }

    /// Sets what holds when the request lacks a `match` key.
    pub fn when_absent(mut self, when_absent: WhenAbsent) -> Self {
        self.when_absent = when_absent;
        self
    }

    /// Sets the zones.
    pub fn zone(mut self, zone: ZoneRule) -> Self {
        self.zone = zone;
        self
    }

    /// Sets whether health is looked at.
    pub fn health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// Sets the least number of instances that can be picked.
    pub fn min_available(mut self, count: u32) -> Self {
        self.min_available = count;
        self
    }

    /// Sets the least share of members that can be picked, in percent.
    pub fn min_available_percent(mut self, percent: f64) -> Self {
        self.min_available_percent = percent;
        self
    }

    /// Sets what happens when members are there and none can be picked.
    pub fn when_unavailable(mut self, when_unavailable: OnUnavailable) -> Self {
        self.when_unavailable = when_unavailable;
        self
    }

    /// Sets the overflow factor.
    pub fn overflow(mut self, factor: f64) -> Self {
        self.overflow = Some(factor);
        self
    }

    pub(super) fn check(&self, place: &str) -> Result<(), RouteError> {
        let refuse = |field: &str, message: String| Err(RouteError::new(format!("{place}.{field}"), message));
        for (field, rules) in [("tags", &self.tags), ("not_tags", &self.not_tags)] {
            if let Some((key, _)) = rules.iter().find(|(_, values)| values.0.is_empty()) {
                return refuse(&join(field, &step(key)), "0 values, must have at least 1".into());
            }
        }
        if self.matching.len() > MAX_MATCH_KEYS {
            return refuse(
                "match",
                format!("{} keys, must be at most {MAX_MATCH_KEYS}", self.matching.len()),
            );
        }
        if let Some(at) =
            (1..self.matching.len()).find(|&at| self.matching[..at].contains(&self.matching[at]))
        {
            return refuse(&format!("match[{at}]"), format!("{:?} again, must differ", self.matching[at]));
        }
        if let ZoneRule::Named(names) = &self.zone
            && names.is_empty()
        {
            return refuse("zone", "0 names, must have at least 1".into());
        }
        let percent = self.min_available_percent;
        if !(percent.is_finite() && (0.0..=100.0).contains(&percent)) {
            return refuse("min_available_percent", format!("{percent}, must be between 0 and 100"));
        }
        match self.overflow {
            Some(factor) if !(factor.is_finite() && factor > 0.0) => {
                refuse("overflow", format!("{factor}, must be finite and above 0"))
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.serialize_str(one),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(TextOrList("a value or a list of values"))
            .map(|(values, _)| Self(values))
    }
}

impl Serialize for ZoneRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => serializer.serialize_none(),
            Self::Local => serializer.serialize_str("local"),
            Self::Named(names) => match names.as_slice() {
                [one] if one != "local" => serializer.serialize_str(one),
                several => several.serialize(serializer),
            },
        }
    }
}

impl<'de> Deserialize<'de> for ZoneRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = TextOrList("\"local\", the name of a zone or a list of names");
        let (names, is_list) = deserializer.deserialize_any(expected)?;
        Ok(if !is_list && names == ["local"] { Self::Local } else { Self::Named(names) })
    }
}

/// Takes a string or a list of strings, and tells which it was.
struct TextOrList(&'static str);

impl<'de> Visitor<'de> for TextOrList {
    type Value = (Vec<String>, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok((vec![text.to_owned()], false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok((values, true))
    }
}

fn is_one(count: &u32) -> bool {
    *count == 1
}
