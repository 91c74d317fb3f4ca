//! Agents with sensors of their own, as real processes: sensors in Python, fed by a simulator that no agent knows.
//! Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;
#[path = "common/yard.rs"]
mod yard;

use common::{folder, json};
use equimarl_worlds::{Edges, End, Purpose, Stream, builtin};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use yard::{Members, model, yard};

const PATIENCE: Duration = Duration::from_secs(240);

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fleet/examples/sensors").join(name)
}

/// An agent's process; what it says goes into a channel.
fn agent(yard: &Path, index: usize, sensor: &str, more: &[&str]) -> (Child, Receiver<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .args(["fleet", "agent", "--agent", &index.to_string(), "--sensor", sensor, "--greedy"])
        .args(["--period", "200", "--deadline", "80"])
        .args(["--fleet", yard.join("fleet.toml").to_str().unwrap()])
        .args(more)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (said, lines) = channel();
    let errors = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || errors.lines().map_while(Result::ok).for_each(|line| drop(said.send(line))));
    (child, lines)
}

/// Waits until an agent says something.
fn wait_for(lines: &Receiver<String>, part: &str) -> String {
    let end = Instant::now() + PATIENCE;
    let mut before = vec![];
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if line.contains(part) {
            return line;
        }
        before.push(line);
    }
    panic!("`{part}` was not said, but {before:?}");
}

/// A device at the other end of a sensor's connection.
struct Body {
    stream: TcpStream,
    told: Receiver<Value>,
}

fn bodies(listener: &TcpListener, count: usize) -> Vec<Body> {
    let mut found = BTreeMap::new();
    while found.len() < count {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let hello: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let (send, told) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).unwrap());
            }
        });
        found.insert(hello["agent"].as_u64().unwrap(), Body { stream, told });
    }
    found.into_values().collect()
}

#[test]
fn drones_with_their_own_sensors_decide_as_play_does() {
    let model = model("field-drones", "wildlife");
    let played = json(&["play", "--model", &model, "--episodes", "1", "--seed", "5", "--greedy"]);
    let yard = yard("field-yard", &model, 3);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sensor =
        format!("python3 {} {} {{agent}}", script("sensor.py").display(), listener.local_addr().unwrap());
    let started: Vec<_> = (0..3).map(|i| agent(&yard, i, &sensor, &[])).collect();
    let (children, said): (Vec<Child>, Vec<_>) = started.into_iter().unzip();
    let _members = Members(children);
    let mut bodies = bodies(&listener, 3);
    let mut envs = builtin().make(&builtin().usual("wildlife").unwrap(), &"C4".parse().unwrap(), 1).unwrap();
    envs.start(0, Stream::new(5, Purpose::Evaluation, 0)).unwrap();
    let (begun, mut total, mut length) = (Instant::now(), 0.0, 0);
    loop {
        // The same look at the world until everybody has decided with everything that it should have heard: this machine
        // may be busy, and a simulator can wait.
        let world = envs.world(0);
        let period = 200;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let step = now.as_millis() as u64 / period + 1;
        for (i, body) in bodies.iter_mut().enumerate() {
            let (mut own, mut heard) = (vec![0.0; 21 * 21], Edges::default());
            world.observe(i, &mut own);
            world.neighbours(i, &mut heard);
            let near: Vec<Value> = heard
                .from
                .iter()
                .zip(heard.vectors.chunks(2))
                .map(|(agent, edge)| json!({ "agent": agent, "edge": edge }))
                .collect();
            let seen = json!({ "step": step, "own": own, "neighbours": near });
            writeln!(body.stream, "{seen}").unwrap();
        }
        let decided = |body: &Body| loop {
            match body.told.recv_timeout(Duration::from_secs(2)) {
                Ok(told) if told["step"].as_u64().unwrap() < step => {}
                Ok(told) if told["step"] == step && told["missed"] == 0 => break told["action"].as_u64(),
                _ => break None,
            }
        };
        let actions: Vec<Option<u64>> = bodies.iter().map(decided).collect();
        assert!(
            begun.elapsed() < PATIENCE,
            "only {length} steps; {:?}",
            said[0].try_iter().collect::<Vec<_>>()
        );
        let Some(actions) = actions.into_iter().collect::<Option<Vec<u64>>>() else { continue };
        let actions: Vec<usize> = actions.into_iter().map(|a| a as usize).collect();
        let outcome = envs.step_one(0, &actions).unwrap();
        (total, length) = (total + outcome.reward, length + 1);
        if outcome.end != End::Running {
            break;
        }
    }
    assert_eq!(
        (&played["return"]["mean"], &played["length"]["mean"]),
        (&json!(total), &json!(f64::from(length)))
    );
    assert!(length > 3, "an episode of {length} steps shows nothing");
}

/// A sensor that does as it is told by what it is called: dies, hangs, says nonsense or the wrong shape, and then goes well. It
/// writes down what it is told meanwhile. A camera takes a second to start again.
const FAULTY: &str = r#"
import os, sys, time, threading
way, mark, told = sys.argv[1:]
good = "0 " * 441
first = not os.path.exists(mark)
open(mark, "a").write("x")
def listen():
    for line in sys.stdin:
        with open(told, "a") as file: file.write(line)
