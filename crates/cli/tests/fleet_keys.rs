//! Members that are revoked and renewed while a fleet of real processes runs. Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;
#[path = "common/yard.rs"]
mod yard;

use common::{equimarl, json, refuses};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use yard::{Members, model, yard};

const PATIENCE: Duration = Duration::from_secs(120);

/// A member's process; what it says goes into a channel.
fn member(yard: &Path, args: &[&str]) -> (Child, Receiver<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .arg("fleet")
        .args(args)
        .args(["--fleet", yard.join("fleet.toml").to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (said, lines) = channel();
    let errors = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || errors.lines().map_while(Result::ok).for_each(|line| drop(said.send(line))));
    (child, lines)
}

fn wait_for(lines: &Receiver<String>, part: &str) -> String {
    let (end, mut before) = (Instant::now() + PATIENCE, vec![]);
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if line.contains(part) {
            return line;
        }
        before.push(line);
    }
    panic!("`{part}` was not said, but {before:?}");
}

fn wait(child: &mut Child) -> i32 {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        assert!(begun.elapsed() < PATIENCE, "a process does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_member_is_revoked_renewed_and_let_in_again_while_the_fleet_runs() {
    let model = model("keys-model", "wildlife");
    let yard = yard("keys-yard", &model, 3);
    let file = yard.join("fleet.toml");
    let path = file.to_str().unwrap();
    let first = std::fs::read(&file).unwrap();
    let agent = |n: &str| member(&yard, &["agent", "--stay", "--agent", n]);
    let started = [agent("0"), agent("1"), agent("2")];
    let (children, said): (Vec<Child>, Vec<_>) = started.into_iter().unzip();
    let mut members = Members(children);
    let (world, progress) = member(&yard, &["world", "--episodes", "100000", "--period", "20"]);
    members.0.push(world);
    said.iter().for_each(|lines| drop(wait_for(lines, "joined")));

    // Agent 2 is revoked: it ends by itself, and the others go on without it.
    let done = equimarl(&["fleet", "keys", "--revoke", "agent-2", "--fleet", path]);
    assert!(done.status.success(), "{done:?}");
    let second = std::fs::read(&file).unwrap();
    wait_for(&said[0], "number 1 now");
    wait_for(&progress, "number 1 now");
    wait_for(&said[2], "revoked by number 1");
    assert_eq!(wait(&mut members.0[2]), 2);
    refuses(&["fleet", "agent", "--agent", "2", "--fleet", path, "--quiet"], "revoked by number 1");

    // An old file is refused by those who run, and by those who start.
    std::fs::write(&file, &first).unwrap();
    wait_for(&said[0], "number 0, and number 1 is in use");
    refuses(&["fleet", "agent", "--agent", "0", "--fleet", path, "--quiet"], "has seen number 1");
    std::fs::write(&file, &second).unwrap();

    // It gets new keys and is let in again.
    let done = equimarl(&["fleet", "keys", "--renew", "agent-2", "--fleet", path]);
    assert!(done.status.success(), "{done:?}");
    wait_for(&progress, "number 2 now");
    let (child, lines) = agent("2");
    members.0[2] = child;
    wait_for(&lines, "joined");

    // Bad input, in a line each.
    refuses(&["fleet", "keys", "--revoke", "agent-7", "--fleet", path], "agent-7 is not in this fleet");
    refuses(&["fleet", "keys", "--revoke", "world", "--fleet", path], "a fleet without its world is none");
    refuses(&["fleet", "keys", "--revoke", "agent-1", "--fleet", "no-such-file"], "no-such-file");
    std::fs::write(&file, "fleet = 3").unwrap();
    refuses(&["fleet", "agent", "--agent", "0", "--fleet", path], "fleet.toml");
    wait_for(&said[0], "the fleet file is not used");
    let text = String::from_utf8(second).unwrap();
    std::fs::write(&file, text.replace("revoked = true", "revoked = false")).unwrap();
    refuses(&["fleet", "agent", "--agent", "0", "--fleet", path], "not what the fleet's authority signed");
    drop(members);
    std::fs::remove_dir_all(&yard).unwrap();
}

#[test]
fn several_agents_share_a_process_and_decide_as_always() {
    let model = model("crew-model", "traffic");
    let size: &[&str] =
        &["--model", &model, "--episodes", "1", "--seed", "2", "--junctions", "4x4", "--step-limit", "25"];
    let fleet = ["fleet", "run", "--transport", "zenoh", "--processes", "3", "--deadline", "20000"];
    let flown = json(&[&fleet[..], size].concat());
    let played = json(&[&["fleet", "run"], size].concat());
    assert_eq!(flown["return"], played["return"]);
    let report: &Value = &flown["fleet"];
    assert_eq!((&report["missed"], &report["absent"]), (&json!(0), &json!(0)), "{report}");
}
