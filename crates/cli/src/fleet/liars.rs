//! `equimarl fleet liars`: what one agent that lies to its neighbours costs a team.

use super::options::Robust;
use super::team::Team;
use crate::output::{print, print_json, stderr, table};
use crate::waiting::Waiting;
use crate::world::WorldArgs;
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use equimarl_fleet::liar::{LiarPlan, Lie, liar_study};
use equimarl_worlds::Statistic;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
The liar acts as always, and says to its neighbours what it likes. Its worst case is found in every state by gradients through
the network and the defence; without clipping it may say a thousand times what honest agents do.

Example:
  equimarl fleet liars --model runs/a --junctions 3x3 --liar 4 --episodes 20")]
pub struct Args {
    /// A trained team with message ranges: a run directory or a model file.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: PathBuf,
    /// Which agent lies.
    #[arg(long, value_name = "N", default_value_t = 0)]
    liar: usize,
    /// How many episodes.
    #[arg(long, value_name = "N", default_value_t = 20)]
    episodes: u32,
    /// The seed of the episodes.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: WorldArgs,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let team = Team::load(&args.model, None, &args.size)?;
    let clip =
        team.clip.clone().context("the model file has no message ranges; add them with `fleet ranges`")?;
    let mut defences = vec![Robust::Off, Robust::Clip, Robust::Trimmed];
    defences.retain(|robust| *robust != Robust::Trimmed || team.policy.can_trim());
    let (mut rows, mut found) = (vec![], vec![]);
    let waiting = Waiting::for_("studies", Some((defences.len() * Lie::ALL.len()) as u64));
    for robust in defences {
        for lie in Lie::ALL {
            let plan = LiarPlan { liar: args.liar, lie, episodes: args.episodes, seed: args.seed };
            let defence = robust.defence(&team)?;
            let one = liar_study(team.network(), &clip, &mut *team.make()?, &defence, plan)?;
            let total = Statistic::of(&one.returns);
            let honest = lie == Lie::None;
            let number = |x: f64| if honest { "-".into() } else { format!("{x:.4}") };
            let bound = if robust == Robust::Off { "-".into() } else { number(one.bound) };
            rows.push(vec![
                robust.name().into(),
                lie.name().into(),
                format!("{:.4}", total.mean),
                stderr(&total),
                number(one.moved),
                number(one.most),
                bound,
            ]);
            let slack = (!honest && robust != Robust::Off).then_some(one.slack);
            found.push(json!({
                "robust": robust.name(), "lie": lie.name(), "return": total, "moved": one.moved, "most": one.most,
                "bound": one.bound, "slack": slack, "clipped": one.clipped,
            }));
            waiting.at(found.len() as u64);
        }
    }
    drop(waiting);
    if args.json {
        let about = json!({ "world": team.world.name, "liar": args.liar, "episodes": args.episodes, "seed": args.seed });
        print_json(&json!({ "about": about, "liars": found }))?;
    } else {
        let head = [
            "robust",
            "the liar says",
            "return",
            "standard error",
            "a probability moves",
            "at most",
            "bound",
        ];
        print(&table(&head, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}
