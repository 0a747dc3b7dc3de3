//! The C interface of pointsman. `CONVENTIONS.md` says what holds for every function; the header, `include/pointsman.h`, is
//! made from this crate's sources.
//!
//! Everything `unsafe` is in `abi`: the macro `exports!`, which generates every exported function, and the types that C
//! hands over. The other modules are safe code on what `abi` has checked.

#![deny(unsafe_code)]
#![allow(non_camel_case_types, reason = "the names are those of the header")]
#![allow(unreachable_pub, reason = "C reaches them, and the header is made of what is public")]

#[allow(unsafe_code)]
mod abi;
mod codes;
mod discovery;
mod edit;
mod error;
mod instance;
mod lease;
mod options;
mod picker;
mod pool;
mod request;
mod route;
mod string;
mod version;

#[cfg(test)]
mod layout;
#[cfg(test)]
mod owners;
