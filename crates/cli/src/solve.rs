//! `equimarl solve`: the best that any team could do.

use crate::examples::examples;
use crate::output::{print, print_json};
use crate::registry;
use crate::waiting::Waiting;
use crate::world::{WorldArgs, names};
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_worlds::{Solved, Summary};
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

#[derive(ClapArgs)]
#[command(after_help = examples("Some worlds are solved exactly; in others a search that knows the future shows what is known to be possible.", &["solve {world}"]))]
pub struct Args {
    /// The world to solve.
    #[arg(value_name = "WORLD", value_parser = names())]
    world: String,
    #[command(flatten)]
    size: WorldArgs,
    /// Episodes, in worlds that are searched episode by episode.
    #[arg(long, value_name = "N", default_value_t = 20)]
    episodes: usize,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let world = args.size.of(&args.world)?;
    let start = Instant::now();
    let waiting = Waiting::for_(format!("solving {}", registry().title(&world)), None);
    let solved = registry().get(&world.name)?.solve(&world.settings, args.episodes)?;
    drop(waiting);
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let mut value = json!({ "world": world.name, "seconds": seconds });
        for (key, setting) in world.settings.iter() {
            value[key] = json!(setting);
        }
        match &solved {
            Solved::Exact { optimum, states } => {
                value["optimum"] = json!(optimum);
                value["states"] = json!(states);
            }
            Solved::Known { found, bound } => {
                value["best_known"] = json!(found);
                if let Some((measure, least)) = bound {
                    value["bound"] = json!({ *measure: least });
                }
            }
        }
        print_json(&value)?;
    } else {
        let title = registry().title(&world);
        print(&match &solved {
            Solved::Exact { optimum, states } => format!(
                "{title}: the best possible mean return is {optimum:.6}\n({states} states after symmetry, {seconds:.1} s)\n"
            ),
            Solved::Known { found, bound } => known(&title, found, *bound, seconds),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a search has found, and how far it may be from the best.
fn known(title: &str, found: &Summary, bound: Option<(&str, f64)>, seconds: f64) -> String {
    let mut text = format!(
        "{title}: the best known in {} episodes, by a search that knows the future (no team can, and a better one may exist)\n",
        found.episodes
    );
    text += &format!("  return  {:.4} +- {:.4}\n", found.total.mean, found.total.stderr);
    for (name, value) in &found.measures {
        let least = bound.filter(|(measure, _)| measure == name);
        let least =
            least.map_or(String::new(), |(_, least)| format!("   and nobody can come below {least:.3}"));
        text += &format!("  {name}  {:.3} +- {:.3}{least}\n", value.mean, value.stderr);
    }
    text + &format!("({seconds:.1} s; these are the episodes that evaluations play)\n")
}
