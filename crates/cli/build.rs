//! Writes the commit into the binary, so that every result can say which code made it.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    // A change that is not committed makes other numbers than the commit would.
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no", ":/crates", ":/Cargo.lock", ":/Cargo.toml"])
            .is_some_and(|s| !s.is_empty());
    println!("cargo::rustc-env=EQUIMARL_COMMIT={commit}{}", if changed { "-changed" } else { "" });
    // All crates, and not only this one: a changed learner is another program, too.
    for path in ["..", "../../Cargo.toml", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Some(folder) = git(&["rev-parse", "--absolute-git-dir"]) {
        // HEAD changes on checkout, the log of HEAD on every commit.
        for file in ["HEAD", "logs/HEAD"] {
            let path = format!("{folder}/{file}");
            if std::path::Path::new(&path).exists() {
                println!("cargo::rerun-if-changed={path}");
            }
        }
    }
}
