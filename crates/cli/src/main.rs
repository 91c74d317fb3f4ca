//! The `equimarl` command: teams of agents that learn from symmetry.

mod check;
mod output;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Teams of agents that learn from symmetry.
///
/// A world turned by 90 degrees is the same world: its best joint policy turns with it. equimarl builds that fact
/// into the network, and checks it everywhere.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Check that something is as symmetric as it claims: a group, a basis of equivariant maps.
    #[command(subcommand)]
    Check(check::Check),
}

fn main() -> ExitCode {
    let done = match Cli::parse().verb {
        Verb::Check(check) => check.run(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
