//! `equimarl check basis`

use crate::number::whole;
use crate::output::{print, print_json, table};
use crate::waiting::Waiting;
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_group::{Basis, Comparison, Group, Method, Rep, compare};
use serde_json::json;
use std::process::ExitCode;

/// What exact arithmetic leaves in f64.
const EXACT: f64 = 1e-12;
/// Two methods found the same space if no direction of one is further than this from the other.
const SAME_SPACE: f64 = 1e-6;

#[derive(ClapArgs)]
#[command(after_help = "\
Representations are sums and multiples of: trivial, sign, regular, quotient(C2), rotation, natural, pixels(5),
perm[0 4 1 2 3] and matrix[0 -1, 1 0] (one list per generator, separated by `;`), dual(...), tensor(..., ...).

Example, a message layer of the paper's network:
  equimarl check basis --group C4 --in \"8*regular + rotation\" --out \"32*regular\"
Its second convolution:
  equimarl check basis --group C4 --in \"8*regular\" --out \"16*regular\" --kernel 5")]
pub struct Args {
    /// The group: C4, D4, S3, "C4 x C2", "perm[1 2 0; 1 0 2]".
    #[arg(long)]
    group: String,
    /// The input representation.
    #[arg(long = "in", value_name = "REP")]
    input: String,
    /// The output representation.
    #[arg(long = "out", value_name = "REP")]
    output: String,
    /// Find k x k filters instead of dense maps.
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole::<usize>)]
    kernel: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let group: Group = args.group.parse()?;
    let input = Rep::parse(&group, &args.input)?;
    let output = Rep::parse(&group, &args.output)?;
    let waiting = Waiting::for_("comparing the methods", None);
    let found = compare(&input, &output, args.kernel)?;
    drop(waiting);
    let holds = found.rank() == found.rank_by_characters()
        && found.residual() < EXACT
        && found.max_angle().is_none_or(|a| a < SAME_SPACE);
    // Says which characters left nothing but zero.
    let empty = (found.rank() == 0).then(|| why_empty(&input, &output, args.kernel)).flatten();
    if args.json {
        let pairs: Vec<_> = found
            .pairs
            .iter()
            .map(|p| {
                json!({
                    "in": p.input, "out": p.output, "blocks": p.blocks, "entries": p.entries, "rank": p.rank,
                    "rank_by_characters": p.rank_by_characters, "residual": p.residual, "max_angle": p.max_angle,
                    "methods": p.methods.iter().map(|&m| name(m)).collect::<Vec<_>>(),
                })
            })
            .collect();
        print_json(&json!({
            "group": group.name(),
            "in": input.to_string(),
            "out": output.to_string(),
            "kernel": args.kernel,
            "rank": found.rank(),
            "rank_by_characters": found.rank_by_characters(),
            "residual": found.residual(),
            "max_angle": found.max_angle(),
            "holds": holds,
            "note": empty,
            "pairs": pairs,
        }))?;
    } else {
        let pixels = args.kernel.map_or(String::new(), |k| format!(", {k} x {k} filters"));
        let title = format!("equivariant maps of {group} from {input} to {output}{pixels}\n\n");
        print(&(title + &text(&found, &input, &output, args.kernel)))?;
        if let Some(reason) = empty {
            print(&format!("\n{reason}\n"))?;
        }
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn why_empty(input: &Rep, output: &Rep, kernel: Option<usize>) -> Option<String> {
    let basis = match kernel {
        Some(k) => Basis::filter(input, output, k),
        None => Basis::linear(input, output),
    };
    basis.err().map(|error| error.to_string())
}

fn name(method: Method) -> &'static str {
    match method {
        Method::Orbit => "orbit",
        Method::Projector => "projector",
        Method::Symmetrizer => "symmetrizer",
    }
}

fn text(found: &Comparison, input: &Rep, output: &Rep, kernel: Option<usize>) -> String {
    let angle = |a: Option<f64>| a.map_or("-".to_string(), |a| format!("{a:.1e}"));
    let rows: Vec<Vec<String>> = found
        .pairs
        .iter()
        .map(|p| {
            vec![
                format!("{} -> {}", p.input, p.output),
                p.blocks.to_string(),
                p.entries.to_string(),
                p.rank.to_string(),
                p.rank_by_characters.to_string(),
                format!("{:.1e}", p.residual),
                angle(p.max_angle),
                p.methods.iter().map(|&m| name(m)).collect::<Vec<_>>().join(", "),
            ]
        })
        .collect();
    let heading = ["pair", "blocks", "entries", "rank", "by characters", "residual", "angle", "methods"];
    let weights = input.dim() * output.dim() * kernel.map_or(1, |k| k * k);
    let agreement = match found.max_angle() {
        Some(a) => format!("largest principal angle between methods {a:.1e}"),
        None => "one method applies, so there is nothing to compare".into(),
    };
    format!(
        "{}\nrank {} of {weights} weights, {} by characters; largest residual {:.1e}; {agreement}\n",
        table(&heading, &rows),
        found.rank(),
        found.rank_by_characters(),
        found.residual(),
    )
}
