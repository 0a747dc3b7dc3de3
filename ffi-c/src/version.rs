//! What the library says of itself.

use std::ffi::CStr;

use crate::abi::{CText, exports};
use crate::codes::{
    POINTSMAN_BAD_DOCUMENT, POINTSMAN_BAD_ENUM, POINTSMAN_BAD_LENGTH, POINTSMAN_BAD_SIZE, POINTSMAN_BAD_SPEC,
    POINTSMAN_BAD_UTF8, POINTSMAN_BAD_VALUE, POINTSMAN_DRAINED, POINTSMAN_EMPTY, POINTSMAN_EXCLUDED,
    POINTSMAN_NO_MATCH, POINTSMAN_NOT_FOUND, POINTSMAN_NULL, POINTSMAN_OK, POINTSMAN_PANIC,
    POINTSMAN_SATURATED, POINTSMAN_UNAVAILABLE, pointsman_result,
};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

exports! {
    /// The version of the library that runs, `POINTSMAN_VERSION` of its own header. Never NULL, never freed.
    plain fn pointsman_version() -> CText {
        CText::lend(VERSION)
    }

    /// The ABI's number of the library that runs, `POINTSMAN_ABI` of its own header.
    plain fn pointsman_abi() -> u32 {
        env!("POINTSMAN_ABI").parse().unwrap_or(0)
    }

    /// The name of a result, `POINTSMAN_OK` say. Never NULL, never freed.
    plain fn pointsman_result_name(result: pointsman_result) -> CText {
        CText::lend(name(result))
    }
}

macro_rules! names {
    ($result:expr, $($code:ident),* $(,)?) => {
        match $result {
            $($code => const {
                match CStr::from_bytes_with_nul(concat!(stringify!($code), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                }
            },)*
            _ => c"(not a pointsman_result)",
        }
    };
}

fn name(result: pointsman_result) -> &'static CStr {
    names!(
        result,
        POINTSMAN_OK,
        POINTSMAN_NULL,
        POINTSMAN_BAD_SIZE,
        POINTSMAN_BAD_ENUM,
        POINTSMAN_BAD_UTF8,
        POINTSMAN_BAD_LENGTH,
        POINTSMAN_BAD_VALUE,
        POINTSMAN_NOT_FOUND,
        POINTSMAN_BAD_SPEC,
        POINTSMAN_BAD_DOCUMENT,
        POINTSMAN_PANIC,
        POINTSMAN_EMPTY,
        POINTSMAN_NO_MATCH,
        POINTSMAN_UNAVAILABLE,
        POINTSMAN_DRAINED,
        POINTSMAN_EXCLUDED,
        POINTSMAN_SATURATED,
    )
}