if first:
    print(good, flush=True)
    with open(told, "a") as file: file.write(sys.stdin.readline())
    if way == "dies": sys.exit(3)
    threading.Thread(target=listen, daemon=True).start()
    if way == "hangs": time.sleep(1000)
    bad = {"garbage": "\x00 what?", "shape": "0 0 0"}[way]
    while True:
        print(bad, flush=True)
        time.sleep(0.02)
time.sleep(1)
while True:
    print(good, flush=True)
    if not sys.stdin.readline(): break
"#;

/// Ends an agent as a supervisor does: in how many steps it held still, as it says itself.
fn held(child: &Child, lines: &Receiver<String>) -> u64 {
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let line = wait_for(lines, " held still, ");
    let number = line.split(" held still, ").next().unwrap().rsplit(' ').next();
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn a_sensor_that_dies_hangs_or_says_nonsense_holds_its_agent_still_until_it_is_back() {
    let model = model("field-faulty", "wildlife");
    let yard = yard("field-faulty-yard", &model, 3);
    let place = folder("field-faulty-sensor");
    let program = place.join("faulty.py");
    std::fs::write(&program, FAULTY).unwrap();
    let told = |way: &str| place.join(format!("told-{way}"));
    let start = |i: usize, way: &str| {
        let (mark, told) = (place.join(format!("mark-{way}")), told(way));
        let command = format!("python3 {} {way} {} {}", program.display(), mark.display(), told.display());
        // The program is started again after this; a busy machine takes long to start Python.
        agent(&yard, i, &command, &["--sensor-timeout", "4000"])
    };
    let ways: [(&str, &[&str]); 4] = [
        ("dies", &["the sensor ended"]),
        ("hangs", &["nothing is seen; holding still", "the sensor gave no observation"]),
        ("garbage", &["what is no observation", "nothing is seen; holding still", "starting it again"]),
        ("shape", &["has 3 numbers, and the model takes 441", "nothing is seen; holding still"]),
    ];
    for some in ways.chunks(2) {
        let started: Vec<_> = some.iter().enumerate().map(|(i, (way, _))| start(i, way)).collect();
        let (children, said): (Vec<Child>, Vec<_>) = started.into_iter().unzip();
        let members = Members(children);
        for (((way, says), lines), child) in some.iter().zip(&said).zip(&members.0) {
            says.iter().for_each(|part| drop(wait_for(lines, part)));
            wait_for(lines, "the sensor is back");
            // Its body was told what was decided once, and from then on to hold still.
            let text = std::fs::read_to_string(told(way)).unwrap();
            let lines_told: Vec<Vec<i64>> =
                text.lines().map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect()).collect();
            assert!((0..9).contains(&lines_told[0][1]), "{way}: {text}");
            assert!(lines_told[1..].iter().all(|line| line[1] == -1 && line.len() == 3), "{way}: {text}");
            let steps: Vec<i64> = lines_told.iter().map(|line| line[0]).collect();
            assert!(steps.is_sorted_by(|a, b| a < b), "{way}: a step is told once: {text}");
            // Four seconds are twenty steps, and a second is five; a busy machine does not come to all of them.
            let (least, counted) = if *way == "dies" { (0, 2) } else { (6, 9) };
            assert!(lines_told.len() > least, "{way}: {text}");
            let counted_by_itself = held(child, lines);
            assert!(
                counted_by_itself >= counted.max(lines_told.len() as u64 - 1),
                "{way}: {counted_by_itself}"
            );
        }
    }
}

#[test]
fn a_sensor_in_c_is_understood() {
    let model = model("field-c", "wildlife");
    let yard = yard("field-c-yard", &model, 3);
    let program = folder("field-c-sensor").join("sensor");
    let compiled = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(script("sensor.c")).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: there is no C compiler");
        return;
    }
    let (child, lines) = agent(&yard, 0, &format!("{} 441", program.display()), &[]);
    let _members = Members(vec![child]);
    wait_for(&lines, ": action 0");
}

#[test]
fn wrong_sensors_and_periods_are_refused_in_a_line() {
    let model = model("field-wrong", "wildlife");
    let yard = yard("field-wrong-yard", &model, 3);
    let refused = |more: &[&str], part: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_equimarl"))
            .args(["fleet", "agent", "--fleet", yard.join("fleet.toml").to_str().unwrap()])
            .args(more)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(part), "{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("error")).count(), 1, "{said}");
    };
    refused(&["--agent", "0", "--sensor", "no-such-program", "--period", "500"], "no-such-program");
    refused(&["--agent", "0", "--sensor", "cat"], "period_ms");
    refused(&["--agent", "0", "--sensor", "cat", "--period", "100"], "use a deadline of at most 49 ms");
    refused(&["--agent", "0", "--sensor", "'", "--period", "500"], "a quote does not end");
    refused(&["--agents", "0-2,1"], "agent 1 is in `0-2,1` twice");
    refused(&["--agents", "0-3"], "agent-3 is not in this fleet");
}
