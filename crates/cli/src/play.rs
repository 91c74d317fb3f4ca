//! `equimarl play`: whole episodes, summed up.

use crate::network;
use crate::number::whole;
use crate::output::{print, print_json, table};
use crate::show::ShowArgs;
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::{Result, bail, ensure};
use clap::Args as ClapArgs;
use equimarl_learn::{Choice, Learned};
use equimarl_nn::Network;
use equimarl_worlds::look::Look;
use equimarl_worlds::{Controller, Measures, Summary, Symmetric, World, play, traffic, wildlife};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
Controllers: random, greedy, optimal for wildlife; random, fixed-cycle, longest-queue, max-pressure for traffic.
All controllers meet the same episodes when they are given the same seed.

Examples:
  equimarl play --world traffic --controller max-pressure --junctions 4x4 --episodes 20
  equimarl play --model runs/a --drones 6 --gif six.gif")]
pub struct Args {
    /// The world to play in; a model knows its own.
    #[arg(long, required_unless_present = "model")]
    world: Option<WorldName>,
    /// Who decides.
    #[arg(long, value_name = "NAME", required_unless_present = "model", conflicts_with = "model")]
    controller: Option<String>,
    /// A trained team decides: a run directory or a model file. Distributed teams play with any number of drones or
    /// junctions; drones stay on the grid they were trained on.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: Option<PathBuf>,
    /// The model takes its likeliest action instead of drawing one.
    #[arg(long)]
    greedy: bool,
    /// How many episodes.
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true, value_parser = whole::<usize>)]
    episodes: usize,
    /// The seed of the episodes.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
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
    // clap's `requires` does not see this: the model that is missing conflicts with the controller that is there.
    ensure!(
        !args.greedy || args.model.is_some(),
        "--greedy belongs to --model: it says how a trained team decides"
    );
    let who = args.controller.as_deref().unwrap_or("model");
    if args.period.is_some() && who != "fixed-cycle" {
        bail!("--period belongs to the fixed-cycle controller");
    }
    let period = args.period.unwrap_or(traffic::FixedCycle::USUAL);
    let (model, world) = args.world_and_model()?;
    let (order, summary, mut about) = match world {
        AnyWorld::Wildlife(world) => {
            let measures = wildlife::Captures::default();
            let (order, summary) = match model {
                Some(network) => args.play_learned(&world, &network, measures)?,
                None => args.play(&world, &mut *wildlife::controller(who, &world)?, measures)?,
            };
            (order, summary, json!({ "world": "wildlife", "drones": world.team(), "grid": world.grid() }))
        }
        AnyWorld::Traffic(world) => {
            let measures = traffic::TrafficMeasures::default();
            let (order, summary) = match model {
                Some(network) => args.play_learned(&world, &network, measures)?,
                None => args.play(&world, &mut *traffic::traffic_controller(who, period)?, measures)?,
            };
            let size = [world.options().rows, world.options().cols];
            (order, summary, json!({ "world": "traffic", "junctions": size }))
        }
    };
    about["controller"] = json!(who);
    if let Some(model) = &args.model {
        about["model"] = json!(model);
        about["greedy"] = json!(args.greedy);
    }
    about["seed"] = json!(args.seed);
    if who == "fixed-cycle" {
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
        print(&text(world, who, order, &summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// The world of the flags or of the model, and the model if there is one.
    fn world_and_model(&self) -> Result<(Option<Network>, AnyWorld)> {
        let Some(path) = &self.model else {
            let Some(world) = self.world else { bail!("give --world, or --model") };
            return Ok((None, self.size.build(world, None)?));
        };
        let (network, world, size) = network::load(path, &self.size)?;
        if self.world.is_some_and(|asked| asked != world) {
            bail!("{} was made for another world than --world", path.display());
        }
        // A local network is equivariant on any city; the city itself need not be.
        let world = size.build_for_network(world, network.group())?;
        Ok((Some(network), world))
    }

    fn play_learned<W: Symmetric + Look, M: Measures<W>>(
        &self,
        world: &W,
        network: &Network,
        measures: M,
    ) -> Result<(&'static [&'static str], Summary)> {
        let choice = if self.greedy { Choice::Greedy } else { Choice::Sampled };
        let mut learned = Learned::new(network.policy()?, &network.sharing(), choice, world)?;
        self.play(world, &mut learned, measures)
    }

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
