//! Files that the first house, the code of commit 05886cd, left: every one is still read, and means what it meant.
//!
//! What they are and how they were made is in `tests/fixtures/first-house/README.md`.

mod common;

use common::{answer, equimarl, folder, json};
use equimarl_fleet::{Fleet, Member};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/first-house");
/// Returns are sums of a few rewards, so they are the same or another episode was played.
const SAME: f64 = 1e-6;
/// What the network says may differ by the order of its sums.
const ROUNDING: f64 = 1e-5;
/// One iteration after a checkpoint, rounding has gone through 16 updates.
const AFTER_UPDATES: f64 = 1e-3;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Fixtures stay as they are, so whatever is written to is a copy.
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

/// All numbers of `expected`, and everything else in it, are in `found`, too. A key that is new there does no harm.
fn same(found: &Value, expected: &Value, tolerance: f64, what: &str) {
    match expected {
        Value::Object(keys) => {
            for (key, value) in keys {
                // Settings of a world stand by their own names now.
                if key == "junctions" {
                    assert_eq!(json!([found["rows"], found["cols"]]), *value, "{what}");
                    continue;
                }
                // And metrics by the names that others give them, too.
                let key = match key.as_str() {
                    "kl" => "approx_kl",
                    "gradient" => "gradient_norm",
                    key => key,
                };
                same(&found[key], value, tolerance, &format!("{what}, {key}"));
            }
        }
        Value::Array(list) => {
            assert_eq!(found.as_array().map(Vec::len), Some(list.len()), "{what}");
            for (i, value) in list.iter().enumerate() {
                same(&found[i], value, tolerance, &format!("{what}, {i}"));
            }
        }
        Value::Number(number) => {
            let (found, expected) = (found.as_f64(), number.as_f64().unwrap());
            let near = found.is_some_and(|x| (x - expected).abs() <= tolerance * expected.abs().max(1.0));
            assert!(near, "{what}: {found:?} is not {expected}");
        }
        other => assert_eq!(found, other, "{what}"),
    }
}

/// A model, and what was said of it.
struct Model {
    world: String,
    method: String,
    path: String,
    said: Value,
}

impl Model {
    fn name(&self) -> String {
        format!("{}-{}", self.world, self.method)
    }

    /// The kind of network that the method trains.
    fn kind(&self) -> &str {
        if self.method.starts_with("augment") { "plain" } else { &self.method }
    }
}

fn models() -> Vec<Model> {
    let files = fs::read_dir(fixture("models")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<Model> = files
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let (world, method) = path.file_stem().unwrap().to_str().unwrap().split_once('-').unwrap();
            let said = read(&path);
            let model = fixture(said["model"].as_str().unwrap());
            Model { world: world.into(), method: method.into(), path: text(&model).into(), said }
        })
        .collect();
    all.sort_by_key(Model::name);
    assert_eq!(all.len(), 10);
    all
}

#[test]
fn models_are_described() {
    for model in models() {
        let found = json(&["inspect", &model.path]);
        assert_eq!(found["content"], "coefficients");
        assert_eq!((&found["world"], &found["kind"]), (&json!(model.world), &json!(model.kind())));
        assert_eq!(found["extra"]["method"], model.method);
        assert_eq!(found["extra"]["commit"], "05886cd66654");
        let parameters = match (model.world.as_str(), model.kind()) {
            ("wildlife", "equivariant") => 25_891,
            ("wildlife", "plain") => 26_694,
            ("wildlife", "central-equivariant") => 26_903,
            ("wildlife", "central-plain") => 27_760,
            ("traffic", "equivariant") => 26_578,
            ("traffic", "plain") => 28_067,
            ("traffic", "central-equivariant") => 26_675,
            ("traffic", "central-plain") => 25_961,
            other => panic!("{other:?}"),
        };
        assert_eq!(found["parameters"], parameters, "{}", model.name());
    }
}

