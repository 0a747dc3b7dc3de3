//! Tells the program which compiler built it, for the records of what it measures.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let said = Command::new(rustc).arg("--version").output();
    let version =
        said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=POINTSMAN_COMPILER={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
