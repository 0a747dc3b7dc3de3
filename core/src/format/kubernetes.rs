//! Kubernetes `EndpointSlice`, `EndpointSliceList`, and the `List` of them that kubectl prints. Slices are joined.
//!
//! | discovery.k8s.io/v1 | instance |
//! |---|---|
//! | `endpoints[].addresses[0]`, and a port of the slice | address and id |
//! | `conditions.ready`; nil: true | healthy, also when terminating |
//! | `conditions.terminating` | tag `terminating=true` |
//! | `terminating`, and not `serving` (nil: as `ready`) | not enabled |
//! | `zone` | zone |
//! | `nodeName` | tag `node` |
//! | `targetRef.name` | tag `pod` |
//! | `hints.forZones[].name` | tag `for-zone`, a value for each |
//!
//! The weight is 1. An endpoint that terminates and still serves is unhealthy and enabled, so that a last tier
//! `{"tags": {"terminating": "true"}, "health": "any"}` is the fallback of kube-proxy.
//!
//! All addresses of an endpoint are the same to Kubernetes, and the first is taken. The port is the one that the
//! option `port` names or numbers, else the first; a slice without endpoints needs none. Slices are of one service:
//! where the label `kubernetes.io/service-name` (with its namespace) has several values, the option `service` says
//! which. Slices are of one address family: the one asked for, else IPv4 where it has endpoints, else IPv6. FQDN
//! slices are refused. Ignored: `hostname`, `deprecatedTopology`, owners and other metadata.

use serde::Deserialize;

use super::collect::{Collector, Repeated};
use super::fields::{Draft, address, filled, flag_or, missing, port};
use super::json::{At, Document, Members, Parts, Raw, SHOWN, cut, join, list, message, object, step};
use super::options::{AddressFamily, Format, Options};
use super::{Definition, names, not_this};
use crate::error::FormatError;
use crate::instance::Instance;

pub(super) const DEFINITION: Definition = Definition {
    format: Format::Kubernetes,
    shape: "Kubernetes (an object of kind `EndpointSlice` or `EndpointSliceList`)",
    document: |members| {
        let kind = members.get("kind").map_or("", Raw::source);
        kind.starts_with("\"EndpointSlice") || !kind.is_empty() && members.has("apiVersion")
    },
    entry: |_| false,
    options: &["service", "port", "address_family"],
    repeated: Repeated::Merge,
    read: read_document,
};

const SERVICE_NAME: &str = "kubernetes.io/service-name";

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Outer<'a> {
    #[serde(borrow)]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    items: Option<Raw<'a>>,
    #[serde(borrow)]
    message: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an EndpointSlice", rename_all = "camelCase")]
struct Slice<'a> {
    #[serde(borrow)]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    address_type: Option<Raw<'a>>,
    #[serde(borrow)]
    endpoints: Option<Raw<'a>>,
    #[serde(borrow)]
    ports: Option<Vec<Port<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Metadata<'a> {
    #[serde(borrow)]
    namespace: Option<Raw<'a>>,
    #[serde(borrow)]
    labels: Option<Members<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a port object")]
struct Port<'a> {
    #[serde(borrow)]
    name: Option<Raw<'a>>,
    #[serde(borrow)]
    port: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an endpoint object", rename_all = "camelCase")]
struct Endpoint<'a> {
    #[serde(borrow)]
    addresses: Option<Vec<Raw<'a>>>,
    #[serde(borrow)]
    conditions: Option<Conditions<'a>>,
    #[serde(borrow)]
    zone: Option<Raw<'a>>,
    #[serde(borrow)]
    node_name: Option<Raw<'a>>,
    #[serde(borrow)]
    target_ref: Option<Name<'a>>,
    #[serde(borrow)]
    hints: Option<Hints<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "an object")]
struct Conditions<'a> {
    #[serde(borrow)]
    ready: Option<Raw<'a>>,
    #[serde(borrow)]
    serving: Option<Raw<'a>>,
    #[serde(borrow)]
    terminating: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `name`")]
struct Name<'a> {
    #[serde(borrow)]
    name: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "camelCase")]
struct Hints<'a> {
    #[serde(borrow)]
    for_zones: Option<Vec<Name<'a>>>,
}

/// A slice with what its place among the others depends on.
struct Part<'a> {
    place: String,
    service: String,
    family: AddressFamily,
    endpoints: Vec<Raw<'a>>,
    ports: Vec<Port<'a>>,
}

