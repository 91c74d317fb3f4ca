//! `equimarl export`: realised weights for other frameworks and small devices.

use crate::network;
use crate::number::whole;
use crate::output::{print, print_json};
use crate::outputs::{self, Force, Product};
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_files::MARK;
use equimarl_nn::{Batch, BatchBuilder, Cache, Network, Sharing, model::write_file};
use equimarl_worlds::{Purpose, Stream};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
Example, with an input and our answer to it, to compare another framework's with:
  equimarl export --model runs/a --dense dense.safetensors --sample sample.json")]
pub struct Args {
    /// A run directory or a model file. A run that is not finished gives its latest checkpoint.
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: PathBuf,
    /// Where the realised weights go.
    #[arg(long, value_name = "FILE")]
    dense: PathBuf,
    /// Also write random images and who hears whom, with the logits and the value that the network gives.
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,
    /// The seed of the sample.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let (mut network, metadata, file) = network::read(&args.model)?;
    let mut made = vec![("--dense", args.dense.as_path(), Product::Dense)];
    made.extend(args.sample.as_deref().map(|path| ("--sample", path, Product::Json)));
    outputs::check(&[&args.model, &file], &made, &args.force)?;
    let dense = network.dense()?;
    dense.save(&args.dense, &metadata.world, &metadata.extra)?;
    if let Some(path) = &args.sample {
        write_file(path, format!("{}\n", sample(&mut network, args.seed)?).as_bytes())?;
    }
    let weights: usize = dense.tensors.values().map(|t| t.values.len()).sum();
    if args.json {
        let tensors: serde_json::Map<String, Value> =
            dense.tensors.iter().map(|(name, t)| (name.clone(), json!(t.shape))).collect();
        print_json(&json!({
            "model": args.model, "dense": args.dense, "sample": args.sample,
            "parameters": metadata.parameters, "numbers": weights, "tensors": tensors,
        }))?;
    } else {
        print(&format!(
            "{}: {} tensors, {weights} numbers from {} parameters\n",
            args.dense.display(),
            dense.tensors.len(),
            metadata.parameters
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Who hears whom in a sample: two neighbours, one, none.
const HEARS: [&[usize]; 3] = [&[1, 2], &[0], &[]];

/// A random state, and what the network says about it.
fn sample(network: &mut Network, seed: u64) -> Result<Value> {
    if network.config().interface.sees_features() {
        return sample_features(network, seed);
    }
    let mut stream = Stream::new(seed, Purpose::Audit, 0);
    let setting = &network.config().interface.clone();
    let central = network.is_central();
    let shape = if central { setting.team_image } else { setting.image };
    let mut edges: Vec<Vec<[f32; 2]>> = vec![];
    let mut builder = BatchBuilder::new(Sharing::None);
    if central {
        builder.state(0, |_, key| *key);
        builder.blind_agents(setting.agents);
    } else {
        for (agent, neighbours) in HEARS.iter().enumerate() {
            builder.agent(agent, |_, key| *key);
            let mut vectors = vec![];
            for &from in *neighbours {
                let vector = [stream.normal() as f32, stream.normal() as f32];
                builder.edge(agent, from, vector);
                vectors.push(vector);
            }
            edges.push(vectors);
        }
    }
    builder.end_state();
    let paint = |_: &usize, pixels: &mut [f32]| pixels.iter_mut().for_each(|p| *p = stream.unit() as f32);
    let mut batch: Batch = builder.finish(shape.iter().product(), paint)?;
    batch.told = normals(&mut stream, network.policy()?.told_len() * HEARS.len());
    let mut cache = Cache::default();
    network.forward(&batch, &mut cache)?;
    let output = cache.output();
    let pixels = batch.images.pixels().unwrap_or_default();
    let images: Vec<&[f32]> = pixels.chunks(shape.iter().product()).collect();
    let mut sample = json!({
        "about": MARK,
        "picture": shape,
        "pictures": images,
        "neighbours": if central { vec![] } else { HEARS.to_vec() },
        "edges": edges,
        "logits": output.logits.chunks(network.actions()).collect::<Vec<_>>(),
        "value": output.values,
    });
    add_told(&mut sample, &batch);
    Ok(sample)
}

fn normals(stream: &mut Stream, count: usize) -> Vec<f32> {
    (0..count).map(|_| stream.normal() as f32).collect()
}

/// What agents are told, where they are told something.
fn add_told(sample: &mut Value, batch: &Batch) {
    if !batch.told.is_empty() {
        sample["told"] = json!(batch.told.chunks(batch.told.len() / HEARS.len()).collect::<Vec<_>>());
    }
}

/// A random state of a network that sees feature vectors. Every agent hears two senders of each kind.
fn sample_features(network: &mut Network, seed: u64) -> Result<Value> {
    let mut stream = Stream::new(seed, Purpose::Audit, 0);
    let mut normals = |n: usize| normals(&mut stream, n);
    let config = network.config().clone();
    let senses = config.senses()?;
    let mut batch = Batch::with_senders(senses.senders.len());
    let (mut features, mut edges) = (vec![], vec![]);
    let mut heard: Vec<Vec<Value>> = vec![vec![]; senses.senders.len()];
    for neighbours in HEARS {
        let own = normals(senses.features);
        batch.see(&own)?;
        features.push(own);
        let vectors: Vec<Vec<f32>> = neighbours.iter().map(|_| normals(senses.edge)).collect();
        for (&from, vector) in neighbours.iter().zip(&vectors) {
            batch.hear(from as u32, vector);
        }
        edges.push(vectors);
        for (k, (_, dim)) in senses.senders.iter().enumerate() {
            let both = [0, 1].map(|_| (normals(senses.edge), normals(*dim)));
            for (edge, seen) in &both {
                let id = if *dim > 0 { batch.senders[k].vectors.id(seen)? } else { 0 };
                batch.senders[k].hear(id, edge);
            }
            let [one, two] = both;
            heard[k].push(json!({ "edges": [one.0, two.0], "features": [one.1, two.1] }));
        }
        batch.end_agent();
    }
    batch.end_state();
    batch.told = normals(network.policy()?.told_len() * HEARS.len());
    let mut cache = Cache::default();
    network.forward(&batch, &mut cache)?;
    let output = cache.output();
    let senders: serde_json::Map<String, Value> =
        senses.senders.iter().zip(heard).map(|((kind, _), list)| (kind.to_string(), json!(list))).collect();
    let mut sample = json!({
        "about": MARK,
        "features": features,
        "neighbours": HEARS,
        "edges": edges,
        "senders": senders,
        "logits": output.logits.chunks(network.actions()).collect::<Vec<_>>(),
        "value": output.values,
    });
    add_told(&mut sample, &batch);
    Ok(sample)
}
