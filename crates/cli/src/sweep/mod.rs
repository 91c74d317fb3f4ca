//! `equimarl sweep`: many runs, on this machine or a cluster.

mod list;
mod one;
mod watch;

use crate::output::{print, print_json};
use crate::outputs;
use crate::registry;
use crate::stop::Stop;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use equimarl_lab::engine::{local, slurm};
use equimarl_lab::{Folder, RunStatus, Sweep};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A sweep can be stopped at any time, and the same command goes on: finished runs are not made again, broken ones continue
from their checkpoints, failed ones are listed with their reason and made again with --retry.

Examples:
  equimarl sweep experiments/quick.toml --out runs/quick
  equimarl sweep list runs/quick
  equimarl sweep experiments/wildlife-3.toml --engine slurm --partition cpu --time 30:00
  equimarl sweep status runs/wildlife-3
  equimarl report runs/quick"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    all: MakeArgs,
}

#[derive(Subcommand)]
enum Verb {
    /// Show the index, name and state of every run.
    List(list::Args),
    /// Show what the cluster's queue and the run folders say of every run.
    Status(list::Args),
    /// Make exactly one run; engines call this.
    Run(one::Args),
    /// Add finished runs to the kept results, if the sweep file names a folder for them.
    Keep(SweepArgs),
}

/// Which sweep.
#[derive(ClapArgs)]
pub struct SweepArgs {
    /// The sweep's file, or the folder of a sweep that was begun.
    #[arg(value_name = "FILE_OR_FOLDER")]
    sweep: PathBuf,
    /// The sweep's folder [default: runs/NAME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(ClapArgs)]
struct MakeArgs {
    /// The sweep's file, or the folder of a sweep that was begun.
    #[arg(value_name = "FILE")]
    sweep: Option<PathBuf>,
    /// The sweep's folder [default: runs/NAME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What makes the runs.
    #[arg(long, default_value = "local")]
    engine: Engine,
    /// Only these runs, for example 3,7-9.
    #[arg(long, value_name = "LIST")]
    index: Option<String>,
    /// Make failed runs again.
    #[arg(long)]
    retry: bool,
    /// Make runs again whose results are kept, to compare; nothing new is kept.
    #[arg(long)]
    ignore_kept: bool,
    /// Here: processes at once [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Slurm: the partition.
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Slurm: the time limit of one run, as in 2:00:00.
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Slurm: the most tasks of one job array [default: what the cluster allows].
    #[arg(long, value_name = "N")]
    array_limit: Option<usize>,
    /// Print nothing but errors.
    #[arg(long)]
    quiet: bool,
    /// Print the outcome as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Engine {
    /// Processes on this machine.
    Local,
    /// Job arrays on a cluster.
    Slurm,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.verb {
        Some(Verb::List(args)) => list::run(args, false),
        Some(Verb::Status(args)) => list::run(args, true),
        Some(Verb::Run(args)) => one::run(args),
        Some(Verb::Keep(args)) => {
            let folder = args.open()?;
            let Some(results) = folder.results() else { bail!("the sweep file names no folder with `kept`") };
            let added = folder.keep(0..folder.sweep.runs.len())?;
            print(&format!("{added} more runs are kept in {}\n", results.display()))?;
            Ok(ExitCode::SUCCESS)
        }
        None => make(&args.all),
    }
}

impl SweepArgs {
    fn open(&self) -> Result<Folder> {
        if self.sweep.is_dir() {
            ensure!(self.out.is_none(), "--out goes with a sweep file, not with a folder");
            return Ok(Folder::begun(registry(), &self.sweep)?);
        }
        let sweep = Sweep::read(registry(), &self.sweep)?;
        let out = self.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(&sweep.name));
        let folder = Folder::open(registry(), sweep, &out)?;
        outputs::check_folder("--out", &out)?;
        Ok(folder)
    }
}

fn make(args: &MakeArgs) -> Result<ExitCode> {
    let Some(sweep) = &args.sweep else { bail!("which sweep? See `equimarl sweep --help`") };
    for (flag, given, engine) in [
        ("--partition", args.partition.is_some(), Engine::Slurm),
        ("--time", args.time.is_some(), Engine::Slurm),
        ("--array-limit", args.array_limit.is_some(), Engine::Slurm),
        ("--jobs", args.jobs.is_some(), Engine::Local),
    ] {
        let name = if engine == Engine::Slurm { "slurm" } else { "local" };
        ensure!(!given || args.engine == engine, "{flag} belongs to --engine {name}");
    }
    let mut folder = SweepArgs { sweep: sweep.clone(), out: args.out.clone() }.open()?;
    if args.ignore_kept {
        folder.sweep = folder.sweep.without_kept();
    }
    if args.engine == Engine::Slurm {
        // Before anything is changed.
        slurm::check()?;
    }
    folder.prepare()?;
    let asked = match &args.index {
        None => (0..folder.sweep.runs.len()).collect(),
        Some(text) => list(text)?,
    };
    let indices = to_make(args, &folder, &asked)?;
    match args.engine {
        Engine::Local => here(args, &folder, &asked, &indices),
        Engine::Slurm => there(args, &folder, &indices),
    }
}

