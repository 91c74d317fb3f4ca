//! `equimarl fleet run`: a whole fleet on this machine.

use super::TransportName;
use super::live::{Live, finish};
use super::options::{Crash, FaultArgs, PlanArgs, Robust};
use super::team::Team;
use crate::examples::examples;
use crate::outputs;
use crate::stop::Stop;
use crate::world::{WorldArgs, names};
use anyhow::{Context, Result, bail, ensure};
use clap::Args as ClapArgs;
use equimarl_fleet::{Agent, MessageLog, RunConfig, Signer, pool};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = examples(
    "In-process: all agents here, polled by a few threads; time is simulated, so waiting costs nothing. Zenoh: a process per \
     agent, with mutual TLS and signed messages, restarted when it dies. Without faults both play the very episodes that \
     `{program} play` plays with the same seed.",
    &[
        "fleet run --model runs/a --episodes 20",
        "fleet run --model runs/a --transport zenoh --record log && {program} fleet check log",
        "fleet run --model runs/a --drop 0.1",
    ],
))]
pub struct Args {
    /// The trained team: the directory of a finished run, or a model file. It runs in the world that it was trained in, or in
    /// what options make of that: any number of agents may use it.
    #[arg(long, value_name = "RUN_OR_FILE")]
    pub model: PathBuf,
    /// The world that the model must be made for.
    #[arg(long, value_name = "NAME", value_parser = names())]
    pub world: Option<String>,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// How messages travel.
    #[arg(long, value_enum, default_value_t = TransportName::InProcess)]
    pub transport: TransportName,
    /// In-process: threads that poll the agents [default: all cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Zenoh: so many processes, each with its share of the agents [default: one per agent].
    #[arg(long, value_name = "N")]
    pub processes: Option<usize>,
    /// Zenoh: no encrypted links. Messages are signed all the same.
    #[arg(long)]
    pub no_tls: bool,
    /// What agents do against neighbours that lie.
    #[arg(long, value_enum, default_value_t = Robust::Clip)]
    pub robust: Robust,
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
    let team = Team::load(&args.model, args.world.as_deref(), &args.size)?;
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
            ensure!(args.processes.is_none(), "--processes belongs to --transport zenoh");
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
    outputs::check_folder("--record", folder)?;
    if folder.read_dir().is_ok_and(|mut files| files.next().is_some()) {
        bail!("{} is not empty; records go into a new folder", folder.display());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// What is said about a run in its record and its report.
pub fn about(team: &Team, run: &RunConfig, transport: &str) -> Value {
    json!({
        "world": team.world.name,
        "model": team.file.display().to_string(),
        "transport": transport,
        "seed": run.seed,
        "greedy": run.greedy,
    })
}

/// What a record says besides, so that it can be checked.
pub fn header(team: &Team, run: &RunConfig, transport: &str) -> Result<Value> {
    let mut about = about(team, run, transport);
    about["config"] = serde_json::to_value(&team.world)?;
    about["fingerprint"] = json!(format!("{:016x}", team.fingerprint));
    Ok(about)
}

fn in_process(args: &Args, team: &Team) -> Result<ExitCode> {
    let usual = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or_else(usual);
    ensure!((1..=1024).contains(&threads), "--threads must be between 1 and 1024, not {threads}");
    let run = args.plan.apply(RunConfig::default());
    let mut host = team.host(run.plan(), Signer::Open)?;
    let faults = args.faults.faults(team.agents())?;
    let fallback = args.faults.fallback(&team.spec)?;
    let defence = args.robust.defence(team)?;
    let agents: Result<Vec<Agent>> = (0..team.agents())
        .map(|index| {
            let crash = args.crash.iter().filter(|c| c.agent == index).map(|c| c.step).min();
            let agent = Agent::new(index, team.policy.clone(), team.fingerprint, Signer::Open)?;
            Ok(agent.with_fallback(fallback).with_defence(defence.clone()).with_crash(crash))
        })
        .collect();
    let log = args.record.as_ref().map(|folder| MessageLog::new(&folder.join("fleet.jsonl"))).transpose()?;
    if let Some(log) = &log {
        log.about(&header(team, &run, "in-process")?);
    }
    let stop = Stop::listen()?;
    stop.insist(|| eprintln!("stopped in the middle of a step"));
    if let Some(warning) = args.robust.warning(team).filter(|_| !args.quiet && !args.json) {
        eprintln!("{warning}");
    }
    let mut live = Live::new(args.quiet || args.json, true);
    pool::run(&mut host, agents?, &faults, log.clone(), threads, &mut |host, _| {
        live.show(host);
        Ok(!stop.asked())
    })?;
    live.close();
    if let Some(log) = &log {
        log.flush()?;
    }
    finish(&host, live.seconds(), true, about(team, &run, "in-process"), args.json)?;
    Ok(if stop.asked() { stop.code() } else { ExitCode::SUCCESS })
}
