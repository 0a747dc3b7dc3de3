//! Text and bytes that C hands over.

use std::ffi::{c_char, c_void};

use crate::codes::{
    POINTSMAN_BAD_LENGTH, POINTSMAN_BAD_UTF8, POINTSMAN_MAX_NAME, POINTSMAN_MAX_TEXT, POINTSMAN_NULL,
};
use crate::error::Fault;

/// UTF-8 text: a pointer and a length in bytes. It need not end in a zero byte and may hold some. A NULL pointer with length
/// 0 means that nothing is given; a pointer to no bytes is the empty text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pointsman_str {
    /// The first byte.
    data: *const c_char,
    /// Number of bytes.
    len: usize,
}

/// Bytes of any kind, inside a struct.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Bytes(*const c_void);

impl pointsman_str {
    /// Nothing given.
    pub(crate) const NONE: Self = Self { data: std::ptr::null(), len: 0 };

    /// For C to read as long as the function's documentation says.
    pub(crate) fn lend(text: &str) -> Self {
        Self { data: text.as_ptr().cast(), len: text.len() }
    }

    /// The text, which must be given.
    #[inline]
    pub(crate) fn text(&self, field: &'static str) -> Result<&str, Fault> {
        self.within(field, POINTSMAN_MAX_NAME)?.ok_or_else(|| Fault::null(field))
    }

    /// The text, if it is given.
    #[inline]
    pub(crate) fn opt_text(&self, field: &'static str) -> Result<Option<&str>, Fault> {
        self.within(field, POINTSMAN_MAX_NAME)
    }

    /// Text that may be as long as a document, if it is given.
    pub(crate) fn opt_document(&self, field: &'static str) -> Result<Option<&str>, Fault> {
        self.within(field, POINTSMAN_MAX_TEXT)
    }

    #[inline]
    fn within(&self, field: &'static str, most: usize) -> Result<Option<&str>, Fault> {
        // SAFETY: the promise on which the module stands.
        let Some(bytes) = (unsafe { bytes(self.data.cast(), self.len, field, most) })? else {
            return Ok(None);
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Fault::new(
                POINTSMAN_BAD_UTF8,
                field,
                format!("{field} is not UTF-8 behind byte {}", error.valid_up_to()),
            )),
        }
    }
}

impl Default for pointsman_str {
    fn default() -> Self {
        Self::NONE
    }
}

impl Bytes {
    pub(crate) const NONE: Self = Self(std::ptr::null());

    /// The bytes, if they are given.
    pub(crate) fn get(&self, len: usize, field: &'static str) -> Result<Option<&[u8]>, Fault> {
        // SAFETY: the promise on which the module stands.
        unsafe { bytes(self.0.cast(), len, field, POINTSMAN_MAX_TEXT) }
    }
}

/// # Safety
///
/// `len` bytes can be read at `data`, unless it is NULL, for as long as the result is used.
#[inline]
unsafe fn bytes<'a>(
    data: *const u8,
    len: usize,
    field: &'static str,
    most: usize,
) -> Result<Option<&'a [u8]>, Fault> {
    if len > most {
        return Err(too_long(field, len, most));
    }
    if data.is_null() {
        return if len == 0 {
            Ok(None)
        } else {
            Err(Fault::new(POINTSMAN_NULL, field, null_with(field, len)))
        };
    }
    // SAFETY: not NULL; the caller's promise; `len` is far below `isize::MAX`.
    Ok(Some(unsafe { std::slice::from_raw_parts(data, len) }))
}

#[cold]
fn null_with(field: &str, len: usize) -> String {
    format!("{field} is NULL, of length {len}")
}

#[cold]
pub(super) fn too_long(field: &'static str, len: usize, most: usize) -> Fault {
    Fault::new(POINTSMAN_BAD_LENGTH, field, format!("{field} has length {len}, must be at most {most}"))
}
