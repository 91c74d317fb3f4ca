//! Sweeps as a user sees them: real processes that are killed, broken runs, and nonsense.
#![cfg(unix)]

mod common;

use common::{answer, equimarl, folder, json, refuses};
use equimarl_worlds::{Purpose, Stream};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Six runs of about half a second.
const SIX: &str = r#"
name = "six"
kept = "results"

[settings]
checkpoint_every = 240
log_every = 80
evaluate_every = 0
evaluate_episodes = 3
steps = 1200

[[grid]]
method = ["equivariant", "plain", "augment-random"]
seed = "1-2"
"#;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn sweep_file(home: &Path, content: &str) -> PathBuf {
    let path = home.join("sweep-file.toml");
    fs::write(&path, content).unwrap();
    path
}

/// Everything that runs leave, but for the clock: metrics, model and summary by name.
fn results(out: &Path) -> BTreeMap<String, (String, Vec<u8>, Value)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(out).unwrap().flatten() {
        let run = entry.path();
        if run.join("summary.json").exists() {
            let mut summary: Value =
                serde_json::from_str(&fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
            for field in ["steps_per_second", "wall_seconds", "peak_memory_mb"] {
                summary.as_object_mut().unwrap().remove(field).unwrap();
            }
            let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
            let model = fs::read(run.join("model.safetensors")).unwrap();
            found.insert(entry.file_name().into_string().unwrap(), (metrics, model, summary));
        }
    }
    found
}

/// The kept records by name; no name may come twice.
fn kept(home: &Path) -> BTreeMap<String, Value> {
    let lines = fs::read_to_string(home.join("results/six.jsonl")).unwrap();
    let mut found = BTreeMap::new();
    for line in lines.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let name = record["name"].as_str().unwrap().to_string();
        assert!(found.insert(name, record["curve"].clone()).is_none(), "{line}");
    }
    found
}

#[test]
fn killing_a_sweep_changes_nothing() {
    let (whole, broken) = (folder("sweep-whole"), folder("sweep-broken"));
    let file = sweep_file(&whole, SIX);
    let done = json(&["sweep", text(&file), "--out", text(&whole.join("out"))]);
    assert_eq!((done["finished"].as_u64(), done["left"].as_u64()), (Some(6), Some(0)), "{done}");

    let file = sweep_file(&broken, SIX);
    let out = broken.join("out");
    let mut moments = Stream::new(7, Purpose::Shuffle, 0);
    for _ in 0..6 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
            .args(["sweep", text(&file), "--out", text(&out), "--quiet"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(50 + u64::from(moments.below(500))));
        child.kill().unwrap();
        child.wait().unwrap();
        // A run that was torn apart in the middle of a line is no obstacle.
        let listed = json(&["sweep", "list", text(&out)]);
        assert_eq!(listed["runs"].as_array().unwrap().len(), 6);
    }
    json(&["sweep", text(&file), "--out", text(&out)]);
    assert!(results(&whole.join("out")) == results(&out));
    assert_eq!(kept(&whole), kept(&broken));
    assert_eq!(fs::read_dir(out.join("unfinished")).unwrap().count(), 0);

    // All are finished, so nothing is made again; in another folder, neither, because they are kept.
    let time = |out: &Path| {
        fs::metadata(out.join("wildlife-3-plain-0.001-1/summary.json")).unwrap().modified().unwrap()
    };
    let before = time(&out);
    json(&["sweep", text(&file), "--out", text(&out)]);
    assert_eq!(time(&out), before);
    let other = broken.join("other");
    let again = json(&["sweep", text(&file), "--out", text(&other)]);
    assert_eq!((again["kept"].as_u64(), again["finished"].as_u64()), (Some(6), Some(0)));

    // A sweep that was killed before it kept what was finished does so the next time.
    fs::remove_file(broken.join("results/six.jsonl")).unwrap();
    json(&["sweep", text(&file), "--out", text(&out)]);
    assert_eq!(kept(&whole), kept(&broken));

    // Another file for the same folder is refused.
    let file = sweep_file(&broken, &SIX.replace("1200", "800"));
    refuses(&["sweep", text(&file), "--out", text(&out)], "other settings");
}

