//! Writes the commit into the extension, as the program does.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let changed = git(&["status", "--porcelain", "--untracked-files=no", ":/crates", ":/python/src"])
        .is_some_and(|s| !s.is_empty());
    println!("cargo::rustc-env=EQUIMARL_COMMIT={commit}{}", if changed { "-changed" } else { "" });
    for path in ["src", "Cargo.lock", "../crates"] {
        println!("cargo::rerun-if-changed={path}");
    }
}
