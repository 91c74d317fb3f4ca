//! Fleets of processes for tests: a model, a fleet file with keys, members that end with the test.

#![allow(dead_code)]

use crate::common::{equimarl, folder};
use equimarl_learn::{interface, world_note};
use equimarl_nn::{Network, NetworkConfig, NetworkKind};
use equimarl_worlds::builtin;
use serde_json::json;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A fresh model whose decisions differ, and its path.
pub fn model(name: &str, world: &str) -> String {
    let group = "C4".parse().unwrap();
    let usual = builtin().usual(world).unwrap();
    let envs = builtin().make(&usual, &group, 1).unwrap();
    let config = NetworkConfig::usual(
        interface(envs.spec(), NetworkKind::Equivariant).unwrap(),
        NetworkKind::Equivariant,
        &group,
    );
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        2.0 * ((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    let mut network = Network::init(&config, &mut next).unwrap();
    let scaled = network.parameters().into_iter().map(|(name, values)| match name.starts_with("policy") {
        true => values.iter().map(|v| v * 100.0).collect(),
        false => values,
    });
    let scaled: Vec<Vec<f32>> = scaled.collect();
    network.set_parameters(scaled).unwrap();
    let path = folder(name).join("model.safetensors");
    let world = world_note(&builtin(), &usual).unwrap();
    network.save(&path, &world, &json!({})).unwrap();
    path.to_str().unwrap().into()
}

pub fn free_ports(count: usize) -> Vec<u16> {
    let open = |_| TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners: Vec<TcpListener> = (0..count).map(open).collect();
    listeners.iter().map(|l| l.local_addr().unwrap().port()).collect()
}

/// The arguments of `fleet keys` for a new fleet on free ports of this machine.
pub fn keys(out: &str, model: &str, agents: usize) -> Vec<String> {
    let names = std::iter::once("world".to_string()).chain((0..agents).map(|i| format!("agent-{i}")));
    let ats = names.zip(free_ports(agents + 1)).map(|(name, port)| format!("--at={name}=127.0.0.1:{port}"));
    ["fleet", "keys", "--model", model, "--out", out, "--name", "yard"]
        .map(String::from)
        .into_iter()
        .chain(ats)
        .collect()
}

/// A new fleet on free ports of this machine: its folder.
pub fn yard(name: &str, model: &str, agents: usize) -> PathBuf {
    let yard = folder(name);
    std::fs::remove_dir_all(&yard).unwrap();
    let args = keys(yard.to_str().unwrap(), model, agents);
    let made = equimarl(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(made.status.success(), "{made:?}");
    yard
}

/// Members started by hand; they end with the test.
pub struct Members(pub Vec<Child>);

impl Drop for Members {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A member's process.
pub fn start(folder: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .arg("fleet")
        .args(args)
        .args(["--fleet", folder.join("fleet.toml").to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
