//! `equimarl check world`

use crate::output::{print, print_json, table};
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use equimarl_worlds::{AuditReport, Symmetric, audit};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
Example, a world with its full symmetry and one that has no mirror, because its lanes are one-way:
  equimarl check world wildlife --group D4
  equimarl check world traffic --group D4")]
pub struct Args {
    /// The world to check.
    world: WorldName,
    /// The symmetry to check: C1, C2, C4, D1, D2 or D4 [default: all that the world claims].
    #[arg(long)]
    group: Option<String>,
    /// Steps of random rollouts, each tried with every group element.
    #[arg(long, default_value_t = 5000, allow_negative_numbers = true)]
    steps: usize,
    /// The seed of the rollouts.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    /// Where the states of counterexamples are saved.
    #[arg(long, value_name = "DIR", default_value = "counterexamples")]
    out: PathBuf,
    #[command(flatten)]
    size: WorldArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if args.steps == 0 {
        bail!("0 steps check nothing; ask for at least 1");
    }
    let (name, group, report) = match args.size.build(args.world, args.group.as_deref())? {
        AnyWorld::Wildlife(w) => ("wildlife", w.symmetry().group.clone(), audit(&w, args.steps, args.seed)),
        AnyWorld::Traffic(w) => ("traffic", w.symmetry().group.clone(), audit(&w, args.steps, args.seed)),
    };
    let files = save(&report, name, &args.out)?;
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        value["world"] = json!(name);
        value["group"] = json!(group.name());
        value["seed"] = json!(args.seed);
        for (i, file) in files.iter().enumerate().filter_map(|(i, f)| Some((i, f.as_ref()?))) {
            value["elements"][i]["counterexample"]["file"] = json!(file);
        }
        print_json(&value)?;
    } else {
        print(&text(&report, name, group.name(), &files))?;
    }
    Ok(if report.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Saves the state of each counterexample, one file per element.
fn save(report: &AuditReport, world: &str, folder: &Path) -> Result<Vec<Option<PathBuf>>> {
    let mut files = Vec::new();
    for element in &report.elements {
        let Some(found) = &element.counterexample else {
            files.push(None);
            continue;
        };
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let file = folder.join(format!("{world}-{}.json", element.element));
        let mut content = serde_json::to_value(found)?;
        content["world"] = json!(world);
        content["element"] = json!(element.element);
        std::fs::write(&file, format!("{content:#}\n"))
            .with_context(|| format!("cannot save the counterexample to {}", file.display()))?;
        files.push(Some(file));
    }
    Ok(files)
}

fn text(report: &AuditReport, world: &str, group: &str, files: &[Option<PathBuf>]) -> String {
    let mut text = format!(
        "{world} under {group}: {} random steps, every one with every element, all comparisons exact\n\n",
        report.steps
    );
    let rows: Vec<Vec<String>> = report
        .elements
        .iter()
        .map(|e| vec![e.element.clone(), if e.holds { "holds" } else { "FAILS" }.into()])
        .collect();
    text += &table(&["element", "rewards, transitions, observations, graph"], &rows);
    for (element, file) in report.elements.iter().zip(files) {
        if let (Some(found), Some(file)) = (&element.counterexample, file) {
            text += &format!(
                "\n{} fails at step {}: {}\n  the state is saved in {}\n",
                element.element,
                found.step,
                found.text,
                file.display()
            );
        }
    }
    let verdict =
        if report.holds { "is symmetric as far as these steps go" } else { "does not have this symmetry" };
    text + &format!("\n{world} {verdict}\n")
}