fn read_document(
    document: &Document<'_>,
    options: &Options,
    collector: &mut Collector,
) -> Result<(), FormatError> {
    let Parts::Object(members) = &document.parts else { return not_this(&DEFINITION, document) };
    let outer: Outer<'_> = object(document.raw)?;
    let slices = match filled(outer.kind).at("kind")?.as_deref() {
        Some("EndpointSlice") => vec![(".".to_owned(), document.raw)],
        Some("EndpointSliceList" | "List") => {
            if !members.has("items") {
                return missing("`items`");
            }
            let items = list(outer.items).at("items")?.into_iter().enumerate();
            items.map(|(index, raw)| (format!("items[{index}]"), raw)).collect()
        }
        Some("Status") => {
            let message = message(outer.message).unwrap_or_default();
            return Err(FormatError::new(".", format!("the server answered with an error: {message}")));
        }
        Some(kind) => return other_kind(kind).at("kind"),
        None => return not_this(&DEFINITION, document),
    };
    let mut parts = Vec::new();
    for (place, raw) in slices {
        match part(raw, &place) {
            Ok(part) => parts.push(part),
            Err(error) => collector.refuse(error.at(&place))?,
        }
    }
    let parts = of_one_service(parts, options, collector)?;
    let parts = of_one_family(parts, options, collector)?;
    for part in parts.into_iter().filter(|part| !part.endpoints.is_empty()) {
        let number = match choose_port(&part.ports, options.port.as_deref()) {
            Ok(number) => number,
            Err(error) => {
                collector.refuse(error.at(&part.place))?;
                continue;
            }
        };
        collector.enter(&join(&part.place, "endpoints"));
        for (index, raw) in part.endpoints.into_iter().enumerate() {
            let instance = object::<Endpoint<'_>>(raw).and_then(|endpoint| convert(endpoint, number));
            collector.take(Some(index), instance)?;
        }
    }
    Ok(())
}

fn other_kind<T>(kind: &str) -> Result<T, FormatError> {
    let kind = cut(kind, SHOWN);
    Err(FormatError::new(
        ".",
        format!("{kind:?} is not EndpointSlice; ask for endpointslices of discovery.k8s.io/v1"),
    ))
}

fn part<'a>(raw: Raw<'a>, place: &str) -> Result<Part<'a>, FormatError> {
    let slice: Slice<'_> = object(raw)?;
    match filled(slice.kind).at("kind")?.as_deref() {
        // The items of a list from the API server do not repeat their kind.
        None | Some("EndpointSlice") => {}
        Some(kind) => return other_kind(kind).at("kind"),
    }
    let metadata = slice.metadata.as_ref();
    let namespace = filled(metadata.and_then(|metadata| metadata.namespace)).at("metadata.namespace")?;
    let label = metadata.and_then(|metadata| metadata.labels.as_ref()?.get(SERVICE_NAME));
    let name = filled(label).at(&step(SERVICE_NAME)).at("metadata.labels")?.unwrap_or_default();
    let family = match filled(slice.address_type).at("addressType")?.as_deref() {
        Some("IPv4") => AddressFamily::Ipv4,
        Some("IPv6") => AddressFamily::Ipv6,
        kind => {
            let kind = cut(kind.unwrap_or_default(), SHOWN);
            return Err(FormatError::new(
                "addressType",
                format!("{kind:?} is not usable; must be IPv4 or IPv6"),
            ));
        }
    };
    Ok(Part {
        place: place.into(),
        service: match namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.into_owned(),
        },
        family,
        endpoints: list(slice.endpoints).at("endpoints")?,
        ports: slice.ports.unwrap_or_default(),
    })
}

/// The slices of the service that is asked for, or of the only one. Services are told apart by namespace and name.
fn of_one_service<'a>(
    mut parts: Vec<Part<'a>>,
    options: &Options,
    collector: &mut Collector,
) -> Result<Vec<Part<'a>>, FormatError> {
    let services = |parts: &[Part<'_>]| {
        let mut services: Vec<String> = parts.iter().map(|part| part.service.clone()).collect();
        services.sort_unstable();
        services.dedup();
        services
    };
    let all = services(&parts);
    if let Some(wanted) = &options.service {
        parts.retain(|part| {
            part.service == *wanted || part.service.split_once('/').is_some_and(|(_, name)| name == wanted)
        });
        if parts.is_empty() && !all.is_empty() {
            let message = format!("holds no slices of service {wanted:?}; it holds {}", names(&all));
            return Err(FormatError::new(".", message));
        }
    }
    let chosen = services(&parts);
    if chosen.len() > 1 {
        let message = format!(
            "holds slices of {} services; name one of them as the service: {}",
            chosen.len(),
            names(&chosen)
        );
        return Err(FormatError::new(".", message));
    }
    if all.len() > 1 {
        collector.note(format!(
            "of the slices of {} services, those of {} were taken",
            all.len(),
            names(&chosen)
        ));
    }
    Ok(parts)
}

