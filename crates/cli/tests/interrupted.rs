//! Training that is interrupted: real processes that are killed, stopped, starved of disk, and checkpoints that are damaged.
#![cfg(unix)]

mod common;
#[path = "common/training.rs"]
mod training;

use common::{equimarl, folder, json, refuses};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use training::{SMALL, WILDLIFE, finish, small, text, whole};

/// The machine may be busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);

fn resume(run: &Path) -> Output {
    finish(&["train", "--resume", text(run)])
}

fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_equimarl"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until something is so, while the process goes on.
fn wait_until(child: &mut Child, what: &str, so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before there was {what}");
        assert!(begin.elapsed() < PATIENCE, "there is no {what}");
        sleep(Duration::from_millis(2));
    }
}

fn has_metrics(run: &Path) -> bool {
    fs::metadata(run.join("metrics.jsonl")).is_ok_and(|m| m.len() > 0)
}

/// The steps of the checkpoints, the latest first.
fn checkpoints(run: &Path) -> Vec<u64> {
    let files = fs::read_dir(run.join("checkpoint")).into_iter().flatten().flatten();
    let step = |name: String| name.strip_suffix(".safetensors")?.parse().ok();
    let mut steps: Vec<u64> = files.filter_map(|f| step(f.file_name().into_string().ok()?)).collect();
    steps.sort_by_key(|&step| std::cmp::Reverse(step));
    steps
}

fn checkpoint(run: &Path, step: u64) -> PathBuf {
    run.join(format!("checkpoint/{step}.safetensors"))
}

/// Sends a signal, and gives what came of it.
fn signal(child: Child, name: &str) -> Output {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait_with_output().unwrap()
}

/// Everything that a run leaves, but for the three fields that depend on the clock and the machine.
fn result(run: &Path) -> (String, Vec<u8>, Value) {
    let mut summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
    for field in ["steps_per_second", "wall_seconds", "peak_memory_mb"] {
        summary.as_object_mut().unwrap().remove(field).unwrap();
    }
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    (metrics, fs::read(run.join("model.safetensors")).unwrap(), summary)
}

fn same(one: &Path, other: &Path) {
    let (one, other) = (result(one), result(other));
    assert_eq!(one.0, other.0, "metrics.jsonl");
    assert!(one.1 == other.1, "model.safetensors");
    assert_eq!(one.2, other.2, "summary.json");
}