#[test]
fn models_play_the_episodes_that_they_played() {
    for model in models() {
        for (choice, more) in [("sampled", &[][..]), ("greedy", &["--greedy"])] {
            let asked = ["play", "--model", &model.path, "--episodes", "3", "--seed", "1"];
            let found = json(&[&asked, more].concat());
            let mut expected = model.said[choice].clone();
            // The path is another one here.
            expected.as_object_mut().unwrap().remove("model").unwrap();
            same(&found, &expected, SAME, &format!("{}, {choice}", model.name()));
        }
    }
}

#[test]
fn models_are_as_symmetric_as_their_kind() {
    for model in models() {
        let (code, found) = answer(&["check", "network", "--model", &model.path, "--states", "4"]);
        let symmetric = !model.kind().ends_with("plain");
        assert_eq!((code, &found["equivariant"]), (0, &json!(symmetric)), "{}: {found}", model.name());
    }
}

/// The sample is what the network, not the policy that plays, makes of random pictures.
#[test]
fn models_are_exported_and_say_what_they_said() {
    let home = folder("fixtures-export");
    let (dense, sample) = (home.join("dense.safetensors"), home.join("sample.json"));
    for model in models() {
        json(&["export", "--model", &model.path, "--dense", text(&dense), "--sample", text(&sample)]);
        assert_eq!(json(&["inspect", text(&dense)])["content"], "dense");
        same(&read(&sample), &model.said["sample"], ROUNDING, &model.name());
    }
}

/// The states of reported runs by name.
fn states(report: &Value) -> Vec<(String, String)> {
    let word = |run: &Value, key: &str| run[key].as_str().unwrap().to_string();
    let runs = report["runs"].as_array().unwrap();
    let mut found: Vec<_> = runs.iter().map(|run| (word(run, "name"), word(run, "state"))).collect();
    found.sort();
    found
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, state)| (name.to_string(), state.to_string())).collect()
}

#[test]
fn runs_are_reported() {
    let out = folder("fixtures-report");
    let found = json(&["report", text(&fixture("runs/finished")), "--out", text(&out)]);
    assert_eq!(states(&found), pairs(&[("finished", "finished")]));
    assert!(fs::read_to_string(out.join("index.html")).unwrap().contains("Wildlife, 3 drones"));
    let said = &read(&fixture("runs/finished/summary.json"))["evaluation"];
    for (key, choice) in [("evaluated_greedy", "greedy"), ("evaluated_sampled", "sampled")] {
        let team = &found["settings"][0]["teams"][0];
        same(&team[key]["median"], &said[choice]["return"]["mean"], SAME, key);
    }
    // By itself, since it has the settings of the other.
    let found = json(&["report", text(&fixture("runs/half-done"))]);
    assert_eq!(states(&found), pairs(&[("half-done", "unfinished")]));
    assert_eq!((&found["runs"][0]["steps"], &found["runs"][0]["of"]), (&json!(960), &json!(1600)));
}

#[test]
fn a_finished_run_is_not_made_again() {
    let run = folder("fixtures-finished");
    copy(&fixture("runs/finished"), &run);
    let output = equimarl(&["train", "--resume", text(&run)]);
    assert!(output.status.success(), "{output:?}");
    for file in ["config.toml", "metrics.jsonl", "model.safetensors", "summary.json"] {
        let old = fs::read(fixture("runs/finished").join(file)).unwrap();
        assert!(fs::read(run.join(file)).unwrap() == old, "{file} has changed");
    }
}

#[test]
fn a_stopped_run_shows_its_latest_checkpoint() {
    let run = fixture("runs/half-done");
    let found = json(&["inspect", text(&run)]);
    assert_eq!((&found["extra"]["steps"], &found["kind"]), (&json!(960), &json!("equivariant")));
    let (code, found) = answer(&["check", "network", "--model", text(&run), "--states", "4"]);
    assert_eq!((code, &found["equivariant"]), (0, &json!(true)), "{found}");
}