fn of_one_family<'a>(
    mut parts: Vec<Part<'a>>,
    options: &Options,
    collector: &mut Collector,
) -> Result<Vec<Part<'a>>, FormatError> {
    let has = |family| parts.iter().any(|part| part.family == family && !part.endpoints.is_empty());
    let family = match options.address_family {
        Some(family) => {
            let other = parts.iter().find(|part| !part.endpoints.is_empty()).map(|part| part.family);
            if let Some(other) = other.filter(|_| !has(family)) {
                let message = format!("holds no {family} endpoints; it holds {other} endpoints");
                return Err(FormatError::new(".", message));
            }
            family
        }
        None if has(AddressFamily::Ipv4) || !has(AddressFamily::Ipv6) => AddressFamily::Ipv4,
        None => AddressFamily::Ipv6,
    };
    parts.retain(|part| {
        let keep = part.family == family;
        if !keep {
            collector.ignore(&part.place, &format!("the slice is {}, and {family} is taken", part.family));
        }
        keep
    });
    Ok(parts)
}

/// The port that is named or numbered, else the first.
fn choose_port(ports: &[Port<'_>], wanted: Option<&str>) -> Result<u16, FormatError> {
    let mut held = Vec::new();
    for (index, entry) in ports.iter().enumerate() {
        let at = |error: FormatError| error.at(&format!("ports[{index}]"));
        let name = filled(entry.name).map_err(|error| at(error.at("name")))?.unwrap_or_default();
        let number = match entry.port {
            Some(number) => Some(port(number).map_err(|error| at(error.at("port")))?),
            None => None,
        };
        held.push((name, number));
    }
    let number = match wanted {
        None => held.first(),
        Some(wanted) => held.iter().find(|(name, _)| name == wanted).or_else(|| {
            let wanted = wanted.parse().ok()?;
            held.iter().find(|(_, number)| *number == Some(wanted))
        }),
    };
    match (number, wanted) {
        (Some((_, Some(number))), _) => Ok(*number),
        (Some((name, None)), _) => Err(FormatError::new("ports", format!("the port {name:?} has no number"))),
        (None, None) => Err(FormatError::new("ports", "holds no port")),
        (None, Some(wanted)) => {
            let held: Vec<String> = held
                .iter()
                .map(|(name, number)| {
                    format!("{name} ({})", number.map_or("none".into(), |number| number.to_string()))
                })
                .collect();
            Err(FormatError::new("ports", format!("holds no port {wanted:?}; it holds {}", names(&held))))
        }
    }
}

fn convert(endpoint: Endpoint<'_>, port: u16) -> Result<Instance, FormatError> {
    let first = endpoint.addresses.as_ref().and_then(|addresses| addresses.first().copied());
    let Some(host) = filled(first).at("addresses[0]")? else { return missing("`addresses[0]`") };
    let mut draft = Draft::new(address(&host, port).at("addresses[0]")?);

    let conditions = endpoint.conditions.unwrap_or_default();
    let ready = flag_or(conditions.ready, true).at("conditions.ready")?;
    let serving = flag_or(conditions.serving, ready).at("conditions.serving")?;
    let terminating = flag_or(conditions.terminating, false).at("conditions.terminating")?;
    draft.state(ready, serving || !terminating);
    if terminating {
        draft.tag("terminating", "true");
    }

    if let Some(zone) = filled(endpoint.zone).at("zone")? {
        draft.zone(&zone);
    }
    draft.tag_filled("node", endpoint.node_name).at("nodeName")?;
    draft.tag_filled("pod", endpoint.target_ref.and_then(|target| target.name)).at("targetRef.name")?;
    for zone in endpoint.hints.and_then(|hints| hints.for_zones).unwrap_or_default() {
        draft.tag_filled("for-zone", zone.name).at("hints.forZones")?;
    }
    draft.finish()
}
