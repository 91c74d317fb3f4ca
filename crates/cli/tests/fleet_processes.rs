//! Fleets of real processes over zenoh. Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;
#[path = "common/yard.rs"]
mod yard;

use common::{answer, equimarl, folder, json};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use yard::{Members, keys, model, start};

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

#[test]
fn members_are_started_by_hand_in_any_order_and_one_is_killed() {
    let model = model("processes-hand", "wildlife");
    let yard = folder("processes-yard");
    std::fs::remove_dir_all(&yard).unwrap();
    let out = yard.to_str().unwrap();
    let args = keys(out, &model, 3);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
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
