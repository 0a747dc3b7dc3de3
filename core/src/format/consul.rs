//! Consul `/v1/health/service/:name`, and the like lists of its agents.
//!
//! | Consul | instance |
//! |---|---|
//! | `Service.Address`, if empty `Node.Address`; `Service.Port` | address and id |
//! | `Weights.Passing`, with a warning `Weights.Warning` | weight; missing: `Meta` `weight`, else 1 |
//! | `Checks`: any critical | unhealthy |
//! | `Checks`: critical `_node_maintenance` or `_service_maintenance:…` | not enabled, and health as the other checks say |
//! | `Service.ID` | tag `instance-id` |
//! | `Node.Datacenter` | tag `datacenter` |
//! | `Service.Tags` | tags: `k=v` is key and value, any other a key with the value `""` |
//! | `Service.Meta` | tags; `zone` is the zone too |
//!
//! A key in both `Tags` and `Meta` holds the values of both. No checks is passing; a status that is neither passing nor
//! warning is taken as critical. Ignored: `Node.Meta`, tagged addresses, `Output` and what else a check says.

use serde::Deserialize;

use super::collect::{Collector, Repeated};
use super::fields::{Draft, Metadata, address, filled, missing, number, port_at, text};
use super::json::{At, Document, Members, Parts, Raw, object};
use super::options::{Format, Options};
use super::{Definition, not_this};
use crate::error::FormatError;
use crate::instance::Instance;

pub(super) const DEFINITION: Definition = Definition {
    format: Format::Consul,
    shape: "Consul (a list of objects with `Service` and `Checks`)",
    document: |_| false,
    entry: |members| members.has("Service") || members.has("ServicePort"),
    options: &["load_key"],
    repeated: Repeated::Merge,
    read: read_document,
};

#[derive(Deserialize)]
#[serde(expecting = "an object with `Service`", rename_all = "PascalCase")]
struct Health<'a> {
    #[serde(borrow)]
    node: Option<Raw<'a>>,
    #[serde(borrow)]
    service: Option<Service<'a>>,
    #[serde(borrow)]
    checks: Option<Vec<Check<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "an object", rename_all = "PascalCase")]
struct Node<'a> {
    #[serde(borrow)]
    address: Option<Raw<'a>>,
    #[serde(borrow)]
    datacenter: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "PascalCase")]
struct Service<'a> {
    #[serde(borrow, rename = "ID")]
    id: Option<Raw<'a>>,
    #[serde(borrow)]
    address: Option<Raw<'a>>,
    #[serde(borrow)]
    port: Option<Raw<'a>>,
    #[serde(borrow)]
    tags: Option<Vec<Option<Raw<'a>>>>,
    #[serde(borrow)]
    meta: Option<Members<'a>>,
    #[serde(borrow)]
    weights: Option<Weights<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "PascalCase")]
struct Weights<'a> {
    #[serde(borrow)]
    passing: Option<Raw<'a>>,
    #[serde(borrow)]
    warning: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "PascalCase")]
struct Check<'a> {
    #[serde(borrow, rename = "CheckID")]
    id: Option<Raw<'a>>,
    #[serde(borrow)]
    status: Option<Raw<'a>>,
}

/// What the checks of an instance come to.
#[derive(Clone, Copy)]
struct Status {
    critical: bool,
    warning: bool,
    maintenance: bool,
}

fn read_document(
    document: &Document<'_>,
    options: &Options,
    collector: &mut Collector,
) -> Result<(), FormatError> {
    let Parts::List(entries) = &document.parts else { return not_this(&DEFINITION, document) };
    for (index, &entry) in entries.iter().enumerate() {
        let instance = object::<Health<'_>>(entry).and_then(|health| convert(health, options));
        collector.take(Some(index), instance)?;
    }
    Ok(())
}

fn convert(health: Health<'_>, options: &Options) -> Result<Instance, FormatError> {
    let Some(service) = health.service else {
        return missing("`Service`; the catalog says nothing of health, ask for /v1/health/service/:name");
    };
    let node = health.node.map(object::<Node<'_>>).transpose().at("Node")?.unwrap_or_default();
    let status = status(health.checks.as_deref().unwrap_or_default())?;

    let own = filled(service.address).at("Service.Address")?;
    let (host, place) = match own {
        Some(host) => (host, "Service.Address"),
        None => match filled(node.address).at("Node.Address")? {
            Some(host) => (host, "Node.Address"),
            None => return missing("`Service.Address` and `Node.Address`"),
        },
    };
    let address = address(&host, port_at(service.port, "Service.Port")?).at(place)?;

    let metadata = Metadata::new("Service.Meta", service.meta);
    let mut draft = Draft::new(address);
    draft.metadata(&metadata, options.load_key.as_deref())?;
    let (own, place) = match (service.weights, status.warning) {
        (None, _) => (None, ""),
        (Some(weights), true) => (weights.warning, "Service.Weights.Warning"),
        (Some(weights), false) => (weights.passing, "Service.Weights.Passing"),
    };
    draft.weight(own.map(number).transpose().at(place)?, &metadata)?;
    draft.tag_filled("instance-id", service.id).at("Service.ID")?;
    draft.tag_filled("datacenter", node.datacenter).at("Node.Datacenter")?;
    for (index, tag) in service.tags.iter().flatten().enumerate() {
        if let Some(tag) = *tag {
            let tag = text(tag).map_err(|error| error.at(&format!("Service.Tags[{index}]")))?;
            draft.split_tag(tag);
        }
    }
    draft.state(!status.critical, !status.maintenance);
    draft.finish()
}

/// The worst of the checks, with those of maintenance apart: an operator sets them, nothing fails.
fn status(checks: &[Check<'_>]) -> Result<Status, FormatError> {
    let mut status = Status { critical: false, warning: false, maintenance: false };
    for (index, check) in checks.iter().enumerate() {
        let field =
            |raw, name: &str| filled(raw).map_err(|error| error.at(&format!("Checks[{index}].{name}")));
        let id = field(check.id, "CheckID")?.unwrap_or_default();
        match field(check.status, "Status")?.unwrap_or_default().as_ref() {
            "passing" => {}
            "warning" => status.warning = true,
            _ if id == "_node_maintenance" || id.starts_with("_service_maintenance:") => {
                status.maintenance = true
            }
            _ => status.critical = true,
        }
    }
    Ok(status)
}
