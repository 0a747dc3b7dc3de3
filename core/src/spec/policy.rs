//! Policies by name, with their options.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::RouteError;

/// How one instance is taken out of a tier's set.
///
/// In JSON a name, `"weighted_random"`, or an object with the name and its options.
///
/// Every policy passes over what the request excludes and keeps to what it requires; such requests take no turn of a
/// rotation but draw by weight (uniformly for `round_robin`). An instance of weight zero is never picked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Policy {
    /// Every instance alike. O(1), one random number.
    Random,
    /// In proportion to the weights. O(1) expected, O(log n) at most, one random number.
    WeightedRandom,
    /// One after the other, in list order. O(1), one atomic addition, no random number.
    RoundRobin,
    /// In proportion to the weights and evenly spread: exact or golden rotation, see [`crate::Route`]. O(1), one atomic
    /// addition, no random number.
    WeightedRoundRobin,
    /// The lowest reported load; an instance whose report is missing or stale counts as the mean of the others, ties
    /// are drawn uniformly. O(n), one random number.
    ///
    /// Callers that share reports which are seconds old all run to the same instance until the next report.
    LeastLoad,
}

impl Policy {
    /// The name used in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::WeightedRandom => "weighted_random",
            Self::RoundRobin => "round_robin",
            Self::WeightedRoundRobin => "weighted_round_robin",
            Self::LeastLoad => "least_load",
        }
    }

    /// Every policy with its default options.
    pub fn all() -> Vec<Self> {
        vec![Self::Random, Self::WeightedRandom, Self::RoundRobin, Self::WeightedRoundRobin, Self::LeastLoad]
    }

    /// Whether the policy looks at weights at all, beyond keeping away from weight zero.
    pub(crate) fn is_weighted(&self) -> bool {
        !matches!(self, Self::Random | Self::RoundRobin | Self::LeastLoad)
    }

    /// Whether the policy takes turns.
    pub(crate) fn rotates(&self) -> bool {
        matches!(self, Self::RoundRobin | Self::WeightedRoundRobin)
    }

    pub(super) fn check(&self) -> Result<(), RouteError> {
        Ok(())
    }
}

/// Policies as they stand in JSON, options and all.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    Random(NoOptions),
    WeightedRandom(NoOptions),
    RoundRobin(NoOptions),
    WeightedRoundRobin(NoOptions),
    LeastLoad(NoOptions),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

/// The names alone, for the list in the error.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Random,
    WeightedRandom,
    RoundRobin,
    WeightedRoundRobin,
    LeastLoad,
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrObject)
    }
}

struct NameOrObject;

impl<'de> Visitor<'de> for NameOrObject {
    type Value = Policy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a policy, or an object with the name and its options")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Policy, E> {
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        Ok(match Name::deserialize(name)? {
            Name::Random => Policy::Random,
            Name::WeightedRandom => Policy::WeightedRandom,
            Name::RoundRobin => Policy::RoundRobin,
            Name::WeightedRoundRobin => Policy::WeightedRoundRobin,
            Name::LeastLoad => Policy::LeastLoad,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Policy, A::Error> {
        Ok(match Written::deserialize(MapAccessDeserializer::new(map))? {
            Written::Random(_) => Policy::Random,
            Written::WeightedRandom(_) => Policy::WeightedRandom,
            Written::RoundRobin(_) => Policy::RoundRobin,
            Written::WeightedRoundRobin(_) => Policy::WeightedRoundRobin,
            Written::LeastLoad(_) => Policy::LeastLoad,
        })
    }
}
