//! `equimarl play`: whole episodes, summed up.

use crate::examples::examples;
use crate::network;
use crate::number::whole;
use crate::output::{print, print_json, table};
use crate::registry;
use crate::show::ShowArgs;
use crate::waiting::Waiting;
use crate::world::{self, WorldArgs};
use anyhow::{Result, bail, ensure};
use clap::Args as ClapArgs;
use equimarl_learn::{Choice, Learned, RunFolder, StuckReport};
use equimarl_worlds::{Controller, Envs, Named, Spec, Summary, WorldConfig, play_each};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = help())]
pub struct Args {
    /// The world to play in; a model knows its own.
    #[arg(long, value_name = "NAME", required_unless_present = "model", value_parser = world::names())]
    world: Option<String>,
    /// Who decides: `random`, or one of the world's own controllers.
    #[arg(long, value_name = "NAME", required_unless_present = "model", conflicts_with = "model")]
    controller: Option<String>,
    /// A trained team decides: a run directory or a model file, in the world that it was trained in. Options of the world
    /// change that; distributed teams play with any number of agents.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: Option<PathBuf>,
    /// The model takes its greedy action instead of drawing one.
    #[arg(long)]
    greedy: bool,
    /// How many episodes.
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true, value_parser = whole::<usize>)]
    episodes: usize,
    /// The seed of the episodes.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
    #[command(flatten)]
    size: WorldArgs,
    #[command(flatten)]
    show: ShowArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn help() -> String {
    let mut controllers = String::from("Controllers:");
    for world in registry().iter() {
        let spec = registry().usual(world.name()).and_then(|w| registry().describe(&w));
        let names = spec.map(|d| d.spec.controllers.join(", ")).unwrap_or_default();
        let names = if names.is_empty() { "random".into() } else { format!("random, {names}") };
        controllers += &format!("\n  {}: {names}", world.name());
    }
    controllers += "\nSome take a number, as in fixed-cycle:6. All controllers meet the same episodes when they are given \
                    the same seed.";
    examples(
        &controllers,
        &["play --world {world} --controller random --episodes 20", "play --model runs/a --gif film.gif"],
    )
}

pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.episodes > 0, "there is nothing to report about 0 episodes: ask for at least 1");
    // clap's `requires` does not see this: the model that is missing conflicts with the controller that is there.
    ensure!(
        !args.greedy || args.model.is_some(),
        "--greedy belongs to --model: it says how a trained team decides"
    );
    let read: Vec<PathBuf> = args.model.iter().flat_map(|m| [m.clone(), RunFolder::at(m).model()]).collect();
    args.show.check(&read.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let waiting = Waiting::for_("preparing", None);
    let Players { world, mut envs, mut player } = args.players()?;
    drop(waiting);
    let who = args.controller.as_deref().unwrap_or("model");
    args.show.show(&mut *envs, player.controller(), args.seed)?;
    player.take_stuck();
    let waiting = Waiting::for_("episodes", Some(args.episodes as u64));
    let summary =
        play_each(&mut *envs, player.controller(), args.episodes, args.seed, |done| waiting.at(done as u64))?;
    drop(waiting);
    let stuck = player.take_stuck().filter(|_| args.greedy);
    let mut about = json!({ "world": world.name });
    for (key, value) in world.settings.iter() {
        about[key] = json!(value);
    }
    about["controller"] = json!(who);
    if let Some(model) = &args.model {
        about["model"] = json!(model);
        about["greedy"] = json!(args.greedy);
    }
    about["seed"] = json!(args.seed);
    if let Some(stuck) = &stuck {
        about["stuck"] = json!(stuck);
    }
    if args.json {
        let mut value = serde_json::to_value(&summary)?;
        if let (Value::Object(value), Value::Object(about)) = (&mut value, about) {
            for (key, of) in about {
                // Roads have a length, and so have episodes.
                let key = if value.contains_key(&key) { format!("world.{key}") } else { key };
                value.insert(key, of);
            }
        }
        print_json(&value)?;
    } else {
        print(&text(&world.name, who, envs.spec(), &summary))?;
        match &stuck {
            Some(stuck) if !stuck.examples.is_empty() => print(&format!("\n{stuck}\n"))?,
            _ => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A world, and who decides in it.
struct Players {
    world: WorldConfig,
    envs: Box<dyn Envs>,
    player: Player,
}

enum Player {
    Named(Named),
    Learned(Box<Learned>),
}

impl Player {
    fn controller(&mut self) -> &mut dyn Controller {
        match self {
            Player::Named(named) => named,
            Player::Learned(learned) => &mut **learned,
        }
    }

    /// Of a trained team: in how many episodes since this was last asked it was stuck, and why.
    fn take_stuck(&mut self) -> Option<StuckReport> {
        match self {
            Player::Named(_) => None,
            Player::Learned(learned) => Some(learned.take_stuck()),
        }
    }
}

impl Args {
    /// The world of the flags or of the model, and who decides in it.
    fn players(&self) -> Result<Players> {
        let Some(path) = &self.model else {
            let Some(name) = &self.world else { bail!("give --world, or --model") };
            let world = self.size.of(name)?;
            let Some(group) = registry().usual_group(&world) else { bail!("there is no world `{name}`") };
            let envs = registry().make(&world, &group.parse()?, 1)?;
            let who = self.controller.as_deref().unwrap_or("random");
            let player = Player::Named(Named::new(who, envs.world(0))?);
            return Ok(Players { world, envs, player });
        };
        let trained = network::load(path, self.world.as_deref(), &self.size)?;
        let envs = trained.make(1)?;
        let choice = if self.greedy { Choice::Greedy } else { Choice::Sampled };
        let learned = Learned::new(trained.network.policy()?, &trained.network.sharing(), choice, &*envs)?;
        Ok(Players { world: trained.world, envs, player: Player::Learned(Box::new(learned)) })
    }
}

fn text(world: &str, who: &str, spec: &Spec, summary: &Summary) -> String {
    let mut rows = vec![("return", summary.total), ("length", summary.length)];
    let own = spec.measures.iter().map(|m| m.name.as_str());
    rows.extend(own.filter_map(|name| Some((name, *summary.measures.get(name)?))));
    let number = |value: f64| if value.is_nan() { "-".into() } else { format!("{value:.4}") };
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(name, s)| vec![name.into(), number(s.mean), number(s.stderr)]).collect();
    let plural = if summary.episodes == 1 { "" } else { "s" };
    let title = format!("{world}, {who}, {} episode{plural}\n\n", summary.episodes);
    title + &table(&["per episode", "mean", "standard error"], &rows)
}
