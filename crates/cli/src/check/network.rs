//! `equimarl check network`

use super::some_turns;
use crate::examples::examples;
use crate::network::{self, fresh};
use crate::number::whole;
use crate::output::{print, print_json, table};
use crate::registry;
use crate::waiting::Waiting;
use crate::world::{WorldArgs, methods, names};
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use equimarl_group::Symmetry;
use equimarl_learn::{
    EquivarianceReport, Method, TOLERANCE, TrainConfig, check_fit, equivariance_each, equivariance_turns,
    usual_group,
};
use equimarl_nn::{Network, NetworkKind};
use equimarl_worlds::{Envs, Purpose, Stream, WorldConfig};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = examples(
    "A network that transforms with its world, and one that does not:",
    &["check network --world {world} --method equivariant", "check network --world {world} --method plain"],
))]
pub struct Args {
    /// The world; a model knows its own.
    #[arg(long, value_name = "NAME", required_unless_present = "model", value_parser = names())]
    world: Option<String>,
    /// The method whose network is checked; a model knows its own.
    #[arg(long, value_name = "NAME", required_unless_present = "model", value_parser = methods())]
    method: Option<Method>,
    /// A trained network: a run directory or a model file. Without it, a fresh one is checked.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: Option<PathBuf>,
    /// The symmetry to ask for [default: what the network claims; a plain one claims nothing].
    #[arg(long)]
    group: Option<String>,
    /// Transform what breaks the symmetry along with everything else: wind, a tilt. A network that is told of it turns then.
    #[arg(long)]
    transform_cause: bool,
    /// How many random states are compared.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true, value_parser = whole::<usize>)]
    states: usize,
    /// The seed of the states and of fresh weights.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
    #[command(flatten)]
    size: WorldArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    anyhow::ensure!(args.states > 0, "0 states check nothing; ask for at least 1");
    let (network, envs, symmetry) = args.network_and_world()?;
    let (config, kind) = (network.config().clone(), network.config().kind);
    let policy = network.policy()?;
    if args.transform_cause
        && let Some(exact) = envs.exact()
    {
        super::has_cause(exact)?;
    }
    let waiting = Waiting::for_("states", Some(args.states as u64));
    let at = |done| waiting.at(done as u64);
    let report = match symmetry.is_finite() {
        true => equivariance_each(&policy, &*envs, args.states, args.seed, args.transform_cause, at)?,
        false => {
            let turns = some_turns(&symmetry, args.seed);
            equivariance_turns(&policy, &*envs, (&symmetry, &turns), args.states, args.seed, at)?
        }
    };
    drop(waiting);
    let parameters = network.values().len();
    // Without a question, the question is whether it is what it claims: a plain network claims nothing, and is shown under the
    // group that others of its world have.
    // Relaxed ones began with a symmetry and tell how far they left it.
    let claims = !kind.is_plain() && kind != NetworkKind::Relaxed;
    let asked = args.group.is_some() || claims;
    let holds = report.equivariant || !asked;
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        value["parameters"] = json!(parameters);
        value["world"] = json!(config.interface.world);
        value["method"] = json!(args.method.map_or(kind.name(), |m| m.name()));
        value["network"] = json!(kind.name());
        value["group"] = json!(symmetry.name());
        value["tolerance"] = json!(TOLERANCE);
        value["claims"] = if claims { json!(config.group) } else { json!(null) };
        value["holds"] = json!(holds);
        print_json(&value)?;
    } else {
        let title = format!(
            "{} {} network, {parameters} parameters, in {} random states under {symmetry}\n\n",
            config.interface.world, kind, report.states
        );
        let claimed = claims && config.group == symmetry.name();
        // What is told what breaks the symmetry turns with it, and not without.
        let told = !config.interface.cause.is_empty() && !args.transform_cause;
        print(&(title + &text(&report, asked, (claimed, told), &symmetry)))?;
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Args {
    /// The network to check, and the world under the symmetry to check.
    fn network_and_world(&self) -> Result<(Network, Box<dyn Envs>, Symmetry)> {
        if let Some(path) = &self.model {
            let trained = network::load(path, self.world.as_deref(), &self.size)?;
            let kind = trained.network.config().kind;
            ensure!(
                // With an infinite penalty a relaxed network is an equivariant one.
                self.method.is_none_or(
                    |m| m.kind() == kind || m == Method::Relaxed && kind == NetworkKind::Equivariant
                ),
                "the network of this model is called {kind}, and --method asks for another one"
            );
            let own = match kind.is_plain() {
                true => self.usual_group(&trained.world)?,
                false => trained.network.config().group.clone(),
            };
            let (envs, symmetry) = self.symmetric(&trained.world, &own)?;
            check_fit(envs.spec(), trained.network.config())?;
            return Ok((trained.network, envs, symmetry));
        }
        let world = self.size.of(self.world.as_deref().context("give --world, or --model")?)?;
        // First, because it knows best which symmetry it can have.
        let registry = registry();
        let method = self.method.context("give --method, or --model")?;
        let (envs, symmetry) = self.symmetric(&world, &usual_group(registry, &world, method)?)?;
        let usual = TrainConfig::preset(registry, "default", world.clone(), method)?;
        let config = TrainConfig { group: symmetry.name().into(), ..usual }.network(registry)?;
        let mut network = fresh(&config, self.seed)?;
        enliven(&mut network, &*envs, self.seed)?;
        Ok((network, envs, symmetry))
    }

    fn usual_group(&self, world: &WorldConfig) -> Result<String> {
        registry().usual_group(world).with_context(|| format!("there is no world `{}`", world.name))
    }

    /// The world under the symmetry that was asked for, or this one.
    fn symmetric(&self, world: &WorldConfig, usual: &str) -> Result<(Box<dyn Envs>, Symmetry)> {
        let symmetry: Symmetry = self.group.as_deref().unwrap_or(usual).parse()?;
        let group = symmetry.finite()?;
        registry().get(&world.name)?.check_symmetry(&world.settings, &group)?;
        Ok((registry().make(world, &group, 1)?, symmetry))
    }
}

/// Makes a fresh policy over vectors do something: its means are longer than this, on average.
const LONG: f64 = 0.35;

fn enliven(network: &mut Network, envs: &dyn Envs, seed: u64) -> Result<()> {
    if !network.acts_by_vectors() {
        return Ok(());
    }
    // The smallest size that will do: what a network rounds grows with its weights.
    for size in (0..16).map(|k| f64::from(1 << k) / 64.0) {
        let mut stream = Stream::new(seed, Purpose::Weights, 1);
        network.enliven(size, &mut || stream.normal());
        let found = equivariance_each(&network.policy()?, envs, 10, seed, false, |_| ())?.mean_action;
        if found.is_none_or(|mean| mean > LONG) {
            break;
        }
    }
    Ok(())
}

fn text(report: &EquivarianceReport, asked: bool, (claimed, told): (bool, bool), group: &Symmetry) -> String {
    let row =
        |name: String, policy: f64, value: f64| vec![name, format!("{policy:.1e}"), format!("{value:.1e}")];
    // How asymmetric a policy is in the mean says something where it is not symmetric.
    let sized = group.is_finite() && !report.equivariant;
    let mut rows: Vec<Vec<String>> = report
        .elements
        .iter()
        .map(|e| {
            let mut row = row(e.element.clone(), e.policy_error, e.value_error);
            row.extend(sized.then(|| format!("{:.1e}", e.divergence.max(0.0))));
            row
        })
        .collect();
    if !group.is_finite() {
        // One line for all of them.
        let name = format!(
            "{} random {}",
            report.elements.len(),
            if group.name() == "O2" { "turns and mirrors" } else { "turns" }
        );
        rows = vec![row(name, report.policy_error, report.value_error)];
    }
    let verdict = match (report.equivariant, asked, claimed) {
        (true, ..) => format!("equivariant: every difference is below {TOLERANCE:e}"),
        (false, false, _) if told => format!(
            "this network claims no symmetry, and has none of {group} while what breaks the symmetry is held fixed; it is told of it, and \
             --transform-cause turns it along"
        ),
        (false, false, _) => format!(
            "this network claims no symmetry, and has none of {group}; `--group {group}` would ask for it and fail"
        ),
        (false, true, false) => {
            "NOT equivariant; it does not claim this symmetry, but it was asked for".into()
        }
        (false, true, true) if told => {
            "NOT equivariant while what breaks the symmetry is held fixed, as it should be: this network is told of it; with \
             --transform-cause it turns along"
                .into()
        }
        (false, true, true) => format!(
            "NOT equivariant, although it claims to be; the first layer that does not turn: {}",
            report.first_failing_layer.as_deref().unwrap_or("unknown")
        ),
    };
    let what = match report.mean_action {
        None => "largest difference of probabilities",
        Some(_) => "largest difference of means and deviations",
    };
    let long = report.mean_action.map(|mean| format!("mean length of an action without chance: {mean:.2}\n"));
    let likeliest =
        report.mean_likeliest.map(|mean| format!("mean probability of the likeliest action: {mean:.2}\n"));
    let mut heading = vec!["element", what, "of values"];
    heading.extend(sized.then_some("mean divergence, nats"));
    format!("{}\n{}{verdict}\n", table(&heading, &rows), long.or(likeliest).unwrap_or_default())
}
