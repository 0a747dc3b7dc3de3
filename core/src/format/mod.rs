//! Discovery documents to instances.
//!
//! A registry answers "who serves this?" with a document of its own kind. [`parse`] recognises it, or takes it for what
//! the caller says, and returns the instances with a [`Report`] on what was merged and left out.
//!
//! | format | document | weight | zone | healthy and enabled |
//! |---|---|---|---|---|
//! | `nacos` | instance lists of 1.x, 2.x and 3.x | `weight` | metadata `zone`, else `clusterName` | `healthy`, `enabled` |
//! | `consul` | `/v1/health/service/:name` | `Weights` | `Meta` `zone` | checks, maintenance |
//! | `kubernetes` | `EndpointSlice`, `EndpointSliceList` | 1 | `zone` | `ready`, `serving`, `terminating` |
//! | `eureka` | applications as JSON | metadata `weight` | metadata `zone` | `status` |
//! | `spring` | lists of `ServiceInstance` | metadata `nacos.weight`, `weight` | metadata `zone` | metadata `nacos.healthy` |
//! | `plain` | pointsman's own list | `weight` | `zone` | `healthy`, `enabled` |
//!
//! The same in every format but plain:
//!
//! - The id is the address, `host:port`, with IPv6 in brackets and in its shortest form. The registry's own id is the
//!   tag `instance-id`.
//! - Entries with one address become one instance: the available one (healthy, enabled, weight above zero) wins, then
//!   the first. The report names the other.
//! - Metadata becomes tags. A number, true and false are the text that stands in the document, a list is several
//!   values, null is no tag, and an object is refused. The key `zone` is the zone too, unless it is empty. A key that
//!   metadata and the registry both give holds both values.
//! - A weight is a number or numeric text. Where the entry has none of its own, metadata `weight` counts, else it is 1.
//! - Unknown fields are ignored, null is missing, and numbers and flags may come as text.
//!
//! In every format, one bad entry refuses the list, with its JSON path: a list that is half understood would shift
//! traffic without a word. [`Options::lenient`] leaves bad entries out instead and lists them. What the registry
//! answers in place of a list is an error with its own message.
//!
//! ```
//! use pointsman::format::{Format, Options, parse};
//!
//! let text = r#"{"hosts": [
//!     {"ip": "10.0.0.1", "port": 8080, "weight": 2, "healthy": true, "metadata": {"version": "gray", "cpu": "0.4"}},
//!     {"ip": "2001:db8::1", "port": 8080, "healthy": false}]}"#;
//! let discovered = parse(text, &Options::new().load_key("cpu"))?;
//!
//! assert_eq!(discovered.report.format, Format::Nacos);
//! assert_eq!(&*discovered.instances[0].id, "10.0.0.1:8080");
//! assert_eq!(discovered.instances[0].load, Some(0.4));
//! assert_eq!(&*discovered.instances[1].id, "[2001:db8::1]:8080");
//!
//! let error = parse(r#"{"hosts": [{"ip": "10.0.0.1", "port": 8080, "weight": "NaN"}]}"#, &Options::new());
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "hosts[0].weight: \"NaN\" is not a number; must be finite and not negative",
//! );
//! # Ok::<(), pointsman::FormatError>(())
//! ```

mod collect;
mod consul;
mod eureka;
mod fields;
mod json;
mod kubernetes;
mod nacos;
mod options;
mod plain;
mod report;
mod spring;

pub(crate) use json::{join, step};
pub use options::{AddressFamily, Format, Options};
pub use plain::to_plain;
pub use report::{Discovered, Ignored, Merged, Report};

use self::collect::{Collector, Repeated};
use self::json::{Document, Kind, Members, Parts, SHOWN, cut, message, read};
use crate::error::FormatError;

/// A format: how it is recognised and how it is read.
struct Definition {
    format: Format,
    /// What it looks like, for the error that nothing was recognised.
    shape: &'static str,
    /// Whether an object is such a document.
    document: fn(&Members<'_>) -> bool,
    /// Whether an element of a list is such an entry.
    entry: fn(&Members<'_>) -> bool,
    /// The options that it uses, of those that a format may have no use for.
    options: &'static [&'static str],
    repeated: Repeated,
    read: fn(&Document<'_>, &Options, &mut Collector) -> Result<(), FormatError>,
}

/// Every format, in the order in which a document is compared with them.
static DEFINITIONS: [Definition; 6] = [
    nacos::DEFINITION,
    consul::DEFINITION,
    kubernetes::DEFINITION,
    eureka::DEFINITION,
    spring::DEFINITION,
    plain::DEFINITION,
];

/// Reads a discovery document.
///
/// [`Format::Auto`] tells the format from the names of the fields: those of the document, or of the first entry that
/// has names some format knows. An empty list looks the same in several formats and is read as plain. A named format
/// is not guessed at, and a document of another kind is refused with the kind that it looks like.
///
/// Guarantees: a list that is returned obeys the rules of a pool, value by value, in the order of the document. The
/// same text and options give the same result.
///
/// Cost: O(length of the text) time and memory, however the text is nested and however often an address repeats; a
/// tag list of k pairs is sorted, O(k log k).
///
/// ```
/// use pointsman::format::{Format, Options, parse};
///
/// let discovered = parse(r#"[{"address": "10.0.0.1:8080", "weight": 2}]"#, &Options::new())?;
/// assert_eq!(discovered.report.format, Format::Plain);
/// assert_eq!(discovered.instances[0].weight, 2.0);
/// # Ok::<(), pointsman::FormatError>(())
/// ```
///
/// # Errors
///
/// Text that is no JSON, with line and column; XML; a document of no known format, with what was looked for; a
/// server's error in place of a list, with its message; a document with several services where none is named; and,
/// unless [`Options::lenient`] is set, the first bad entry, with the path and the value.
///
/// # Panics
///
/// Never.
pub fn parse(text: &str, options: &Options) -> Result<Discovered, FormatError> {
    let document = Document::read(text)?;
    let definition = choose(&document, options.format)?;
    let mut collector = Collector::new(options.lenient, definition.repeated);
    (definition.read)(&document, options, &mut collector)?;
    note_options(definition, options, &mut collector);
    Ok(collector.finish(definition.format))
}

/// Reads a discovery document from bytes, which must be UTF-8. Otherwise as [`parse`], at the same cost.
///
/// ```
/// use pointsman::format::{Options, parse_bytes};
///
/// let error = parse_bytes(b"[{\"address\": \"\xff\"}]", &Options::new()).unwrap_err();
/// assert_eq!(error.message(), "not UTF-8 from byte 14 on (counted from 0)");
/// ```
///
/// # Errors
///
/// The position of the first byte that is not UTF-8, and those of [`parse`].
///
/// # Panics
///
/// Never.
pub fn parse_bytes(bytes: &[u8], options: &Options) -> Result<Discovered, FormatError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text, options),
        Err(error) => {
            let at = error.valid_up_to();
            Err(FormatError::new(".", format!("not UTF-8 from byte {at} on (counted from 0)")))
        }
    }
}

