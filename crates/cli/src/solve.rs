//! `equimarl solve`: the best that any team could do.

use crate::examples::examples;
use crate::output::{print, print_json};
use crate::registry;
use crate::waiting::Waiting;
use crate::world::{WorldArgs, names};
use anyhow::Result;
use clap::Args as ClapArgs;
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

#[derive(ClapArgs)]
#[command(after_help = examples("Worlds that can be solved say how; others have no exact optimum.", &["solve {world}"]))]
pub struct Args {
    /// The world to solve.
    #[arg(value_name = "WORLD", value_parser = names())]
    world: String,
    #[command(flatten)]
    size: WorldArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let world = args.size.of(&args.world)?;
    let start = Instant::now();
    let waiting = Waiting::for_(format!("solving {}", registry().title(&world)), None);
    let solved = registry().get(&world.name)?.solve(&world.settings)?;
    drop(waiting);
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let mut value = json!({ "world": world.name });
        for (key, setting) in world.settings.iter() {
            value[key] = json!(setting);
        }
        value["optimum"] = json!(solved.optimum);
        value["states"] = json!(solved.states);
        value["seconds"] = json!(seconds);
        print_json(&value)?;
    } else {
        print(&format!(
            "{}: the best possible mean return is {:.6}\n({} states after symmetry, {seconds:.1} s)\n",
            registry().title(&world),
            solved.optimum,
            solved.states,
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
