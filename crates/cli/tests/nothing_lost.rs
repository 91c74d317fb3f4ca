//! What strangers ran into: files that were lost, errors that blamed the wrong thing, processes that stayed.
#![cfg(unix)]

mod common;
#[path = "common/training.rs"]
mod training;

use common::{answer, equimarl, folder, json, refuses};
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use training::{SMALL, finish, small, text, whole};

const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(begin.elapsed() < PATIENCE, "{what} does not come");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn outputs_are_never_inputs_nor_each_other_nor_somebody_elses() {
    let home = folder("lost-outputs");
    let (model, other) = (home.join("m.safetensors"), home.join("linked.safetensors"));
    fs::copy(whole().join("model.safetensors"), &model).unwrap();
    fs::hard_link(&model, &other).unwrap();
    let before = fs::read(&model).unwrap();
    let (m, d) = (text(&model), home.join("dense.safetensors"));
    let sample = home.join("sample.json");
    let in_run = whole().join("model.safetensors");
    let export = ["export", "--model", m, "--dense"];
    refuses(&[&export[..], &[m]].concat(), "is what this command reads");
    refuses(&[&export[..], &[text(&other)]].concat(), "is what this command reads");
    refuses(&["export", "--model", text(whole()), "--dense", text(&in_run)], "is what this command reads");
    refuses(&[&export[..], &[text(&in_run)]].concat(), "which holds only the run");
    refuses(&[&export[..], &[text(&d), "--sample", text(&d)]].concat(), "--dense and --sample both are");
    let dotted = home.join("../lost-outputs/dense.safetensors");
    refuses(&[&export[..], &[text(&d), "--sample", text(&dotted)]].concat(), "both are");
    let play = ["play", "--model", m, "--episodes", "1"];
    refuses(&[&play[..], &["--gif", m]].concat(), "is what this command reads");
    refuses(&[&play[..], &["--svg", m]].concat(), "is what this command reads");
    assert_eq!(fs::read(&model).unwrap(), before);

    // What we made is replaced by the same command, and by no other.
    for _ in 0..2 {
        finish(&[&export[..], &[text(&d), "--sample", text(&sample)]].concat());
    }
    refuses(&[&export[..], &[text(&sample)]].concat(), "was not made by this command");
    let film = home.join("film.gif");
    for _ in 0..2 {
        finish(&[&play[..], &["--gif", text(&film)]].concat());
    }
    refuses(&[&play[..], &["--svg", text(&film)]].concat(), "was not made by this command");
    // Nor is a trained model taken for an export.
    let copy = home.join("copy.safetensors");
    fs::copy(&model, &copy).unwrap();
    refuses(&[&export[..], &[text(&copy)]].concat(), "was not made by this command");

    // What others made is not replaced unless somebody insists.
    let picture = home.join("mine.svg");
    fs::write(&picture, "<svg>mine</svg>").unwrap();
    refuses(&[&play[..], &["--svg", text(&picture)]].concat(), "--force");
    assert_eq!(fs::read(&picture).unwrap(), b"<svg>mine</svg>");
    finish(&[&play[..], &["--svg", text(&picture), "--force"]].concat());
    finish(&[&play[..], &["--svg", text(&picture)]].concat());
    refuses(&[&export[..], &[m, "--force"]].concat(), "is what this command reads");
}

#[test]
fn a_report_replaces_reports_only() {
    let home = folder("lost-report");
    let site = home.join("site");
    fs::create_dir_all(&site).unwrap();
    fs::write(site.join("index.html"), "<!doctype html>my own site").unwrap();
    let report = ["report", text(whole()), "--out", text(&site)];
    refuses(&report, "index.html is there already, and was not made by this command");
    assert_eq!(fs::read_dir(&site).unwrap().count(), 1);
    let other = home.join("report");
    let again = ["report", text(whole()), "--out", text(&other)];
    finish(&again);
    finish(&again);
    let figure = fs::read_dir(&other).unwrap().map(|f| f.unwrap().path());
    let figure = figure.into_iter().find(|f| f.extension().is_some_and(|e| e == "pdf")).unwrap();
    fs::write(&figure, "%PDF mine").unwrap();
    refuses(&again, "was not made by this command");
    finish(&[&again[..], &["--force"]].concat());
    refuses(&["report", text(whole()), "--out", text(whole())], "which holds only the run");
}

