//! Policies by name, with their options.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::parse::Object;
use crate::error::RouteError;

/// How one instance is taken out of a tier's set.
///
/// In JSON a name, `"power_of_two"`, or an object with the name and its options, `{"power_of_two": {"choices": 4}}`.
///
/// Every policy passes over what the request excludes and keeps to what it requires; such requests take no turn of a
/// rotation but draw by weight (uniformly for `round_robin`). An instance of weight zero is never picked. Only leases count
/// as in flight; see [`crate::Route::lease`].
#[derive(Clone, Debug, PartialEq)]
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
    /// Callers that share reports which are seconds old all run to the same instance until the next report: use
    /// `power_of_two` with `"load": "reported"`, which does not.
    LeastLoad,
    /// The lowest in flight / weight; ties are drawn by weight. O(n), or O(1) expected where a fair part of more than 64
    /// instances is idle; one random number, or up to 13 in a set of more than 64.
    LeastRequest,
    /// Distinct candidates drawn by weight; the lowest in flight / weight, or reported load, wins, a tie goes to the first
    /// drawn. O(choices), as many random numbers, in a set of more than 16 seldom one more.
    PowerOfTwo(PowerOfTwo),
    /// Candidates as for `power_of_two`, by decaying peak latency × (in flight × mean weight / weight + 1). An instance
    /// without a sample counts as the mean of the other candidates; a failed request as a slow one. O(choices), as many
    /// random numbers.
    PeakEwma(PeakEwma),
    /// The owner of the request's key; a request without a key is drawn by weight, and its pick says so. O(1), ketama
    /// O(log n), bounded load O(n); no random number.
    ConsistentHash(ConsistentHash),
}

/// Options of `power_of_two`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PowerOfTwo {
    /// Candidates, 2 to 8.
    pub choices: u32,
    /// What they are compared by.
    pub load: Load,
}

/// Options of `peak_ewma`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PeakEwma {
    /// Candidates, 2 to 8.
    pub choices: u32,
}

/// Options of `consistent_hash`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ConsistentHash {
    /// How keys find their owners.
    pub algorithm: Algorithm,
    /// Slots of the `rendezvous` and `maglev` tables: a prime from 1,009 to 4,194,301. `ketama` has none.
    pub slots: u32,
    /// Bounded load (V. Mirrokni, M. Thorup and M. Zadimoghaddam, 2018): no instance gets beyond
    /// ⌈bound · (L + 1) · w / W⌉ leases, L being the leases open in the set. At least 1. `None`: unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
}

/// What `power_of_two` compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Load {
    /// Leases in flight / weight.
    #[default]
    InFlight,
    /// The reported load; a candidate without one counts as the mean of the others.
    Reported,
}

/// How keys find their owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Algorithm {
    /// Weighted rendezvous hashing over a table of slots: an instance that goes moves only its own keys.
    #[default]
    Rendezvous,
    /// Maglev: the most even shares; a change moves somewhat more keys than it must.
    Maglev,
    /// Ketama: the owners of nginx's `hash … consistent`.
    Ketama,
}

/// Fewest and most candidates.
const CHOICES: std::ops::RangeInclusive<u32> = 2..=8;

/// Fewest and most slots.
const SLOTS: std::ops::RangeInclusive<u32> = 1_009..=4_194_301;

impl Default for PowerOfTwo {
    fn default() -> Self {
        Self { choices: 2, load: Load::InFlight }
    }
}

impl Default for PeakEwma {
    fn default() -> Self {
        Self { choices: 2 }
    }
}

impl Default for ConsistentHash {
    fn default() -> Self {
        Self { algorithm: Algorithm::Rendezvous, slots: 65_537, bound: None }
    }
}

impl PowerOfTwo {
    /// The default options: two candidates by leases in flight.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of candidates.
    pub fn choices(mut self, choices: u32) -> Self {
        self.choices = choices;
        self
    }

    /// Sets what they are compared by.
    pub fn load(mut self, load: Load) -> Self {
        self.load = load;
        self
    }
}

impl PeakEwma {
    /// The default options: two candidates.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of candidates.
    pub fn choices(mut self, choices: u32) -> Self {
        self.choices = choices;
        self
    }
}

