//! `equimarl replay`: a scripted episode, step by step.

use crate::output::{print, print_json};
use crate::registry;
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Larger scripts are refused before they are read.
const LARGEST: u64 = 64 << 20;

#[derive(ClapArgs)]
#[command(after_help = "\
A script names its world and holds all actions, as in {\"world\": NAME, \"actions\": [[0, 1], [2, 0]], ...}. What else it holds
is the world's own: a start, and all chance. docs/worlds.md has those of the worlds that come with equimarl.")]
pub struct Args {
    /// A JSON file with a start, all actions and all chance.
    file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let name = args.file.display();
    let size = std::fs::metadata(&args.file).with_context(|| format!("cannot read {name}"))?.len();
    anyhow::ensure!(size <= LARGEST, "{name} has {size} bytes; scripts have at most {LARGEST}");
    let text = std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {name}"))?;
    let found =
        equimarl_worlds::replay(registry(), &text).with_context(|| format!("cannot replay {name}"))?;
    if args.json {
        print_json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let world = registry().get(found["world"].as_str().unwrap_or_default())?;
    let mut lines = String::new();
    for (t, step) in found["steps"].as_array().into_iter().flatten().enumerate() {
        let end = match (step["terminated"].as_bool(), step["truncated"].as_bool()) {
            (Some(true), _) => "  terminated",
            (_, Some(true)) => "  truncated",
            _ => "",
        };
        let state = world.replayed(step);
        lines += &format!("step {t}: reward {}  {state}{end}\n", step["reward"]);
    }
    if found["ignored_actions"] != 0 {
        lines +=
            &format!("the episode is over; {} further steps were not played\n", found["ignored_actions"]);
    }
    print(&lines)?;
    Ok(ExitCode::SUCCESS)
}
