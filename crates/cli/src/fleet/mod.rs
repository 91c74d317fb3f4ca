//! `equimarl fleet`: a trained team as separate processes that talk to their neighbours only.

mod check;
mod keys;
mod live;
mod loss;
mod options;
#[cfg(feature = "zenoh")]
mod over_zenoh;
#[cfg(feature = "zenoh")]
mod processes;
mod run;
mod team;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Subcommand)]
pub enum Fleet {
    /// Run a whole fleet on this machine: a world and its agents.
    Run(run::Args),
    /// Run one agent of a fleet, on its own machine.
    Agent(AgentArgs),
    /// Run the world of a fleet: everybody's sensors and actuators.
    World(WorldArgs),
    /// Make a fleet file, a private certificate authority, and keys and a certificate for every member.
    Keys(Box<KeysArgs>),
    /// Check the record of a run: did messages flow along edges only, and did agents decide as the whole network would?
    Check(check::Args),
    /// Measure what lost messages cost a team, and draw it.
    Loss(loss::Args),
}

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportName {
    /// All agents in this process, with simulated time.
    InProcess,
    /// A process per agent, over zenoh.
    Zenoh,
}

#[derive(Args)]
#[command(after_help = "\
The agent asks the world to be let in until it is, and comes back by itself when the world or the network was away.
It needs the fleet file, the model, authority.pem and secrets/agent-N, its own.

Example:
  equimarl fleet agent --fleet yard/fleet.toml --agent 2 --stay")]
pub struct AgentArgs {
    /// The fleet file.
    #[arg(long, value_name = "FILE", default_value = "fleet.toml")]
    pub fleet: PathBuf,
    /// Which agent this is.
    #[arg(long, value_name = "N")]
    pub agent: usize,
    /// Wait for the next run when one is over.
    #[arg(long)]
    pub stay: bool,
    /// Listen here instead of at the address of the fleet file, for example behind address translation.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Write every message to a file in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// End when standard input ends: when the process that started this one is gone.
    #[arg(long, hide = true)]
    pub tied: bool,
    /// Say nothing but errors.
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    pub faults: options::FaultArgs,
}

#[derive(Args)]
#[command(after_help = "\
The world waits until all agents have joined, runs its episodes and says how they went.

Example:
  equimarl fleet world --fleet yard/fleet.toml --episodes 100")]
pub struct WorldArgs {
    /// The fleet file.
    #[arg(long, value_name = "FILE", default_value = "fleet.toml")]
    pub fleet: PathBuf,
    /// Listen here instead of at the address of the fleet file.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub plan: options::PlanArgs,
    /// Write every message and step to a file in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Addresses not given are 127.0.0.1 with ports from 7400 on: good for a try on one machine.

Example: three agents and a world on three machines
  equimarl fleet keys --model runs/a --out yard --at world=10.0.0.1:7400 --at agent-0=10.0.0.1:7401 \\
    --at agent-1=10.0.0.2:7400 --at agent-2=10.0.0.3:7400")]
pub struct KeysArgs {
    /// The trained team: a run directory or a model file. It is copied into the folder.
    #[arg(long, value_name = "RUN_OR_FILE")]
    pub model: PathBuf,
    /// The folder to make.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// The fleet's name, part of every key on the network.
    #[arg(long, default_value = "fleet")]
    pub name: String,
    /// Where a member listens, for example world=10.0.0.1:7400 or agent-0=drone0.lan:7400.
    #[arg(long, value_name = "MEMBER=HOST:PORT")]
    pub at: Vec<String>,
    /// How long the certificates are good.
    #[arg(long, value_name = "YEARS", default_value_t = 5)]
    pub years: u32,
    /// No encrypted links. Messages are signed all the same.
    #[arg(long)]
    pub no_tls: bool,
    #[command(flatten)]
    pub plan: options::PlanArgs,
    #[command(flatten)]
    pub size: crate::world::WorldArgs,
}

impl Fleet {
    pub fn run(&self) -> Result<ExitCode> {
        match self {
            Fleet::Run(args) => run::run(args),
            Fleet::Check(args) => check::run(args),
            Fleet::Loss(args) => loss::run(args),
            #[cfg(feature = "zenoh")]
            Fleet::Agent(args) => over_zenoh::agent(args),
            #[cfg(feature = "zenoh")]
            Fleet::World(args) => over_zenoh::world(args),
            Fleet::Keys(args) => keys::run(args),
            #[cfg(not(feature = "zenoh"))]
            _ => no_network(),
        }
    }
}

/// What this program says if it was built without a network.
#[cfg(not(feature = "zenoh"))]
pub fn no_network<T>() -> Result<T> {
    anyhow::bail!(
        "this equimarl was built without the network; build it with `cargo build --release --features zenoh`, \
         or use `fleet run --transport in-process`"
    )
}
