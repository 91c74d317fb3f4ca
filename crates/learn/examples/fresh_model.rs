//! Writes a network with fresh weights to a model file, to try out `inspect` and `export` without training:
//!
//! `cargo run --release -p equimarl-learn --example fresh_model -- wildlife equivariant C4 model.safetensors`

use equimarl_group::Group;
use equimarl_learn::interface;
use equimarl_nn::{Network, NetworkConfig, NetworkKind};
use equimarl_worlds::{Purpose, Stream, builtin};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [world, kind, group, path] = args.as_slice() else {
        return Err(
            "give a world, a kind of network, a group and a file: wildlife equivariant C4 model.safetensors"
                .into(),
        );
    };
    let (registry, group, kind): (_, Group, NetworkKind) = (builtin(), group.parse()?, kind.parse()?);
    let envs = registry.make(&registry.usual(world)?, &group, 1)?;
    let config = NetworkConfig::usual(interface(envs.spec(), kind)?, kind, &group);
    let mut stream = Stream::new(1, Purpose::Weights, 0);
    let network = Network::init(&config, &mut || stream.normal())?;
    network.save(path, &Value::Null, &json!({ "note": "fresh weights" }))?;
    println!("{path}: {} parameters", network.values().len());
    Ok(())
}