impl ConsistentHash {
    /// The default options: rendezvous over 65,537 slots, unbounded.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how keys find their owners.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Sets the number of slots.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// Bounds the load.
    pub fn bound(mut self, bound: f64) -> Self {
        self.bound = Some(bound);
        self
    }
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
            Self::LeastRequest => "least_request",
            Self::PowerOfTwo(_) => "power_of_two",
            Self::PeakEwma(_) => "peak_ewma",
            Self::ConsistentHash(_) => "consistent_hash",
        }
    }

    /// Every policy with its default options.
    pub fn all() -> Vec<Self> {
        vec![
            Self::Random,
            Self::WeightedRandom,
            Self::RoundRobin,
            Self::WeightedRoundRobin,
            Self::LeastLoad,
            Self::LeastRequest,
            Self::PowerOfTwo(PowerOfTwo::default()),
            Self::PeakEwma(PeakEwma::default()),
            Self::ConsistentHash(ConsistentHash::default()),
        ]
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
        match self {
            Self::PowerOfTwo(options) => check_choices("policy.power_of_two.choices", options.choices),
            Self::PeakEwma(options) => check_choices("policy.peak_ewma.choices", options.choices),
            Self::ConsistentHash(options) => options.check(),
            _ => Ok(()),
        }
    }
}

impl ConsistentHash {
    fn check(&self) -> Result<(), RouteError> {
        if !SLOTS.contains(&self.slots) || !is_prime(self.slots) {
            let message =
                format!("{}, must be a prime from {} to {}", self.slots, SLOTS.start(), SLOTS.end());
            return Err(RouteError::new("policy.consistent_hash.slots", message));
        }
        match self.bound {
            Some(bound) if !(bound.is_finite() && bound >= 1.0) => {
                let message = format!("{bound}, must be finite and at least 1");
                Err(RouteError::new("policy.consistent_hash.bound", message))
            }
            _ => Ok(()),
        }
    }
}

fn check_choices(path: &str, choices: u32) -> Result<(), RouteError> {
    if CHOICES.contains(&choices) {
        return Ok(());
    }
    let message = format!("{choices}, must be between {} and {}", CHOICES.start(), CHOICES.end());
    Err(RouteError::new(path, message))
}

pub(crate) fn is_prime(number: u32) -> bool {
    number >= 2
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| !number.is_multiple_of(divisor))
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn options<S: Serializer, T: Default + PartialEq + Serialize>(
            serializer: S,
            name: &'static str,
            options: &T,
        ) -> Result<S::Ok, S::Error> {
            if *options == T::default() {
                return serializer.serialize_str(name);
            }
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(name, options)?;
            map.end()
        }
        match self {
            Self::PowerOfTwo(held) => options(serializer, self.name(), held),
            Self::PeakEwma(held) => options(serializer, self.name(), held),
            Self::ConsistentHash(held) => options(serializer, self.name(), held),
            _ => serializer.serialize_str(self.name()),
        }
    }
}

/// Policies as they stand in JSON, options and all.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    Random(Object<NoOptions>),
    WeightedRandom(Object<NoOptions>),
    RoundRobin(Object<NoOptions>),
    WeightedRoundRobin(Object<NoOptions>),
    LeastLoad(Object<NoOptions>),
    LeastRequest(Object<NoOptions>),
    PowerOfTwo(Object<PowerOfTwo>),
    PeakEwma(Object<PeakEwma>),
    ConsistentHash(Object<ConsistentHash>),
}

#[derive(Deserialize)]
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
    LeastRequest,
    PowerOfTwo,
    PeakEwma,
    ConsistentHash,
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
            Name::LeastRequest => Policy::LeastRequest,
            Name::PowerOfTwo => Policy::PowerOfTwo(PowerOfTwo::default()),
            Name::PeakEwma => Policy::PeakEwma(PeakEwma::default()),
            Name::ConsistentHash => Policy::ConsistentHash(ConsistentHash::default()),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Policy, A::Error> {
        Ok(match Written::deserialize(MapAccessDeserializer::new(map))? {
            Written::Random(Object(NoOptions {})) => Policy::Random,
            Written::WeightedRandom(Object(NoOptions {})) => Policy::WeightedRandom,
            Written::RoundRobin(Object(NoOptions {})) => Policy::RoundRobin,
            Written::WeightedRoundRobin(Object(NoOptions {})) => Policy::WeightedRoundRobin,
            Written::LeastLoad(Object(NoOptions {})) => Policy::LeastLoad,
            Written::LeastRequest(Object(NoOptions {})) => Policy::LeastRequest,
            Written::PowerOfTwo(Object(options)) => Policy::PowerOfTwo(options),
            Written::PeakEwma(Object(options)) => Policy::PeakEwma(options),
            Written::ConsistentHash(Object(options)) => Policy::ConsistentHash(options),
        })
    }
}
