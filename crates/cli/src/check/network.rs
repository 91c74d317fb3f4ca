//! `equimarl check network`

use crate::network::{Method, fresh, paper_config};
use crate::output::{print, print_json, table};
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::Result;
use burn::tensor::Device;
use clap::{Args as ClapArgs, ValueEnum};
use equimarl_group::Group;
use equimarl_learn::{EquivarianceReport, TOLERANCE, equivariance};
use equimarl_nn::Policy;
use equimarl_worlds::Symmetric;
use serde_json::json;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
Example, a network that turns with its world and one that does not:
  equimarl check network --world wildlife --method equivariant --group D4
  equimarl check network --world wildlife --method plain")]
pub struct Args {
    /// The world.
    #[arg(long)]
    world: WorldName,
    /// The method whose network is checked.
    #[arg(long)]
    method: Method,
    /// The symmetry [default: C4, or C2 where the world has no quarter turn].
    #[arg(long)]
    group: Option<String>,
    /// How many random states are compared.
    #[arg(long, default_value_t = 50, allow_negative_numbers = true)]
    states: usize,
    /// The seed of the states and of fresh weights.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    size: WorldArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    anyhow::ensure!(args.states > 0, "0 states check nothing; ask for at least 1");
    let kind = args.method.kind();
    let usual = match args.size.junctions()? {
        (rows, cols) if args.world == WorldName::Traffic && rows != cols => "C2",
        _ => "C4",
    };
    let symmetry = args.group.as_deref().unwrap_or(usual);
    // First, because it knows best which symmetry it can have.
    let world = args.size.build(args.world, Some(symmetry))?;
    let claimed: Group = if kind.is_plain() { Group::cyclic(1)? } else { symmetry.parse()? };
    let config = paper_config(args.world, &args.size, kind, &claimed)?;
    let network = fresh(&config, args.seed, &Device::flex())?;
    let policy = Policy::new(&network.dense())?;
    let (group, report) = match world {
        AnyWorld::Wildlife(w) => {
            (w.symmetry().group.clone(), equivariance(&policy, &w, args.states, args.seed)?)
        }
        AnyWorld::Traffic(w) => {
            (w.symmetry().group.clone(), equivariance(&policy, &w, args.states, args.seed)?)
        }
    };
    let parameters = network.parameter_count();
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        value["parameters"] = json!(parameters);
        value["world"] = json!(config.setting.world);
        value["method"] = json!(args.method.to_possible_value().map(|m| m.get_name().to_string()));
        value["network"] = json!(kind.name());
        value["group"] = json!(group.name());
        value["tolerance"] = json!(TOLERANCE);
        print_json(&value)?;
    } else {
        let title = format!(
            "{} {} network, {parameters} parameters, in {} random states under {group}\n\n",
            config.setting.world, kind, report.states
        );
        print(&(title + &text(&report, kind.is_plain())))?;
    }
    let broken = !kind.is_plain() && !report.equivariant;
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn text(report: &EquivarianceReport, plain: bool) -> String {
    let rows: Vec<Vec<String>> = report
        .elements
        .iter()
        .map(|e| vec![e.element.clone(), format!("{:.1e}", e.policy_error), format!("{:.1e}", e.value_error)])
        .collect();
    let verdict = match (report.equivariant, plain) {
        (true, _) => format!("equivariant: every difference is below {TOLERANCE:e}"),
        (false, true) => "not equivariant, as a plain network claims no symmetry".into(),
        (false, false) => format!(
            "NOT equivariant, although it claims to be; the first layer that does not turn: {}",
            report.first_failing_layer.as_deref().unwrap_or("unknown")
        ),
    };
    let heading = ["element", "largest difference of probabilities", "of values"];
    format!("{}\n{verdict}\n", table(&heading, &rows))
}
