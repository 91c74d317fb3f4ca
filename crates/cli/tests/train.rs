//! Training as a user or a script sees it: real processes that are killed, stopped, starved of disk and fed nonsense.
#![cfg(unix)]

mod common;

use common::{answer, equimarl, folder, json, refuses};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Small runs with everything in them: metrics, checkpoints, evaluations.
const SMALL: [&str; 11] = [
    "train",
    "--preset",
    "paper",
    "--set",
    "checkpoint_every=240",
    "--set",
    "log_every=80",
    "--set",
    "evaluate_episodes=5",
    "--set",
    "evaluate_every=800",
];
/// The usual small run.
const WILDLIFE: [&str; 2] = ["--steps", "4000"];
/// The machine may be busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn small<'a>(more: &[&'a str], out: &'a Path) -> Vec<&'a str> {
    [&SMALL[..], more, &["--out", text(out)]].concat()
}

/// Runs to the end.
fn finish(args: &[&str]) -> Output {
    let output = equimarl(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    output
}

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

/// The usual small run, never interrupted, on one thread.
fn whole() -> &'static Path {
    static RUN: OnceLock<PathBuf> = OnceLock::new();
    RUN.get_or_init(|| {
        let run = folder("train-whole").join("run");
        finish(&small(&[&WILDLIFE[..], &["--threads", "1", "--quiet"]].concat(), &run));
        run
    })
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
        ("traffic", &["--world", "traffic", "--method", "augment-random", "--steps", "960"]),
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
        let hint = format!("continue with: equimarl train --resume {}", text(&run));
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
    let more = ["--world", "traffic", "--steps", "80", "--set", "evaluate_episodes=1000", "--quiet"];
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
    assert_eq!(summary["steps"], 4000);
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
    refuses(&["train", "--quiet", "--resume", text(&changed)], "made with other settings");

    // Metrics that were changed by hand, too.
    fs::write(run.join("metrics.jsonl"), "").unwrap();
    refuses(&["train", "--quiet", "--resume", text(&run)], "it was changed");

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
    refuses(&small(&["--quiet"], &run), "metrics.jsonl: Is a directory");
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
    let steps = "was made with steps = 4000, not 9: a run keeps its settings and cannot be extended";
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
        assert!(lines.iter().any(|l| l["entropy"].is_number() && l["kl"].is_number()));
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
    assert_eq!(play(&format!("{wildlife}/model.safetensors"), &["--drones", "6"])["drones"], 6);
    let short = ["--world", "traffic", "--set", "world.step_limit=20"];
    let traffic = trained("traffic", &short);
    for (size, junctions) in [("2x2", [2, 2]), ("2x3", [2, 3]), ("3x3", [3, 3])] {
        let found = play(&traffic, &["--junctions", size, "--step-limit", "20"]);
        assert_eq!(found["junctions"], Value::from(junctions.to_vec()));
        assert!(found["waiting"]["mean"].is_number(), "{found}");
    }
    let central = trained("central", &["--method", "central-equivariant"]);
    assert_eq!(play(&central, &[])["drones"], 3);
    refuses(&["play", "--model", &central, "--drones", "4"], "made for one size");
    let central = trained("city", &[&short[..], &["--method", "central-plain"]].concat());
    refuses(&["play", "--model", &central, "--junctions", "3x3"], "made for one size");
    refuses(&["play", "--model", wildlife, "--world", "traffic"], "another world");
    refuses(&["play", "--model", wildlife, "--junctions", "2x2"], "--junctions belongs to the traffic world");
    refuses(&["play", "--model", text(&folder)], "is not a run");
    for verb in [&["play"][..], &["check", "network"]] {
        let grid = [verb, &["--model", wildlife, "--grid", "9"]].concat();
        refuses(&grid, "this team was trained on 7 x 7 cells, and --grid cannot change that");
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
            "traffic-equivariant",
            "traffic-plain"
        ]
    );
    for result in found["results"].as_array().unwrap() {
        assert_eq!(result["unit"], "steps/s");
        assert!(result["value"].as_f64().unwrap() > 0.0);
    }
    assert!(found["commit"].is_string() && found["machine"]["cpu"].is_string());
}