/// The format that is named, or the one that is recognised.
fn choose(document: &Document<'_>, named: Format) -> Result<&'static Definition, FormatError> {
    let empty = matches!(&document.parts, Parts::List(entries) if entries.is_empty());
    let wanted = if named == Format::Auto && empty { Format::Plain } else { named };
    let wanted = DEFINITIONS.iter().find(|definition| definition.format == wanted);
    match (wanted, recognise(document, wanted)) {
        (Some(wanted), Some(other)) if other.format != wanted.format => {
            let message = format!("not {}; it looks like {}", wanted.shape, other.shape);
            Err(FormatError::new(".", message))
        }
        (Some(definition), _) | (None, Some(definition)) => Ok(definition),
        (None, None) => Err(unrecognised(document)),
    }
}

/// The first format that fits; the one that is wanted before all others.
fn recognise(document: &Document<'_>, wanted: Option<&'static Definition>) -> Option<&'static Definition> {
    let first = |fits: &dyn Fn(&Definition) -> bool| {
        wanted.into_iter().chain(&DEFINITIONS).find(|definition| fits(definition))
    };
    match &document.parts {
        Parts::Object(members) => first(&|definition| (definition.document)(members)),
        Parts::List(entries) => {
            entries.iter().filter(|entry| entry.kind() == Kind::Object).find_map(|&entry| {
                let members = read::<Members<'_>>(entry).ok()?;
                first(&|definition| (definition.entry)(&members))
            })
        }
        Parts::Other => None,
    }
}

/// The error that no format fits: what was looked for, and what is there.
fn unrecognised(document: &Document<'_>) -> FormatError {
    let shapes: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.shape).collect();
    let found = match &document.parts {
        Parts::Object(members) => server_error(members).unwrap_or_else(|| found(document)),
        _ => found(document),
    };
    FormatError::new(".", format!("no known format: looked for {}; found {found}", shapes.join(", ")))
}

/// The error that a document has not the shape of the format that it is read as.
fn not_this(definition: &Definition, document: &Document<'_>) -> Result<(), FormatError> {
    Err(FormatError::new(".", format!("not {}; found {}", definition.shape, found(document))))
}

/// What a document is, in a few words.
fn found(document: &Document<'_>) -> String {
    match &document.parts {
        Parts::Object(members) => {
            format!("an object with {}", names(&members.keys().take(NAMES + 1).collect::<Vec<_>>()))
        }
        Parts::List(entries) => match entries.first() {
            None => "an empty list".into(),
            Some(first) => format!("a list that begins with {}", first.shown()),
        },
        Parts::Other => document.raw.kind().as_str().into(),
    }
}

/// The words of an error body, as the frameworks behind the registries write it.
fn server_error(members: &Members<'_>) -> Option<String> {
    let text = |key| message(members.get(key));
    let said = text("message").or_else(|| text("error"))?;
    match text("status").or_else(|| text("code")) {
        Some(status) => Some(format!("an error with status {status}: {said}")),
        None => Some(format!("an error: {said}")),
    }
}

/// Most names that a message lists.
const NAMES: usize = 20;

/// Names for a message, so many at most.
fn names(all: &[impl AsRef<str>]) -> String {
    let mut list: Vec<String> =
        all.iter().take(NAMES).map(|name| format!("{:?}", cut(name.as_ref(), SHOWN))).collect();
    if all.len() > NAMES {
        list.push("others".into());
    }
    list.join(", ")
}

/// Notes the options that changed nothing.
fn note_options(definition: &Definition, options: &Options, collector: &mut Collector) {
    for option in options.set().filter(|option| !definition.options.contains(option)) {
        collector.note(format!("the option {option} has no use in {} documents", definition.format));
    }
    if let Some(key) = options.load_key.as_deref().filter(|_| definition.options.contains(&"load_key")) {
        let taken = collector.instances().next().is_some();
        if taken && collector.instances().all(|instance| instance.load.is_none()) {
            collector.note(format!("no instance has the metadata key {:?} for its load", cut(key, SHOWN)));
        }
    }
}
