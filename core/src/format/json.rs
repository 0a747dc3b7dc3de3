//! JSON read a layer at a time.
//!
//! A document is cut into its parts, and each part is kept as the text that stands there until somebody asks for it.
//! So a bad entry is refused alone, its path is known, and a number keeps its digits. The parser checks and skips a
//! part without recursion, and every layer is looked at a fixed number of times: depth costs no stack, and time is
//! linear in the length of the document.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::FormatError;

/// Longest piece of a document that a message repeats, in bytes.
pub(super) const SHOWN: usize = 80;

/// Longest message that is passed on from the parser or from a server, in bytes.
const MESSAGE: usize = 240;

/// A value as it stands in the document.
#[derive(Clone, Copy, Deserialize)]
#[serde(transparent)]
pub(super) struct Raw<'a>(#[serde(borrow)] &'a RawValue);

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
    Text,
    Number,
    Bool,
    Null,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::List => "a list",
            Self::Text => "text",
            Self::Number => "a number",
            Self::Bool => "true or false",
            Self::Null => "null",
        }
    }
}

impl<'a> Raw<'a> {
    pub(super) fn kind(self) -> Kind {
        match self.source().as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::Text,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// The value's JSON text.
    pub(super) fn source(self) -> &'a str {
        self.0.get()
    }

    /// The value's JSON text, cut to what fits a message.
    pub(super) fn shown(self) -> Cow<'a, str> {
        cut(self.source(), SHOWN)
    }

    /// Text without its quotes and escapes.
    pub(super) fn string(self) -> Result<Cow<'a, str>, FormatError> {
        let source = self.source();
        if self.kind() != Kind::Text {
            return Err(FormatError::new(".", format!("must be text, not {}", self.kind().as_str())));
        }
        match source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inside) if !inside.contains('\\') => Ok(Cow::Borrowed(inside)),
            _ => read::<String>(self).map(Cow::Owned),
        }
    }
}

/// The members of an object in the order of the document.
///
/// A key that stands twice is kept twice, so that nothing is lost unseen; [`get`](Self::get) answers with the last.
#[derive(Default)]
pub(super) struct Members<'a>(Vec<(String, Raw<'a>)>);

impl<'a> Members<'a> {
    /// The value of a key, unless it is null.
    pub(super) fn get(&self, key: &str) -> Option<Raw<'a>> {
        let (_, value) = self.0.iter().rev().find(|(name, _)| name == key)?;
        (value.kind() != Kind::Null).then_some(*value)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| name == key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// Keeps the members whose key passes.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(key, _)| keep(key));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), *value))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A document, cut into its outermost parts.
pub(super) struct Document<'a> {
    pub(super) raw: Raw<'a>,
    pub(super) parts: Parts<'a>,
}

/// The parts of a document.
pub(super) enum Parts<'a> {
    Object(Members<'a>),
    List(Vec<Raw<'a>>),
    Other,
}

impl<'a> Document<'a> {
    /// Checks that the text is JSON and cuts it.
    pub(super) fn read(text: &'a str) -> Result<Self, FormatError> {
        let refuse = |message: String| Err(FormatError::new(".", message));
        // RFC 8259, section 8.1: a parser may ignore a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let start = text.trim_start();
        if start.is_empty() {
            return refuse("the document is empty".into());
        }
        if start.starts_with('<') {
            return refuse(
                "the document is XML or HTML; ask the registry for JSON (Eureka: the header `Accept: application/json`)"
                    .into(),
            );
        }
        match serde_json::from_str::<Raw<'_>>(text) {
            Ok(raw) => {
                let parts = match raw.kind() {
                    Kind::Object => Parts::Object(read(raw)?),
                    Kind::List => Parts::List(read(raw)?),
                    _ => Parts::Other,
                };
                Ok(Self { raw, parts })
            }
            // A server's complaint in plain words says more than the parser's.
            Err(error) if !start.starts_with(['{', '[']) => {
                refuse(format!("not JSON: {error}; the document begins with {:?}", cut(start, SHOWN)))
            }
            Err(error) => refuse(format!("not JSON: {error}")),
        }
    }
}

