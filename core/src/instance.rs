//! Instances: what a registry says of one address, and the rules its values obey.
//!
//! An [`Instance`] is plain data. Nothing is checked while it is put together; the pool checks every value when the
//! instance is handed to it, and refuses the whole update when one breaks a rule, so that a bad list never replaces a
//! good one.

use std::sync::Arc;

use crate::error::UpdateError;
use crate::tags::Tags;

/// The most tag values (pairs of key and value) an instance may carry.
pub const MAX_TAGS: usize = 64;

/// The most instances a pool may hold.
pub const MAX_INSTANCES: usize = 1_000_000;

/// One address that can take requests.
///
/// Two instances with the same `id` are the same instance: a change of address, weight, zone or tags keeps what the
/// pool has learned of it. See [`crate::Pool`] for the limits of each field.
///
/// ```
/// use pointsman::Instance;
///
/// let instance = Instance::new("10.0.0.1:8080").weight(8.0).zone("eu-a").tag("version", "stable");
/// assert_eq!(&*instance.id, "10.0.0.1:8080");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Instance {
    /// Identity, at least one byte. Unless set, the address.
    pub id: Arc<str>,
    /// Where requests go, at least one byte. The engine never looks inside, but `ketama` places an instance by it.
    pub address: Arc<str>,
    /// Share of the traffic relative to the other instances: finite, not negative. Zero drains: the instance stays in
    /// the pool and is never picked.
    pub weight: f64,
    /// Where the instance runs. `None` is no zone, which no tier with a zone matches.
    pub zone: Option<Arc<str>>,
    /// Keys with one or several values each, at most [`MAX_TAGS`] pairs.
    pub tags: Tags,
    /// Whether health checks pass. A tier with `"health": "any"` takes unhealthy instances too.
    pub healthy: bool,
    /// Whether the instance may be used at all. No tier takes a disabled one.
    pub enabled: bool,
    /// Load that the registry reports, finite and not negative. An update with `None` leaves the last report.
    pub load: Option<f64>,
    /// Most leases at one time, at least 1. A full instance is passed over. `None` is no limit.
    pub max_in_flight: Option<u32>,
    /// The caller's own number, returned with every pick.
    pub user_data: u64,
}

impl Instance {
    /// An instance with the given address, which is also its id; weight 1, healthy, enabled, no zone and no tags.
    pub fn new(address: impl Into<Arc<str>>) -> Self {
        let address = address.into();
        Self {
            id: address.clone(),
            address,
            weight: 1.0,
            zone: None,
            tags: Tags::new(),
            healthy: true,
            enabled: true,
            load: None,
            max_in_flight: None,
            user_data: 0,
        }
    }

    /// Sets the identity.
    pub fn id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the weight.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the zone.
    pub fn zone(mut self, zone: impl Into<Arc<str>>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Adds a value to the key's values. A pair that is there already is left alone.
    pub fn tag(mut self, key: &str, value: &str) -> Self {
        self.tags.insert(key, value);
        self
    }

    /// Sets all tags.
    pub fn tags(mut self, tags: Tags) -> Self {
        self.tags = tags;
        self
    }

    /// Sets whether health checks pass.
    pub fn healthy(mut self, healthy: bool) -> Self {
        self.healthy = healthy;
        self
    }

    /// Sets whether the instance may be used at all.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Sets the reported load.
    pub fn load(mut self, load: f64) -> Self {
        self.load = Some(load);
        self
    }

    /// Sets the most leases at one time.
    pub fn max_in_flight(mut self, limit: u32) -> Self {
        self.max_in_flight = Some(limit);
        self
    }

    /// Sets the caller's own number.
    pub fn user_data(mut self, user_data: u64) -> Self {
        self.user_data = user_data;
        self
    }

    /// Checks every field by itself. `index` is the position in the list it came from, for the error.
    pub(crate) fn check(&self, index: Option<usize>) -> Result<(), UpdateError> {
        let refuse =
            |field, value: String, limit: &str| UpdateError::value(&self.id, index, field, value, limit);
        if self.id.is_empty() {
            return Err(refuse("id", "\"\"".into(), "must have at least one byte"));
        }
        if self.address.is_empty() {
            return Err(refuse("address", "\"\"".into(), "must have at least one byte"));
        }
        check_number(&self.id, index, "weight", self.weight)?;
        if let Some(load) = self.load {
            check_number(&self.id, index, "load", load)?;
        }
        if self.max_in_flight == Some(0) {
            return Err(refuse("max_in_flight", "0".into(), "must be at least 1"));
        }
        check_tags(&self.id, index, &self.tags)
    }
}

/// The rule of weights and loads: finite and not negative.
pub(crate) fn check_number(
    id: &str,
    index: Option<usize>,
    field: &'static str,
    value: f64,
) -> Result<(), UpdateError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(UpdateError::value(id, index, field, value.to_string(), "must be finite and not negative"))
}

/// The rule of tags: at most [`MAX_TAGS`] pairs.
pub(crate) fn check_tags(id: &str, index: Option<usize>, tags: &Tags) -> Result<(), UpdateError> {
    if tags.len() <= MAX_TAGS {
        return Ok(());
    }
    Err(UpdateError::value(id, index, "tags", format!("{} pairs", tags.len()), "must be at most 64 pairs"))
}