/// The usual small run, killed when it has two checkpoints.
fn killed(name: &str) -> PathBuf {
    let run = folder(name).join("run");
    let mut child = start(&small(&WILDLIFE, &run));
    wait_until(&mut child, "second checkpoint", || checkpoints(&run).len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    run
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Kills a run at random moments, and continues it with one and two threads in turn. Gives when it was killed.
fn kill_at_random(run: &Path, more: &[&str], length: Duration) -> Vec<Duration> {
    let mut state = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    // At once, before the first checkpoint; again, if this process was too slow to do it.
    loop {
        let mut child = start(&small(more, run));
        wait_until(&mut child, "config", || run.join("config.toml").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        if checkpoints(run).is_empty() {
            break;
        }
        fs::remove_dir_all(run).unwrap();
    }
    let mut moments = vec![];
    for turn in 0..5 {
        let threads = ["1", "2"][turn % 2];
        let mut child = start(&["train", "--resume", text(run), "--threads", threads]);
        let moment = length.mul_f64(0.25 * random());
        sleep(moment);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        if status.signal() != Some(9) {
            assert!(status.success(), "{status:?}");
            break;
        }
        moments.push(moment);
    }
    resume(run);
    moments
}

#[test]
fn killed_runs_continue_to_the_same_bits() {
    for (name, more) in [
        ("wildlife", &WILDLIFE[..]),
        ("traffic", &["--world", "traffic", "--method", "augment-random", "--steps", "2880"]),
    ] {
        let folder = folder(&format!("train-killed-{name}"));
        let (one, two, killed) = (folder.join("one"), folder.join("two"), folder.join("killed"));
        let begin = Instant::now();
        finish(&small(&[more, &["--threads", "1"]].concat(), &one));
        let length = begin.elapsed();
        finish(&small(&[more, &["--threads", "2"]].concat(), &two));
        same(&one, &two);
        let moments = kill_at_random(&killed, more, length);
        assert!(moments.len() >= 2, "{moments:?} of {length:?}");
        println!("{name}: killed after {moments:?}; a whole run takes {length:?}");
        same(&one, &killed);
        // What was half written when it was killed is gone.
        for folder in [killed.clone(), killed.join("checkpoint")] {
            let names: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
            assert!(names.iter().all(|p| p.extension().is_none_or(|e| e != "tmp")), "{names:?}");
        }
        assert!(checkpoints(&killed).len() <= 2);
    }
}

#[test]
fn signals_write_a_checkpoint_and_say_how_to_continue() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let run = folder(&format!("train-signal-{name}")).join("run");
        let mut child = start(&small(&WILDLIFE, &run));
        wait_until(&mut child, "metrics", || has_metrics(&run));
        let begin = Instant::now();
        let output = signal(child, name);
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        let program = env!("CARGO_BIN_EXE_equimarl");
        let hint = format!("continue with: {program} train --resume {}", text(&run));
        assert!(error.contains(&hint), "{error}");
        let steps = checkpoints(&run)[0];
        assert!(error.contains(&format!("stopped after {steps} steps")), "{error}");
        let error = String::from_utf8(resume(&run).stderr).unwrap();
        assert!(error.contains(&format!("continuing after {steps} steps")), "{error}");
        same(whole(), &run);
    }
}

#[test]
fn signals_are_heard_within_long_evaluations() {
    let run = folder("train-signal-evaluation").join("run");
    let more = ["--world", "traffic", "--steps", "80", "--set", "evaluate_episodes=5000", "--quiet"];
    let mut child = start(&small(&more, &run));
    // All steps are done; its evaluation would take a minute.
    wait_until(&mut child, "metrics", || has_metrics(&run));
    sleep(Duration::from_millis(300));
    let begin = Instant::now();
    let output = signal(child, "TERM");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    assert_eq!(checkpoints(&run), [80]);
    assert!(!run.join("summary.json").exists());
}

/// An iteration of a large city takes long. It is left in the middle, and made again.
#[test]
fn signals_are_heard_within_long_iterations() {
    let home = folder("train-signal-iteration");
    let city = |size: &'static str, steps: &'static str| {
        ["--world", "traffic", "--junctions", size, "--steps", steps, "--set", "log_every=1"]
    };
    // In the first iteration nothing is lost yet, and from the first seconds on one sees what it does.
    let run = home.join("first");
    let child = start(&small(&city("60x60", "100000"), &run));
    sleep(Duration::from_secs(4));
    let begin = Instant::now();
    let output = signal(child, "TERM");
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("of an iteration") && error.contains("train --resume"), "{error}");

    // Later, only that iteration is lost, on a machine that makes a part of it in the time it is given (`Stop::insist`).
    let (whole, run) = (home.join("whole"), home.join("later"));
    let more = [&city("10x10", "400")[..], &["--quiet", "--set", "checkpoint_every=100000"]].concat();
    finish(&small(&more, &whole));
    let mut child = start(&small(&more, &run));
    wait_until(&mut child, "metrics", || {
        fs::read_to_string(run.join("metrics.jsonl")).is_ok_and(|m| m.lines().count() > 1)
    });
    sleep(Duration::from_millis(100));
    assert_eq!(signal(child, "INT").status.code(), Some(130));
    let steps = checkpoints(&run)[0];
    assert!(steps > 0 && steps < 400, "{steps}");
    finish(&["train", "--quiet", "--resume", text(&run)]);
    same(&whole, &run);
}

#[test]
fn one_process_at_a_time_trains_in_a_run() {
    let run = folder("train-twice").join("run");
    let mut child = start(&small(&["--steps", "100000000"], &run));
    wait_until(&mut child, "metrics", || has_metrics(&run));
    refuses(&["train", "--quiet", "--resume", text(&run)], "another process is training in");
    assert_eq!(signal(child, "INT").status.code(), Some(130));
}

