//! Texts that the library makes and the caller frees.

use std::ffi::{CStr, CString};

use serde::Serialize;

use crate::abi::{CText, OptHandle, exports};
use crate::error::Fault;

/// A text that the library made: JSON, which ends in a zero byte and holds none.
pub struct pointsman_string(CString);

impl pointsman_string {
    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Result<Self, Fault> {
        CString::new(text)
            .map(Self)
            .map_err(|_| Fault::new(crate::codes::POINTSMAN_BAD_VALUE, "", "the text holds a zero byte"))
    }

    pub(crate) fn json(value: &impl Serialize) -> Result<Self, Fault> {
        let text = serde_json::to_string(value)
            .map_err(|error| Fault::new(crate::codes::POINTSMAN_BAD_VALUE, "", error.to_string()))?;
        Self::new(text)
    }
}

exports! {
    /// The text, which ends in a zero byte; valid until the string is freed. NULL for NULL.
    plain fn pointsman_string_data(string: OptHandle<pointsman_string>) -> CText {
        string.map_or_else(CText::default, |string| CText::lend(&string.0))
    }

    /// Number of bytes before the zero byte. 0 for NULL.
    plain fn pointsman_string_len(string: OptHandle<pointsman_string>) -> usize {
        string.map_or(0, |string| CStr::to_bytes(&string.0).len())
    }

    /// Frees the string.
    free fn pointsman_string_free(string: pointsman_string);
}
