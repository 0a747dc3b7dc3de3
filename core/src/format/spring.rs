//! Lists of Spring `ServiceInstance`s, as Jackson writes them.
//!
//! | Spring | instance |
//! |---|---|
//! | `host`, `port` | address and id |
//! | metadata `nacos.weight` | weight; missing: metadata `weight`, else 1 |
//! | metadata `nacos.healthy` | healthy; missing: true |
//! | metadata `nacos.cluster` | tag `cluster` |
//! | `secure` | if true, tag `secure=true` |
//! | `instanceId`, else metadata `nacos.instanceId` | tag `instance-id` |
//! | `metadata` | tags, the keys of Nacos too; `zone` is the zone too |
//!
//! Spring lists no disabled instances, so all are enabled. Ignored: `serviceId`, `uri`, `scheme`.

use serde::Deserialize;

use super::collect::{Collector, Repeated};
use super::fields::{Draft, Metadata, address, filled, flag_or, missing, port_at};
use super::json::{At, Document, Members, Parts, Raw, object};
use super::options::{Format, Options};
use super::{Definition, not_this};
use crate::error::FormatError;
use crate::instance::Instance;

pub(super) const DEFINITION: Definition = Definition {
    format: Format::Spring,
    shape: "Spring (a list of objects with `host` and `port`)",
    document: |_| false,
    entry: |members| members.has("host") && (members.has("port") || members.has("serviceId")),
    options: &["load_key"],
    repeated: Repeated::Merge,
    read: read_document,
};

#[derive(Deserialize)]
#[serde(expecting = "an instance object", rename_all = "camelCase")]
struct ServiceInstance<'a> {
    #[serde(borrow)]
    instance_id: Option<Raw<'a>>,
    #[serde(borrow)]
    host: Option<Raw<'a>>,
    #[serde(borrow)]
    port: Option<Raw<'a>>,
    #[serde(borrow)]
    secure: Option<Raw<'a>>,
    #[serde(borrow)]
    metadata: Option<Members<'a>>,
}

fn read_document(
    document: &Document<'_>,
    options: &Options,
    collector: &mut Collector,
) -> Result<(), FormatError> {
    let Parts::List(entries) = &document.parts else { return not_this(&DEFINITION, document) };
    for (index, &entry) in entries.iter().enumerate() {
        let instance = object::<ServiceInstance<'_>>(entry).and_then(|entry| convert(entry, options));
        collector.take(Some(index), instance)?;
    }
    Ok(())
}

fn convert(entry: ServiceInstance<'_>, options: &Options) -> Result<Instance, FormatError> {
    let Some(host) = filled(entry.host).at("host")? else { return missing("`host`") };
    let address = address(&host, port_at(entry.port, "port")?).at("host")?;
    let metadata = Metadata::new("metadata", entry.metadata);
    let mut draft = Draft::new(address);
    draft.metadata(&metadata, options.load_key.as_deref())?;
    draft.weight(metadata.number("nacos.weight")?, &metadata)?;
    match filled(entry.instance_id).at("instanceId")? {
        Some(id) => draft.tag("instance-id", id),
        None => {
            if let Some(id) = metadata.filled("nacos.instanceId")? {
                draft.tag("instance-id", id);
            }
        }
    }
    if let Some(cluster) = metadata.filled("nacos.cluster")? {
        draft.tag("cluster", cluster);
    }
    if flag_or(entry.secure, false).at("secure")? {
        draft.tag("secure", "true");
    }
    draft.state(metadata.flag("nacos.healthy")?.unwrap_or(true), true);
    draft.finish()
}