#[test]
fn finished_runs_say_so() {
    let output = resume(whole());
    assert!(String::from_utf8(output.stderr).unwrap().contains("is finished"));
    assert!(output.stdout.is_empty());
    let summary = json(&["train", "--resume", text(whole())]);
    assert_eq!(summary["steps"], 12000);
    let output = finish(&["train", "--quiet", "--resume", text(whole())]);
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    refuses(&small(&WILDLIFE, whole()), "holds a run already");
}

#[test]
fn damaged_checkpoints_fall_back_to_older_ones() {
    let run = killed("train-damaged");
    let [latest, older] = checkpoints(&run)[..] else { panic!("{:?}", checkpoints(&run)) };
    let bytes = fs::read(checkpoint(&run, latest)).unwrap();
    let cut = run.with_file_name("cut");
    let flipped = run.with_file_name("flipped");
    for (other, damage) in [
        (&cut, bytes[..bytes.len() / 2].to_vec()),
        (
            &flipped,
            [&bytes[..bytes.len() - 9], &[!bytes[bytes.len() - 9]], &bytes[bytes.len() - 8..]].concat(),
        ),
    ] {
        copy(&run, other);
        fs::write(checkpoint(other, latest), damage).unwrap();
        let error = String::from_utf8(resume(other).stderr).unwrap();
        let warning = error.lines().find(|l| l.starts_with("warning: ")).unwrap();
        assert!(warning.contains(&format!("{latest}.safetensors")), "{error}");
        assert!(error.contains(&format!("continuing after {older} steps")), "{error}");
        same(whole(), other);
    }

    // What it has learned so far can be played and checked, also from the older checkpoint when the latest is damaged.
    let output = equimarl(&["play", "--model", text(&run), "--episodes", "2", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains(&format!("is not finished: this is its team after {latest} of ")), "{note}");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["episodes"], 2);
    finish(&["check", "network", "--model", text(&checkpoint(&run, older)), "--states", "3"]);
    let broken = run.with_file_name("broken");
    copy(&run, &broken);
    fs::write(checkpoint(&broken, latest), b"nonsense").unwrap();
    let output = equimarl(&["play", "--model", text(&broken), "--episodes", "2"]);
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains(&format!("after {older} of ")), "{note}");
    fs::write(checkpoint(&broken, older), b"nonsense").unwrap();
    refuses(&["play", "--model", text(&broken)], "cannot use");
    // Its weights can be looked at and exported, too.
    let found = json(&["inspect", text(&run)]);
    assert_eq!((&found["extra"]["steps"], &found["parameters"]), (&latest.into(), &25_891.into()), "{found}");
    let file = checkpoint(&run, older);
    assert_eq!(json(&["inspect", text(&file)])["extra"]["steps"], older);
    let dense = run.with_file_name("dense.safetensors");
    finish(&["export", "--model", text(&run), "--dense", text(&dense)]);
    assert_eq!(json(&["inspect", text(&dense)])["extra"]["steps"], latest);
    // A fleet takes finished teams: each member opens the file.
    let hint = format!(
        "is not finished; wait for its end, or finish it with `equimarl train --resume {}`",
        text(&run)
    );
    refuses(&["fleet", "run", "--model", text(&run)], &hint);
    let begun = run.with_file_name("begun");
    copy(&run, &begun);
    fs::remove_dir_all(begun.join("checkpoint")).unwrap();
    for verb in [&["play", "--model"][..], &["inspect"], &["fleet", "run", "--model"]] {
        refuses(&[verb, &[text(&begun)]].concat(), "has no checkpoint yet");
        refuses(&[verb, &[text(run.parent().unwrap())]].concat(), "is not a run: it holds neither");
    }

    // Settings that were changed by hand belong to no checkpoint.
    let changed = run.with_file_name("changed");
    copy(&run, &changed);
    let settings = fs::read_to_string(changed.join("config.toml")).unwrap();
    fs::write(changed.join("config.toml"), settings.replace("seed = 0", "seed = 1")).unwrap();
    refuses(
        &["train", "--quiet", "--resume", text(&changed)],
        "made with seed = 0, and now it is 1; put it back",
    );

    // Metrics that were changed by hand, too.
    fs::write(run.join("metrics.jsonl"), "").unwrap();
    refuses(&["train", "--quiet", "--resume", text(&run)], "metrics.jsonl is gone, and had");

    for step in [latest, older] {
        fs::write(checkpoint(&run, step), b"nonsense").unwrap();
    }
    refuses(&["train", "--quiet", "--resume", text(&run)], "remove the folder to start the run again");
    // In JSON, warnings stay out of the way.
    let output = equimarl(&["train", "--json", "--resume", text(&run)]);
    assert!(output.stdout.is_empty());
    assert_eq!(String::from_utf8(output.stderr).unwrap().matches("warning: ").count(), 2);
}

