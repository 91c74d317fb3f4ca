//! The `equimarl` command as a library: a program with worlds of its own has every verb.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     // .with(MyWorld)? adds your own: GUIDE.md, "A world of your own"
//!     equimarl_cli::run(equimarl_cli::builtin())
//! }
//! ```

mod bench;
mod check;
mod demo;
mod examples;
mod export;
mod fleet;
mod inspect;
mod network;
mod number;
mod output;
mod outputs;
mod play;
mod provenance;
mod replay;
mod report;
mod show;
mod solve;
mod stop;
mod sweep;
mod train;
mod view;
mod waiting;
mod world;

use clap::{CommandFactory, Parser, Subcommand};
use equimarl_worlds::Registry;
use std::process::ExitCode;
use std::sync::OnceLock;

/// The worlds of this program. Flags and help follow from them, so they are known before anything is parsed.
static WORLDS: OnceLock<Registry> = OnceLock::new();

/// The worlds that come with equimarl, SUMO among them.
pub fn builtin() -> Registry {
    let own = equimarl_worlds::builtin();
    own.clone().with(equimarl_sumo::SumoDefinition).unwrap_or_else(|error| {
        // A program without one of its worlds is still of use, but nobody should have to guess why it is not there.
        eprintln!("warning: {error}; this program goes on without it");
        own
    })
}

/// The worlds of this program.
pub(crate) fn registry() -> &'static Registry {
    WORLDS.get_or_init(builtin)
}

/// Teams of agents that learn from symmetry.
///
/// A world turned by 90 degrees is the same world: its best joint policy turns with it. equimarl builds that fact
/// into the network, and checks it everywhere.
#[derive(Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0, it did what was asked; 1, a check does not hold, or not all runs of a sweep are finished; 2, the input was wrong;
128 and the number of the signal, it was stopped."
)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Two teams learn side by side in under a minute. This is what happens without a verb.
    Demo(demo::Args),
    /// Train a team, or continue a run.
    Train(Box<train::Args>),
    /// Play episodes with a controller, and sum them up.
    Play(play::Args),
    /// Check that something is as symmetric as it claims: a world, a network, a group, a basis of equivariant maps.
    #[command(subcommand)]
    Check(check::Check),
    /// Compute the best that any team could do.
    Solve(solve::Args),
    /// Make many runs: a grid of methods, learning rates and seeds, on this machine or a Slurm cluster.
    Sweep(sweep::Args),
    /// Say what many runs amount to: curves, statistics and figures on one page.
    Report(report::Args),
    /// Run a trained team as a fleet: one process per agent, messages between neighbours only.
    #[command(subcommand)]
    Fleet(fleet::Fleet),
    /// See runs, episodes and symmetry in the browser, on a page served to this machine.
    View(view::Args),
    /// Replay a scripted episode, step by step.
    Replay(replay::Args),
    /// Print what is in a model file: layers, representations, ranks, parameters.
    Inspect(inspect::Args),
    /// Write a model's realised weights under fixed names, for other frameworks and small devices.
    Export(export::Args),
    /// Measure how fast it is on this machine.
    #[command(subcommand)]
    Bench(bench::Bench),
}

/// Does what the command line asks for, in a program that has these worlds. The exit code is 0 if it was done, 1 if a check
/// does not hold, 2 if the input was wrong.
pub fn run(worlds: Registry) -> ExitCode {
    // Nobody calls this twice; if somebody does, the first worlds stay.
    let _ = WORLDS.set(worlds);
    if let Err(error) = world::check_flags(&Cli::command()) {
        eprintln!("error: {error:#}");
        return ExitCode::from(2);
    }
    let verb = Cli::parse().verb;
    let asked = equimarl_kernels::Level::asked_for().map(drop).map_err(equimarl_nn::Error::from);
    if let Err(error) = asked.and_then(|()| equimarl_nn::encoder_asked_for()) {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    let done = match verb.unwrap_or(Verb::Demo(demo::Args::default())) {
        Verb::Demo(args) => demo::run(&args),
        Verb::Train(args) => train::run(&args),
        Verb::Play(args) => play::run(&args),
        Verb::Check(check) => check.run(),
        Verb::Solve(args) => solve::run(&args),
        Verb::Sweep(args) => sweep::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Fleet(fleet) => fleet.run(),
        Verb::View(args) => view::run(&args),
        Verb::Replay(args) => replay::run(&args),
        Verb::Inspect(args) => inspect::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Bench(bench) => bench.run(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