#[test]
fn stopping_a_sweep_leaves_checkpoints() {
    let home = folder("sweep-stopped");
    let file = sweep_file(&home, &SIX.replace("1200", "400000"));
    let out = home.join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .args(["sweep", text(&file), "--out", text(&out), "--quiet", "--jobs", "1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let run = out.join("unfinished/wildlife-3-equivariant-0.001-1");
    while fs::metadata(run.join("metrics.jsonl")).map_or(0, |m| m.len()) == 0 {
        sleep(Duration::from_millis(10));
    }
    let listed = json(&["sweep", "list", text(&out)]);
    assert_eq!(listed["runs"][0]["state"], "running", "{listed}");
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let listed = json(&["sweep", "list", text(&out)]);
    assert_eq!(listed["runs"][0]["state"], "stopped", "{listed}");
    assert!(fs::read_dir(run.join("checkpoint")).unwrap().count() > 0);
}

#[test]
fn failed_runs_are_listed_with_their_reason() {
    let home = folder("sweep-failed");
    let file = sweep_file(&home, &SIX.replace("seed = \"1-2\"", "seed = 1"));
    let out = home.join("out");
    let run = out.join("unfinished/wildlife-3-plain-0.001-1");
    // A folder with half a run: its settings are right and its checkpoint is nonsense.
    json(&["sweep", "list", text(&file), "--out", text(&out)]);
    let planned = equimarl(&["sweep", "run", text(&file), "--out", text(&out), "--index", "1", "--quiet"]);
    assert!(planned.status.success());
    fs::rename(out.join("wildlife-3-plain-0.001-1"), &run).unwrap();
    fs::remove_file(run.join("summary.json")).unwrap();
    for entry in fs::read_dir(run.join("checkpoint")).unwrap().flatten() {
        fs::write(entry.path(), "nonsense").unwrap();
    }
    let (code, done) = answer(&["sweep", text(&file), "--out", text(&out)]);
    assert_eq!(code, 1, "{done}");
    assert_eq!(done["finished"], 2);
    assert_eq!(done["failed"][0]["index"], 1);
    let reason = done["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("checkpoint"), "{reason}");
    // It stays failed until somebody asks for another try, and a repaired one is finished.
    let (code, _) = answer(&["sweep", text(&file), "--out", text(&out)]);
    assert_eq!(code, 1);
    fs::remove_dir_all(run.join("checkpoint")).unwrap();
    fs::create_dir(run.join("checkpoint")).unwrap();
    let done = json(&["sweep", text(&file), "--out", text(&out), "--retry"]);
    assert_eq!(done["finished"], 3);
    let elsewhere = json(&["sweep", text(&file), "--out", text(&home.join("elsewhere"))]);
    assert_eq!(elsewhere["kept"], 3, "{elsewhere}");
}

#[test]
fn a_sweep_that_grows_keeps_what_it_has() {
    let home = folder("sweep-grown");
    let small =
        SIX.replace("kept = \"results\"\n", "").replace("1200", "160").replace(", \"augment-random\"", "");
    let file = sweep_file(&home, &small);
    let out = home.join("out");
    assert_eq!(json(&["sweep", text(&file), "--out", text(&out)])["finished"], 4);
    let before = results(&out);
    // Now the number of steps is no longer the same for all, and would be part of every name.
    let file = sweep_file(&home, &format!("{small}\n[[grid]]\nmethod = 'plain'\nseed = 1\nsteps = 240\n"));
    let listed = json(&["sweep", "list", text(&file), "--out", text(&out)]);
    assert_eq!(listed["counts"], serde_json::json!({ "finished": 4, "waiting": 1 }));
    assert_eq!(json(&["sweep", text(&file), "--out", text(&out)])["finished"], 5);
    let after = results(&out);
    assert_eq!(after.len(), 5);
    assert!(before.iter().all(|(name, run)| after.get(name) == Some(run)));
    // Its folder belongs to it.
    let other = sweep_file(&home, &small.replace("\"six\"", "\"seven\""));
    refuses(&["sweep", text(&other), "--out", text(&out)], "belongs to the sweep `six`");
}

#[test]
fn kept_runs_are_reported_and_can_be_made_again() {
    let home = folder("sweep-kept");
    let file = sweep_file(&home, &SIX.replace("1200", "160").replace("1-2", "1-1"));
    json(&["sweep", text(&file), "--out", text(&home.join("first"))]);
    // A folder without a single run directory: all are kept.
    let second = home.join("second");
    assert_eq!(json(&["sweep", text(&file), "--out", text(&second)])["kept"], 3);
    let report = json(&["report", text(&second), "--out", text(&home.join("report"))]);
    assert_eq!(report["settings"][0]["teams"].as_array().unwrap().len(), 3, "{report}");
    assert_eq!(report["unreadable"], serde_json::json!([]));
    // A job's notes beside them are not runs.
    fs::create_dir_all(second.join("slurm")).unwrap();
    fs::write(second.join("slurm/jobs.jsonl"), "{\"id\":1,\"runs\":[0]}\n").unwrap();
    let report = json(&["report", text(&second), "--out", text(&home.join("report"))]);
    assert_eq!(report["unreadable"], serde_json::json!([]));
    // Whoever doubts them makes them again, and gets the same.
    let again = home.join("again");
    let made = json(&["sweep", text(&file), "--out", text(&again), "--ignore-kept", "--index", "1,1"]);
    assert_eq!(
        (&made["runs"], &made["finished"], &made["kept"]),
        (&1.into(), &1.into(), &0.into()),
        "{made}"
    );
    let name = "wildlife-3-plain-0.001-1";
    assert_eq!(results(&again)[name], results(&home.join("first"))[name]);
    assert_eq!(kept(&home).len(), 3);
}

#[test]
fn what_is_in_the_way_or_dies_is_not_finished() {
    let home = folder("sweep-in-the-way");
    let file = sweep_file(&home, &SIX.replace("1200", "400000").replace("1-2", "1-1"));
    let out = home.join("out");
    // Half a copy of a finished run.
    let half = out.join("wildlife-3-equivariant-0.001-1");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("model.safetensors"), "half").unwrap();
    let (code, done) = answer(&["sweep", text(&file), "--out", text(&out), "--index", "0"]);
    assert_eq!(code, 1);
    assert!(done["failed"][0]["reason"].as_str().unwrap().contains("is in the way"), "{done}");
    assert!(!out.join("unfinished/wildlife-3-equivariant-0.001-1").exists(), "it trained all the same");
    // A process that is killed twice is said to have died.
    let child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .args(["sweep", text(&file), "--out", text(&out), "--index", "1", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let metrics = out.join("unfinished/wildlife-3-plain-0.001-1/metrics.jsonl");
    for _ in 0..2 {
        let length = || fs::metadata(&metrics).map_or(0, |m| m.len());
        let begun = length();
        while length() <= begun {
            sleep(Duration::from_millis(10));
        }
        Command::new("pkill").args(["-KILL", "-P", &child.id().to_string()]).status().unwrap();
        sleep(Duration::from_millis(200));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["died"][0]["index"], &done["left"]), (&1.into(), &1.into()), "{done}");
}

#[test]
fn bad_sweeps_are_refused_in_one_line() {
    let home = folder("sweep-bad");
    let out = home.join("out");
    for (content, part) in [
        ("name = 'a'\n[[grid]]\nseed = [1, 1]", "are both called"),
        ("name = 'a'\n[[grid]]\nmethod = 'magic'", "no method is called `magic`"),
        ("name = 'a'\n[[grid]]\nsteps = 0", "`steps` must be at least 1"),
        ("name = ", "sweep-file.toml: "),
    ] {
        let file = sweep_file(&home, content);
        refuses(&["sweep", text(&file), "--out", text(&out)], part);
    }
    refuses(&["sweep", text(&home.join("missing.toml"))], "missing.toml");
    refuses(&["sweep", "list", text(&home)], "has no sweep.toml");
    let file = sweep_file(&home, SIX);
    refuses(&["sweep", "run", text(&file), "--out", text(&out), "--index", "6"], "there is no run 6");
    refuses(&["sweep", text(&file), "--out", text(&out), "--index", "x"], "cannot read --index x");
    refuses(&["sweep", text(&file), "--out", text(&out), "--jobs", "0"], "--jobs must be between");
    refuses(&["sweep", text(&file), "--out", "/proc/nothing"], "/proc/nothing");
    // A run is no place for a sweep, and neither is anything inside of it.
    let run = home.join("run");
    let trained =
        equimarl(&["train", "--world", "wildlife", "--steps", "80", "--quiet", "--out", text(&run)]);
    assert!(trained.status.success(), "{trained:?}");
    refuses(&["sweep", text(&file), "--out", text(&run)], "run is the folder of a run, not of a sweep");
    refuses(&["sweep", text(&file), "--out", text(&run.join("a/b"))], "b lies in the folder of a run");
    refuses(&["sweep", "list", text(&file), "--out", text(&run)], "is the folder of a run");
    assert!(!run.join("sweep.toml").exists() && !run.join("unfinished").exists());
    refuses(
        &["sweep", text(&file), "--out", text(&out), "--time", "1:00"],
        "--time belongs to --engine slurm",
    );
    // Without Slurm's commands on the path.
    let output = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .args(["sweep", text(&file), "--out", text(&out), "--engine", "slurm"])
        .env("PATH", text(&home))
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("Slurm is not installed") && error.lines().count() == 1, "{error}");
}
