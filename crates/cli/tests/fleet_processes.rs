//! Fleets of real processes over zenoh. Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;

use common::{answer, equimarl, folder, json};
use equimarl_learn::{interface, world_note};
use equimarl_nn::{Network, NetworkConfig, NetworkKind};
use equimarl_worlds::builtin;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A fresh model whose decisions differ, and its path.
fn model(name: &str, world: &str) -> String {
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

/// 1,000 steps or more of a world: the processes decide as the whole network does, and talk to neighbours only.
fn same_decisions(world: &str, episodes: &str) {
    let model = model(&format!("processes-{world}"), world);
    let log = folder(&format!("processes-{world}-log"));
    let log = log.to_str().unwrap();
    let size: &[&str] = &["--model", &model, "--episodes", episodes, "--seed", "2"];
    let flown = json(
        &[&["fleet", "run", "--transport", "zenoh", "--deadline", "5000", "--record", log], size].concat(),
    );
    let played = json(&[&["play"], size].concat());
    assert_eq!(flown["return"], played["return"]);
    let fleet = &flown["fleet"];
    assert!(fleet["steps"].as_u64().unwrap() >= 1000, "{fleet}");
    assert_eq!((&fleet["missed"], &fleet["absent"], &fleet["rejoined"]), (&json!(0), &json!(0), &json!(0)));
    let (code, found) = answer(&["fleet", "check", log]);
    assert_eq!(code, 0, "{found}");
    assert_eq!(found["compared"], fleet["steps"]);
    assert!(found["largest_difference"].as_f64().unwrap() <= 1e-5, "{found}");
    assert_eq!((&found["other_actions"], &found["off_edge"]), (&json!(0), &json!(0)));
    assert_eq!(found["sent"], found["received"]);
    assert!(found["sent"].as_u64().unwrap() > 1000);
}

#[test]
fn drones_decide_as_the_whole_network_over_a_thousand_steps() {
    same_decisions("wildlife", "14");
}

#[test]
fn junctions_decide_as_the_whole_network_over_a_thousand_steps() {
    same_decisions("traffic", "10");
}

#[test]
fn particles_decide_as_the_whole_network_over_a_thousand_steps() {
    same_decisions("spread", "40");
}

#[test]
fn without_tls_messages_are_signed_all_the_same() {
    let model = model("processes-plain", "wildlife");
    let args = ["fleet", "run", "--model", &model, "--episodes", "2", "--transport", "zenoh"];
    let [tls, plain] =
        [&[][..], &["--no-tls"]].map(|more| json(&[&args[..], &["--deadline", "5000"], more].concat()));
    assert_eq!(tls["return"], plain["return"]);
    assert_eq!(tls["fleet"]["bytes_per_agent_and_step"], plain["fleet"]["bytes_per_agent_and_step"]);
}

#[test]
fn a_crashed_process_is_started_again_and_rejoins() {
    let model = model("processes-crash", "wildlife");
    let found = json(&[
        "fleet",
        "run",
        "--model",
        &model,
        "--episodes",
        "2",
        "--transport",
        "zenoh",
        "--crash",
        "1@20",
        "--period",
        "20",
    ]);
    let fleet = &found["fleet"];
    assert_eq!(fleet["rejoined"], 2, "{fleet}");
    // It is away for less than two seconds of 20 ms steps, twice.
    let absent = fleet["absent"].as_u64().unwrap();
    assert!((1..200).contains(&absent), "{fleet}");
}

/// Members started by hand; they end with the test.
struct Members(Vec<Child>);

impl Drop for Members {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start(folder: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .arg("fleet")
        .args(args)
        .args(["--fleet", folder.join("fleet.toml").to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn free_ports(count: usize) -> Vec<u16> {
    let open = |_| TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners: Vec<TcpListener> = (0..count).map(open).collect();
    listeners.iter().map(|l| l.local_addr().unwrap().port()).collect()
}

#[test]
fn members_are_started_by_hand_in_any_order_and_one_is_killed() {
    let model = model("processes-hand", "wildlife");
    let yard = folder("processes-yard");
    std::fs::remove_dir_all(&yard).unwrap();
    let out = yard.to_str().unwrap();
    let names = ["world", "agent-0", "agent-1", "agent-2"];
    let ats: Vec<String> =
        names.iter().zip(free_ports(4)).map(|(name, port)| format!("{name}=127.0.0.1:{port}")).collect();
    let mut args = vec!["fleet", "keys", "--model", &model, "--out", out, "--name", "yard"];
    ats.iter().for_each(|at| args.extend(["--at", at]));
    let made = equimarl(&args);
    assert!(made.status.success(), "{made:?}");
    assert_eq!(equimarl(&args).status.code(), Some(2), "keys in use are not written over");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for file in ["authority.key.pem", "agent-1/signing.key", "world/tls.key.pem"] {
            let mode = std::fs::metadata(yard.join("secrets").join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{file}");
        }
    }
    // The world comes last but one; agent 2 after it.
    let mut members = Members(vec![]);
    let agent = |n: &str| start(&yard, &["agent", "--stay", "--agent", n]);
    members.0.extend([agent("0"), agent("1")]);
    let mut world = start(&yard, &["world", "--episodes", "6", "--period", "10", "--json"]);
    std::thread::sleep(Duration::from_millis(500));
    members.0.push(agent("2"));
    // Killed in the middle, and started again as a supervisor would.
    std::thread::sleep(Duration::from_millis(2000));
    members.0[1].kill().unwrap();
    members.0[1].wait().unwrap();
    members.0[1] = agent("1");
    let begun = Instant::now();
    while world.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the world does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = world.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["episodes"], &found["fleet"]["rejoined"]), (&json!(6), &json!(1)), "{found}");
    assert!(found["fleet"]["absent"].as_u64().unwrap() < 200, "{found}");
    // They stay, and a second run needs nothing but a world.
    let mut again = start(&yard, &["world", "--episodes", "1", "--json"]);
    let begun = Instant::now();
    while again.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the second world does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = again.wait_with_output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!((&found["episodes"], &found["fleet"]["missed"]), (&json!(1), &json!(0)), "{found}");
    drop(members);
    std::fs::remove_dir_all(&yard).unwrap();
}
