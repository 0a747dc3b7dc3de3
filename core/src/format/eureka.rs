//! Eureka applications as JSON: `/eureka/apps`, `/eureka/apps/NAME` and `/eureka/vips/NAME`.
//!
//! | Eureka | instance |
//! |---|---|
//! | `hostName`, else `ipAddr`; the other way round with `prefer_ip` | address and id |
//! | `port` if it is enabled | the port |
//! | `securePort` if it is enabled and `port` is not | the port, and tag `secure=true` |
//! | `status`: `UP` | healthy |
//! | `status`: `OUT_OF_SERVICE` | not enabled: an operator took it out, nothing fails |
//! | `status`: any other, or missing | unhealthy |
//! | `instanceId` | tag `instance-id` |
//! | `metadata` | tags; `zone` is the zone too, `weight` the weight (missing: 1) |
//!
//! Eureka writes a list of one as the element itself, for `application` and for `instance`; an enabled flag as text;
//! and the Java class of the map into empty metadata: keys that begin with `@` are not metadata. `status` already
//! holds what `overriddenStatus` asks for. Ignored: leases, timestamps, URLs, VIP names, data centre.
//!
//! A document with several applications needs the option `service`. Eureka writes names in upper case, so a name is
//! compared with ASCII case ignored where none is byte-equal.

use serde::Deserialize;

use super::collect::{Collector, Repeated};
use super::fields::{Draft, Metadata, address, filled, flag_or, missing, port};
use super::json::{At, Document, Kind, Members, Parts, Raw, object, read};
use super::options::{Format, Options};
use super::{Definition, names, not_this};
use crate::error::FormatError;
use crate::instance::Instance;

pub(super) const DEFINITION: Definition = Definition {
    format: Format::Eureka,
    shape: "Eureka (an object with `applications` or `application`)",
    document: |members| members.has("applications") || members.has("application"),
    entry: |_| false,
    options: &["service", "load_key", "prefer_ip"],
    repeated: Repeated::Merge,
    read: read_document,
};

#[derive(Deserialize)]
#[serde(expecting = "an object with `application`")]
struct Applications<'a> {
    #[serde(borrow)]
    applications: Option<Raw<'a>>,
    #[serde(borrow)]
    application: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an application object")]
struct Application<'a> {
    #[serde(borrow)]
    name: Option<Raw<'a>>,
    #[serde(borrow)]
    instance: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an instance object", rename_all = "camelCase")]
struct Info<'a> {
    #[serde(borrow)]
    instance_id: Option<Raw<'a>>,
    #[serde(borrow)]
    host_name: Option<Raw<'a>>,
    #[serde(borrow)]
    ip_addr: Option<Raw<'a>>,
    #[serde(borrow)]
    status: Option<Raw<'a>>,
    #[serde(borrow)]
    port: Option<Port<'a>>,
    #[serde(borrow)]
    secure_port: Option<Port<'a>>,
    #[serde(borrow)]
    metadata: Option<Members<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `$` and `@enabled`")]
struct Port<'a> {
    #[serde(borrow, rename = "$")]
    number: Option<Raw<'a>>,
    #[serde(borrow, rename = "@enabled")]
    enabled: Option<Raw<'a>>,
}

/// An application, where it stands, and its name.
struct Named<'a> {
    place: String,
    name: String,
    instances: Option<Raw<'a>>,
}

