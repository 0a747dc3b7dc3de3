//! The README's table is that of the newest record.

use std::path::Path;
use std::process::Command;

#[test]
fn the_readme_shows_the_newest_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let said = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(["record", "--check"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}
