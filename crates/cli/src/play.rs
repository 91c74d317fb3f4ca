//! `equimarl play`: whole episodes, summed up.

use crate::output::{print, print_json, table};
use crate::show::ShowArgs;
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::{Result, bail, ensure};
use clap::Args as ClapArgs;
use equimarl_worlds::look::Look;
use equimarl_worlds::{Controller, Measures, Summary, World, play, traffic, wildlife};
use serde_json::{Value, json};
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
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true)]
    episodes: usize,
    /// The seed of the episodes.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    /// The fixed-cycle controller: steps of a phase [default: 4].
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    period: Option<usize>,
    #[command(flatten)]
    size: WorldArgs,
    #[command(flatten)]
    show: ShowArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.episodes > 0, "there is nothing to report about 0 episodes: ask for at least 1");
    if args.period.is_some() && args.controller != "fixed-cycle" {
        bail!("--period belongs to the fixed-cycle controller");
    }
    let period = args.period.unwrap_or(traffic::FixedCycle::USUAL);
    let (order, summary, mut about) = match args.size.build(args.world, None)? {
        AnyWorld::Wildlife(world) => {
            let mut controller = wildlife::controller(&args.controller, &world)?;
            let (order, summary) = args.play(&world, &mut *controller, wildlife::Captures::default())?;
            (order, summary, json!({ "world": "wildlife", "drones": world.team(), "grid": world.grid() }))
        }
        AnyWorld::Traffic(world) => {
            let mut controller = traffic::traffic_controller(&args.controller, period)?;
            let (order, summary) =
                args.play(&world, &mut *controller, traffic::TrafficMeasures::default())?;
            let size = [world.options().rows, world.options().cols];
            (order, summary, json!({ "world": "traffic", "junctions": size }))
        }
    };
    about["controller"] = json!(args.controller);
    about["seed"] = json!(args.seed);
    if args.controller == "fixed-cycle" {
        about["period"] = json!(period);
    }
    if args.json {
        let mut value = serde_json::to_value(&summary)?;
        if let (Value::Object(value), Value::Object(about)) = (&mut value, about) {
            value.extend(about);
        }
        print_json(&value)?;
    } else {
        let world = about["world"].as_str().unwrap_or_default();
        print(&text(world, &args.controller, order, &summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Shows the first episode if asked to, then plays them all. Gives the measures' names in their order, too.
    fn play<W: World + Look, M: Measures<W>>(
        &self,
        world: &W,
        controller: &mut dyn Controller<W>,
        mut measures: M,
    ) -> Result<(&'static [&'static str], Summary)> {
        self.show.show(world, controller, &mut measures, self.seed)?;
        let summary = play(world, controller, &mut measures, self.episodes, self.seed)?;
        Ok((measures.names(), summary))
    }
}

fn text(world: &str, who: &str, order: &[&str], summary: &Summary) -> String {
    let mut rows = vec![("return", summary.total), ("length", summary.length)];
    rows.extend(order.iter().filter_map(|&name| Some((name, *summary.measures.get(name)?))));
    let number = |value: f64| if value.is_nan() { "-".into() } else { format!("{value:.4}") };
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(name, s)| vec![name.into(), number(s.mean), number(s.stderr)]).collect();
    let plural = if summary.episodes == 1 { "" } else { "s" };
    let title = format!("{world}, {who}, {} episode{plural}\n\n", summary.episodes);
    title + &table(&["per episode", "mean", "standard error"], &rows)
}
