//! Makes the header from the sources and compares it with the committed one, and makes the parts of the C tests that follow
//! from the list of functions.
//!
//! `POINTSMAN_UPDATE=1` writes the header. `POINTSMAN_GENERATED=DIR` names the place of the tests' parts.

#![allow(missing_docs)]

mod header;
mod null_calls;
mod source;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn generated() -> PathBuf {
    let place = std::env::var_os("POINTSMAN_GENERATED").map(PathBuf::from);
    let place = place.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated"));
    std::fs::create_dir_all(&place).expect("the directory can be made");
    place
}

#[test]
fn the_header_is_that_of_the_sources() {
    let made = header::make(&root());
    let path = root().join("include/pointsman.h");
    if std::env::var_os("POINTSMAN_UPDATE").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let line = made.lines().zip(committed.lines()).position(|(made, committed)| made != committed);
    assert!(
        made == committed,
        "include/pointsman.h differs from the sources at line {:?}; POINTSMAN_UPDATE=1 writes it",
        line.map(|line| line + 1)
    );
}

#[test]
fn the_calls_with_null_are_those_of_the_sources() {
    let calls = null_calls::make(&source::read(&root()));
    std::fs::write(generated().join("null_calls.inc"), calls).expect("the calls can be written");
}
