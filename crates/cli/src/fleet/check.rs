//! `equimarl fleet check`: was a recorded run local, and did its agents decide as the whole network would?

use super::team::Team;
use crate::output::{print, print_json};
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use equimarl_fleet::audit::{Findings, Recording};
use equimarl_worlds::WorldConfig;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Probabilities may differ by rounding.
const TOLERANCE: f64 = 1e-5;

#[derive(ClapArgs)]
pub struct Args {
    /// The folder that `fleet run --record` wrote; of a fleet on several machines, with everybody's files in it.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The model, if it is not where it was during the run.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let record = Recording::load(&args.folder)?;
    let about = &record.about;
    let model = match (&args.model, about["model"].as_str()) {
        (Some(model), _) => model.clone(),
        (None, Some(model)) => model.into(),
        (None, None) => anyhow::bail!("{} does not say which model it is of", args.folder.display()),
    };
    let config: WorldConfig = serde_json::from_value(about["config"].clone())
        .with_context(|| format!("{} does not say which world it is of", args.folder.display()))?;
    let team = Team::in_world(&model, &config)?;
    ensure!(
        about["fingerprint"] == format!("{:016x}", team.fingerprint),
        "{} is not the model of this run: it has changed since",
        model.display()
    );
    let found = record.audit(&team.policy, &mut *team.make()?)?;
    let holds = found.holds(TOLERANCE);
    if args.json {
        print_json(&json!({
            "holds": holds,
            "sent": found.sent,
            "received": found.received,
            "off_edge": found.off_edge,
            "steps": found.steps,
            "compared": found.compared,
            "largest_difference": found.difference,
            "other_actions": found.other_actions,
            "replayed": found.replayed,
        }))?;
    } else {
        print(&text(&found, record.torn))?;
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(found: &Findings, torn: u64) -> String {
    let mut out = format!("{} messages between agents were sent, {} arrived.\n", found.sent, found.received);
    match &found.first {
        None => out += "All went along an edge of the communication graph of their step.\n",
        Some(first) => out += &format!("{} did not go along an edge; the first: {first}.\n", found.off_edge),
    }
    if !found.replayed {
        out += "The recorded actions do not lead where the record says: it is not of this world and model.\n";
        return out;
    }
    out += &format!(
        "{} of {} steps were complete. In those, probabilities differ from the whole network's by at most {:.1e},\n\
         and {} actions are not those that it would have drawn.\n",
        found.compared, found.steps, found.difference, found.other_actions
    );
    if torn > 0 {
        out += &format!("{torn} lines are half written; a process was killed.\n");
    }
    out
}
