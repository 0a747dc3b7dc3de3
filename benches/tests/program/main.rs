//! The program from the outside: what it prints, where, and how it ends.

mod arguments;
mod compare;
mod explain;
mod formats;
mod inspect;
mod load;
mod run;
mod simulate;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a call printed, and its exit status.
struct Said {
    out: String,
    err: String,
    status: i32,
}

impl Said {
    /// The output as JSON: one line, nothing on stderr.
    #[track_caller]
    fn json(&self) -> Value {
        assert_eq!((self.status, self.err.as_str()), (0, ""));
        assert_eq!(self.out.lines().count(), 1);
        serde_json::from_str(&self.out).unwrap()
    }

    /// The output for people: nothing on stderr, nothing wider than a terminal, no colours in a pipe.
    #[track_caller]
    fn text(&self) -> &str {
        assert_eq!((self.status, self.err.as_str()), (0, ""));
        for line in self.out.lines() {
            assert!(line.chars().count() <= 80, "{line:?}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        &self.out
    }

    /// The one line on stderr, without the program's name.
    #[track_caller]
    fn error(&self, status: i32) -> &str {
        assert_eq!(self.status, status, "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        self.err.trim_end().strip_prefix("pointsman: ").unwrap()
    }
}

fn pointsman(args: &[&str]) -> Said {
    fed(args, b"")
}

/// A call with this on its stdin.
fn fed(args: &[&str], input: &[u8]) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that ends before it has read everything closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Said {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// A sample document of the engine's own tests.
fn sample(name: &str) -> String {
    format!("{}/../core/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A file with this content, for one test.
fn file(name: &str, content: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
