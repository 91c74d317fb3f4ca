//! The page as a program sees it: episodes, edits, twins.

mod common;

use common::{runs, serve};
use equimarl_learn::{Choice, Learned};
use equimarl_nn::Network;
use equimarl_worlds::{Wildlife, World, watched_episode};
use serde_json::{Value, json};
use std::convert::Infallible;

fn difference(answer: &Value) -> f64 {
    answer["twin"]["difference"].as_f64().unwrap()
}

#[test]
fn untrained_teams_are_always_there_and_symmetry_shows() {
    let page = serve(None);
    let list = page.list();
    assert_eq!(list["runs"], json!([]));
    for (world, elements) in [("wildlife", vec!["e", "r", "r2", "r3"]), ("traffic", vec!["r", "r2", "r3"])] {
        for element in elements {
            let ask = |kind: &str| json!({ "model": format!("fresh:{world}:{kind}"), "seed": 3, "element": element });
            let equivariant = page.episode(ask("equivariant"));
            assert!(difference(&equivariant) < 1e-5, "{world} {element}: {}", difference(&equivariant));
            assert!(equivariant["twin"]["value_difference"].as_f64().unwrap() < 1e-5);
            let plain = page.episode(ask("plain"));
            assert!(element == "e" || difference(&plain) > 1e-3, "{world} {element}: {}", difference(&plain));
        }
    }
    // C4 does not know mirrors, and the page says so.
    let mirror = page.episode(json!({ "model": "fresh:wildlife:equivariant", "seed": 3, "element": "m" }));
    assert!(difference(&mirror) > 1e-3);
    let known: Vec<bool> =
        mirror["elements"].as_array().unwrap().iter().map(|e| e["built_in"] == true).collect();
    assert_eq!(known, [true, true, true, true, false, false, false, false]);
    assert_eq!(mirror["twin"]["columns"], Value::Null);
}

#[test]
fn features_of_the_twin_are_the_same_numbers_in_other_columns() {
    let page = serve(None);
    let ask = json!({ "model": "fresh:wildlife:equivariant", "seed": 1, "element": "r", "pictures": [1] });
    let answer = page.episode(ask);
    let values = |view: &Value| -> Vec<f64> {
        view["features"]["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let (here, there) = (values(&answer["here"]), values(&answer["twin"]));
    let columns: Vec<usize> = serde_json::from_value(answer["twin"]["columns"].clone()).unwrap();
    assert_eq!(columns, [1, 2, 3, 0]);
    assert!(here.iter().any(|&v| v > 0.1));
    for (k, v) in here.iter().enumerate() {
        assert!((v - there[k / 4 * 4 + columns[k % 4]]).abs() < 1e-4);
    }
}

#[test]
fn an_episode_is_the_one_that_play_plays() {
    let page = serve(Some(runs()));
    page.list();
    let run = runs().join("sweep/equivariant");
    let (network, _) = Network::load(run.join("model.safetensors")).unwrap();
    let policy = network.policy().unwrap();
    let mut world = Wildlife::new(3, 7).unwrap();
    let mut learned = Learned::new(policy, &equimarl_nn::Sharing::None, Choice::Sampled, &world).unwrap();
    let mut states = vec![];
    watched_episode(&mut world, &mut learned, &mut (), 9, 2, |moment| {
        states.push(moment.world.save());
        Ok::<(), Infallible>(())
    })
    .unwrap();
    let ask = json!({ "model": "run:sweep/equivariant", "seed": 9, "episode": 2 });
    let mut now = page.episode(ask.clone());
    for (i, expected) in states.iter().enumerate().take(40) {
        assert_eq!(now["state"], *expected, "step {i}");
        if i + 1 == states.len() {
            assert_ne!(now["end"], "running");
            break;
        }
        let mut next = ask.clone();
        next["state"] = now["state"].clone();
        next["streams"] = now["streams"].clone();
        next["step"] = json!(true);
        now = page.episode(next);
    }
}

#[test]
fn edits_change_probabilities_and_impossible_ones_are_refused() {
    let page = serve(None);
    let start = page.episode(json!({ "model": "fresh:wildlife:equivariant", "seed": 1 }));
    let mut state = start["state"].clone();
    let old = state["poacher"].clone();
    state["poacher"] = json!([(old[0].as_u64().unwrap() + 2) % 7, old[1]]);
    let ask = |state: &Value| json!({ "model": "fresh:wildlife:equivariant", "state": state });
    let moved = page.episode(ask(&state));
    assert_ne!(moved["here"]["probabilities"], start["here"]["probabilities"]);

    state["drones"][1] = state["drones"][0].clone();
    let reply = page.post("/api/episode", &ask(&state));
    assert_eq!(reply.status, 422);
    assert!(reply.json()["error"].as_str().unwrap().contains("drones 0 and 1 share the cell"), "{reply:?}");

    let city = page.episode(json!({ "model": "fresh:traffic:plain", "seed": 1 }));
    let mut state = city["state"].clone();
    state["phases"][2] = json!(1);
    state["vehicles"] = json!([[2, 1, 0, 1, 0, false]]);
    let ask = |state: &Value| json!({ "model": "fresh:traffic:plain", "state": state, "element": "r" });
    let moved = page.episode(ask(&state));
    assert_ne!(moved["here"]["probabilities"], city["here"]["probabilities"]);
    assert_eq!(moved["twin"]["state"]["vehicles"].as_array().unwrap().len(), 1);
    state["vehicles"] = json!([[0, 0, 0, 1, 0, false]]);
    assert_eq!(page.post("/api/episode", &ask(&state)).status, 422);
}

#[test]
fn worlds_of_any_size_up_to_ten_by_ten_junctions() {
    let page = serve(None);
    let ask = |rows: usize, cols: usize| json!({ "model": "fresh:traffic:equivariant", "size": { "rows": rows, "cols": cols }, "element": "r", "pictures": [0, 1] });
    for (rows, cols) in [(1, 1), (3, 5), (10, 10)] {
        let answer = page.episode(ask(rows, cols));
        assert_eq!(answer["here"]["probabilities"].as_array().unwrap().len(), rows * cols);
        assert!(difference(&answer) < 1e-5);
    }
    assert_eq!(page.post("/api/episode", &ask(11, 10)).status, 422);
    let drones = |n: u64| json!({ "model": "fresh:wildlife:plain", "size": { "drones": n } });
    assert_eq!(page.episode(drones(12))["here"]["probabilities"].as_array().unwrap().len(), 12);
    assert_eq!(page.post("/api/episode", &drones(1)).status, 422);
    assert_eq!(page.post("/api/episode", &drones(41)).status, 422);
}
