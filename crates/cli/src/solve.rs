//! `equimarl solve`: the best that any team could do.

use crate::output::{print, print_json};
use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand};
use equimarl_worlds::wildlife::solve;
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Subcommand)]
pub enum Solve {
    /// The best mean return of a fully informed team of drones, by dynamic programming.
    ///
    /// Exact: 100 steps, undiscounted, over all positions relative to the poacher. Translations, turns, mirrors and
    /// the exchange of drones shrink the states.
    Wildlife(Args),
}

#[derive(ClapArgs)]
pub struct Args {
    /// The number of drones.
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true)]
    drones: usize,
    /// Cells per side of the torus, odd.
    #[arg(long, value_name = "G", default_value_t = 7, allow_negative_numbers = true)]
    grid: usize,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Solve {
    pub fn run(self) -> Result<ExitCode> {
        let Solve::Wildlife(args) = self;
        let start = Instant::now();
        let found = solve(args.drones, args.grid)?;
        let seconds = start.elapsed().as_secs_f64();
        let optimum = found.mean_return();
        if args.json {
            print_json(&json!({
                "world": "wildlife", "drones": args.drones, "grid": args.grid, "optimum": optimum,
                "states": found.classes(), "seconds": seconds,
            }))?;
        } else {
            print(&format!(
                "{} drones on {g} x {g} cells: the best possible mean return is {optimum:.6}\n\
                 ({} states after symmetry, {seconds:.1} s)\n",
                args.drones,
                found.classes(),
                g = args.grid,
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
