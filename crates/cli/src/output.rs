//! What the command prints: aligned tables for people, one JSON object for scripts.

use anyhow::{Context, Result};
use equimarl_worlds::Statistic;
use serde_json::Value;
use std::io::{ErrorKind, Write};

/// Writes to standard output. A reader that went away (`| head`) is not an error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// This program as it was called, so that a command can be pasted: whoever came by `cargo run` has no `equimarl` on the path.
pub fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "equimarl".into())
}

/// Prints one JSON object on standard output.
pub fn print_json(value: &Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

/// A standard error; there is none of a single number.
pub fn stderr(of: &Statistic) -> String {
    if of.stderr.is_finite() { format!("{:.4}", of.stderr) } else { "-".into() }
}

/// A table with a heading: columns as wide as their widest cell, numbers to the right.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let columns = heading.len();
    let width = |c: usize| {
        let cells = rows.iter().map(|r| r[c].chars().count());
        cells.chain([heading[c].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |cells: Vec<&str>| {
        let cell = |(c, text): (usize, &&str)| {
            let gap = " ".repeat(widths[c].saturating_sub(text.chars().count()));
            let number = rows.iter().all(|r| r[c].starts_with(|x: char| x.is_ascii_digit() || x == '-'));
            if number { format!("{gap}{text}") } else { format!("{text}{gap}") }
        };
        let cells: Vec<String> = cells.iter().enumerate().map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let mut text = line(heading.to_vec());
    for row in rows {
        text += &line(row.iter().map(String::as_str).collect());
    }
    text
}
