//! `equimarl inspect`: what is in a model file.

use crate::network;
use crate::output::{print, print_json, table};
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_nn::model::Content;
use equimarl_nn::{Metadata, NetworkKind};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Longer representations are cut in the table; `--json` prints them whole.
const LONGEST: usize = 40;

#[derive(ClapArgs)]
pub struct Args {
    /// A run directory, a model file, or a dense export. A run that is not finished shows its latest checkpoint.
    #[arg(value_name = "RUN_OR_FILE")]
    model: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let found = network::describe(&args.model)?;
    let weights: usize = found.representations.iter().map(|l| l.shape.iter().product::<usize>()).sum();
    // A relaxed network tells how far each layer left the symmetry.
    let relaxed = found.network.kind == NetworkKind::Relaxed && found.content == Content::Coefficients;
    let left = if relaxed { network::read(&args.model)?.0.asymmetry() } else { vec![] };
    if args.json {
        let mut value = as_json(&found, weights);
        if relaxed {
            value["asymmetry"] =
                left.iter().map(|(layer, norm)| (layer.clone(), json!(norm))).collect::<Map<_, _>>().into();
        }
        print_json(&value)?;
    } else {
        let norms: Vec<String> = left.iter().map(|(layer, norm)| format!("{layer} {norm:.3}")).collect();
        let line = match relaxed {
            true => format!("distance of the weights from equivariant ones: {}\n", norms.join(", ")),
            false => String::new(),
        };
        print(&(text(&found, weights) + &line))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(found: &Metadata, weights: usize) -> Value {
    let network = &found.network;
    let layers: Vec<Value> = found
        .representations
        .iter()
        .map(|l| {
            json!({
                "name": l.name, "in": l.input, "out": l.output, "kernel": l.kernel, "shape": l.shape,
                "weight_rank": l.ranks[0], "bias_rank": l.ranks[1],
            })
        })
        .collect();
    json!({
        "format": found.format,
        "content": found.content,
        "software": found.software,
        "world": network.interface.world,
        "agents": network.interface.agents,
        "kind": network.kind,
        "group": network.group,
        "parameters": found.parameters,
        "weights": weights,
        "layers": layers,
        "network": network,
        "settings": found.world.get("settings"),
        "extra": found.extra,
    })
}

fn text(found: &Metadata, weights: usize) -> String {
    let network = &found.network;
    let rows: Vec<Vec<String>> = found
        .representations
        .iter()
        .map(|l| {
            let shape: Vec<String> = l.shape.iter().map(usize::to_string).collect();
            vec![
                l.name.clone(),
                short(&l.input),
                short(&l.output),
                shape.join(" x "),
                l.ranks[0].to_string(),
                l.ranks[1].to_string(),
            ]
        })
        .collect();
    let mut text = format!(
        "{} network of {} for {} agents, group {}\n{} parameters make {weights} weights\n\n{}",
        network.kind,
        network.interface.world,
        network.interface.agents,
        printable(&network.group),
        found.parameters,
        table(&["layer", "in", "out", "weight", "rank", "bias rank"], &rows),
    );
    match found.world.get("settings").and_then(Value::as_object) {
        Some(settings) => {
            let list: Vec<String> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let line = format!("its world: {} with {}", network.interface.world, list.join(", "));
            text += &format!("\n{}\n", printable(&line));
        }
        None => text += "\nit does not say what its world was like\n",
    }
    let content = match found.content {
        Content::Coefficients => "coefficients",
        Content::Dense => "realised weights",
    };
    text += &format!("{content} in format {}, by {}\n", found.format, printable(&found.software));
    if let Value::Object(extra) = &found.extra {
        for (key, value) in extra {
            text += &printable(&format!("{key}: {value}"));
            text += "\n";
        }
    } else if !found.extra.is_null() {
        text += &printable(&found.extra.to_string());
        text += "\n";
    }
    text
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some(_) => format!("{}...", text.chars().take(LONGEST - 3).collect::<String>()),
    }
}

/// A file's text may hold what moves the cursor.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
