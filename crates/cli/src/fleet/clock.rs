//! `equimarl fleet clock`: what wrong clocks cost agents with sensors of their own.

use super::team::Team;
use crate::output::{print, print_json, stderr, table};
use crate::world::WorldArgs;
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_fleet::field::{Clocks, clock_study};
use equimarl_worlds::Statistic;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(ClapArgs)]
#[command(after_help = "\
Agents with sensors of their own begin their steps by the clock. Every agent's clock is wrong by its own amount, drawn anew
for every episode. Time is simulated: nothing waits.

Example:
  equimarl fleet clock --model runs/a --error 0,10,20,40 --period 100 --deadline 40")]
pub struct Args {
    /// A trained team: a run directory or a model file.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: PathBuf,
    /// By how many milliseconds clocks are wrong at most.
    #[arg(long, value_name = "MS,MS,...", value_delimiter = ',', default_values_t = [0.0, 5.0, 10.0, 20.0, 40.0, 80.0])]
    error: Vec<f64>,
    /// How long a step takes.
    #[arg(long, value_name = "MS", default_value_t = 100)]
    period: u64,
    /// How long an agent waits for its neighbours in a round.
    #[arg(long, value_name = "MS", default_value_t = 40)]
    deadline: u64,
    /// How long a message takes.
    #[arg(long, value_name = "MS", default_value_t = 2)]
    delay: u64,
    /// How many episodes.
    #[arg(long, value_name = "N", default_value_t = 20)]
    episodes: u32,
    /// The seed of the episodes.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Agents take their greedy action instead of drawing one.
    #[arg(long)]
    greedy: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: WorldArgs,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let team = Team::load(&args.model, None, &args.size)?;
    let ms = Duration::from_millis;
    let (mut rows, mut found) = (vec![], vec![]);
    for &error in &args.error {
        anyhow::ensure!((0.0..=3.6e6).contains(&error), "--error is a time in milliseconds, not {error}");
        let what = Clocks {
            error: Duration::from_secs_f64(error / 1e3),
            period: ms(args.period),
            deadline: ms(args.deadline),
            delay: ms(args.delay),
            episodes: args.episodes,
            seed: args.seed,
            greedy: args.greedy,
        };
        let cost = clock_study(&team.policy, &mut *team.make()?, &what)?;
        let total = Statistic::of(&cost.returns);
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let [missed, held] = [share(cost.missed, cost.expected), share(cost.held, cost.steps)];
        let percent = |share: f64| format!("{:.2}%", 100.0 * share);
        rows.push(vec![
            format!("{error} ms"),
            percent(missed),
            percent(held),
            format!("{:.4}", total.mean),
            stderr(&total),
        ]);
        found.push(json!({ "error_ms": error, "missed": missed, "held": held, "return": total }));
    }
    if args.json {
        print_json(
            &json!({ "world": team.world.name, "episodes": args.episodes, "seed": args.seed, "clock": found }),
        )?;
    } else {
        print(&table(&["clock error", "missed", "held still", "return", "standard error"], &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}
