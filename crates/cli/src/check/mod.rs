//! `equimarl check`: is it as symmetric as it claims?

mod basis;
mod group;
mod network;
mod world;

use anyhow::{Result, ensure};
use clap::Subcommand;
use equimarl_group::{Symmetry, Turn};
use equimarl_worlds::{ExactEnvs, Purpose, Stream};
use std::process::ExitCode;

/// How many turns stand for all of SO2 or O2.
const TURNS: usize = 100;

/// Random angles, and mirrors where there are some.
fn some_turns(symmetry: &Symmetry, seed: u64) -> Vec<Turn> {
    let mut stream = Stream::new(seed, Purpose::Audit, 2);
    (0..TURNS).map(|_| symmetry.any_turn(&mut || stream.unit())).collect()
}

/// Refuses `--transform-cause` where it would do nothing.
fn has_cause(world: &dyn ExactEnvs) -> Result<()> {
    ensure!(
        world.has_cause(),
        "nothing is known that breaks the symmetry of this world, so there is nothing to transform along"
    );
    Ok(())
}

#[derive(Subcommand)]
pub enum Check {
    /// Find all equivariant maps between two representations, by every method that applies.
    ///
    /// A map W is equivariant when W rho_in(g) = rho_out(g) W for every g. Prints the rank per pair of summands and in
    /// total, the rank that the characters predict, the largest residual, and the largest principal angle between the
    /// spaces that the methods found.
    Basis(basis::Args),
    /// Check that a network turns with its world: policies and values, under every group element.
    ///
    /// Compares the network in random states with itself in the turned states. Exit code 1 if it does not have the symmetry that
    /// it claims, or that --group asks for. Plain networks claim none; what they do under turns is shown.
    Network(network::Args),
    /// Check that a world is symmetric: rewards, transitions, observations and the communication graph.
    ///
    /// Drives random rollouts, and compares every step with the turned step, in which state, actions and randomness are
    /// turned alike. Exit code 1 if an element is not a symmetry; the first counterexample is saved to a file.
    World(world::Args),
    /// Print a group: its multiplication table, conjugacy classes and the orders of its elements.
    Group(group::Args),
}

impl Check {
    pub fn run(self) -> Result<ExitCode> {
        match self {
            Check::Basis(args) => basis::run(&args),
            Check::Network(args) => network::run(&args),
            Check::World(args) => world::run(&args),
            Check::Group(args) => group::run(&args),
        }
    }
}
