//! `equimarl fleet`: a trained team as separate processes that talk to their neighbours only.

mod check;
mod clock;
mod keys;
mod liars;
mod live;
mod loss;
mod options;
#[cfg(feature = "zenoh")]
mod over_zenoh;
#[cfg(feature = "zenoh")]
mod processes;
mod ranges;
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
    /// Measure what one agent that lies to its neighbours costs a team, with and without a defence.
    Liars(liars::Args),
    /// Add the ranges of messages to a model file that has none.
    Ranges(ranges::Args),
    /// Measure what wrong clocks cost agents with sensors of their own.
    Clock(clock::Args),
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

With --sensor there is no world: the command is started, writes an observation per line, and reads an action per line.
Steps begin by the clock, every `period_ms` of the fleet file. docs/fleet.md has the format of the lines.

Examples:
  equimarl fleet agent --fleet yard/fleet.toml --agent 2 --stay
  equimarl fleet agent --fleet yard/fleet.toml --agents 0-15 --stay
  equimarl fleet agent --fleet yard/fleet.toml --agent 2 --sensor 'python3 sensor.py --drone {agent}' --period 100")]
pub struct AgentArgs {
    /// The fleet file.
    #[arg(long, value_name = "FILE", default_value = "fleet.toml")]
    pub fleet: PathBuf,
    /// Which agent this is.
    #[arg(long, value_name = "N", required_unless_present = "agents", conflicts_with = "agents")]
    pub agent: Option<usize>,
    /// Several agents in this process, for example 0-15 or 0,2,5-7.
    #[arg(long, value_name = "LIST")]
    pub agents: Option<String>,
    /// No world: this command is the agent's sensors and actuators. {agent} in it becomes the agent's number.
    #[arg(long, value_name = "COMMAND")]
    pub sensor: Option<String>,
    /// With --sensor: without an observation for so long the command is started again.
    #[arg(long, value_name = "MS", default_value_t = 2000, requires = "sensor")]
    pub sensor_timeout: u64,
    /// With --sensor: how long a step takes [default: the fleet file's].
    #[arg(long, value_name = "MS", requires = "sensor")]
    pub period: Option<u64>,
    /// With --sensor: how long to wait for neighbours in a round [default: the fleet file's].
    #[arg(long, value_name = "MS", requires = "sensor")]
    pub deadline: Option<u64>,
    /// With --sensor: take the greedy action instead of drawing one.
    #[arg(long, requires = "sensor")]
    pub greedy: bool,
    /// With --sensor: this clock is so far ahead, to study what that costs.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        requires = "sensor"
    )]
    pub clock_error: f64,
    /// Wait for the next run when one is over.
    #[arg(long)]
    pub stay: bool,
    /// Listen here instead of at the address of the fleet file, for example behind address translation.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// What agents do against neighbours that lie.
    #[arg(long, value_enum, default_value_t = options::Robust::Clip)]
    pub robust: options::Robust,
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
    --at agent-1=10.0.0.2:7400 --at agent-2=10.0.0.3:7400

A device was stolen, and later replaced: copy the new fleet file (and the new secrets/agent-2) to the machines
  equimarl fleet keys --revoke agent-2 --fleet yard/fleet.toml
  equimarl fleet keys --renew agent-2 --fleet yard/fleet.toml")]
pub struct KeysArgs {
    /// The trained team: a run directory or a model file. It is copied into the folder.
    #[arg(long, value_name = "RUN_OR_FILE", required_unless_present_any = ["revoke", "renew"])]
    pub model: Option<PathBuf>,
    /// The folder to make.
    #[arg(long, value_name = "FOLDER", required_unless_present_any = ["revoke", "renew"])]
    pub out: Option<PathBuf>,
    /// Exclude a member of a fleet that is there: write its file with the next number. Members take it while they run.
    #[arg(long, value_name = "MEMBER", conflicts_with_all = ["model", "out", "renew"])]
    pub revoke: Option<String>,
    /// Give a member of a fleet that is there new keys; the old ones are worth nothing any more.
    #[arg(long, value_name = "MEMBER", conflicts_with_all = ["model", "out"])]
    pub renew: Option<String>,
    /// The fleet file, with --revoke and --renew.
    #[arg(long, value_name = "FILE", default_value = "fleet.toml")]
    pub fleet: PathBuf,
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
            Fleet::Liars(args) => liars::run(args),
            Fleet::Ranges(args) => ranges::run(args),
            Fleet::Clock(args) => clock::run(args),
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

/// Makes sure that this program was started as zenoh needs it.
#[cfg(feature = "zenoh")]
pub fn prepare() -> Result<()> {
    over_zenoh::prepared().map(|code| {
        // Only where a process cannot become another one: the other one has done it all.
        if code.is_some() {
            std::process::exit(0);
        }
    })
}

/// What this program says if it was built without a network.
#[cfg(not(feature = "zenoh"))]
pub fn no_network<T>() -> Result<T> {
    anyhow::bail!(
        "this equimarl was built without the network; build it with `cargo build --release --features zenoh`, \
         or use `fleet run --transport in-process`"
    )
}
