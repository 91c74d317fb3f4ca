//! A model knows its world: whatever settings a team was trained with, it is played, flown, shown, checked and exported with
//! them, and a flag that changes one is said.

mod common;

use common::{equimarl, folder, json};
use equimarl_nn::Metadata;
use equimarl_worlds::{Definition, Value, builtin};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Another value of the kind of this one that makes a world.
fn another(world: &str, key: &str, usual: &Value) -> Value {
    match (world, key, usual) {
        // A poacher's world is odd.
        (_, "grid", _) => 9usize.into(),
        (_, "arrival_probability", _) => 0.5.into(),
        ("spread", "local_ratio", _) => 0.25.into(),
        ("spread", "size", _) => 1.5.into(),
        ("spread" | "tag", "radius", _) => "0.7".into(),
        ("spread" | "tag", "arena", _) => "disc".into(),
        ("spread" | "tag", "integrator", _) => "velocity-first".into(),
        ("spread" | "tag", "actions", _) => "continuous".into(),
        ("spread" | "tag", "start", _) => "left".into(),
        ("tag", "prey_rule", _) => "random".into(),
        ("wildlife", "wind", _) => 0.25.into(),
        ("wildlife", "wind_from", _) => "south".into(),
        ("traffic", "tilt", _) => 0.25.into(),
        ("traffic", "main_road", _) => 3.0.into(),
        (_, _, Value::Whole(n)) => Value::Whole(n + 1),
        (_, _, value) => panic!("what else could {key} = {value} of {world} be?"),
    }
}

fn train(world: &str, settings: &[String], folder: &str) {
    let mut args =
        vec!["train", "--world", world, "--steps", "80", "--quiet", "--out", folder, "--preset", "paper"];
    args.extend(["--set", "evaluate_episodes=1"]);
    for setting in settings {
        args.extend(["--set", setting]);
    }
    let output = equimarl(&args);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn every_setting_of_every_world_comes_back_everywhere() {
    let registry = builtin();
    for world in registry.iter() {
        // Short episodes, so that the rest is quick.
        let short: Vec<String> = match world.options().iter().any(|o| o.key == "step_limit") {
            true => vec!["world.step_limit=20".into()],
            false => vec![],
        };
        for option in world.options() {
            round_trip(world, option.key, &another(world.name(), option.key, &option.usual), &short);
        }
    }
}

fn round_trip(world: &dyn Definition, key: &str, value: &Value, short: &[String]) {
    let name = world.name();
    let run = folder(&format!("knows-{name}-{key}")).join("run").display().to_string();
    let mut settings = short.to_vec();
    settings.push(format!("world.{key}={value}"));
    train(name, &settings, &run);
    let value = json!(value);
    let what = format!("{name}, {key}");

    // Played, and flown by a fleet: the same episodes.
    let played = json(&["play", "--model", &run, "--episodes", "2"]);
    assert_eq!(played[key], value, "{what}");
    let flown = json(&["fleet", "run", "--model", &run, "--episodes", "2"]);
    assert_eq!((&flown["return"], &flown["length"]), (&played["return"], &played["length"]), "{what}");

    // In the file of the model, and in that of an export of it.
    let dense = format!("{run}-dense.safetensors");
    json(&["export", "--model", &run, "--dense", &dense]);
    for file in [format!("{run}/model.safetensors"), dense] {
        let known = Metadata::load(&file).unwrap().world;
        assert_eq!((&known["name"], &known["settings"][key]), (&json!(name), &value), "{what}, {file}");
    }
    let inspected = json(&["inspect", &run]);
    assert_eq!(inspected["settings"][key], value, "{what}");

    // And shown on the page.
    let settings = inspected["settings"].as_object().unwrap().clone();
    let mut config = json!({ "name": name });
    config.as_object_mut().unwrap().extend(settings);
    let config = builtin().complete(&serde_json::from_value(config).unwrap()).unwrap();
    let title = builtin().title(&config);
    let page = shown(&format!("{run}/model.safetensors"));
    assert!(page.contains(&json!(title).to_string()), "{what}: no {title} in {page}");
}

/// What the page answers when it is asked to begin an episode of a model.
fn shown(model: &str) -> String {
    let mut page = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .args(["view", model, "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(page.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let host = first.trim().trim_start_matches("http://").trim_end_matches('/').to_string();
    let mut stream = TcpStream::connect(&host).unwrap();
    let ask = r#"{"model":"file"}"#;
    write!(
        stream,
        "POST /api/episode HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{ask}",
        ask.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    page.kill().unwrap();
    page.wait().unwrap();
    answer
}

#[test]
fn the_world_of_the_report_that_started_this() {
    let run = folder("knows-short").join("run").display().to_string();
    train("traffic", &["world.step_limit=20".into(), "world.arrival_probability=0.5".into()], &run);
    for verb in [&["play"][..], &["fleet", "run"]] {
        let found = json(&[verb, &["--model", &run, "--episodes", "5"]].concat());
        assert_eq!(found["length"]["mean"], 20.0, "{found}");
    }
    // A flag that changes the world is allowed, and said.
    let output = equimarl(&["play", "--model", &run, "--episodes", "1", "--step-limit", "30", "--json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "another world than the model's: step_limit 20 -> 30\n");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["length"]["mean"], 30.0);
}

/// A file of format 1 says nothing of its world: what is assumed is said.
#[test]
fn what_an_old_model_does_not_say_is_assumed_aloud() {
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/first-house/models/traffic-plain.safetensors"
    );
    let output = equimarl(&["play", "--model", model, "--episodes", "1", "--json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.lines().count() == 1
            && said.contains("format 1")
            && said.contains(
                "rows = 2, cols = 2, arrival_steps = 100, arrival_probability = 0.1, step_limit = 500"
            ),
        "{said}"
    );
}
