//! The one form of errors.

use std::borrow::Cow;
use std::ffi::c_char;
use std::fmt::{self, Write as _};

use pointsman::{FormatError, NoInstance, Reason, RouteError, UpdateError};

use crate::codes::{
    POINTSMAN_BAD_DOCUMENT, POINTSMAN_BAD_ENUM, POINTSMAN_BAD_SPEC, POINTSMAN_BAD_VALUE, POINTSMAN_DRAINED,
    POINTSMAN_EMPTY, POINTSMAN_EXCLUDED, POINTSMAN_NO_INDEX, POINTSMAN_NO_MATCH, POINTSMAN_NOT_FOUND,
    POINTSMAN_NULL, POINTSMAN_SATURATED, POINTSMAN_UNAVAILABLE, pointsman_result,
};

/// What went wrong, written by a call that fails. The caller's own, on the stack say; a call that succeeds leaves it alone.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pointsman_error {
    /// Size of the struct, set by `POINTSMAN_ERROR_INIT`.
    pub size: usize,
    /// What the call returned.
    pub code: pointsman_result,
    /// Where there is no instance: the branch of the split that came furthest. Else 0.
    pub branch: u32,
    /// The element of a list that is at fault, or the tier that came furthest where there is no instance. Else
    /// `POINTSMAN_NO_INDEX`.
    pub index: usize,
    /// The argument, the field or the place in a document that is at fault; may be empty. Ends in a zero byte.
    pub field: [c_char; 64],
    /// What is wrong, in English, with the value and the limit. Ends in a zero byte; a long one is cut.
    pub message: [c_char; 256],
}

/// Why a call did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Fault {
    /// No instance can take the request. Costs nothing to make.
    NoInstance(NoInstance),
    /// Anything else.
    Other(Box<Detail>),
}

#[derive(Debug)]
pub(crate) struct Detail {
    code: pointsman_result,
    index: Option<usize>,
    field: Cow<'static, str>,
    message: Cow<'static, str>,
}

impl Fault {
    #[cold]
    pub(crate) fn new(
        code: pointsman_result,
        field: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Other(Box::new(Detail { code, index: None, field: field.into(), message: message.into() }))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn null(field: &'static str) -> Self {
        Self::new(POINTSMAN_NULL, field, format!("{field} is NULL"))
    }

    #[cold]
    pub(crate) fn bad_enum(field: &'static str, value: i64) -> Self {
        Self::new(POINTSMAN_BAD_ENUM, field, format!("{field} is {value}, which is none of its values"))
    }

    #[cold]
    pub(crate) fn not_found(field: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(POINTSMAN_NOT_FOUND, field, message)
    }

    /// Says which element of a list is at fault, unless that is said already.
    pub(crate) fn at(mut self, index: usize) -> Self {
        if let Self::Other(detail) = &mut self {
            detail.index.get_or_insert(index);
        }
        self
    }

    pub(crate) fn code(&self) -> pointsman_result {
        match self {
            Self::NoInstance(refused) => reason_code(refused.reason),
            Self::Other(detail) => detail.code,
        }
    }
}

fn reason_code(reason: Reason) -> pointsman_result {
    match reason {
        Reason::Empty => POINTSMAN_EMPTY,
        Reason::NoMatch => POINTSMAN_NO_MATCH,
        Reason::Drained => POINTSMAN_DRAINED,
        Reason::Excluded => POINTSMAN_EXCLUDED,
        Reason::Saturated => POINTSMAN_SATURATED,
        // `Reason` may grow; a test compares its words with the codes.
        _ => POINTSMAN_UNAVAILABLE,
    }
}

impl From<NoInstance> for Fault {
    fn from(refused: NoInstance) -> Self {
        Self::NoInstance(refused)
    }
}

impl From<UpdateError> for Fault {
    fn from(error: UpdateError) -> Self {
        let missing =
            error.field() == "id" && error.index().is_none() && error.limit().contains("in the pool");
        Self::Other(Box::new(Detail {
            code: if missing { POINTSMAN_NOT_FOUND } else { POINTSMAN_BAD_VALUE },
            index: error.index(),
            field: error.field().into(),
            message: error.to_string().into(),
        }))
    }
}

impl From<RouteError> for Fault {
    fn from(error: RouteError) -> Self {
        Self::new(POINTSMAN_BAD_SPEC, error.path().to_owned(), error.to_string())
    }
}

impl From<FormatError> for Fault {
    fn from(error: FormatError) -> Self {
        Self::new(POINTSMAN_BAD_DOCUMENT, error.path().to_owned(), error.to_string())
    }
}

impl pointsman_error {
    pub(crate) fn of(fault: &Fault) -> Self {
        let mut error = Self {
            size: size_of::<Self>(),
            code: fault.code(),
            branch: 0,
            index: POINTSMAN_NO_INDEX,
            field: [0; 64],
            message: [0; 256],
        };
        match fault {
            Fault::NoInstance(refused) => {
                error.branch = refused.branch.into();
                error.index = refused.tier.into();
                fill(&mut error.message, refused);
            }
            Fault::Other(detail) => {
                error.index = detail.index.unwrap_or(POINTSMAN_NO_INDEX);
                fill(&mut error.field, &detail.field);
                fill(&mut error.message, &detail.message);
            }
        }
        error
    }
}

/// Writes the text, cut at a character's boundary, with a zero byte behind it. A zero byte inside becomes a question mark.
/// Takes no memory, so that the answer that there is no instance costs none.
fn fill(place: &mut [c_char], text: &(impl fmt::Display + ?Sized)) {
    if let Some((_, room)) = place.split_last_mut() {
        // An error says that the text was cut.
        let _ = write!(Room(room.iter_mut()), "{text}");
    }
}

/// The places that are not written yet.
struct Room<'a>(std::slice::IterMut<'a, c_char>);

impl fmt::Write for Room<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let part = cut(text, self.0.len());
        for (byte, place) in part.bytes().zip(&mut self.0) {
            *place = if byte == 0 { b'?' } else { byte } as c_char;
        }
        if part.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// At most so many bytes of the text, cut at a character's boundary.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut place = [1; 8];
        place[7] = 0;
        fill(&mut place, "aéééé");
        assert_eq!(place.map(|byte| byte as u8), *b"a\xc3\xa9\xc3\xa9\xc3\xa9\0");
    }

    #[test]
    fn every_reason_has_a_code() {
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason_code(reason), POINTSMAN_EMPTY + at as i32);
        }
    }
}