/// Reads a part as a type. The path of the error begins at the part.
pub(super) fn read<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<T, FormatError> {
    serde_json::from_str(raw.source()).map_err(|error| explain::<T>(raw, &error))
}

/// Reads an object as a type. Without the check, serde takes a list for the fields in their order.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<T, FormatError> {
    match raw.kind() {
        Kind::Object => read(raw),
        kind => Err(FormatError::new(".", format!("must be an object, not {}", kind.as_str()))),
    }
}

/// Reads the part once more, following the path, which costs too much to do it for entries that are right.
#[cold]
fn explain<'a, T: Deserialize<'a>>(raw: Raw<'a>, error: &serde_json::Error) -> FormatError {
    let mut parser = serde_json::Deserializer::from_str(raw.source());
    let path = match serde_path_to_error::deserialize::<_, T>(&mut parser) {
        Ok(_) => ".".to_owned(),
        Err(error) => error.path().to_string(),
    };
    // Line and column count from the start of the part, which nobody sees.
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    FormatError::new(cut(&path, MESSAGE), cut(message, MESSAGE))
}

/// The list at a part, empty where it is missing or null: Go's empty lists are null in JSON.
pub(super) fn list<'a>(raw: Option<Raw<'a>>) -> Result<Vec<Raw<'a>>, FormatError> {
    match raw {
        None => Ok(Vec::new()),
        Some(raw) if raw.kind() == Kind::List => read(raw),
        Some(raw) => Err(FormatError::new(".", format!("must be a list, not {}", raw.kind().as_str()))),
    }
}

/// A message from a server, cut.
pub(super) fn message(raw: Option<Raw<'_>>) -> Option<String> {
    let raw = raw?;
    let text = raw.string().unwrap_or_else(|_| raw.source().into());
    Some(cut(&text, MESSAGE).into_owned())
}

/// The text, cut at a character boundary.
pub(super) fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return text.into();
    }
    let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default()).into()
}

/// Errors whose path grows outwards, from the value to the document.
pub(super) trait At {
    /// Puts a step (`name`, `name.name`, `[3]`) before the path.
    fn at(self, step: &str) -> Self;
}

impl At for FormatError {
    fn at(self, step: &str) -> Self {
        let path = join(step, self.path());
        Self::new(path, self.message())
    }
}

impl<T> At for Result<T, FormatError> {
    fn at(self, step: &str) -> Self {
        self.map_err(|error| error.at(step))
    }
}

pub(crate) fn join(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        (outer, ".") => outer.into(),
        (".", inner) => inner.into(),
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    }
}

/// A key as a step of a path: in brackets and quotes where it could be taken for several steps.
pub(crate) fn step(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$' | '@');
    match key {
        key if !key.is_empty() && key.len() <= SHOWN && key.chars().all(bare) => key.into(),
        key => format!("[{:?}]", cut(key, SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_grow_outwards() {
        let error = FormatError::new(".", "x").at("weight").at("[3]").at("hosts").at(".");
        assert_eq!(error.path(), "hosts[3].weight");
        assert_eq!(FormatError::new(".", "x").at(&step("a.b")).at("metadata").path(), "metadata[\"a.b\"]");
        assert_eq!(step("cpu-usage"), "cpu-usage");
        assert_eq!(step(""), "[\"\"]");
    }

    #[test]
    fn the_path_of_a_type_error_is_found_through_kept_parts() {
        #[derive(Deserialize)]
        struct Outer<'a> {
            #[serde(borrow)]
            _kept: Raw<'a>,
            _inner: Vec<Inner>,
        }
        #[derive(Deserialize)]
        struct Inner {
            _number: u8,
        }
        let text = r#"{"_kept": {"any": [1, 2]}, "_inner": [{"_number": 1}, {"_number": "x"}]}"#;
        let document = Document::read(text).ok().unwrap();
        let error = read::<Outer<'_>>(document.raw).err().unwrap();
        assert_eq!(error.path(), "_inner[1]._number");
        assert_eq!(error.message(), "invalid type: string \"x\", expected u8");
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("aéé", 2), "a…");
        assert_eq!(cut("aéé", 5), "aéé");
    }
}
