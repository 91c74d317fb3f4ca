//! Writes a network with fresh weights to a model file, to try out `inspect` and `export` without training:
//!
//! `cargo run --release -p equimarl-nn --example fresh_model -- wildlife equivariant C4 model.safetensors`

use equimarl_group::Group;
use equimarl_nn::{Network, NetworkConfig, Setting};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [world, kind, group, path] = args.as_slice() else {
        return Err(
            "give a world, a kind of network, a group and a file: wildlife equivariant C4 model.safetensors"
                .into(),
        );
    };
    let group: Group = group.parse()?;
    let setting = match world.as_str() {
        "wildlife" => Setting::wildlife(3, 7, &group)?,
        "traffic" => Setting::traffic(2, 2, &group)?,
        _ => return Err("the worlds are wildlife and traffic".into()),
    };
    let config = NetworkConfig::paper(setting, kind.parse()?, &group);
    // Twelve uniform numbers minus six are normal enough to look at.
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let network = Network::init(&config, &mut normal)?;
    network.save(path, &json!({ "note": "fresh weights" }))?;
    println!("{path}: {} parameters", network.values().len());
    Ok(())
}