/// Not by any detour, and not by any verb.
#[test]
fn nothing_is_written_into_a_run_directory() {
    let home = folder("lost-inside");
    let run = home.join("run");
    finish(&small(&["--steps", "80", "--quiet"], &run));
    let files = || {
        let mut names: Vec<_> = fs::read_dir(&run).unwrap().map(|f| f.unwrap().file_name()).collect();
        names.sort();
        (names, fs::read(run.join("model.safetensors")).unwrap())
    };
    let (before, inside) = (files(), "which holds only the run");
    let sweep = home.join("s.toml");
    fs::write(&sweep, "name = 'x'\n[[grid]]\nseed = 1\n").unwrap();
    let detour = home.join("nx/../run");
    for place in [run.clone(), detour.clone()] {
        let (place, below) = (text(&place), place.join("below"));
        refuses(&["fleet", "keys", "--no-tls", "--model", text(whole()), "--out", place], inside);
        refuses(&["fleet", "run", "--model", text(whole()), "--record", text(&below)], inside);
        refuses(&["check", "world", "wildlife", "--steps", "1", "--out", place], inside);
        refuses(&["demo", "--steps", "80", "--out", place], inside);
        refuses(&["report", text(whole()), "--out", text(&below)], inside);
        refuses(&["report", text(whole()), "--json", "--tensorboard", place], inside);
        refuses(&small(&["--steps", "80"], &below), inside);
        let other = home.join("other");
        refuses(&small(&["--steps", "80", "--tensorboard", place], &other), inside);
        assert!(!other.exists());
    }
    refuses(&["sweep", text(&sweep), "--out", text(&detour)], inside);
    // The events of a run go to a folder of its name, which must not be the run.
    refuses(
        &small(&["--steps", "80", "--tensorboard", text(&home)], &home.join("events")),
        "lies in the run directory",
    );
    assert_eq!(files(), before);
    // Runs in a run would never be found again.
    refuses(&small(&["--steps", "80"], &home), "holds other runs");
}

#[test]
fn a_run_begins_where_nothing_of_its_names_is() {
    let home = folder("lost-run-folder");
    for name in ["model.safetensors", "metrics.jsonl", "spec.json"] {
        let out = home.join(name.replace('.', "-"));
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join(name), "mine").unwrap();
        refuses(
            &small(&["--steps", "80"], &out),
            &format!("{name} is there already, and no run of this program"),
        );
        assert_eq!(fs::read(out.join(name)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }
}

#[test]
fn of_two_trainings_that_begin_in_one_folder_one_does() {
    let run = folder("lost-twice").join("run");
    let args = small(&["--steps", "4000", "--quiet", "--threads", "1"], &run);
    let begin =
        || Command::new(env!("CARGO_BIN_EXE_equimarl")).args(&args).stderr(Stdio::piped()).spawn().unwrap();
    let outputs: Vec<_> =
        [begin(), begin(), begin()].into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let (done, refused): (Vec<_>, Vec<_>) = outputs.iter().partition(|o| o.status.success());
    assert_eq!(done.len(), 1, "{outputs:?}");
    for other in refused {
        let error = String::from_utf8_lossy(&other.stderr);
        assert!(
            error.contains("holds a run already") || error.contains("another process is training"),
            "{error}"
        );
    }
    assert!(run.join("summary.json").exists());
}

#[test]
fn any_number_of_episodes_takes_no_memory() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .args(["play", "--world", "wildlife", "--controller", "random", "--episodes", "1e12"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "{:?}", child.wait_with_output());
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("of 1,000,000,000,000"), "{said}");
    if let Some(peak) = status.lines().find_map(|l| l.strip_prefix("VmHWM:")) {
        let kilobytes: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
        assert!(kilobytes < 200_000, "{peak}");
    }
}

