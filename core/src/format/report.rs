//! What was taken from a document, and what was not.

use serde::Serialize;

use super::options::Format;
use crate::instance::Instance;

/// The instances of a document, in its order, and the report on how they came about.
///
/// A pool takes the instances as they are: every value obeys the rules of [`Instance`], and no id stands twice.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Discovered {
    /// The instances.
    pub instances: Vec<Instance>,
    /// What happened on the way.
    pub report: Report,
}

/// What was taken from a document, and what was not. Serializes to JSON with the same words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The format that was named or recognised, never [`Format::Auto`].
    pub format: Format,
    /// How many instances were taken.
    pub taken: usize,
    /// Entries that gave way to another with the same address.
    pub merged: Vec<Merged>,
    /// Entries that were left out because they are bad, and slices of the other address family.
    pub ignored: Vec<Ignored>,
    /// What the caller should know besides.
    pub notes: Vec<String>,
}

/// An entry that gave way to another with the same address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Merged {
    /// The address that both have, which is the instance's id.
    pub address: String,
    /// Where the entry stands that became the instance, `hosts[0]` say.
    pub kept: String,
    /// Where the entry stands that gave way.
    pub dropped: String,
}

/// A part of the document that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ignored {
    /// Where it stands, down to the value at fault: `hosts[3].weight` say.
    pub path: String,
    /// Why.
    pub reason: String,
}
