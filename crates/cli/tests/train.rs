//! Training as a user or a script sees it: what it says, what it refuses, and what can be done with what it made.
#![cfg(unix)]

mod common;
#[path = "common/training.rs"]
mod training;

use common::{answer, equimarl, folder, json, refuses};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use training::{finish, small, text, whole};

#[test]
fn nonsense_is_refused_in_one_line_before_anything_is_written() {
    let folder = folder("train-nonsense");
    let settings = |name: &str, content: &str| {
        fs::write(folder.join(name), content).unwrap();
        text(&folder.join(name)).to_string()
    };
    let traffic = settings("traffic.toml", "[world]\nname = \"traffic\"");
    let unknown = settings("unknown.toml", "lerning_rate = 0.1");
    let broken = settings("broken.toml", "steps = ");
    let magic = settings("magic.toml", "method = \"magic\"");
    let empty = text(&folder).to_string();
    let run = folder.join("run");
    for (args, part) in [
        (&["--learning-rate", "nan"][..], "`learning_rate` must be above 0 and at most 1, not NaN"),
        (&["--learning-rate", "-1"], "`learning_rate` must be above 0"),
        (&["--steps", "0"], "`steps` must be at least 1"),
        (&["--seed", "18446744073709551615"], "`seed` must be at most"),
        (&["--set", "discount=1.5"], "`discount` must be between 0 and 1"),
        (&["--set", "minibatches=7"], "must divide the 80 states"),
        (&["--set", "rollout=100000", "--set", "environments=100000"], "at most 1000000 are allowed"),
        (&["--set", "steps"], "cannot read `--set steps`"),
        (&["--set", "lerning_rate=1"], "did you mean `learning_rate`?"),
        (&["--set", "world.drone=4"], "did you mean `drones`?"),
        (&["--set", "seed=1.5"], "in --set seed=1.5: `seed` must be a whole number"),
        (&["--set", "steps=many"], "`steps` must be a whole number"),
        (&["--set", "steps="], "cannot read the value in --set steps=; write a number"),
        (&["--set", "augment_ratio=none"], "expected `copy` or `rollout`"),
        (&["--set", "world=traffic"], "use --world"),
        (&["--set", "world=\"traffic\""], "use --world"),
        (&["--set", "world.name=traffic"], "use --world"),
        (&["--set", "world.name=chess"], "no world is called `chess`"),
        (&["--set", "preset=default"], "use --preset"),
        (&["--config", &unknown], "did you mean `learning_rate`?"),
        (&["--config", &broken], "not TOML"),
        (&["--config", &magic], "no method is called `magic`"),
        (&["--config", "/nowhere.toml"], "cannot read the settings /nowhere.toml"),
        (&["--config", &traffic, "--world", "wildlife"], "another world than the settings file"),
        (&["--config", &traffic, "--drones", "3"], "--drones belongs to the wildlife world"),
        (&["--junctions", "2x2"], "--junctions belongs to the traffic world"),
        (&["--world", "traffic", "--group", "D4"], "D4 has mirrors, and traffic has none"),
        (&["--world", "traffic", "--junctions", "0x2"], "at least 1 x 1"),
        (
            &["--world", "traffic", "--junctions", "2x3", "--group", "C4", "--method", "central-equivariant"],
            "under C4 cannot decide for 6 agents",
        ),
        (&["--group", "S3"], "C1, C2, C4, D1, D2 and D4 only"),
        (&["--drones", "1"], "at least 2; got 1"),
        (&["--grid", "6"], "odd"),
        (&["--threads", "0"], "--threads must be between 1 and 1024"),
    ] {
        refuses(&small(args, &run), part);
        assert!(!run.exists(), "{args:?}");
    }
    refuses(&["train", "--preset", "papr", "--out", text(&run)], "no preset is called `papr`");
    refuses(&["train", "--resume", &empty], "holds no run that could be continued");
    refuses(&["train", "--resume", "/nowhere"], "holds no run that could be continued");
    let steps = "a run can go on to more, not to fewer";
    refuses(&["train", "--resume", text(whole()), "--steps", "9"], steps);
    refuses(&["train", "--resume", text(whole()), "--drones", "4"], "was made with drones = 3, not 4");
    refuses(&["train", "--resume", text(whole()), "--world", "traffic"], "these settings are for wildlife");
    for (option, value) in [("--set", "seed=2"), ("--out", "x"), ("--preset", "paper"), ("--config", "x")] {
        let part = format!("{option} cannot be used with --resume");
        refuses(&["train", "--resume", text(whole()), option, value], &part);
    }
    // Words that do not exist are explained with those that do.
    let output = equimarl(&["train", "--method", "magic"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("'magic'") && error.contains("central-equivariant"), "{error}");
}

#[test]
fn the_group_follows_the_world_unless_it_is_given() {
    let folder = folder("train-group");
    let oblong = folder.join("oblong.toml");
    fs::write(&oblong, "[world]\nname = \"traffic\"\nrows = 1\ncols = 2").unwrap();
    let oblong = text(&oblong);
    for (name, more, group) in [
        ("flag", &["--world", "traffic", "--junctions", "1x2"][..], "C2"),
        ("set", &["--world", "traffic", "--set", "world.rows=1"], "C2"),
        ("file", &["--config", oblong], "C2"),
        ("square", &["--config", oblong, "--junctions", "1x1"], "C4"),
        ("given", &["--config", oblong, "--group", "C4"], "C4"),
        ("word", &["--config", oblong, "--set", "group=C4"], "C4"),
    ] {
        let run = folder.join(name);
        let least =
            ["--steps", "80", "--set", "evaluate_episodes=1", "--set", "world.step_limit=20", "--quiet"];
        finish(&small(&[more, &least].concat(), &run));
        let settings = fs::read_to_string(run.join("config.toml")).unwrap();
        assert!(settings.contains(&format!("group = \"{group}\"")), "{name}: {settings}");
    }
}

#[test]
fn json_lines_end_with_the_summary() {
    let folder = folder("train-json");
    for (name, more) in [
        ("wildlife", &["--steps", "800", "--json"][..]),
        ("traffic", &["--world", "traffic", "--steps", "960", "--set", "world.step_limit=20", "--json"]),
    ] {
        let run = folder.join(name);
        let output = finish(&small(more, &run));
        assert!(output.stderr.is_empty(), "{output:?}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert!(lines.len() >= 3 && lines.iter().all(Value::is_object), "{lines:?}");
        assert!(lines.iter().any(|l| l["evaluation"]["greedy"]["return"]["mean"].is_number()));
        assert!(lines.iter().any(|l| l["entropy"].is_number() && l["approx_kl"].is_number()));
        let summary = lines.last().unwrap();
        let written: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
        assert_eq!(*summary, written);
        assert_eq!((&summary["world"], &summary["method"]), (&name.into(), &"equivariant".into()));
        assert_eq!(summary["seed"], 0);
        for key in ["steps", "steps_per_second", "wall_seconds", "peak_memory_mb"] {
            assert!(summary[key].as_f64().is_some_and(|x| x > 0.0), "{key}: {summary}");
        }
        for key in ["version", "commit", "cpu", "config_hash"] {
            assert!(summary[key].as_str().is_some_and(|x| !x.is_empty()), "{key}: {summary}");
        }
        let mut pairs = vec!["/return", "/evaluation/greedy/return", "/evaluation/sampled/return"];
        match name {
            "traffic" => pairs.extend(["/waiting", "/evaluation/sampled/waiting"]),
            _ => pairs.push("/evaluation/greedy/captures"),
        }
        for pair in pairs {
            let found = summary.pointer(pair).unwrap_or_else(|| panic!("no {pair} in {summary}"));
            assert!(found["mean"].is_number() && found["stderr"].is_number(), "{pair}: {summary}");
        }
        if name == "wildlife" {
            let optimum = summary["evaluation"]["optimum"].as_f64().unwrap();
            assert!((optimum - 2.7785).abs() < 1e-3, "{optimum}");
            assert!(summary["evaluation"]["gap"].is_number());
        }
        // Lines of metrics have no clock.
        let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        for line in metrics.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert!(line["steps"].is_u64() && line.get("steps_per_second").is_none(), "{line}");
        }
    }
    // A reader that goes away does not stop the run.
    let run = folder.join("unread");
    let args = small(&["--steps", "800", "--json"], &run);
    let mut command = Command::new(env!("CARGO_BIN_EXE_equimarl"));
    let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && run.join("summary.json").exists(), "{output:?}");

    let output = finish(&small(&["--steps", "80", "--quiet"], &folder.join("quiet")));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn models_play_and_are_checked() {
    let folder = folder("train-models");
    let trained = |name: &str, more: &[&str]| {
        let run = folder.join(name);
        let least = ["--steps", "80", "--set", "evaluate_episodes=1", "--quiet"];
        finish(&small(&[more, &least].concat(), &run));
        text(&run).to_string()
    };
    let play = |model: &str, more: &[&str]| {
        let found = json(&[&["play", "--model", model, "--episodes", "3"], more].concat());
        assert_eq!(found["episodes"], 3);
        assert!(found["return"]["mean"].is_number(), "{found}");
        found
    };
    let wildlife = text(whole());
    assert_eq!(play(wildlife, &[])["drones"], 3);
    assert_eq!(play(wildlife, &["--greedy"]), play(wildlife, &["--greedy"]));
    // A greedy team may be stuck, and one whose actions are drawn is not.
    assert!(play(wildlife, &["--greedy"])["stuck"]["symmetric"].is_u64());
    assert!(play(wildlife, &[])["stuck"].is_null());
    assert_eq!(play(&format!("{wildlife}/model.safetensors"), &["--drones", "6"])["drones"], 6);
    // Agents that are told something: their tokens, or the wind.
    let tokens = trained("tokens", &["--set", "tokens=true"]);
    assert_eq!(play(&tokens, &["--greedy"]), play(&tokens, &["--greedy"]));
    assert_eq!(json(&["check", "network", "--model", &tokens, "--states", "4"])["equivariant"], true);
    let told = trained("cause", &["--method", "cause", "--wind", "0.3"]);
    play(&told, &["--wind", "0.5"]);
    // What is left of the symmetry is found in the world as it is, wherever its settings come from.
    let group = |run: &str| {
        let config: toml::Table =
            std::fs::read_to_string(format!("{run}/config.toml")).unwrap().parse().unwrap();
        config["group"].as_str().unwrap().to_string()
    };
    let mirror = "matrix[-1 0, 0 1]";
    let left = trained("left", &["--method", "subgroup", "--wind", "0.3"]);
    let set = trained("left-set", &["--method", "subgroup", "--set", "world.wind=0.3"]);
    let whole = trained("left-whole", &["--method", "equivariant", "--wind", "0.3"]);
    assert_eq!([group(&left), group(&set), group(&whole)], [mirror, mirror, "C4"]);
    let weights = |run: &str| fs::read(format!("{run}/model.safetensors")).unwrap();
    assert!(weights(&left) == weights(&set) && weights(&left) != weights(&whole));
    assert_eq!(group(&trained("left-calm", &["--method", "subgroup"])), "C4");
    assert_eq!(answer(&["check", "network", "--model", &left, "--states", "5"]).0, 0);
    let fresh =
        ["check", "network", "--world", "wildlife", "--wind", "0.3", "--method", "subgroup", "--states", "5"];
    assert_eq!(answer(&fresh).1["group"], mirror);
    let short = ["--world", "traffic", "--set", "world.step_limit=20"];
    let traffic = trained("traffic", &short);
    for (size, junctions) in [("2x2", [2, 2]), ("2x3", [2, 3]), ("3x3", [3, 3])] {
        let found = play(&traffic, &["--junctions", size, "--step-limit", "20"]);
        assert_eq!([&found["rows"], &found["cols"]], junctions.map(Value::from).each_ref());
        assert!(found["waiting"]["mean"].is_number(), "{found}");
    }
    let central = trained("central", &["--method", "central-equivariant"]);
    assert_eq!(play(&central, &[])["drones"], 3);
    refuses(&["play", "--model", &central, "--drones", "4"], "made for one size");
    let central = trained("city", &[&short[..], &["--method", "central-plain"]].concat());
    refuses(&["play", "--model", &central, "--junctions", "3x3"], "made for one size");
    refuses(&["play", "--model", wildlife, "--world", "traffic"], "was made for the world `wildlife`");
    refuses(&["play", "--model", wildlife, "--junctions", "2x2"], "--junctions belongs to the traffic world");
    refuses(&["play", "--model", text(&folder)], "is not a run");
    for verb in [&["play"][..], &["check", "network"]] {
        let grid = [verb, &["--model", wildlife, "--grid", "9"]].concat();
        refuses(&grid, "this model sees images of [1, 21, 21]");
    }
    assert_eq!(play(wildlife, &["--grid", "7"])["grid"], 7);

    for run in [wildlife, &traffic] {
        let (code, found) = answer(&["check", "network", "--model", run, "--states", "5"]);
        assert_eq!((code, &found["equivariant"]), (0, &true.into()), "{found}");
        assert!(found["policy_error"].as_f64().unwrap() < 1e-5, "{found}");
    }
}

#[test]
fn the_end_of_training_says_over_how_many_episodes() {
    let folder = folder("train-closing");
    let closing = |name: &str, steps: &str| {
        let output = finish(&small(&["--steps", steps, "--set", "evaluate_episodes=1"], &folder.join(name)));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = closing("long", "4e3");
    assert!(
        text.contains("4000 steps") && text.contains("return of the last 100 training episodes"),
        "{text}"
    );
    let text = closing("short", "80");
    let summary: Value =
        serde_json::from_slice(&fs::read(folder.join("short/summary.json")).unwrap()).unwrap();
    let expected = match summary["episodes"].as_u64().unwrap() {
        0 => "no training episode ended".into(),
        count => format!("return of the last {count} training episodes"),
    };
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn a_demo_replaces_what_a_demo_made_and_nothing_else() {
    let folder = folder("train-demo");
    let demo = |seed: &'static str| ["demo", "--steps", "80", "--seed", seed, "--out", text(&folder)];
    let run = folder.join("equivariant");
    finish(&demo("1"));
    fs::write(run.join("film.gif"), "mine").unwrap();
    finish(&demo("2"));
    let settings = fs::read_to_string(run.join("config.toml")).unwrap();
    assert!(settings.contains("seed = 2") && run.join("film.gif").exists(), "{settings}");

    // A run of other settings, settings that cannot be read, and files without settings: all stay, and so does the
    // other team's run.
    let plain = fs::read(folder.join("plain/metrics.jsonl")).unwrap();
    let other = settings.replace("learning_rate = 0.001", "learning_rate = 0.003");
    assert_ne!(other, settings);
    for config in [Some(other.as_str()), Some("nonsense"), None] {
        match config {
            Some(config) => fs::write(run.join("config.toml"), config).unwrap(),
            None => fs::remove_file(run.join("config.toml")).unwrap(),
        }
        refuses(&demo("3"), "equivariant is not from an earlier demo, so it stays; choose another folder");
        assert!(run.join("model.safetensors").exists() && run.join("checkpoint").exists());
        assert_eq!(fs::read(folder.join("plain/metrics.jsonl")).unwrap(), plain);
    }
    // Nor is somebody else's figure overwritten.
    for name in ["equivariant", "plain"] {
        fs::remove_dir_all(folder.join(name)).unwrap();
    }
    refuses(&demo("3"), "curves.svg is there already");
}

#[test]
fn the_speed_of_training_is_measured_by_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .args(["bench", "train", "--seconds", "0.05", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        found["results"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "wildlife-3-equivariant",
            "wildlife-3-plain",
            "wildlife-4-equivariant",
            "wildlife-4-plain",
            "traffic-2x2-equivariant",
            "traffic-2x2-plain",
            "spread-3-equivariant",
            "spread-3-plain",
            "tag-3-equivariant",
            "tag-3-plain"
        ]
    );
    for result in found["results"].as_array().unwrap() {
        assert_eq!(result["unit"], "steps/s");
        assert!(result["value"].as_f64().unwrap() > 0.0);
    }
    assert!(found["commit"].is_string() && found["machine"]["cpu"].is_string());
}
