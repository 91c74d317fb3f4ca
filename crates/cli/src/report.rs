//! `equimarl report`: what many runs amount to.

use crate::output::{print, print_json, table};
use crate::provenance;
use crate::registry;
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use equimarl_lab::report::{Study, figures_of, page};
use equimarl_lab::tensorboard::export;
use equimarl_lab::{Found, Gathered, gather};
use equimarl_nn::model::write_file;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
Runs of sweeps whose name ends in -rates choose the learning rates, and so do those given with --rates; the others are
reported. Unfinished and failed runs are listed with their state.

Examples:
  equimarl report runs/sweep --out report
  equimarl report docs/results/wildlife-3.jsonl docs/results/wildlife-3-rates.jsonl --json")]
pub struct Args {
    /// Run directories, folders with runs below (sweeps), or files of records (.jsonl).
    #[arg(required = true, value_name = "DIR_OR_JSONL")]
    places: Vec<PathBuf>,
    /// Runs that chose the learning rates, and are not reported.
    #[arg(long, value_name = "DIR_OR_JSONL")]
    rates: Vec<PathBuf>,
    /// Where the page and its figures go [default: report, or nowhere with --json].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write every run as event files for TensorBoard below this folder.
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
    /// Print everything as one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let found = gather(registry(), &args.places)?;
    let rates = if args.rates.is_empty() { Gathered::default() } else { gather(registry(), &args.rates)? };
    let study = Study::of(registry(), &found, &rates);
    let out = match (&args.out, args.json) {
        (Some(out), _) => Some(out.clone()),
        (None, false) => Some("report".into()),
        (None, true) => None,
    };
    let mut files = vec![];
    if let Some(out) = &out {
        files = write(&study, out, args)?;
    }
    if let Some(folder) = &args.tensorboard {
        let runs: Vec<Found> = found.runs.into_iter().chain(rates.runs).collect();
        files.extend(export(&runs, folder)?);
    }
    if args.json {
        let mut value = serde_json::to_value(&study)?;
        value["files"] = json!(files);
        value["commit"] = json!(provenance::COMMIT);
        print_json(&value)?;
    } else {
        print(&closing(&study))?;
        if let Some(out) = &out {
            let count = study.figures().len();
            print(&format!(
                "the page is {}, with {count} figures beside it\n",
                out.join("index.html").display()
            ))?;
        }
        if let Some(folder) = &args.tensorboard {
            print(&format!("to see the runs in TensorBoard: tensorboard --logdir {}\n", folder.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page last, so that whoever sees it has all its figures.
fn write(study: &Study, out: &Path, args: &Args) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let page_path = out.join("index.html");
    let before = figures_of(&std::fs::read_to_string(&page_path).unwrap_or_default());
    let mut files = vec![];
    for figure in study.figures() {
        let path = out.join(format!("{}.svg", figure.name));
        write_file(&path, figure.svg().as_bytes())?;
        files.push(path);
    }
    let made_by = format!("{} ({})", env!("CARGO_PKG_VERSION"), provenance::COMMIT);
    write_file(&page_path, page(study, &command(args), &made_by).as_bytes())?;
    // Figures of an earlier report would be taken for this one's.
    for old in before.iter().map(|name| out.join(format!("{name}.svg"))).filter(|old| !files.contains(old)) {
        let _ = std::fs::remove_file(old);
    }
    files.insert(0, page_path);
    Ok(files)
}

/// The command line again, for whoever wants the same page.
fn command(args: &Args) -> String {
    let mut words = vec!["equimarl report".to_string()];
    words.extend(args.places.iter().map(|p| p.display().to_string()));
    words.extend(args.rates.iter().map(|p| format!("--rates {}", p.display())));
    words.join(" ")
}

fn closing(study: &Study) -> String {
    let mut text = String::new();
    for setting in &study.settings {
        text += &format!("{}: {} after training\n\n", setting.setting, setting.measure.name());
        let mut rows = vec![];
        for team in &setting.teams {
            let own = setting.after.iter().rev().find_map(|a| {
                let score = a.teams.iter().find(|s| s.method == team.method)?;
                Some((a.steps, score.iqm))
            });
            let threshold = setting.thresholds.iter().find_map(|m| {
                let passing = m.teams.iter().find(|t| t.method == team.method)?;
                Some((m.threshold, passing))
            });
            rows.push(vec![
                team.method.clone(),
                team.learning_rate.to_string(),
                format!("{} of {}", team.finished, team.seeds.len()),
                own.map_or("-".into(), |(steps, _)| steps.to_string()),
                own.map_or("-".into(), |(_, i)| format!("{:.3} [{:.3}, {:.3}]", i.estimate, i.low, i.high)),
                threshold.map_or("-".into(), |(_, p)| match p.median.estimate {
                    steps if steps.is_finite() => format!("{steps:.0}"),
                    _ => format!("more than {}", p.budget),
                }),
            ]);
        }
        let threshold = setting.thresholds.first().map_or("a threshold".into(), |m| m.threshold.to_string());
        let passed = format!("steps to {threshold}");
        text += &table(&["method", "rate", "runs", "steps", "IQM [95%]", &passed], &rows);
        for c in &setting.comparisons {
            let i = c.improvement;
            text += &format!(
                "{} over {} after {} steps: better with probability {:.2} [{:.2}, {:.2}]\n",
                c.method, c.over, c.steps, i.estimate, i.low, i.high
            );
        }
        text.push('\n');
    }
    for note in &study.notes {
        text += &format!("note: {note}\n");
    }
    text
}
