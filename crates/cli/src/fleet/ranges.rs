//! `equimarl fleet ranges`: the ranges of messages for a model file that has none.

use super::team::Team;
use crate::network::read;
use crate::output::print;
use crate::world::WorldArgs;
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use equimarl_learn::run::EVALUATION_SEED;
use equimarl_learn::{Inference, message_ranges};
use equimarl_nn::model::write_file;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
A team's model file says how large the numbers are that its agents tell each other; receivers clip to that. Files of earlier
versions do not, and this adds it. The weights stay as they are.

Example:
  equimarl fleet ranges --model runs/a --out team.safetensors")]
pub struct Args {
    /// A trained team: a run directory or a model file.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: PathBuf,
    /// The new model file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let (network, metadata, _) = read(&args.model)?;
    ensure!(!args.out.exists(), "{} is there already; choose another file", args.out.display());
    let team = Team::load(&args.model, None, &WorldArgs::default())?;
    let mut envs = team.make()?;
    let mut inference = Inference::new(&team.policy, &network.sharing(), &*envs)?;
    let ranges = message_ranges(&team.policy, &mut inference, &mut *envs, EVALUATION_SEED)?;
    let ranges = ranges.context("a team that decides as a whole says nothing to itself")?;
    write_file(&args.out, &network.to_bytes_with(&metadata.world, &metadata.extra, Some(&ranges))?)?;
    let channels: Vec<usize> = ranges.rounds.iter().map(Vec::len).collect();
    print(&format!(
        "{} has ranges of {} rounds with {channels:?} channels, from {} messages.\n",
        args.out.display(),
        ranges.rounds.len(),
        ranges.seen
    ))?;
    Ok(ExitCode::SUCCESS)
}
