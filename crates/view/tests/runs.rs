//! The list of runs and their curves, while folders come and go.

mod common;

use common::{config, copy, folder, runs, serve};
use equimarl_learn::{Method, run};
use equimarl_worlds::builtin;
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs;
use std::path::Path;

fn state<'a>(list: &'a Value, id: &str) -> &'a str {
    let rows = list["runs"].as_array().unwrap();
    rows.iter().find(|r| r["id"] == id).map_or("none", |r| r["state"].as_str().unwrap())
}

#[test]
fn real_runs_have_rows_curves_models_and_a_difference() {
    let page = serve(Some(runs()));
    let list = page.list();
    let row = &list["runs"][0];
    assert_eq!(row["id"], "sweep/equivariant");
    assert_eq!(
        (&row["state"], &row["world"], &row["seed"]),
        (&json!("finished"), &json!("wildlife-3"), &json!(5))
    );
    assert_eq!(row["done"], 1600);
    // Of this world people look at the return first.
    assert_eq!(row["measure"], Value::Null);
    let models: Vec<&str> =
        list["models"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!(models[..2], ["run:sweep/equivariant", "run:sweep/plain"]);

    let ask = json!({ "runs": ["sweep/equivariant", "sweep/plain"], "group": true, "smooth": 3 });
    let answer = page.post("/api/curves", &ask).json();
    let svg = answer["figures"][0]["svg"].as_str().unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("equivariant") && svg.contains("plain"), "{svg}");
    assert!(svg.contains("fig-line"));

    let answer = page.get("/api/difference?a=sweep%2Fequivariant&b=sweep%2Fplain").json();
    assert_eq!(answer["differ"], json!([{ "key": "method", "a": "equivariant", "b": "plain" }]));
    assert!(answer["same"].as_u64().unwrap() > 20);
    assert!(page.get("/figures.css").body.contains(".fig-c0"));
}

#[test]
fn a_run_or_a_model_alone_can_be_shown() {
    let run = runs().join("sweep/plain");
    let page = serve(Some(&run));
    assert_eq!(page.list()["runs"][0]["id"], "plain");
    assert_eq!(page.episode(json!({ "model": "run:plain" }))["state"]["world"], "wildlife");
    let page = serve(Some(&run.join("model.safetensors")));
    assert_eq!(page.list()["models"][0]["id"], "file");
    assert_eq!(page.episode(json!({ "model": "file" }))["state"]["grid"], 7);
}

#[test]
fn what_a_first_model_file_does_not_say_is_assumed_and_said() {
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/first-house"));
    let page = serve(Some(&fixtures.join("models/traffic-plain.safetensors")));
    assert_eq!(page.list()["models"][0]["id"], "file");
    let answer = page.episode(json!({ "model": "file" }));
    let said = answer["assumed"].as_str().unwrap();
    assert!(said.contains("(format 1)") && said.contains("rows = "), "{said}");
    // A run beside it knows better, and a checkpoint knows all.
    let page = serve(Some(&fixtures.join("runs")));
    let list = page.list();
    assert_eq!(list["runs"].as_array().unwrap().len(), 2, "{list}");
    for run in ["finished", "half-done"] {
        let answer = page.episode(json!({ "model": format!("run:{run}") }));
        assert_eq!(answer["assumed"], Value::Null, "{run}");
    }
    // What it measures first is in the list.
    let measured = |row: &Value| {
        !row["world"].as_str().unwrap().starts_with("traffic") || row["measure"]["name"] == "waiting"
    };
    assert!(list["runs"].as_array().unwrap().iter().all(measured), "{list}");
}

#[test]
fn a_run_in_progress_can_be_played_so_far() {
    let folder = folder("view-so-far");
    let run = folder.join("live");
    run::create(&builtin(), &run, &config(Method::Equivariant)).unwrap();
    let page = serve(Some(&folder));
    assert_eq!(page.list()["runs"][0]["trained"], Value::Null);
    let train = |iterations: u32| {
        let done = Cell::new(0);
        let more = &mut |event: run::Event<'_>| {
            done.set(done.get() + u32::from(matches!(event, run::Event::Iteration { .. })));
        };
        run::train(&builtin(), &run, &json!({}), &|| done.get() >= iterations, more).unwrap();
    };
    let probabilities = || {
        let answer = page.episode(json!({ "model": "run:live", "seed": 3, "element": "r" }));
        assert!(answer["twin"]["difference"].as_f64().unwrap() < 1e-5, "{answer}");
        answer["here"].clone()
    };
    train(3);
    let list = page.list();
    // The steps of the team that is played, which are not all of its run.
    let steps = |list: &Value| list["models"][0]["run"]["trained"].as_u64().unwrap();
    let first = steps(&list);
    assert!(0 < first && first < 1600, "{first}");
    assert_eq!(list["models"][0]["name"], "live (so far)");
    let before = probabilities();
    // It learns on, and the page shows the newer team.
    train(3);
    assert!(steps(&page.list()) > first);
    assert_ne!(before, probabilities());
    train(u32::MAX);
    let list = page.list();
    assert_eq!((&list["models"][0]["name"], steps(&list)), (&json!("live"), 1600));
    probabilities();
}

#[test]
fn runs_appear_grow_and_vanish_and_the_list_follows() {
    let source = runs().join("sweep/plain");
    let folder = folder("view-live");
    let page = serve(Some(&folder));
    assert_eq!(page.list()["runs"], json!([]));

    // A run that has just begun: no summary, and a last line that is half written.
    let run = folder.join("new");
    copy(&source, &run);
    fs::remove_file(run.join("summary.json")).unwrap();
    fs::remove_file(run.join("model.safetensors")).unwrap();
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let lines: Vec<&str> = metrics.lines().collect();
    fs::write(run.join("metrics.jsonl"), format!("{}\n{}\n{{\"steps\":16", lines[0], lines[5])).unwrap();
    let list = page.listen(|l| state(l, "new") == "running");
    assert_eq!(list["runs"][0]["done"], 480);
    let ask = json!({ "runs": ["new"] });
    assert_eq!(page.post("/api/curves", &ask).status, 200);

    fs::write(run.join("metrics.jsonl"), &metrics).unwrap();
    page.listen(|l| l["runs"][0]["done"] == 1600);

    // Settings that cannot be read are said to be so, and the rest is still there.
    fs::create_dir_all(folder.join("broken")).unwrap();
    fs::write(folder.join("broken/config.toml"), "method = 7").unwrap();
    let list = page.listen(|l| state(l, "broken") == "unreadable");
    assert_eq!(state(&list, "new"), "running");

    copy(&source, &folder.join("done"));
    page.listen(|l| state(l, "done") == "finished");
    assert_eq!(page.post("/api/episode", &json!({ "model": "run:done" })).status, 200);
    fs::remove_dir_all(folder.join("done")).unwrap();
    page.listen(|l| state(l, "done") == "none");
    assert_eq!(page.post("/api/episode", &json!({ "model": "run:done" })).status, 404);
    let answer = page.post("/api/curves", &json!({ "runs": ["done", "new"] }));
    assert_eq!(answer.json()["missing"], json!(["done"]));

    // Even the whole folder may go.
    fs::remove_dir_all(&folder).unwrap();
    page.listen(|l| l["runs"] == json!([]));
    assert_eq!(page.get("/").status, 200);
}
