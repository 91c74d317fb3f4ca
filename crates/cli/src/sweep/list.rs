//! `equimarl sweep list` and `sweep status`: how every run stands.

use super::SweepArgs;
use crate::output::{print, print_json, table};
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_lab::RunStatus;
use equimarl_lab::engine::slurm;
use serde_json::json;
use std::collections::BTreeMap;
use std::process::ExitCode;

#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    sweep: SweepArgs,
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, ask_queue: bool) -> Result<ExitCode> {
    let folder = args.sweep.open()?;
    let statuses = folder.statuses()?;
    let queue = if ask_queue { slurm::queue(&folder)? } else { BTreeMap::new() };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut rows, mut runs) = (vec![], vec![]);
    for (index, (planned, status)) in folder.sweep.runs.iter().zip(&statuses).enumerate() {
        // The folders know what is over; the queue knows what is not.
        let live = queue.get(&index).filter(|_| !status.is_done());
        let state = live.map_or(status.word().to_string(), |l| l.state.to_lowercase());
        let why = match (status, live) {
            (_, Some(live)) => {
                format!("job {} {}", live.task, if live.reason == "None" { "" } else { &live.reason })
            }
            (RunStatus::Failed(why), None) => why.clone(),
            _ => String::new(),
        };
        let why = why.trim().to_string();
        *counts.entry(state.clone()).or_default() += 1;
        runs.push(json!({
            "index": index, "name": planned.name, "state": state, "note": why,
            "config_hash": planned.config.hash(crate::registry()), "job": live.map(|l| &l.task),
        }));
        rows.push(vec![index.to_string(), planned.name.clone(), state, why]);
    }
    if args.json {
        print_json(
            &json!({ "sweep": folder.sweep.name, "folder": folder.path, "counts": counts, "runs": runs }),
        )?;
    } else {
        print(&table(&["index", "run", "state", "note"], &rows))?;
        let words: Vec<String> = counts.iter().map(|(state, n)| format!("{n} {state}")).collect();
        print(&format!("{} runs: {}\n", rows.len(), words.join(", ")))?;
    }
    Ok(ExitCode::SUCCESS)
}