/// The stopped run and the finished one have the same settings, so the one must end like the other: to the bit before the
/// checkpoint, to rounding right after it. What comes later may take another way after a rounded sum, but has as many lines.
#[test]
fn a_stopped_run_goes_on() {
    let run = folder("fixtures-half-done");
    copy(&fixture("runs/half-done"), &run);
    let metrics = run.join("metrics.jsonl");
    let before = fs::read_to_string(&metrics).unwrap();
    // What a run that was killed leaves after its last checkpoint is cut off.
    fs::write(&metrics, format!("{before}{{\"steps\":1040,\"ret")).unwrap();
    let output = equimarl(&["train", "--resume", text(&run), "--quiet"]);
    assert!(output.status.success(), "{output:?}");

    let after = fs::read_to_string(&metrics).unwrap();
    let rest = after.strip_prefix(&before).expect("lines before the checkpoint have changed");
    let whole = fs::read_to_string(fixture("runs/finished/metrics.jsonl")).unwrap();
    let expected = whole.strip_prefix(&before).unwrap();
    assert_eq!(rest.lines().count(), expected.lines().count());
    let [next, old]: [Value; 2] =
        [rest, expected].map(|lines| serde_json::from_str(lines.lines().next().unwrap()).unwrap());
    same(&next, &old, AFTER_UPDATES, "the first line after the checkpoint");

    let [summary, old] = [&run, &fixture("runs/finished")].map(|run| read(&run.join("summary.json")));
    for key in ["steps", "seed", "method", "world", "parameters", "config_hash"] {
        assert_eq!(summary[key], old[key], "{key}");
    }
    assert!(summary["evaluation"]["greedy"]["return"]["mean"].is_number(), "{summary}");
    json(&["play", "--model", text(&run), "--episodes", "1"]);
}

const TINY: [&str; 2] = ["wildlife-3-equivariant-0.001-1", "wildlife-3-plain-0.001-1"];

/// The sweep and its records, as they lie beside each other.
fn sweep(name: &str) -> PathBuf {
    let home = folder(name);
    for part in ["sweep", "records"] {
        copy(&fixture(part), &home.join(part));
    }
    home
}

#[test]
fn a_sweep_makes_no_finished_run_again() {
    let home = sweep("fixtures-sweep");
    let (file, out) = (home.join("sweep/tiny.toml"), home.join("sweep/tiny"));
    let listed = json(&["sweep", "list", text(&out)]);
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{listed}");
    for (run, name) in runs.iter().zip(TINY) {
        assert_eq!((&run["name"], &run["state"]), (&json!(name), &json!("finished")), "{listed}");
    }
    let records = fs::read(home.join("records/tiny.jsonl")).unwrap();
    let found = json(&["sweep", text(&file), "--out", text(&out)]);
    assert_eq!((&found["finished"], &found["left"]), (&json!(2), &json!(0)), "{found}");
    for name in TINY {
        for file in ["config.toml", "metrics.jsonl", "summary.json"] {
            let [old, new] = [fixture("sweep/tiny"), out.clone()].map(|out| out.join(name).join(file));
            assert_eq!(fs::read(new).unwrap(), fs::read(old).unwrap(), "{name} {file}");
        }
        assert!(!out.join(name).join("model.safetensors").exists(), "{name} was made again");
    }
    assert_eq!(fs::read(home.join("records/tiny.jsonl")).unwrap(), records, "they were kept already");
    let found = json(&["report", text(&out)]);
    assert_eq!(states(&found), pairs(&TINY.map(|name| (name, "finished"))));
}

#[test]
fn kept_records_stand_for_their_runs() {
    let home = sweep("fixtures-records");
    let found = json(&["sweep", text(&home.join("sweep/tiny.toml")), "--out", text(&home.join("new"))]);
    let counts = ["kept", "finished", "left"].map(|key| found[key].as_u64().unwrap());
    assert_eq!(counts, [2, 0, 0], "{found}");
    let found = json(&["report", text(&fixture("records/tiny.jsonl"))]);
    assert_eq!(states(&found), pairs(&TINY.map(|name| (name, "finished"))));
    let teams = found["settings"][0]["teams"].as_array().unwrap();
    assert_eq!(teams.len(), 2, "{found}");
    for (team, name) in teams.iter().zip(TINY) {
        let said = read(&fixture("sweep/tiny").join(name).join("summary.json"));
        assert_eq!((&team["method"], &team["seeds"]), (&said["method"], &json!([1])), "{team}");
        same(
            &team["evaluated_greedy"]["median"],
            &said["evaluation"]["greedy"]["return"]["mean"],
            SAME,
            name,
        );
    }
}

