//! Instances as C hands them over.

use pointsman::{Instance, Tags};

use crate::abi::{Flag, Items, pointsman_str, versioned};
use crate::codes::POINTSMAN_MAX_ITEMS;
use crate::error::Fault;

/// A tag: a key and one of its values. A key with several values stands in several tags.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pointsman_tag {
    /// The key. Any text, the empty one too.
    pub key: pointsman_str,
    /// The value. Any text, the empty one too.
    pub value: pointsman_str,
}

/// One address that can take requests. The library copies what it needs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pointsman_instance {
    /// Size of the struct, set by `POINTSMAN_INSTANCE_INIT`.
    pub size: usize,
    /// Identity; left out, the address. Two instances with one id are the same instance.
    pub id: pointsman_str,
    /// Where requests go, at least one byte. The engine never looks inside.
    pub address: pointsman_str,
    /// Where the instance runs; may be left out.
    pub zone: pointsman_str,
    /// `tag_count` tags, at most 64 different ones.
    pub tags: Items<pointsman_tag>,
    /// Number of tags.
    pub tag_count: usize,
    /// Share of the traffic relative to the other instances: finite, not negative. 0 drains.
    pub weight: f64,
    /// Load that the registry reports, finite and not negative. Read only where `has_load` is set.
    pub load: f64,
    /// The host's own number or pointer, which comes back with every pick.
    pub user_data: u64,
    /// Most leases at one time; 0 is no limit.
    pub max_in_flight: u32,
    /// Whether health checks pass.
    pub healthy: Flag,
    /// Whether the instance may be used at all.
    pub enabled: Flag,
    /// Whether `load` is set. A list that sets none leaves the last report.
    pub has_load: Flag,
    /// Not used.
    pub reserved: u8,
}

versioned! {
    pointsman_instance, first 104 bytes, set by POINTSMAN_INSTANCE_INIT;
    size: 0,
    id: pointsman_str::NONE,
    address: pointsman_str::NONE,
    zone: pointsman_str::NONE,
    tags: Items::NONE,
    tag_count: 0,
    weight: 1.0,
    load: 0.0,
    user_data: 0,
    max_in_flight: 0,
    healthy: Flag::TRUE,
    enabled: Flag::TRUE,
    has_load: Flag::FALSE,
    reserved: 0,
}

impl pointsman_instance {
    /// The instance; the pool checks its values.
    pub(crate) fn to_instance(self) -> Result<Instance, Fault> {
        let mut instance = Instance::new(self.address.text("address")?);
        if let Some(id) = self.id.opt_text("id")? {
            instance = instance.id(id);
        }
        if let Some(zone) = self.zone.opt_text("zone")? {
            instance = instance.zone(zone);
        }
        instance.tags = tags(self.tags, self.tag_count)?;
        instance.weight = self.weight;
        instance.load = self.has_load.get().then_some(self.load);
        instance.max_in_flight = (self.max_in_flight != 0).then_some(self.max_in_flight);
        instance.healthy = self.healthy.get();
        instance.enabled = self.enabled.get();
        instance.user_data = self.user_data;
        Ok(instance)
    }
}

/// The instances of an array.
pub(crate) fn list(items: Items<pointsman_instance>, count: usize) -> Result<Vec<Instance>, Fault> {
    let mut list = Vec::with_capacity(count.min(crate::codes::POINTSMAN_MAX_INSTANCES));
    crate::abi::each(items, count, crate::codes::POINTSMAN_MAX_INSTANCES, "instances", |index, instance| {
        list.push(instance.to_instance().map_err(|fault| fault.at(index))?);
        Ok(())
    })?;
    Ok(list)
}

/// The tags of an array.
pub(crate) fn tags(items: Items<pointsman_tag>, count: usize) -> Result<Tags, Fault> {
    let pairs = items.get(count, POINTSMAN_MAX_ITEMS, "tags")?.iter();
    let pairs: Vec<(&str, &str)> = pairs.map(pair).collect::<Result<_, _>>()?;
    Ok(pairs.into_iter().collect())
}

#[inline]
pub(crate) fn pair(tag: &pointsman_tag) -> Result<(&str, &str), Fault> {
    Ok((tag.key.text("tags.key")?, tag.value.text("tags.value")?))
}
