//! `equimarl play`: whole episodes, summed up.

use crate::output::{print, print_json, table};
use crate::show::ShowArgs;
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_worlds::{Summary, play, traffic, wildlife};
use serde_json::json;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
Controllers: random, greedy, optimal for wildlife; random, fixed-cycle, longest-queue, max-pressure for traffic.
All controllers meet the same episodes when they are given the same seed.

Example:
  equimarl play --world traffic --controller max-pressure --junctions 4x4 --episodes 20")]
pub struct Args {
    /// The world to play in.
    #[arg(long)]
    world: WorldName,
    /// Who decides.
    #[arg(long, value_name = "NAME")]
    controller: String,
    /// How many episodes.
    #[arg(long, value_name = "N", default_value_t = 100)]
    episodes: usize,
    /// The seed of the episodes.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Traffic, fixed-cycle: steps of a phase.
    #[arg(long, value_name = "P", default_value_t = 5)]
    period: usize,
    #[command(flatten)]
    size: WorldArgs,
    #[command(flatten)]
    show: ShowArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let (name, summary) = match args.size.build(args.world, None)? {
        AnyWorld::Wildlife(world) => {
            let mut controller = wildlife::controller(&args.controller, &world)?;
            let mut measures = wildlife::Captures::default();
            args.show.show(&world, &mut *controller, &mut measures, args.seed)?;
            ("wildlife", play(&world, &mut *controller, &mut measures, args.episodes, args.seed)?)
        }
        AnyWorld::Traffic(world) => {
            let mut controller = traffic::traffic_controller(&args.controller, args.period)?;
            let mut measures = traffic::TrafficMeasures::default();
            args.show.show(&world, &mut *controller, &mut measures, args.seed)?;
            ("traffic", play(&world, &mut *controller, &mut measures, args.episodes, args.seed)?)
        }
    };
    if args.json {
        let mut value = serde_json::to_value(&summary)?;
        value["world"] = json!(name);
        value["controller"] = json!(args.controller);
        value["seed"] = json!(args.seed);
        print_json(&value)?;
    } else {
        print(&text(name, &args.controller, &summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(world: &str, who: &str, summary: &Summary) -> String {
    let mut rows = vec![("return", summary.total), ("length", summary.length)];
    rows.extend(summary.measures.iter().map(|(&name, &value)| (name, value)));
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, s)| vec![name.into(), format!("{:.4}", s.mean), format!("{:.4}", s.stderr)])
        .collect();
    let title = format!("{world}, {who}, {} episodes\n\n", summary.episodes);
    title + &table(&["per episode", "mean", "standard error"], &rows)
}