/// Which of the asked runs are still to be made.
fn to_make(args: &MakeArgs, folder: &Folder, asked: &[usize]) -> Result<Vec<usize>> {
    let statuses = folder.statuses()?;
    let mut indices = vec![];
    for &index in asked {
        folder.planned(index)?;
        match &statuses[index] {
            RunStatus::Finished | RunStatus::Kept => continue,
            RunStatus::Failed(_) if !args.retry => continue,
            RunStatus::Failed(_) => folder.clear_failure(index)?,
            RunStatus::Running | RunStatus::Stopped | RunStatus::Waiting => {}
        }
        indices.push(index);
    }
    Ok(indices)
}

/// `3,7-9`
fn list(text: &str) -> Result<Vec<usize>> {
    let wrong = || format!("cannot read --index {text}; write for example 3,7-9");
    let mut all = vec![];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) =
            (first.trim().parse().with_context(wrong)?, last.trim().parse().with_context(wrong)?);
        ensure!(first <= last && last - first <= 1_000_000, wrong());
        all.extend(first..=last);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn here(args: &MakeArgs, folder: &Folder, asked: &[usize], indices: &[usize]) -> Result<ExitCode> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = args.jobs.unwrap_or(cores);
    ensure!((1..=1024).contains(&workers), "--jobs must be between 1 and 1024, not {workers}");
    let workers = workers.min(indices.len());
    let program = std::env::current_exe().context("cannot find this program")?;
    let command = |index: usize| {
        let mut command = Command::new(&program);
        command.args(["sweep", "run"]).arg(&folder.path);
        command.args(["--index", &index.to_string(), "--threads", "1", "--json", "--until-input-ends"]);
        command
    };
    let stop = Stop::listen()?;
    let mut display = watch::Watch::new(folder, indices, workers, args.quiet || args.json);
    let done =
        local::make_all(folder, indices, workers, &command, &|| stop.asked(), &mut |note| display.hear(note));
    display.close();
    let died = done?;
    let code = outcome(args, folder, asked, &died)?;
    if stop.asked() {
        eprintln!("stopped; the same command goes on");
        return Ok(stop.code());
    }
    Ok(code)
}

/// How the asked runs stand after all were tried. `died` are those whose processes ended without a word.
fn outcome(args: &MakeArgs, folder: &Folder, asked: &[usize], died: &[(usize, String)]) -> Result<ExitCode> {
    let all = folder.statuses()?;
    let statuses: Vec<(usize, &RunStatus)> = asked.iter().map(|&i| (i, &all[i])).collect();
    let count = |word: &str| statuses.iter().filter(|(_, s)| s.word() == word).count();
    let name = |i: usize| folder.sweep.runs[i].name.as_str();
    let failed: Vec<(usize, &str, &str)> = statuses
        .iter()
        .filter_map(|&(i, s)| match s {
            RunStatus::Failed(why) => Some((i, name(i), why.as_str())),
            _ => None,
        })
        .collect();
    let died: Vec<(usize, &str, &str)> = died
        .iter()
        .filter(|(i, _)| !all[*i].is_done())
        .map(|(i, why)| (*i, name(*i), why.as_str()))
        .collect();
    let (finished, kept) = (count("finished"), count("kept"));
    if args.json {
        let listed = |runs: &[(usize, &str, &str)]| -> Vec<_> {
            runs.iter().map(|(i, name, why)| json!({ "index": i, "name": name, "reason": why })).collect()
        };
        print_json(&json!({
            "sweep": folder.sweep.name, "folder": folder.path, "runs": statuses.len(), "finished": finished,
            "kept": kept, "failed": listed(&failed), "died": listed(&died),
            "left": statuses.len() - finished - kept - failed.len(),
        }))?;
    } else if !args.quiet {
        let mut text = format!("{} of {} runs are finished", finished + kept, statuses.len());
        if kept > 0 {
            text += &format!(", {kept} of them kept from before");
        }
        text += &format!(" in {}\n", folder.path.display());
        for (index, name, why) in &failed {
            text += &format!("failed: {index} {name}: {why}\n");
        }
        for (index, name, why) in &died {
            text += &format!("died, the same command goes on with it: {index} {name}: {why}\n");
        }
        print(&text)?;
    }
    Ok(if finished + kept == statuses.len() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn there(args: &MakeArgs, folder: &Folder, indices: &[usize]) -> Result<ExitCode> {
    let options = slurm::Options {
        partition: args.partition.clone(),
        time: args.time.clone(),
        array_limit: args.array_limit,
    };
    let program = std::env::current_exe().context("cannot find this program")?;
    // What is in the queue already must not be submitted twice.
    let queue = slurm::queue(folder)?;
    let free: Vec<usize> = indices.iter().copied().filter(|i| !queue.contains_key(i)).collect();
    let jobs = slurm::submit(folder, &free, &program, &options)?;
    if args.json {
        print_json(&json!({ "folder": folder.path, "submitted": free.len(), "jobs": jobs }))?;
    } else if !args.quiet {
        for job in &jobs {
            print(&format!("job {} makes {} runs\n", job.id, job.runs.len()))?;
        }
        print(&format!(
            "{} runs submitted, {} in the queue before; see them with: equimarl sweep status {}\n",
            free.len(),
            indices.len() - free.len(),
            folder.path.display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
