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

/// The sweep that makes these runs, with these seeds.
fn grid(seeds: &str) -> String {
    format!(
        "name = 'mine'\n[[grid]]\nmethod = ['equivariant', 'plain']\nseed = '{seeds}'\nsteps = 1600\n\
         evaluate_every = 0\nevaluate_episodes = 2\nlog_every = 80\n"
    )
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
    let files: Vec<&str> = value["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
    for file in &files {
        let bytes = fs::read(file).unwrap();
        let begin: &[u8] = match file.rsplit_once('.').unwrap().1 {
            "html" => b"<!doctype html>",
            "svg" => b"<svg",
            "pdf" => b"%PDF-1.4",
            "png" => b"\x89PNG\r\n",
            other => panic!("{other}"),
        };
        assert!(bytes.starts_with(begin) && bytes.len() > 1000, "{file}");
    }
    // Every figure is there three times, and the page leads to all of them.
    for svg in files.iter().filter(|f| f.ends_with(".svg")) {
        for ending in ["svg", "pdf", "png"] {
            let file = svg.replace(".svg", &format!(".{ending}"));
            let name = Path::new(&file).file_name().unwrap().to_str().unwrap();
            assert!(files.contains(&file.as_str()) && page.contains(&format!("href=\"{name}\"")), "{file}");
        }
    }
    assert_eq!(files.len(), 1 + 3 * page.matches("<figure>").count());
    // The same runs give the same report.
    let again = json(&["report", &places, "--out", &out]);
    assert_eq!(value, again);
    assert_eq!(page, fs::read_to_string(home.join("out/index.html")).unwrap());
    let text = String::from_utf8(equimarl(&["report", &places, "--out", &out]).stdout).unwrap();
    let compared = "equivariant over plain after 1600 steps (2 and 2 runs): better with probability";
    assert!(text.contains(compared), "{text}");
    // A smaller report in the same place takes away what is no longer true, and nothing else.
    let compared = ["svg", "pdf", "png"].map(|e| home.join(format!("out/wildlife-3-drones-improvement.{e}")));
    let own = home.join("out/wildlife-3-drones-mine.svg");
    assert!(compared.iter().all(|file| file.exists()));
    fs::write(&own, "<svg/>").unwrap();
    json(&["report", &home.join("sweep/equivariant-1").display().to_string(), "--out", &out]);
    assert!(!compared.iter().any(|file| file.exists()) && own.exists());
}

#[test]
fn half_written_failed_and_broken_runs_are_listed() {
    let home = runs("report-broken");
    let sweep = home.join("sweep");
    fs::write(sweep.join("sweep.toml"), grid("1-2")).unwrap();
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
    for part in ["1 run is not finished", "1 run failed", "1 place is not readable"] {
        assert!(notes.contains(part), "{notes}");
    }
    let plain = &value["settings"][0]["after"][0]["teams"][1];
    assert_eq!((plain["method"].as_str(), plain["scores"].as_array().unwrap().len()), (Some("plain"), 2));
}

/// What `report` says to people, and in JSON.
fn both(places: &[&str], out: &Path) -> (String, serde_json::Value) {
    let out = out.display().to_string();
    let output = equimarl(&[&["report"], places, &["--out", &out]].concat());
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), json(&[&["report"], places].concat()))
}