/// Whether a process trains there.
fn is_busy(run: &Path) -> bool {
    let Ok(file) = File::options().write(true).open(run.join("metrics.jsonl")) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

#[test]
fn the_teams_of_a_demo_end_with_it() {
    for name in ["INT", "TERM", "KILL"] {
        let out = folder(&format!("lost-demo-{name}"));
        let mut demo = Command::new(env!("CARGO_BIN_EXE_equimarl"))
            .args(["demo", "--steps", "100000000", "--out", text(&out)])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let runs = ["equivariant", "plain"].map(|team| out.join(team));
        wait_until("training", || runs.iter().all(|run| is_busy(run)));
        // Another demo does not take their folders away.
        if name == "INT" {
            refuses(&["demo", "--steps", "80", "--out", text(&out)], "another demo trains in");
        }
        let sent = Command::new("kill").args([&format!("-{name}"), &demo.id().to_string()]).status().unwrap();
        assert!(sent.success());
        demo.wait().unwrap();
        let begin = Instant::now();
        wait_until("their end", || !runs.iter().any(|run| is_busy(run)));
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

#[test]
fn a_check_that_does_not_hold_is_exit_code_1() {
    let run = text(whole());
    let (code, found) = answer(&["check", "network", "--model", run, "--states", "3"]);
    assert_eq!((code, &found["holds"], &found["claims"]), (0, &true.into(), &"C4".into()));
    let (code, found) = answer(&["check", "network", "--model", run, "--states", "3", "--group", "D4"]);
    assert_eq!((code, &found["holds"]), (1, &false.into()), "{found}");
    let plain = ["check", "network", "--world", "wildlife", "--method", "plain", "--states", "3"];
    let (code, found) = answer(&plain);
    assert_eq!((code, &found["holds"], &found["equivariant"]), (0, &true.into(), &false.into()));
    let (code, _) = answer(&[&plain[..], &["--group", "C4"]].concat());
    assert_eq!(code, 1);
    let help = String::from_utf8(equimarl(&["--help"]).stdout).unwrap();
    assert!(help.contains("Exit code"), "{help}");
}

#[test]
fn a_verdict_needs_no_place_for_its_counterexample() {
    let home = folder("lost-verdict");
    fs::write(home.join("taken"), "a file, where the folder should be").unwrap();
    let out = home.join("taken");
    let output =
        equimarl(&["check", "world", "traffic", "--group", "D4", "--steps", "1e2", "--out", text(&out)]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (said, warned) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(said.contains("traffic does not have this symmetry"), "{said}");
    assert!(warned.contains("warning: cannot make the folder"), "{warned}");
}

#[test]
fn errors_blame_what_is_wrong() {
    let home = folder("lost-blame");
    let out = home.join("run");
    let refused = |part: &str| {
        refuses(&small(&["--steps", "80", "--tensorboard", "/proc/x"], &out), part);
        assert!(!out.exists());
    };
    refused("cannot write to --tensorboard /proc/x");

    let stopped = |name: &str| {
        let run = home.join(name);
        let more = ["--steps", "100000000"];
        let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
            .args(small(&more, &run))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("metrics", || fs::metadata(run.join("metrics.jsonl")).is_ok_and(|m| m.len() > 0));
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        child.wait().unwrap();
        run
    };
    let run = stopped("metrics");
    fs::remove_file(run.join("metrics.jsonl")).unwrap();
    refuses(&["train", "--quiet", "--resume", text(&run)], "metrics.jsonl is gone, and had");

    let run = stopped("edited");
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    fs::write(run.join("config.toml"), config.replace("epochs = 4", "epochs = 3")).unwrap();
    refuses(
        &["train", "--quiet", "--resume", text(&run)],
        "made with epochs = 4, and now it is 3; put it back",
    );
    fs::write(run.join("config.toml"), config.replace("epochs = 4", "epocs = 4")).unwrap();
    refuses(&["train", "--quiet", "--resume", text(&run)], "unknown field `epocs`");
    refuses(
        &["train", "--resume", text(&home)],
        "holds no run that could be continued: it has no config.toml",
    );

    refuses(&["check", "world", "wildlife", "--steps", "0"], "0 steps check nothing");
    let output = equimarl(&["check", "world", "wildlife", "--steps", "1e2", "--seed", "1e3"]);
    assert!(output.status.success(), "{output:?}");
}

/// A run that is extended has the same bits as one that was made for as many steps.
#[test]
fn a_finished_run_goes_on_to_more_steps() {
    let home = folder("lost-extended");
    let train = |name: &str, steps: &str, more: &[&str]| {
        let run = home.join(name);
        finish(&small(&[&["--steps", steps, "--quiet"], more].concat(), &run));
        run
    };
    let (long, short) = (train("long", "3200", &[]), train("short", "1600", &[]));
    let resume = ["train", "--resume", text(&short), "--quiet"];
    refuses(&[&resume[..], &["--steps", "800"]].concat(), "a run can go on to more, not to fewer");
    refuses(&[&resume[..], &["--steps", "3200", "--seed", "7"]].concat(), "was made with seed = 0, not 7");
    assert!(short.join("summary.json").exists());
    finish(&[&resume[..], &["--steps", "3200"]].concat());
    for file in ["model.safetensors", "config.toml", "metrics.jsonl"] {
        assert_eq!(fs::read(short.join(file)).unwrap(), fs::read(long.join(file)).unwrap(), "{file}");
    }
    assert_eq!(json(&["train", "--resume", text(&short)])["steps"], 3200);

    // What cannot go on is left as it was.
    for (name, spoil) in [
        ("checkpoint", (|run| fs::write(run.join("checkpoint/800.safetensors"), "x").unwrap()) as fn(&Path)),
        ("edited", |run| {
            let config = fs::read_to_string(run.join("config.toml")).unwrap();
            fs::write(run.join("config.toml"), config.replace("epochs = 4", "epochs = 3")).unwrap();
        }),
        ("metrics", |run| fs::remove_file(run.join("metrics.jsonl")).unwrap()),
    ] {
        let run = train(name, "800", &["--set", "checkpoint_every=100000"]);
        spoil(&run);
        let files =
            || ["config.toml", "summary.json", "model.safetensors"].map(|f| fs::read(run.join(f)).unwrap());
        let before = files();
        let output = equimarl(&["train", "--quiet", "--resume", text(&run), "--steps", "1600"]);
        assert_eq!(output.status.code(), Some(2), "{name}: {output:?}");
        assert_eq!(files(), before, "{name}");
    }

    // A model that was deleted is made again.
    let model = long.join("model.safetensors");
    let before = fs::read(&model).unwrap();
    fs::remove_file(&model).unwrap();
    finish(&["train", "--quiet", "--resume", text(&long)]);
    assert_eq!(fs::read(&model).unwrap(), before);

    let falling = train("falling", "800", &["--set", "decay=true"]);
    let error = "its learning rate falls to zero over its 800 steps";
    refuses(&["train", "--quiet", "--resume", text(&falling), "--steps", "1600"], error);
    assert!(falling.join("summary.json").exists());
}

#[test]
fn a_run_may_begin_with_a_trained_team() {
    let home = folder("lost-from");
    let from = |name: &str, more: &[&str]| {
        let run = home.join(name);
        let args =
            [&SMALL[..], &["--steps", "80", "--from", text(whole()), "--out"], &[text(&run)], more].concat();
        (equimarl(&args), run)
    };
    let (output, larger) = from("larger", &["--drones", "4"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("starting from") && said.contains("which learned for 12000 steps"), "{said}");
    // It goes on from there: the weights are near those of the team, and the run is another one than without it.
    let (_, again) = from("again", &["--drones", "4"]);
    assert_eq!(
        fs::read(again.join("model.safetensors")).unwrap(),
        fs::read(larger.join("model.safetensors")).unwrap()
    );
    let alone = home.join("alone");
    finish(&small(&["--steps", "80", "--drones", "4"], &alone));
    let hash = |run: &Path| json(&["train", "--resume", text(run)])["config_hash"].clone();
    assert_ne!(hash(&alone), hash(&larger));
    // Without its checkpoints nobody knows what it began with.
    let steps = larger.join("checkpoint");
    fs::remove_file(larger.join("summary.json")).unwrap();
    fs::remove_dir_all(&steps).unwrap();
    refuses(&["train", "--quiet", "--resume", text(&larger)], "its checkpoints are gone");
    for (more, part) in [
        (&["--method", "plain"][..], "has another network"),
        (&["--world", "traffic"][..], "made for the world `wildlife`"),
        (&["--grid", "9"][..], "cannot start from"),
        (&["--junctions", "2x2"][..], "--junctions belongs to the traffic world"),
    ] {
        let (output, run) = from("other", more);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(part), "{error}");
        assert!(!run.exists());
    }
    // It goes on in its own world, whatever is usual.
    let (five, again) = (home.join("five"), home.join("five-again"));
    finish(&small(&["--steps", "80", "--grid", "5", "--method", "plain", "--quiet"], &five));
    finish(
        &[&SMALL[..], &["--steps", "80", "--from", text(&five), "--out", text(&again), "--quiet"]].concat(),
    );
    let config = fs::read_to_string(again.join("config.toml")).unwrap();
    assert!(config.contains("grid = 5") && config.contains("method = \"plain\""), "{config}");
    refuses(&small(&["--set", "from=abc"], &home.join("set")), "give the team itself with --from");
}
