//! `equimarl sweep run`: exactly one run of a sweep, in this process. Any engine can drive it.

use super::SweepArgs;
use crate::output::print;
use crate::provenance;
use crate::stop::Stop;
use crate::train::{Display, use_threads};
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use equimarl_learn::run::{Ended, Event};
use std::process::ExitCode;

#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    sweep: SweepArgs,
    /// Which run, as `sweep list` numbers them.
    #[arg(long, value_name = "N")]
    index: usize,
    /// Threads [default: all cores, or RAYON_NUM_THREADS]. The result does not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print nothing but errors.
    #[arg(long)]
    quiet: bool,
    /// Print one JSON object per line while training, and the summary as the last one.
    #[arg(long)]
    json: bool,
    /// Stop, with a checkpoint, when standard input ends: whoever started this has gone.
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    use_threads(args.threads)?;
    let folder = args.sweep.open()?;
    let planned = folder.planned(args.index)?;
    folder.prepare_for_one()?;
    let stop = Stop::listen()?;
    let stop = if args.until_input_ends { stop.with_input() } else { stop };
    stop.insist(|| eprintln!("stopped at once, after its last checkpoint; the same command goes on"));
    let mut display = Display::new(&planned.config, &folder.finished(planned), args.quiet, args.json);
    let ended = folder.make(args.index, &provenance::origin(), &|| stop.asked(), &mut |event| {
        if let Event::Stopping = event {
            stop.writing();
        }
        display.hear(event);
    });
    display.close();
    match ended.with_context(|| format!("run {} ({}) stopped", args.index, planned.name))? {
        Ended::Finished(summary) => {
            if args.json {
                print(&format!("{summary}\n"))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Ended::Stopped { steps } => {
            if !args.quiet {
                eprintln!("stopped after {steps} steps; the same command goes on");
            }
            Ok(stop.code())
        }
    }
}