#[test]
fn folders_that_cannot_be_written_are_named() {
    let folder = folder("train-unwritable");
    let file = folder.join("file");
    fs::write(&file, "here already").unwrap();
    refuses(&small(&["--quiet"], &file), "file: Not a directory");
    refuses(&small(&["--quiet"], &file.join("run")), "file/run: Not a directory");
    assert_eq!(fs::read_to_string(&file).unwrap(), "here already");
    if cfg!(target_os = "linux") {
        refuses(&small(&["--quiet"], Path::new("/proc/run")), "/proc/run: No such file");
    }
    // Metrics that cannot be opened.
    let run = folder.join("run");
    fs::create_dir_all(run.join("metrics.jsonl")).unwrap();
    refuses(&small(&["--quiet"], &run), "metrics.jsonl is there already, and no run of this program");
}

/// A run on a disk of its own that is too small, then large enough: the codes of both, and what the first said.
/// Nothing if this user may not mount a disk.
fn on_a_small_disk(folder: &Path, size: &str, more: &[&str]) -> Option<(String, String)> {
    const SCRIPT: &str = r#"
        folder=$1; size=$2; equimarl=$3; shift 3
        mkdir -p "$folder/disk"
        mount -t tmpfs -o "size=$size" none "$folder/disk" || exit 99
        "$equimarl" "$@" --quiet --out "$folder/disk/run" 2> "$folder/error"
        echo "$?" > "$folder/codes"
        cp -r "$folder/disk/run" "$folder/full"
        mount -o remount,size=8m "$folder/disk" || exit 99
        "$equimarl" train --quiet --resume "$folder/disk/run"
        echo "$?" >> "$folder/codes"
        cp -r "$folder/disk/run" "$folder/run"
    "#;
    // The disk is in a namespace of its own, and gone with its last process.
    [&["--mount"][..], &["--map-root-user", "--mount"]].iter().find_map(|how| {
        let mut command = Command::new("unshare");
        command.args(*how).args(["sh", "-c", SCRIPT, "sh", text(folder), size]);
        command.arg(env!("CARGO_BIN_EXE_equimarl")).args(SMALL).args(WILDLIFE).args(more);
        let output = command.output().ok()?;
        let codes = fs::read_to_string(folder.join("codes")).ok()?;
        assert!(output.status.success(), "{output:?}");
        Some((codes, fs::read_to_string(folder.join("error")).unwrap()))
    })
}

#[test]
fn a_full_disk_leaves_the_last_good_checkpoint() {
    // A checkpoint has 325 KB.
    for (size, more, full, left) in [
        ("200k", &[][..], "run/checkpoint/240.safetensors: No space left", &[][..]),
        ("800k", &[], "run/checkpoint/720.safetensors: No space left", &[480, 240]),
        ("12k", &["--set", "checkpoint_every=100000"], "run/metrics.jsonl: No space left", &[]),
    ] {
        let folder = folder(&format!("train-full-disk-{size}"));
        let Some((codes, error)) = on_a_small_disk(&folder, size, more) else {
            // Not `eprintln`, which tests keep to themselves.
            let _ = writeln!(std::io::stderr(), "skipped: a full disk, because this user may not mount one");
            return;
        };
        assert_eq!(codes, "2\n0\n", "{error}");
        assert!(error.starts_with("error: ") && error.contains(full), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(checkpoints(&folder.join("full")), left);
        if more.is_empty() {
            same(whole(), &folder.join("run"));
        }
    }
}
