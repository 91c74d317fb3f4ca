//! `equimarl report` as a user meets it: real runs, half-written ones, broken ones, wrong input.

mod common;

use common::{equimarl, folder, json, refuses};
use std::fs;
use std::path::Path;

/// A real run of a few steps.
fn train(out: &Path, method: &str, seed: u64) {
    let out = out.display().to_string();
    let seed = seed.to_string();
    let output = equimarl(&[
        "train",
        "--world",
        "wildlife",
        "--preset",
        "paper",
        "--method",
        method,
        "--seed",
        &seed,
        "--steps",
        "1600",
        "--set",
        "evaluate_every=0",
        "--set",
        "evaluate_episodes=2",
        "--set",
        "log_every=80",
        "--quiet",
        "--out",
        &out,
    ]);
    assert!(output.status.success(), "{output:?}");
}

fn runs(name: &str) -> std::path::PathBuf {
    let home = folder(name);
    for method in ["equivariant", "plain"] {
        for seed in 1..=2 {
            train(&home.join("sweep").join(format!("{method}-{seed}")), method, seed);
        }
    }
    home
}

#[test]
fn runs_become_a_page_figures_and_json() {
    let home = runs("report-page");
    let (places, out) = (home.join("sweep").display().to_string(), home.join("out").display().to_string());
    let value = json(&["report", &places, "--out", &out]);
    assert_eq!(value["runs"].as_array().unwrap().len(), 4);
    let setting = &value["settings"][0];
    assert_eq!(setting["setting"], "wildlife, 3 drones");
    assert_eq!(setting["measure"], "return");
    assert_eq!(value["chosen_on"]["wildlife, 3 drones"], "unknown");
    let optimum = setting["references"]["optimum"].as_f64().unwrap();
    assert!((optimum - 2.7785).abs() < 1e-3, "{optimum}");
    let teams = setting["after"][0]["teams"].as_array().unwrap();
    for team in teams {
        let iqm = &team["iqm"];
        let [low, estimate, high] = ["low", "estimate", "high"].map(|k| iqm[k].as_f64().unwrap());
        assert!(low <= estimate && estimate <= high, "{iqm}");
    }
    // The JSON's score is the mean of the last tenth of the run's own metrics.
    let metrics = fs::read_to_string(home.join("sweep/equivariant-1/metrics.jsonl")).unwrap();
    let recent: Vec<f64> = metrics
        .lines()
        .filter_map(|l| {
            let line: serde_json::Value = serde_json::from_str(l).unwrap();
            let steps = line["steps"].as_u64()?;
            line["return"].as_f64().filter(|_| steps > 1440)
        })
        .collect();
    let mean = recent.iter().sum::<f64>() / recent.len() as f64;
    assert!((teams[0]["scores"][0].as_f64().unwrap() - mean).abs() < 1e-3);
    let page = fs::read_to_string(home.join("out/index.html")).unwrap();
    assert!(page.contains("Wildlife, 3 drones") && !page.contains("<script"));
    for file in value["files"].as_array().unwrap() {
        let text = fs::read_to_string(file.as_str().unwrap()).unwrap();
        assert!(text.starts_with("<svg") || text.starts_with("<!doctype html>"), "{file}");
    }
    // The same runs give the same report.
    let again = json(&["report", &places, "--out", &out]);
    assert_eq!(value, again);
    assert_eq!(page, fs::read_to_string(home.join("out/index.html")).unwrap());
    let text = String::from_utf8(equimarl(&["report", &places, "--out", &out]).stdout).unwrap();
    assert!(text.contains("equivariant over plain after 1600 steps: better with probability"), "{text}");
    // A smaller report in the same place takes away what is no longer true, and nothing else.
    let (compared, own) =
        (home.join("out/wildlife-3-drones-improvement.svg"), home.join("out/wildlife-3-drones-mine.svg"));
    assert!(compared.exists());
    fs::write(&own, "<svg/>").unwrap();
    json(&["report", &home.join("sweep/equivariant-1").display().to_string(), "--out", &out]);
    assert!(!compared.exists() && own.exists());
}