#[test]
fn a_recording_holds() {
    let (recording, model) = (fixture("fleet/recording"), fixture("runs/finished/model.safetensors"));
    let (code, found) = answer(&["fleet", "check", text(&recording), "--model", text(&model)]);
    assert_eq!(code, 0, "{found}");
    same(&found, &read(&fixture("fleet/checked.json")), ROUNDING, "the check");
}

#[test]
fn a_fleet_file_and_its_keys_are_read() {
    let fleet = Fleet::load(&fixture("fleet/yard/fleet.toml")).unwrap();
    assert_eq!((fleet.config.fleet.as_str(), fleet.config.tls, fleet.agents()), ("yard", false, 3));
    let run = &fleet.config.run;
    assert_eq!((run.episodes, run.seed, run.greedy, run.period_ms), (2, 7, false, 1));
    assert_eq!(fleet.address(Member::WORLD).unwrap(), "127.0.0.1:7400");
    for member in fleet.members() {
        fleet.signer(member).unwrap();
    }
}

/// Processes with the old file, keys and model decide as agents in one process did.
#[cfg(feature = "zenoh")]
#[test]
fn a_fleet_of_processes_runs_from_its_file() {
    let yard = yard();
    let file = yard.join("fleet.toml");
    let agents: Vec<Process> =
        ["0", "1", "2"].map(|n| Process::start(&["agent", "--agent", n, "--fleet", text(&file)])).into();
    let world = Process::start(&["world", "--json", "--deadline", "5000", "--fleet", text(&file)]);
    let found = world.answer();
    let model = fixture("runs/finished");
    let played = json(&["play", "--model", text(&model), "--episodes", "2", "--seed", "7"]);
    for key in ["return", "length", "episodes"] {
        same(&found[key], &played[key], SAME, key);
    }
    assert_eq!(found["fleet"]["missed"], 0, "{found}");
    drop(agents);
}

/// The fleet's folder with its model, and ports that are free here.
#[cfg(feature = "zenoh")]
fn yard() -> PathBuf {
    use std::net::TcpListener;
    let yard = folder("fixtures-yard");
    copy(&fixture("fleet/yard"), &yard);
    fs::copy(fixture("runs/finished/model.safetensors"), yard.join("model.safetensors")).unwrap();
    let mut file = fs::read_to_string(yard.join("fleet.toml")).unwrap();
    let listeners: Vec<TcpListener> = (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    for (i, listener) in listeners.iter().enumerate() {
        let new = listener.local_addr().unwrap().to_string();
        file = file.replace(&format!("\"127.0.0.1:{}\"", 7400 + i), &format!("\"{new}\""));
    }
    fs::write(yard.join("fleet.toml"), file).unwrap();
    yard
}

/// A member of a fleet, which ends with the test.
#[cfg(feature = "zenoh")]
struct Process(std::process::Child);

#[cfg(feature = "zenoh")]
impl Process {
    fn start(args: &[&str]) -> Process {
        use std::process::{Command, Stdio};
        let mut command = Command::new(env!("CARGO_BIN_EXE_equimarl"));
        command.arg("fleet").args(args).stdout(Stdio::piped()).stderr(Stdio::null());
        Process(command.spawn().unwrap())
    }

    /// What it prints until it ends.
    fn answer(mut self) -> Value {
        let mut text = String::new();
        let stdout = self.0.stdout.as_mut().unwrap();
        std::io::Read::read_to_string(stdout, &mut text).unwrap();
        assert!(self.0.wait().unwrap().success(), "{text}");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }
}

#[cfg(feature = "zenoh")]
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
