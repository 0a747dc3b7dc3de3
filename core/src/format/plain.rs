//! pointsman's own list: `[{"address": "10.0.0.1:8080", "weight": 2.5}, …]`, or the same in `{"instances": […]}`.
//!
//! | field | value | missing or null |
//! |---|---|---|
//! | `id` | text, not empty, unique in the list | the address |
//! | `address` | text, not empty | refused |
//! | `weight` | a number or numeric text, finite, not negative | 1 |
//! | `zone` | text | no zone |
//! | `tags` | an object: each key has text, or a list of texts | none |
//! | `healthy`, `enabled` | true or false | true |
//! | `load` | a number or numeric text, finite, not negative | not reported |
//! | `max_in_flight` | a whole number from 1 to 4294967295 | no limit |
//! | `user_data` | a whole number up to 2⁶⁴ − 1 | 0 |
//!
//! An unknown field is refused: this is the one format in which it can only be a slip of the pen. Addresses are taken
//! as they are, so anything that the caller can connect to is one. [`to_plain`] writes the format, and what it wrote
//! reads back equal, field by field and bit by bit.

use serde::Deserialize;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::collect::{Collector, Repeated};
use super::fields::{missing, number};
use super::json::{At, Document, Kind, Members, Parts, Raw, list, object, read, step};
use super::options::{Format, Options};
use super::{Definition, not_this};
use crate::error::FormatError;
use crate::instance::Instance;
use crate::tags::Tags;

pub(super) const DEFINITION: Definition = Definition {
    format: Format::Plain,
    shape: "plain (a list of objects with `address`, or an object with `instances`)",
    document: |members| members.has("instances"),
    entry: |members| members.has("address") || members.keys().count() > 0 && members.keys().all(is_field),
    options: &[],
    repeated: Repeated::Refuse,
    read: read_document,
};

const FIELDS: [&str; 10] =
    ["id", "address", "weight", "zone", "tags", "healthy", "enabled", "load", "max_in_flight", "user_data"];

fn is_field(key: &str) -> bool {
    FIELDS.contains(&key)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `instances`")]
struct List<'a> {
    #[serde(borrow)]
    instances: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an instance object")]
struct Entry<'a> {
    #[serde(borrow)]
    id: Option<Raw<'a>>,
    #[serde(borrow)]
    address: Option<Raw<'a>>,
    #[serde(borrow)]
    weight: Option<Raw<'a>>,
    #[serde(borrow)]
    zone: Option<Raw<'a>>,
    #[serde(borrow)]
    tags: Option<Members<'a>>,
    healthy: Option<bool>,
    enabled: Option<bool>,
    #[serde(borrow)]
    load: Option<Raw<'a>>,
    max_in_flight: Option<u32>,
    user_data: Option<u64>,
}

fn read_document(document: &Document<'_>, _: &Options, collector: &mut Collector) -> Result<(), FormatError> {
    let kept;
    let entries = match &document.parts {
        Parts::List(entries) => entries,
        Parts::Object(members) if members.has("instances") => {
            let outer: List<'_> = read(document.raw)?;
            collector.enter("instances");
            kept = list(outer.instances).at("instances")?;
            &kept
        }
        _ => return not_this(&DEFINITION, document),
    };
    for (index, &raw) in entries.iter().enumerate() {
        let instance = object::<Entry<'_>>(raw).and_then(convert);
        collector.take(Some(index), instance)?;
    }
    Ok(())
}

fn convert(entry: Entry<'_>) -> Result<Instance, FormatError> {
    let Some(address) = entry.address else { return missing("`address`") };
    let mut instance = Instance::new(address.string().at("address")?);
    if let Some(id) = entry.id {
        instance.id = id.string().at("id")?.into();
    }
    if let Some(weight) = entry.weight {
        instance.weight = number(weight).at("weight")?;
    }
    if let Some(zone) = entry.zone {
        instance.zone = Some(zone.string().at("zone")?.into());
    }
    if let Some(tags) = entry.tags {
        instance.tags = self::tags(&tags).at("tags")?;
    }
    instance.healthy = entry.healthy.unwrap_or(true);
    instance.enabled = entry.enabled.unwrap_or(true);
    instance.load = entry.load.map(number).transpose().at("load")?;
    instance.max_in_flight = entry.max_in_flight;
    instance.user_data = entry.user_data.unwrap_or(0);
    // Here the fields of the entry are those of the instance, so the path can name them.
    match instance.check(None) {
        Ok(()) => Ok(instance),
        Err(error) => {
            Err(FormatError::new(error.field(), format!("is {}; {}", error.offending(), error.limit())))
        }
    }
}