#[test]
fn nothing_is_dropped_in_silence() {
    let home = runs("report-silent");
    let (sweep, out) = (home.join("sweep"), home.join("out"));
    let page = || fs::read_to_string(out.join("index.html")).unwrap();
    let place = |name: &str| home.join(name).display().to_string();

    // A file of records that was cut in its second line.
    fs::create_dir_all(home.join("kept")).unwrap();
    fs::write(
        home.join("kept.toml"),
        grid("1-2").replace("name = 'mine'", "name = 'mine'\nkept = 'kept'").replace(", 'plain'", ""),
    )
    .unwrap();
    json(&["sweep", &place("kept.toml"), "--out", &place("made")]);
    let lines = fs::read_to_string(home.join("kept/mine.jsonl")).unwrap();
    let first = lines.lines().next().unwrap().len();
    fs::write(home.join("cut.jsonl"), &lines[..first + 300]).unwrap();
    let (text, value) = both(&[&place("cut.jsonl")], &out);
    assert_eq!(value["runs"].as_array().unwrap().len(), 1);
    assert_eq!(value["unreadable"][0][1], "the line is cut off");
    for said in [text, value["unreadable"].to_string(), page()] {
        assert!(said.contains("cut.jsonl line 2"), "{said}");
    }

    // Three folders with the same settings.
    for copy in ["again", "once-more"] {
        fs::create_dir_all(home.join(copy)).unwrap();
        for file in ["config.toml", "spec.json", "metrics.jsonl", "summary.json"] {
            fs::copy(sweep.join("plain-1").join(file), home.join(copy).join(file)).unwrap();
        }
    }
    let three = [place("sweep/plain-1"), place("again"), place("once-more")];
    let (text, value) = both(&three.each_ref().map(String::as_str), &out);
    assert_eq!(value["settings"][0]["teams"][0]["seeds"], serde_json::json!([1]));
    let listed: Vec<&serde_json::Value> = value["runs"].as_array().unwrap().iter().collect();
    assert_eq!((listed.len(), &listed[0]["left_out"]), (3, &serde_json::Value::Null));
    for (run, copy) in listed[1..].iter().zip(&three[1..]) {
        assert_eq!(run["place"].as_str(), Some(copy.as_str()));
        assert!(run["left_out"].as_str().unwrap().contains(&three[0]), "{run}");
    }
    for said in [text, page()] {
        assert!(said.contains("2 runs are left out") && said.contains(&three[2]), "{said}");
    }
    // One place that is named twice is one place.
    let (_, value) = both(&[&three[0], &three[0], &place("again/../sweep/plain-1")], &out);
    assert_eq!(value["runs"].as_array().unwrap().len(), 1);

    // A sweep that was made smaller.
    fs::write(sweep.join("sweep.toml"), grid("1-1")).unwrap();
    let (text, value) = both(&[&place("sweep")], &out);
    assert_eq!(value["settings"][0]["teams"][0]["seeds"], serde_json::json!([1]));
    assert_eq!(value["runs"].as_array().unwrap().len(), 4);
    assert_eq!(value["runs"][3]["left_out"], "it lies outside of the grid of its sweep");
    for said in [text, value["notes"].to_string(), page()] {
        assert!(said.contains("2 runs lie outside of the grid"), "{said}");
    }
    // Nobody knows which runs belong to a sweep that cannot be read: all are reported, and it is said.
    fs::write(sweep.join("sweep.toml"), "name = 'mine'\n").unwrap();
    let (text, value) = both(&[&place("sweep")], &out);
    assert_eq!(value["settings"][0]["teams"][0]["seeds"], serde_json::json!([1, 2]));
    assert!(text.contains("sweep.toml: nobody knows which runs belong to this sweep"), "{text}");
    fs::remove_file(sweep.join("sweep.toml")).unwrap();

    // Metrics with a hole.
    let metrics = sweep.join("plain-2/metrics.jsonl");
    let whole = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, whole.replacen("\"steps\"", "\"ste", 2)).unwrap();
    let (text, value) = both(&[&place("sweep")], &out);
    assert_eq!(value["runs"][3]["damage"], "2 lines of metrics.jsonl cannot be read");
    assert!(
        text.contains("learning curve is missing of 1 run") && page().contains("2 lines of metrics.jsonl"),
        "{text}"
    );

    // An empty file beside others is said, and alone it is nothing to report.
    fs::write(home.join("empty.jsonl"), "").unwrap();
    let (text, value) = both(&[&three[0], &place("empty.jsonl")], &out);
    assert_eq!(value["unreadable"][0][1], "there is no record in it");
    assert!(text.contains("1 place is not readable"), "{text}");
    refuses(&["report", &place("empty.jsonl"), "--out", &place("none")], "there is nothing to report");
    assert!(!home.join("none").exists());
}

/// Runs of one setting with different budgets: numbers at a point stand on those that got there.
#[test]
fn one_long_run_is_not_five() {
    let home = folder("report-lengths");
    let steps = |out: &str, seed: u64, steps: &str| {
        let (out, seed) = (home.join("runs").join(out).display().to_string(), seed.to_string());
        let output = equimarl(&[
            "train",
            "--world",
            "wildlife",
            "--preset",
            "paper",
            "--seed",
            &seed,
            "--steps",
            steps,
            "--set",
            "evaluate_every=0",
            "--set",
            "evaluate_episodes=2",
            "--quiet",
            "--out",
            &out,
        ]);
        assert!(output.status.success(), "{output:?}");
    };
    steps("long", 1, "4800");
    (2..=5).for_each(|seed| steps(&format!("short-{seed}"), seed, "1600"));
    let (text, value) = both(&[&home.join("runs").display().to_string()], &home.join("out"));
    let after = value["settings"][0]["after"].as_array().unwrap();
    let counts: Vec<(u64, u64)> = after
        .iter()
        .map(|a| (a["steps"].as_u64().unwrap(), a["teams"][0]["runs"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [(1600, 5), (4800, 1)]);
    assert!(after[1]["teams"][0]["iqm"]["low"].is_null(), "{}", after[1]);
    let lines: Vec<&str> = text.lines().collect();
    let line =
        |part: &str| lines.iter().find(|l| l.contains(part)).unwrap_or_else(|| panic!("{text}")).to_string();
    assert!(line(" 1600 ").contains("5 of 5"), "{text}");
    assert!(line(" 4800 ").contains("1 of 5") && line(" 4800 ").contains("(no interval)"), "{text}");
    assert!(line("note: ").contains("after 4,800 steps, equivariant (1 of 5)"), "{text}");
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
