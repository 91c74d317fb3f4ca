//! `equimarl report`: what many runs amount to.

use crate::output::print_json;
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_lab::{choose, gather};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
pub struct Args {
    /// Run directories, folders with runs below, or files of records (.jsonl).
    #[arg(required = true, value_name = "DIR_OR_JSONL")]
    places: Vec<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let found = gather(&args.places)?;
    let choice = choose(found.runs.iter().map(|f| &f.record));
    print_json(&json!({ "choice": choice }))?;
    Ok(ExitCode::SUCCESS)
}
