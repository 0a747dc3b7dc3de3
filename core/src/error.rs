//! Errors. Each carries the value that was refused, where it was, and the limit it broke.

use std::fmt;

use serde::Serialize;

/// Longest excerpt of an offending value that an error keeps, in bytes.
const EXCERPT: usize = 120;

/// An update was refused. The pool is as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateError {
    instance: Option<Box<str>>,
    index: Option<usize>,
    field: &'static str,
    value: Box<str>,
    limit: Box<str>,
}

impl UpdateError {
    pub(crate) fn value(
        instance: &str,
        index: Option<usize>,
        field: &'static str,
        value: impl AsRef<str>,
        limit: impl Into<Box<str>>,
    ) -> Self {
        Self {
            instance: Some(excerpt(instance)),
            index,
            field,
            value: excerpt(value.as_ref()),
            limit: limit.into(),
        }
    }

    /// A refusal that concerns the list or the pool as a whole.
    pub(crate) fn whole(field: &'static str, value: impl AsRef<str>, limit: impl Into<Box<str>>) -> Self {
        Self { instance: None, index: None, field, value: excerpt(value.as_ref()), limit: limit.into() }
    }

    /// The id of the instance, where one instance is at fault.
    pub fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }

    /// The instance's position in the list that was handed over, where it came in a list.
    pub fn index(&self) -> Option<usize> {
        self.index
    }

    /// The field at fault.
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// The value that was refused, as text, long ones cut.
    pub fn offending(&self) -> &str {
        &self.value
    }

    /// The rule that it broke.
    pub fn limit(&self) -> &str {
        &self.limit
    }
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(instance) = &self.instance {
            write!(f, "instance {instance:?}")?;
            if let Some(index) = self.index {
                write!(f, " (number {index} of the list)")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{} is {}, {}", self.field, self.value, self.limit)
    }
}

impl std::error::Error for UpdateError {}

/// A route spec or a pool spec was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError {
    path: Box<str>,
    message: Box<str>,
}

impl RouteError {
    pub(crate) fn new(path: impl Into<Box<str>>, message: impl Into<Box<str>>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// Where in the spec, `tiers[1].min_available_percent` say; `.` is the spec as a whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong there, with the value and the limit.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_at(f, &self.path, &self.message)
    }
}

impl std::error::Error for RouteError {}

/// A pool could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// Its spec was refused.
    Spec(RouteError),
    /// Its first list was refused.
    Update(UpdateError),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(error) => error.fmt(f),
            Self::Update(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PoolError {}

impl From<RouteError> for PoolError {
    fn from(error: RouteError) -> Self {
        Self::Spec(error)
    }
}

impl From<UpdateError> for PoolError {
    fn from(error: UpdateError) -> Self {
        Self::Update(error)
    }
}

/// A discovery document was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    path: Box<str>,
    message: Box<str>,
}

impl FormatError {
    pub(crate) fn new(path: impl Into<Box<str>>, message: impl Into<Box<str>>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// Where in the document, `hosts[3].weight` say; `.` is the document as a whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong there, with the value and the limit.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_at(f, &self.path, &self.message)
    }
}

impl std::error::Error for FormatError {}

/// Why no instance could be picked: the furthest that any tier came, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The pool has no instances.
    Empty,
    /// No instance has what the tier and the request ask for.
    NoMatch,
    /// Some match, but too few of them are available.
    Unavailable,
    /// Some match, and every one has weight zero.
    Drained,
    /// Some are available, and the request excludes them all.
    Excluded,
    /// Some are available and not excluded, and each has as many requests in flight as it takes.
    Saturated,
}

impl Reason {
    /// Every reason, in order.
    pub const ALL: [Self; 6] =
        [Self::Empty, Self::NoMatch, Self::Unavailable, Self::Drained, Self::Excluded, Self::Saturated];

    /// The word used in JSON, C and Python.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NoMatch => "no_match",
            Self::Unavailable => "unavailable",
            Self::Drained => "drained",
            Self::Excluded => "excluded",
            Self::Saturated => "saturated",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the pool is empty",
            Self::NoMatch => "no instance matches",
            Self::Unavailable => "no matching instance is available",
            Self::Drained => "every matching instance has weight zero",
            Self::Excluded => "every available instance is excluded",
            Self::Saturated => "every available instance is at its limit of requests in flight",
        })
    }
}

/// No instance can take the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NoInstance {
    /// The furthest that any tier came.
    pub reason: Reason,
    /// The first tier that came so far, by its position in the branch.
    pub tier: u16,
    /// The branch of the split; 0 where the route has none.
    pub branch: u16,
}

impl fmt::Display for NoInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no instance: {} (tier {})", self.reason, self.tier)
    }
}

impl std::error::Error for NoInstance {}

/// The text, cut at a character boundary.
fn excerpt(text: &str) -> Box<str> {
    if text.len() <= EXCERPT {
        return text.into();
    }
    let end = (0..=EXCERPT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}…", &text[..end]).into()
}

/// The message behind its place; the document as a whole needs no name.
fn write_at(f: &mut fmt::Formatter<'_>, path: &str, message: &str) -> fmt::Result {
    if path == "." { f.write_str(message) } else { write!(f, "{path}: {message}") }
}
