//! `equimarl fleet run`: a whole fleet on this machine.

use super::TransportName;
use super::live::{Live, finish};
use super::options::{Crash, FaultArgs, PlanArgs};
use super::team::Team;
use crate::train::signals;
use crate::world::{WorldArgs, WorldName};
use anyhow::{Context, Result, bail, ensure};
use clap::Args as ClapArgs;
use equimarl_fleet::{Agent, Host, RunConfig, Seal, Tap, pool};
use equimarl_learn::{AnyWorld, WorldConfig};
use equimarl_worlds::{Measures, Symmetric};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

#[derive(ClapArgs)]
#[command(after_help = "\
In-process: all agents here, polled by a few threads; time is simulated, so waiting costs nothing. Zenoh: a process per
agent, with mutual TLS and signed messages, restarted when it dies. Without faults both play the very episodes that
`equimarl play` plays with the same seed.

Examples:
  equimarl fleet run --model runs/a --episodes 20
  equimarl fleet run --model runs/a --transport zenoh --record log && equimarl fleet check log
  equimarl fleet run --model runs/t --junctions 8x8 --drop 0.1 --fallback fixed-cycle")]
pub struct Args {
    /// The trained team: the directory of a finished run, or a model file. Any number of drones or junctions may use it;
    /// drones stay on the grid they were trained on.
    #[arg(long, value_name = "RUN_OR_FILE")]
    pub model: PathBuf,
    /// The world that the model must be made for.
    #[arg(long)]
    pub world: Option<WorldName>,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// How messages travel.
    #[arg(long, value_enum, default_value_t = TransportName::InProcess)]
    pub transport: TransportName,
    /// In-process: threads that poll the agents [default: all cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Zenoh: no encrypted links. Messages are signed all the same.
    #[arg(long)]
    pub no_tls: bool,
    /// Write every message and step to files in this new folder, for `fleet check`.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// No progress on standard error.
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    pub size: WorldArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
    /// An agent dies in this step of every episode. In-process it comes back with the next episode; a process is started
    /// again at once.
    #[arg(long, value_name = "AGENT@STEP", value_parser = Crash::parse, help_heading = "Faults between agents, for study")]
    pub crash: Vec<Crash>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let team = Team::load(&args.model, &args.size)?;
    let asked = args.world.map(|world| match world {
        WorldName::Wildlife => "wildlife",
        WorldName::Traffic => "traffic",
    });
    if asked.is_some_and(|asked| asked != team.config.name()) {
        bail!("{} was made for another world than --world", args.model.display());
    }
    for crash in &args.crash {
        let last = team.agents() - 1;
        ensure!(crash.agent <= last, "--crash names agent {}, and there are agents 0 to {last}", crash.agent);
    }
    if let Some(folder) = &args.record {
        new_folder(folder)?;
    }
    match args.transport {
        TransportName::InProcess => {
            ensure!(!args.no_tls, "--no-tls belongs to --transport zenoh");
            in_process(args, &team)
        }
        #[cfg(feature = "zenoh")]
        TransportName::Zenoh => super::processes::run(args, &team),
        #[cfg(not(feature = "zenoh"))]
        TransportName::Zenoh => super::no_network(),
    }
}

/// A record goes into a folder of its own, so that it holds one run.
pub fn new_folder(folder: &Path) -> Result<()> {
    if folder.read_dir().is_ok_and(|mut files| files.next().is_some()) {
        bail!("{} is not empty; records go into a new folder", folder.display());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// What is said about a run in its record and its report.
pub fn about(team: &Team, run: &RunConfig, transport: &str) -> Value {
    json!({
        "world": team.config.name(),
        "model": team.file.display().to_string(),
        "transport": transport,
        "seed": run.seed,
        "greedy": run.greedy,
    })
}

/// What a record says besides, so that it can be checked.
pub fn header(team: &Team, run: &RunConfig, transport: &str) -> Result<Value> {
    let mut about = about(team, run, transport);
    about["config"] = serde_json::to_value::<&WorldConfig>(&team.config)?;
    about["fingerprint"] = json!(format!("{:016x}", team.fingerprint));
    Ok(about)
}

fn in_process(args: &Args, team: &Team) -> Result<ExitCode> {
    let run = args.plan.apply(RunConfig::default());
    match &team.world {
        AnyWorld::Wildlife(world) => {
            simulate(args, team, &run, team.wildlife(world, run.plan(), Seal::Open)?)
        }
        AnyWorld::Traffic(world) => simulate(args, team, &run, team.traffic(world, run.plan(), Seal::Open)?),
    }
}

fn simulate<W: Symmetric, M: Measures<W>>(
    args: &Args,
    team: &Team,
    run: &RunConfig,
    mut host: Host<W, M>,
) -> Result<ExitCode> {
    let faults = args.faults.faults(team.agents())?;
    let fallback = args.faults.fallback(team.config.name())?;
    let agents: Result<Vec<Agent>> = (0..team.agents())
        .map(|index| {
            let crash = args.crash.iter().filter(|c| c.agent == index).map(|c| c.step).min();
            let agent = Agent::new(index, team.policy.clone(), team.fingerprint, Seal::Open)?;
            Ok(agent.with_fallback(fallback).with_crash(crash))
        })
        .collect();
    let tap = args.record.as_ref().map(|folder| Tap::new(&folder.join("fleet.jsonl"))).transpose()?;
    if let Some(tap) = &tap {
        tap.about(&header(team, run, "in-process")?);
    }
    let usual = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or_else(usual);
    ensure!((1..=1024).contains(&threads), "--threads must be between 1 and 1024, not {threads}");
    let signal = signals()?;
    let mut live = Live::new(args.quiet || args.json, true);
    pool::run(&mut host, agents?, &faults, tap.clone(), threads, &mut |host, _| {
        live.show(host);
        Ok(signal.load(Ordering::Relaxed) == 0)
    })?;
    live.close();
    if let Some(tap) = &tap {
        tap.flush()?;
    }
    finish(&host, live.seconds(), true, about(team, run, "in-process"), args.json)?;
    Ok(match signal.load(Ordering::Relaxed) {
        0 => ExitCode::SUCCESS,
        number => ExitCode::from(128 + number as u8),
    })
}
