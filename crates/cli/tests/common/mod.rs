//! Runs the command as a user or a script would.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

pub fn equimarl(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_equimarl")).args(args).output().unwrap()
}

/// The exit code and the one JSON object on standard output.
pub fn answer(args: &[&str]) -> (i32, Value) {
    let output = equimarl(&[args, &["--json"]].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert!(value.is_object());
    (output.status.code().unwrap(), value)
}

/// The answer of a command that does what was asked.
#[allow(dead_code)]
pub fn json(args: &[&str]) -> Value {
    let (code, value) = answer(args);
    assert_eq!(code, 0, "{value}");
    value
}

/// Wrong input: exit code 2, nothing on standard output, and one line that says `part`.
#[allow(dead_code)]
pub fn refuses(args: &[&str], part: &str) {
    let output = equimarl(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: ") && error.contains(part), "{args:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// An empty folder for one test.
#[allow(dead_code)]
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
