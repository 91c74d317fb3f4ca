//! `equimarl bench`: how fast it is, on this machine, now.

mod network;
mod train;
mod worlds;

use crate::output::{print, print_json, table};
use crate::provenance;
use crate::waiting::{Waiting, grouped};
use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Subcommand)]
pub enum Bench {
    /// Steps per second of the worlds on one core, with images painted and with ids only.
    Worlds(Args),
    /// Milliseconds of one training minibatch (forward, backward, Adam) of 20 states, and of one decision.
    Network(Args),
    /// Environment steps per second of training with the paper's preset, evaluation off, on one thread.
    Train(TrainArgs),
}

#[derive(ClapArgs)]
pub struct TrainArgs {
    #[command(flatten)]
    usual: Args,
    /// Threads [default: 1, or RAYON_NUM_THREADS].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

#[derive(ClapArgs)]
pub struct Args {
    /// How long to measure each line.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true)]
    seconds: f64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// One measured number.
pub struct Line {
    name: String,
    value: f64,
    unit: &'static str,
    note: String,
    /// Where the time goes: parts, and their share of the whole.
    shares: Vec<(&'static str, f64)>,
}

/// Durations as shares of their sum.
fn shares(parts: &[(&'static str, Duration)]) -> Vec<(&'static str, f64)> {
    let all: Duration = parts.iter().map(|(_, time)| *time).sum();
    parts.iter().map(|(name, time)| (*name, time.as_secs_f64() / all.as_secs_f64().max(1e-9))).collect()
}

impl Bench {
    pub fn run(self) -> Result<ExitCode> {
        let waiting = Waiting::for_("measuring", None);
        let (lines, json) = match self {
            Bench::Worlds(args) => (worlds::run(args.seconds)?, args.json),
            Bench::Train(args) => (train::run(args.usual.seconds, args.threads)?, args.usual.json),
            Bench::Network(args) => (network::run(args.seconds)?, args.json),
        };
        drop(waiting);
        let machine = provenance::machine();
        if json {
            let results: Vec<_> = lines
                .iter()
                .map(
                    |l| json!({ "name": l.name, "value": l.value, "unit": l.unit, "shares": map(&l.shares) }),
                )
                .collect();
            print_json(&json!({ "results": results, "machine": machine, "commit": provenance::COMMIT }))?;
        } else {
            let rows: Vec<Vec<String>> = lines
                .iter()
                .map(|l| {
                    vec![l.name.clone(), number(l.value), l.unit.into(), l.note.clone(), percent(&l.shares)]
                })
                .collect();
            let text = |key: &str| machine[key].as_str().unwrap_or("").to_string();
            let origin =
                format!("\ncommit {}, {}, kernels with {}\n", provenance::COMMIT, text("cpu"), text("simd"));
            print(&(table(&["name", "value", "unit", "", "where the time goes"], &rows) + &origin))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn map(shares: &[(&'static str, f64)]) -> serde_json::Map<String, serde_json::Value> {
    shares.iter().map(|(name, share)| (name.to_string(), json!(share))).collect()
}

fn percent(shares: &[(&'static str, f64)]) -> String {
    let parts = shares.iter().map(|(name, share)| format!("{name} {:.0}%", 100.0 * share));
    parts.collect::<Vec<_>>().join(", ")
}

/// Whole numbers with thousands separated, small ones with three digits.
fn number(value: f64) -> String {
    if value < 1000.0 { format!("{value:.3}") } else { grouped(value.round() as u64) }
}