fn tags(members: &Members<'_>) -> Result<Tags, FormatError> {
    let mut pairs = Vec::new();
    for (key, value) in members.iter() {
        if value.kind() != Kind::List {
            pairs.push((key, value.string().at(&step(key))?));
            continue;
        }
        for (index, value) in read::<Vec<Raw<'_>>>(value).at(&step(key))?.into_iter().enumerate() {
            let value = value.string().map_err(|error| error.at(&format!("[{index}]")).at(&step(key)))?;
            pairs.push((key, value));
        }
    }
    Ok(pairs.into_iter().collect())
}

/// Writes instances as the plain format, one to a line.
///
/// [`parse`](super::parse) reads them back equal: numbers exactly, every tag with all its values. Fields with their
/// default value are left out. An instance that no pool takes (a weight that is NaN, say) is written as it is, and
/// refused when it is read.
///
/// Cost: O(length of the text).
///
/// ```
/// use pointsman::Instance;
/// use pointsman::format::{Options, parse, to_plain};
///
/// let instances = [Instance::new("10.0.0.1:8080").weight(0.1).tag("version", "stable")];
/// let text = to_plain(&instances);
/// assert_eq!(text, "[\n{\"address\":\"10.0.0.1:8080\",\"weight\":0.1,\"tags\":{\"version\":\"stable\"}}\n]\n");
/// assert_eq!(parse(&text, &Options::new())?.instances, instances);
/// # Ok::<(), pointsman::FormatError>(())
/// ```
pub fn to_plain(instances: &[Instance]) -> String {
    let lines = instances.iter().map(|instance| {
        serde_json::to_string(&Written(instance))
            .expect("maps with text keys are written to memory without an error")
    });
    match lines.collect::<Vec<String>>() {
        lines if lines.is_empty() => "[]\n".into(),
        lines => format!("[\n{}\n]\n", lines.join(",\n")),
    }
}

struct Written<'a>(&'a Instance);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Instance { id, address, weight, zone, tags, healthy, enabled, load, max_in_flight, user_data } =
            self.0;
        let mut map = serializer.serialize_map(None)?;
        if id != address {
            map.serialize_entry("id", &**id)?;
        }
        map.serialize_entry("address", &**address)?;
        serialize_number(&mut map, "weight", *weight)?;
        if let Some(zone) = zone {
            map.serialize_entry("zone", &**zone)?;
        }
        if !tags.is_empty() {
            map.serialize_entry("tags", &WrittenTags(tags))?;
        }
        for (field, value) in [("healthy", *healthy), ("enabled", *enabled)] {
            if !value {
                map.serialize_entry(field, &value)?;
            }
        }
        if let Some(load) = load {
            serialize_number(&mut map, "load", *load)?;
        }
        if let Some(limit) = max_in_flight {
            map.serialize_entry("max_in_flight", limit)?;
        }
        if *user_data != 0 {
            map.serialize_entry("user_data", user_data)?;
        }
        map.end()
    }
}

/// JSON has no NaN and no infinity, and serde_json writes null, which would be read as the default.
fn serialize_number<M: SerializeMap>(map: &mut M, field: &'static str, value: f64) -> Result<(), M::Error> {
    match value.is_finite() {
        true => map.serialize_entry(field, &value),
        false => map.serialize_entry(field, &value.to_string()),
    }
}

struct WrittenTags<'a>(&'a Tags);

impl Serialize for WrittenTags<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let pairs: Vec<(&str, &str)> = self.0.iter().collect();
        for pairs in pairs.chunk_by(|(one, _), (other, _)| one == other) {
            match pairs {
                [(key, value)] => map.serialize_entry(key, value)?,
                [(key, _), ..] => {
                    let values: Vec<&str> = pairs.iter().map(|(_, value)| *value).collect();
                    map.serialize_entry(key, &values)?;
                }
                [] => {}
            }
        }
        map.end()
    }
}