#[test]
fn half_written_failed_and_broken_runs_are_listed() {
    let home = runs("report-broken");
    let sweep = home.join("sweep");
    fs::write(sweep.join("sweep.toml"), "name = \"mine\"\n").unwrap();
    fs::create_dir_all(sweep.join("unfinished")).unwrap();
    fs::create_dir_all(sweep.join("failed")).unwrap();
    for (from, to) in [("equivariant-2", "unfinished/half"), ("plain-2", "unfinished/failed")] {
        fs::rename(sweep.join(from), sweep.join(to)).unwrap();
        fs::remove_file(sweep.join(to).join("summary.json")).unwrap();
        // As after a crash: the last line is torn.
        let metrics = sweep.join(to).join("metrics.jsonl");
        let text = fs::read_to_string(&metrics).unwrap();
        let cut = text.len() / 2;
        fs::write(&metrics, &text[..cut]).unwrap();
    }
    fs::write(sweep.join("failed/failed.txt"), "the loss is inf after 800 steps\n").unwrap();
    fs::create_dir_all(sweep.join("broken")).unwrap();
    fs::write(sweep.join("broken/config.toml"), "steps = \"many\"").unwrap();
    fs::create_dir_all(sweep.join("empty")).unwrap();
    let places = sweep.display().to_string();
    let value = json(&["report", &places]);
    let states: Vec<(String, String)> = value["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["name"].as_str().unwrap().into(), r["state"].to_string()))
        .collect();
    let state = |name: &str| states.iter().find(|s| s.0 == name).unwrap().1.clone();
    assert_eq!(state("equivariant-1"), "\"finished\"");
    assert_eq!(state("half"), "\"unfinished\"");
    assert_eq!(state("failed"), "{\"failed\":\"the loss is inf after 800 steps\"}");
    assert!(value["runs"][0]["sweep"] == "mine");
    let unreadable = value["unreadable"].as_array().unwrap();
    assert_eq!(unreadable.len(), 1);
    assert!(unreadable[0][0].as_str().unwrap().ends_with("broken"));
    let notes = value["notes"].to_string();
    for part in ["1 run is not finished", "1 run failed", "1 run is not readable"] {
        assert!(notes.contains(part), "{notes}");
    }
    let plain = &value["settings"][0]["after"][0]["teams"][1];
    assert_eq!((plain["method"].as_str(), plain["scores"].as_array().unwrap().len()), (Some("plain"), 2));
}

#[test]
fn a_run_becomes_events_for_tensorboard_beside_its_directory() {
    let home = folder("report-tensorboard");
    let (run, events) = (home.join("a").display().to_string(), home.join("events").display().to_string());
    let args = |events: &str| {
        ["train", "--world", "wildlife", "--steps", "1600", "--out", &run, "--quiet", "--tensorboard", events]
            .map(String::from)
    };
    let inside = home.join("a/events").display().to_string();
    let wrong = args(&inside);
    refuses(&wrong.iter().map(String::as_str).collect::<Vec<_>>(), "lies in the run directory");
    assert!(!home.join("a").exists());
    let right = args(&events);
    let output = equimarl(&right.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{output:?}");
    let mut files: Vec<String> =
        fs::read_dir(&run).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(
        files,
        ["checkpoint", "config.toml", "metrics.jsonl", "model.safetensors", "spec.json", "summary.json"]
    );
    let file = fs::read_dir(home.join("events/a")).unwrap().next().unwrap().unwrap();
    let bytes = fs::read(file.path()).unwrap();
    assert!(bytes.windows(12).any(|w| w == b"train/return"));
    let value = json(&["report", &run, "--tensorboard", &home.join("again").display().to_string()]);
    let written = value["files"][0].as_str().unwrap();
    assert!(written.contains("tfevents") && fs::metadata(written).unwrap().len() > 1000, "{written}");
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let home = folder("report-wrong");
    let place = |name: &str| home.join(name).display().to_string();
    fs::create_dir_all(home.join("empty")).unwrap();
    fs::write(home.join("notes.txt"), "x").unwrap();
    fs::write(home.join("bad.jsonl"), "{\"name\": 3}\n").unwrap();
    refuses(&["report", &place("nowhere")], "nowhere");
    refuses(&["report", &place("empty")], "holds no runs");
    refuses(&["report", &place("notes.txt")], "neither a folder with runs nor a .jsonl file");
    refuses(&["report", &place("bad.jsonl")], "bad.jsonl line 1");
    // A folder that cannot be made: a file stands in its way.
    let run = home.join("run");
    train(&run, "plain", 1);
    refuses(&["report", &place("run"), "--out", &place("notes.txt/out")], "notes.txt");
}
