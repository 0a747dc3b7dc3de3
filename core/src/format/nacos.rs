//! Nacos instance lists, and those of servers that speak its API.
//!
//! Three shapes: 1.x answers with an object that holds `hosts`; 2.x wraps it, `{"code": 0, "data": {"hosts": […]}}`;
//! 3.x has the list itself in `data`. A bare list of the entries is taken too. Anything but code 0 (or 200) is the
//! server's error, and a `data` that is no list is one too.
//!
//! | Nacos | instance |
//! |---|---|
//! | `ip`, `port` | address and id |
//! | `weight` | weight; missing: metadata `weight`, else 1 |
//! | `healthy`, in old servers `valid` | healthy; missing: true |
//! | `enabled` | enabled; missing: true |
//! | `clusterName` | tag `cluster`, and the zone where no entry has a metadata key `zone`, unless it is `DEFAULT` |
//! | `instanceId` | tag `instance-id` |
//! | `metadata` | tags; `zone` is the zone too |
//!
//! `reachProtectionThreshold` is noted: the server then shows unhealthy instances as healthy, so that `healthy` says
//! nothing. Ignored: `ephemeral`, `serviceName`, heartbeat settings, `lastRefTime`, `checksum` and what else servers
//! add.

use serde::Deserialize;

use super::collect::{Collector, Repeated};
use super::fields::{Draft, Metadata, address, filled, flag_or, missing, number, port_at};
use super::json::{At, Document, Kind, Members, Parts, Raw, SHOWN, cut, join, list, message, object, read};
use super::options::{Format, Options};
use super::{Definition, not_this};
use crate::error::FormatError;
use crate::instance::Instance;

pub(super) const DEFINITION: Definition = Definition {
    format: Format::Nacos,
    shape: "Nacos (an object with `hosts`, or with `code` and `data`)",
    document: |members| {
        // Kubernetes puts a code and a message into its own errors.
        let answer = members.has("code") && !members.has("kind");
        members.has("hosts") || answer && (members.has("data") || members.has("message"))
    },
    entry: |members| members.has("ip") && members.has("port"),
    options: &["load_key"],
    repeated: Repeated::Merge,
    read: read_document,
};

/// The cluster of instances that were given none.
const DEFAULT_CLUSTER: &str = "DEFAULT";

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Reply<'a> {
    #[serde(borrow)]
    code: Option<Raw<'a>>,
    #[serde(borrow)]
    message: Option<Raw<'a>>,
    #[serde(borrow)]
    data: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Service<'a> {
    #[serde(borrow)]
    hosts: Option<Raw<'a>>,
    #[serde(borrow, rename = "reachProtectionThreshold")]
    protected: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an instance object", rename_all = "camelCase")]
struct Host<'a> {
    #[serde(borrow)]
    ip: Option<Raw<'a>>,
    #[serde(borrow)]
    port: Option<Raw<'a>>,
    #[serde(borrow)]
    weight: Option<Raw<'a>>,
    #[serde(borrow)]
    healthy: Option<Raw<'a>>,
    #[serde(borrow)]
    valid: Option<Raw<'a>>,
    #[serde(borrow)]
    enabled: Option<Raw<'a>>,
    #[serde(borrow)]
    cluster_name: Option<Raw<'a>>,
    #[serde(borrow)]
    instance_id: Option<Raw<'a>>,
    #[serde(borrow)]
    metadata: Option<Members<'a>>,
}

fn read_document(
    document: &Document<'_>,
    options: &Options,
    collector: &mut Collector,
) -> Result<(), FormatError> {
    match &document.parts {
        Parts::List(hosts) => read_hosts(hosts, options, collector),
        Parts::Object(members) if members.has("hosts") => read_service(document.raw, ".", options, collector),
        Parts::Object(members) if members.has("code") || members.has("data") => {
            let data = answer(object(document.raw)?)?;
            match data.kind() {
                Kind::List => {
                    collector.enter("data");
                    read_hosts(&read::<Vec<_>>(data)?, options, collector)
                }
                _ => read_service(data, "data", options, collector),
            }
        }
        _ => not_this(&DEFINITION, document),
    }
}

/// What the wrapper of 2.x and 3.x holds, or the server's own message.
fn answer(reply: Reply<'_>) -> Result<Raw<'_>, FormatError> {
    let code = filled(reply.code).at("code")?.unwrap_or("0".into());
    let said =
        [message(reply.message), message(reply.data)].into_iter().flatten().collect::<Vec<_>>().join(": ");
    match reply.data {
        _ if !matches!(&*code, "0" | "200") => {
            let code = cut(&code, SHOWN);
            Err(FormatError::new(".", format!("the server answered with error code {code}: {said}")))
        }
        Some(data) if matches!(data.kind(), Kind::List | Kind::Object) => Ok(data),
        _ => Err(FormatError::new("data", format!("the server answered with no list: {said}"))),
    }
}

fn read_service(
    raw: Raw<'_>,
    place: &str,
    options: &Options,
    collector: &mut Collector,
) -> Result<(), FormatError> {
    if !object::<Members<'_>>(raw).at(place)?.has("hosts") {
        return missing("`hosts`").at(place);
    }
    let service: Service<'_> = object(raw).at(place)?;
    let hosts = list(service.hosts).at("hosts").at(place)?;
    if flag_or(service.protected, false).at("reachProtectionThreshold").at(place)? {
        collector.note(
            "reachProtectionThreshold: too few instances are healthy, and the server shows all as healthy"
                .into(),
        );
    }
    collector.enter(&join(place, "hosts"));
    read_hosts(&hosts, options, collector)
}

fn read_hosts(hosts: &[Raw<'_>], options: &Options, collector: &mut Collector) -> Result<(), FormatError> {
    let hosts: Vec<Result<Host<'_>, FormatError>> = hosts.iter().map(|&raw| object(raw)).collect();
    let has_zone =
        |host: &Host<'_>| host.metadata.as_ref().is_some_and(|metadata| metadata.get("zone").is_some());
    let cluster_is_zone = !hosts.iter().flatten().any(has_zone);
    for (index, host) in hosts.into_iter().enumerate() {
        let instance = host.and_then(|host| convert(host, cluster_is_zone, options));
        collector.take(Some(index), instance)?;
    }
    Ok(())
}

fn convert(host: Host<'_>, cluster_is_zone: bool, options: &Options) -> Result<Instance, FormatError> {
    let Some(ip) = filled(host.ip).at("ip")? else { return missing("`ip`") };
    let address = address(&ip, port_at(host.port, "port")?).at("ip")?;
    let metadata = Metadata::new("metadata", host.metadata);
    let mut draft = Draft::new(address);
    draft.metadata(&metadata, options.load_key.as_deref())?;
    draft.weight(host.weight.map(number).transpose().at("weight")?, &metadata)?;
    draft.tag_filled("instance-id", host.instance_id).at("instanceId")?;
    if let Some(cluster) = filled(host.cluster_name).at("clusterName")? {
        if cluster_is_zone && cluster != DEFAULT_CLUSTER {
            draft.zone(&cluster);
        }
        draft.tag("cluster", cluster);
    }
    let healthy = flag_or(host.healthy, flag_or(host.valid, true).at("valid")?).at("healthy")?;
    draft.state(healthy, flag_or(host.enabled, true).at("enabled")?);
    draft.finish()
}