fn read_document(
    document: &Document<'_>,
    options: &Options,
    collector: &mut Collector,
) -> Result<(), FormatError> {
    let (list, place) = match &document.parts {
        Parts::Object(members) if members.has("applications") => {
            let outer: Applications<'_> = object(document.raw)?;
            let inner = outer.applications.map(object::<Members<'_>>).transpose().at("applications")?;
            match inner.filter(|inner| inner.has("application")) {
                Some(inner) => (inner.get("application"), "applications.application"),
                None => return missing("`application`").at("applications"),
            }
        }
        Parts::Object(members) if members.has("application") => {
            (object::<Applications<'_>>(document.raw)?.application, "application")
        }
        _ => return not_this(&DEFINITION, document),
    };
    let mut applications = Vec::new();
    for (place, raw) in one_or_many(list, place)? {
        match named(raw, &place) {
            Ok(application) => applications.push(application),
            Err(error) => collector.refuse(error)?,
        }
    }
    for application in choose(applications, options, collector)? {
        let place = format!("{}.instance", application.place);
        collector.enter(&place);
        let is_list = application.instances.is_some_and(|raw| raw.kind() == Kind::List);
        for (index, (_, raw)) in one_or_many(application.instances, &place)?.into_iter().enumerate() {
            let instance = object::<Info<'_>>(raw).and_then(|info| convert(info, options));
            collector.take(is_list.then_some(index), instance)?;
        }
    }
    Ok(())
}

/// The elements of a list, which is the element itself where there is one only, and where each stands.
fn one_or_many<'a>(raw: Option<Raw<'a>>, place: &str) -> Result<Vec<(String, Raw<'a>)>, FormatError> {
    match raw {
        None => Ok(Vec::new()),
        Some(raw) if raw.kind() == Kind::List => {
            let elements = read::<Vec<Raw<'a>>>(raw).at(place)?.into_iter().enumerate();
            Ok(elements.map(|(index, raw)| (format!("{place}[{index}]"), raw)).collect())
        }
        Some(raw) => Ok(vec![(place.into(), raw)]),
    }
}

fn named<'a>(raw: Raw<'a>, place: &str) -> Result<Named<'a>, FormatError> {
    let application: Application<'_> = object(raw).at(place)?;
    let name = filled(application.name).at("name").at(place)?.unwrap_or_default().into_owned();
    Ok(Named { place: place.into(), name, instances: application.instance })
}

/// The application that is asked for, or the only one.
fn choose<'a>(
    mut applications: Vec<Named<'a>>,
    options: &Options,
    collector: &mut Collector,
) -> Result<Vec<Named<'a>>, FormatError> {
    let distinct = |applications: &[Named<'_>]| {
        let mut all: Vec<String> = applications.iter().map(|application| application.name.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let all = distinct(&applications);
    if let Some(service) = &options.service {
        let exact = all.contains(service);
        applications.retain(
            |Named { name, .. }| {
                if exact { name == service } else { name.eq_ignore_ascii_case(service) }
            },
        );
        if applications.is_empty() && !all.is_empty() {
            let message = format!("holds no application {service:?}; it holds {}", names(&all));
            return Err(FormatError::new(".", message));
        }
    }
    let chosen = distinct(&applications);
    if chosen.len() > 1 {
        let message = format!(
            "holds {} applications; name one of them as the service: {}",
            chosen.len(),
            names(&chosen)
        );
        return Err(FormatError::new(".", message));
    }
    if all.len() > 1 {
        collector.note(format!("of {} applications, {} was taken", all.len(), names(&chosen)));
    }
    Ok(applications)
}

fn convert(info: Info<'_>, options: &Options) -> Result<Instance, FormatError> {
    let name = (filled(info.host_name).at("hostName")?, "hostName");
    let ip = (filled(info.ip_addr).at("ipAddr")?, "ipAddr");
    let (first, second) = if options.prefer_ip { (ip, name) } else { (name, ip) };
    let (host, host_place) = match (first, second) {
        ((Some(host), place), _) | (_, (Some(host), place)) => (host, place),
        _ => return missing("`hostName` and `ipAddr`"),
    };
    let (number, secure) =
        match (enabled(info.port, true, "port")?, enabled(info.secure_port, false, "securePort")?) {
            (Some(number), _) => (port(number).at("port.$")?, false),
            (None, Some(number)) => (port(number).at("securePort.$")?, true),
            (None, None) => return missing("port: neither `port` nor `securePort` is enabled"),
        };
    let members = info.metadata.map(|mut members| {
        members.retain(|key| !key.starts_with('@'));
        members
    });
    let metadata = Metadata::new("metadata", members);
    let mut draft = Draft::new(address(&host, number).at(host_place)?);
    draft.metadata(&metadata, options.load_key.as_deref())?;
    draft.weight(None, &metadata)?;
    draft.tag_filled("instance-id", info.instance_id).at("instanceId")?;
    if secure {
        draft.tag("secure", "true");
    }
    let status = filled(info.status).at("status")?.unwrap_or_default();
    let out_of_service = status == "OUT_OF_SERVICE";
    draft.state(status == "UP" || out_of_service, !out_of_service);
    draft.finish()
}

/// The number of a port that is enabled. `missing` is what a port without the flag is.
fn enabled<'a>(port: Option<Port<'a>>, missing: bool, place: &str) -> Result<Option<Raw<'a>>, FormatError> {
    let Some(port) = port else { return Ok(None) };
    let enabled = flag_or(port.enabled, missing).at("@enabled").at(place)?;
    Ok(port.number.filter(|_| enabled))
}
