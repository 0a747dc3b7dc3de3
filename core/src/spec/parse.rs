//! JSON to specs, with the place of an error.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_path_to_error::{Path, Segment};

use crate::error::RouteError;
use crate::format::{join, step};

/// Reads a spec; the error's path is the place in the document.
pub(crate) fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, RouteError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let spec: Object<T> = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| RouteError::new(place(error.path()), error.inner().to_string()))?;
    json.end().map_err(|error| RouteError::new(".", error.to_string()))?;
    Ok(spec.0)
}

/// The place in the document, with keys as discovery documents' places have them.
fn place(path: &Path) -> String {
    path.iter().fold(".".into(), |place, segment| {
        let inner = match segment {
            Segment::Seq { index } => format!("[{index}]"),
            Segment::Map { key } | Segment::Enum { variant: key } => step(key),
            Segment::Unknown => "?".into(),
        };
        join(&place, &inner)
    })
}

/// What is written as an object. By itself a struct may be written as an array of its fields in order, which would bind
/// documents to that order.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// For a field that is an object.
pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|object| object.0)
}

/// For a field that is an object or null.
pub(super) fn optional_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::<Object<T>>::deserialize(deserializer).map(|object| object.map(|object| object.0))
}

/// For a field that is a list of objects.
pub(super) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(list.into_iter().map(|object| object.0).collect())
}
