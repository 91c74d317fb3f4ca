//! Like is compared with like: which team stands beside another, and which runs make one curve.

mod common;

use common::{Page, config, copy, folder, runs, serve};
use equimarl_learn::{Method, TrainConfig, run};
use equimarl_worlds::builtin;
use serde_json::{Value, json};
use std::path::Path;

fn trained(folder: &Path, name: &str, config: TrainConfig) {
    let run = folder.join(name);
    run::create(&builtin(), &run, &config).unwrap();
    run::train(&builtin(), &run, &json!({}), &|| false, &mut |_| {}).unwrap();
}

fn team(page: &Page, id: &str) -> Value {
    let list = page.list();
    list["models"].as_array().unwrap().iter().find(|m| m["id"] == id).unwrap().clone()
}

#[test]
fn a_plain_team_is_compared_and_not_an_augmented_or_a_short_one() {
    let folder = folder("view-compare");
    for method in ["equivariant", "plain"] {
        copy(&runs().join("sweep").join(method), &folder.join("sweep").join(method));
    }
    // More alike in name, and as long, but no plain team; and a plain one, but a short one.
    trained(&folder, "sweep/equivariant-augmented", config(Method::AugmentFull));
    trained(&folder, "sweep/equivariant-short", TrainConfig { steps: 160, ..config(Method::Plain) });
    let page = serve(Some(&folder));
    let model = team(&page, "run:sweep/equivariant");
    assert_eq!(model["beside"], json!({ "plain": { "team": "run:sweep/plain" } }));
    // What the page needs to name it.
    assert_eq!((&model["run"]["trained"], &model["run"]["seed"]), (&json!(1600), &json!(5)));
    assert_eq!((&model["run"]["id"], &model["method"]), (&json!("sweep/equivariant"), &json!("equivariant")));
    let augmented = team(&page, "run:sweep/equivariant-augmented");
    assert_eq!(augmented["beside"]["equivariant"], json!({ "team": "run:sweep/equivariant" }));
    assert_eq!(augmented["beside"]["plain"], json!({ "team": "run:sweep/plain" }));

    // Without it there is none, and that is said.
    std::fs::remove_dir_all(folder.join("sweep/plain")).unwrap();
    let why = team(&page, "run:sweep/equivariant")["beside"]["plain"]["none"].to_string();
    assert!(why.contains("about 1,600 steps; the nearest is sweep/equivariant-short with 160"), "{why}");
}

#[test]
fn an_untrained_team_is_made_for_the_world_of_another() {
    let folder = folder("view-untrained");
    let usual = config(Method::Equivariant);
    let world = usual.world.clone().with("grid", 9usize).with("drones", 4usize);
    trained(&folder, "wide", TrainConfig { world, steps: 160, ..usual });
    let page = serve(Some(&folder));
    let why = team(&page, "run:wide")["beside"]["plain"]["none"].to_string();
    assert!(why.contains("No plain team of wildlife-4-9x9"), "{why}");
    let start = page.episode(json!({ "model": "run:wide", "seed": 2 }));
    let ask = |id: &str| json!({ "model": id, "state": start["state"], "element": "r" });
    let answer = page.episode(ask("new:plain:run:wide"));
    assert!(answer["twin"]["difference"].as_f64().unwrap() > 1e-3);
    assert_eq!(answer["state"], start["state"]);
    let answer = page.episode(ask("new:central-equivariant:run:wide"));
    assert!(answer["twin"]["difference"].as_f64().unwrap() < 1e-5);
    for id in
        ["new:plain:run:none", "new:plain", "new:wise:run:wide", "new:plain:new:plain:run:wide", "new:plain:"]
    {
        assert_eq!(page.post("/api/episode", &ask(id)).status, 404, "{id}");
    }
}

#[test]
fn seeds_are_counted_once_and_runs_that_choose_rates_are_apart() {
    let folder = folder("view-seeds");
    let plain = runs().join("sweep/plain");
    for name in ["study/plain", "again/plain", "study-rates/plain"] {
        copy(&plain, &folder.join(name));
    }
    trained(&folder, "study/plain-6", TrainConfig { seed: 6, steps: 160, ..config(Method::Plain) });
    trained(&folder, "study-rates/plain-7", TrainConfig { seed: 7, steps: 160, ..config(Method::Plain) });
    let page = serve(Some(&folder));
    let list = page.list();
    let choosing = |row: &Value| row["for_choosing"] == true;
    assert_eq!(list["runs"].as_array().unwrap().iter().filter(|r| choosing(r)).count(), 2);
    let names: Vec<&str> =
        list["runs"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 5);
    let figure =
        page.post("/api/curves", &json!({ "runs": names, "group": true })).json()["figures"][0].clone();
    let said = figure["description"].as_str().unwrap();
    // Five runs have three seeds: two of them were made to be shown, and one of these twice.
    assert!(said.contains("plain (2 seeds) ends at"), "{said}");
    assert!(said.contains("plain, to choose the rate (2 seeds) ends at"), "{said}");
    assert_eq!(figure["repeated"], json!(["study/plain"]));
    // Other settings are another curve.
    trained(&folder, "study/other", TrainConfig { clip: 0.3, steps: 160, ..config(Method::Plain) });
    page.list();
    let ask = json!({ "runs": ["study/plain", "study/other"], "group": true });
    let figure = page.post("/api/curves", &ask).json()["figures"][0].clone();
    assert!(!figure["description"].as_str().unwrap().contains("seeds"), "{figure}");
    assert_eq!(figure["repeated"], json!([]));
}
