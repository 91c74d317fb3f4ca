//! Small runs that tests train.

use crate::common::{equimarl, folder};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

/// Small runs with everything in them: metrics, checkpoints, evaluations.
pub const SMALL: [&str; 11] = [
    "train",
    "--preset",
    "paper",
    "--set",
    "checkpoint_every=240",
    "--set",
    "log_every=80",
    "--set",
    "evaluate_episodes=5",
    "--set",
    "evaluate_every=800",
];
/// The usual small run: a second or two, so that there is time to interrupt it.
pub const WILDLIFE: [&str; 2] = ["--steps", "12000"];

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub fn small<'a>(more: &[&'a str], out: &'a Path) -> Vec<&'a str> {
    [&SMALL[..], more, &["--out", text(out)]].concat()
}

/// Runs to the end.
pub fn finish(args: &[&str]) -> Output {
    let output = equimarl(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    output
}

/// The usual small run, never interrupted, on one thread.
pub fn whole() -> &'static Path {
    static RUN: OnceLock<PathBuf> = OnceLock::new();
    RUN.get_or_init(|| {
        let run = folder("train-whole").join("run");
        finish(&small(&[&WILDLIFE[..], &["--threads", "1", "--quiet"]].concat(), &run));
        run
    })
}
