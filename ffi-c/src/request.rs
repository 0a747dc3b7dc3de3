//! Requests as C hands them over, made into Rust's without allocating where they are small.

use arrayvec::ArrayVec;
use pointsman::Request;

use crate::abi::{Answer, Bytes, Flag, Items, OptInput, Slot, pointsman_str, versioned};
use crate::codes::POINTSMAN_MAX_ITEMS;
use crate::error::Fault;
use crate::instance::{pair, pointsman_tag};

/// Elements of a list up to which a request stays on the stack.
const ON_STACK: usize = 32;

/// What the caller knows of the request that is to be sent. NULL in its place, and every field left out, means no
/// constraints.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pointsman_request {
    /// Size of the struct, set by `POINTSMAN_REQUEST_INIT`.
    pub size: usize,
    /// What the request is. Only keys that a tier's `match` names are read; tags with one key are alternatives.
    pub tags: Items<pointsman_tag>,
    /// Number of tags.
    pub tag_count: usize,
    /// What the instance must have, in every tier, for this pick; tags with one key are alternatives.
    pub require: Items<pointsman_tag>,
    /// Number of requirements.
    pub require_count: usize,
    /// Ids to keep away from. Up to 32 cost little.
    pub exclude: Items<pointsman_str>,
    /// Number of ids.
    pub exclude_count: usize,
    /// Bytes that a hash policy or a split by key uses; NULL is no key.
    pub key: Bytes,
    /// Number of bytes.
    pub key_len: usize,
    /// An id to take where it is eligible; may be left out.
    pub prefer: pointsman_str,
    /// Whether excluded instances may be taken as a last resort, which marks the pick.
    pub relax: Flag,
    /// Not used.
    pub reserved: [u8; 7],
}

versioned! {
    pointsman_request, first 96 bytes, set by POINTSMAN_REQUEST_INIT;
    size: 0,
    tags: Items::NONE,
    tag_count: 0,
    require: Items::NONE,
    require_count: 0,
    exclude: Items::NONE,
    exclude_count: 0,
    key: Bytes::NONE,
    key_len: 0,
    prefer: pointsman_str::NONE,
    relax: Flag::FALSE,
    reserved: [0; 7],
}

/// Up to [`ON_STACK`] elements on the stack, more on the heap.
enum Few<T> {
    Stack(ArrayVec<T, ON_STACK>),
    Heap(Vec<T>),
}

impl<T> Few<T> {
    fn collect<'a, C>(items: &'a [C], field: impl Fn(&'a C) -> Result<T, Fault>) -> Result<Self, Fault> {
        let all = items.iter().enumerate().map(|(at, item)| field(item).map_err(|fault| fault.at(at)));
        Ok(if items.len() <= ON_STACK {
            Self::Stack(all.collect::<Result<_, _>>()?)
        } else {
            Self::Heap(all.collect::<Result<_, _>>()?)
        })
    }

    fn as_slice(&self) -> &[T] {
        match self {
            Self::Stack(items) => items,
            Self::Heap(items) => items,
        }
    }
}

/// Hands the request over as Rust's, with the place of the answer. The shortest way where there is no request.
#[inline(always)]
pub(crate) fn answer<T: Copy>(
    request: OptInput<pointsman_request>,
    place: Slot<T>,
    f: impl FnOnce(&Request<'_>, Slot<T>) -> Answer,
) -> Answer {
    if request.is_null() { f(&const { Request::new() }, place) } else { answer_given(request, place, f) }
}

#[inline(never)]
fn answer_given<T: Copy>(
    request: OptInput<pointsman_request>,
    place: Slot<T>,
    f: impl FnOnce(&Request<'_>, Slot<T>) -> Answer,
) -> Answer {
    with(request, |request| Ok(f(request, place))).unwrap_or_else(|fault| place.refuse(fault))
}

/// Hands the request over as Rust's.
pub(crate) fn with<R>(
    request: OptInput<pointsman_request>,
    f: impl FnOnce(&Request<'_>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    match request.get("request")? {
        Some(request) => request.with(f),
        None => f(&Request::new()),
    }
}

impl pointsman_request {
    fn with<R>(&self, f: impl FnOnce(&Request<'_>) -> Result<R, Fault>) -> Result<R, Fault> {
        let tags = Few::collect(self.tags.get(self.tag_count, POINTSMAN_MAX_ITEMS, "tags")?, pair)?;
        let require = self.require.get(self.require_count, POINTSMAN_MAX_ITEMS, "require")?;
        let require = Few::collect(require, pair)?;
        let exclude = self.exclude.get(self.exclude_count, POINTSMAN_MAX_ITEMS, "exclude")?;
        let exclude = Few::collect(exclude, |id| id.text("exclude"))?;
        let mut request = Request::new()
            .tags(tags.as_slice())
            .require(require.as_slice())
            .exclude(exclude.as_slice())
            .relax(self.relax.get());
        if let Some(key) = self.key.get(self.key_len, "key")? {
            request = request.key(key);
        }
        if let Some(id) = self.prefer.opt_text("prefer")? {
            request = request.prefer(id);
        }
        f(&request)
    }
}
