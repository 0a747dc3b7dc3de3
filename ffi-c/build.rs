//! The SONAME, from the ABI number in `Cargo.toml`.

#![allow(missing_docs)]

fn main() {
    println!("cargo:rerun-if-changed=Cargo.toml");
    let manifest = std::fs::read_to_string("Cargo.toml").expect("Cargo.toml is beside build.rs");
    let abi = manifest
        .split("[package.metadata.capi.library]")
        .nth(1)
        .and_then(|section| section.split("version = \"").nth(1))
        .and_then(|rest| rest.split('.').next())
        .expect("package.metadata.capi.library has a version");
    println!("cargo:rustc-env=POINTSMAN_ABI={abi}");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpointsman.so.{abi}");
    }
}
