//! `equimarl check network`

use crate::network::{self, fresh, paper_config};
use crate::output::{print, print_json, table};
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use equimarl_group::Group;
use equimarl_learn::{EquivarianceReport, Method, TOLERANCE, equivariance};
use equimarl_nn::Network;
use equimarl_worlds::Symmetric;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
Example, a network that turns with its world and one that does not:
  equimarl check network --world wildlife --method equivariant --group D4
  equimarl check network --world wildlife --method plain")]
pub struct Args {
    /// The world; a model knows its own.
    #[arg(long, required_unless_present = "model")]
    world: Option<WorldName>,
    /// The method whose network is checked: equivariant, plain, augment-random, augment-full, central-equivariant or
    /// central-plain; a model knows its own.
    #[arg(long, required_unless_present = "model")]
    method: Option<Method>,
    /// A trained network: a run directory or a model file. Without it, a fresh one is checked.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: Option<PathBuf>,
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
    let (network, world) = args.network_and_world()?;
    let (config, kind) = (network.config().clone(), network.config().kind);
    let policy = network.policy()?;
    let (group, report) = match world {
        AnyWorld::Wildlife(w) => {
            (w.symmetry().group.clone(), equivariance(&policy, &w, args.states, args.seed)?)
        }
        AnyWorld::Traffic(w) => {
            (w.symmetry().group.clone(), equivariance(&policy, &w, args.states, args.seed)?)
        }
    };
    let parameters = network.values().len();
    // A plain network claims nothing, and one under C4 claims nothing about mirrors.
    let claims = !kind.is_plain() && *network.group() == group;
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        value["parameters"] = json!(parameters);
        value["world"] = json!(config.setting.world);
        value["method"] = json!(args.method.map_or(kind.name(), |m| m.name()));
        value["network"] = json!(kind.name());
        value["group"] = json!(group.name());
        value["tolerance"] = json!(TOLERANCE);
        print_json(&value)?;
    } else {
        let title = format!(
            "{} {} network, {parameters} parameters, in {} random states under {group}\n\n",
            config.setting.world, kind, report.states
        );
        print(&(title + &text(&report, claims)))?;
    }
    Ok(if claims && !report.equivariant { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Args {
    /// The network to check, and the world under the symmetry to check.
    fn network_and_world(&self) -> Result<(Network, AnyWorld)> {
        let loaded = self.model.as_ref().map(|path| network::load(path, &self.size)).transpose()?;
        let (world, size) = match &loaded {
            Some((_, world, size)) => (*world, size.clone()),
            None => (self.world.context("give --world, or --model")?, self.size.clone()),
        };
        let square = match world {
            WorldName::Wildlife => true,
            WorldName::Traffic => {
                let (rows, cols) = size.junctions()?;
                rows == cols
            }
        };
        let usual = if square { "C4" } else { "C2" };
        if let Some((network, ..)) = loaded {
            let kind = network.config().kind;
            ensure!(
                self.world.is_none_or(|w| w == world),
                "the model was made for another world than --world"
            );
            ensure!(
                self.method.is_none_or(|m| m.kind() == kind),
                "the model is a {kind} network, not what --method says"
            );
            let own = if kind.is_plain() { usual } else { network.group().name() };
            let world = size.build(world, Some(self.group.as_deref().unwrap_or(own)))?;
            return Ok((network, world));
        }
        let kind = self.method.context("give --method, or --model")?.kind();
        let symmetry = self.group.as_deref().unwrap_or(usual);
        // First, because it knows best which symmetry it can have.
        let built = size.build(world, Some(symmetry))?;
        let claimed: Group = if kind.is_plain() { Group::cyclic(1)? } else { symmetry.parse()? };
        let config = paper_config(world, &size, kind, &claimed)?;
        Ok((fresh(&config, self.seed)?, built))
    }
}

fn text(report: &EquivarianceReport, claims: bool) -> String {
    let rows: Vec<Vec<String>> = report
        .elements
        .iter()
        .map(|e| vec![e.element.clone(), format!("{:.1e}", e.policy_error), format!("{:.1e}", e.value_error)])
        .collect();
    let verdict = match (report.equivariant, claims) {
        (true, _) => format!("equivariant: every difference is below {TOLERANCE:e}"),
        (false, false) => "not equivariant; this network does not claim this symmetry".into(),
        (false, true) => format!(
            "NOT equivariant, although it claims to be; the first layer that does not turn: {}",
            report.first_failing_layer.as_deref().unwrap_or("unknown")
        ),
    };
    let heading = ["element", "largest difference of probabilities", "of values"];
    format!("{}\n{verdict}\n", table(&heading, &rows))
}
