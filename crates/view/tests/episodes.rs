//! The page as a program sees it: episodes, edits, twins.

mod common;

use common::{runs, serve};
use equimarl_learn::{Choice, Learned};
use equimarl_nn::{Network, Sharing};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{builtin, watched_episode};
use serde_json::{Value, json};

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
    for (world, agents) in [("spread", "agents"), ("tag", "chasers")] {
        let ask = |kind: &str| json!({ "model": format!("fresh:{world}:{kind}"), "seed": 3, "element": "rm", "step": true });
        assert!(difference(&page.episode(ask("equivariant"))) < 1e-5, "{world}");
        let plain = page.episode(ask("plain"));
        assert!(difference(&plain) > 1e-4, "{world}: {}", difference(&plain));
        assert_eq!(plain["state"][agents].as_array().unwrap().len(), 3);
        assert_eq!(plain["here"]["scene"]["agents"].as_array().unwrap().len(), 3);
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
    let registry = builtin();
    let mut envs = registry.make(&registry.usual("wildlife").unwrap(), &"C4".parse().unwrap(), 1).unwrap();
    let mut learned = Learned::new(policy, &Sharing::None, Choice::Sampled, &*envs).unwrap();
    let mut states = vec![];
    watched_episode(&mut *envs, &mut learned, 9, 2, |moment| {
        // What a spectator sees is enough to know the state by.
        states.push(serde_json::to_value(moment.world.scene()?)?);
        Ok::<(), Box<dyn std::error::Error>>(())
    })
    .unwrap();
    let ask = json!({ "model": "run:sweep/equivariant", "seed": 9, "episode": 2 });
    let mut now = page.episode(ask.clone());
    for (i, expected) in states.iter().enumerate().take(40) {
        let shown: Scene = serde_json::from_value(now["here"]["scene"].clone()).unwrap();
        let mut here = page.episode(json!({ "model": "run:sweep/equivariant", "state": now["state"] }));
        let still: Scene = serde_json::from_value(here["here"]["scene"].take()).unwrap();
        assert_eq!(still, serde_json::from_value(expected.clone()).unwrap(), "step {i}");
        assert_eq!(shown.agents, still.agents);
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
fn scenes_come_with_what_actions_look_like() {
    let page = serve(None);
    let start = page.episode(json!({ "model": "fresh:wildlife:equivariant", "seed": 1, "element": "r" }));
    assert_eq!(start["world"]["actions"], json!(["stay", "down", "right", "up", "left"]));
    assert_eq!(start["world"]["marks"][0], "stay");
    assert_eq!(start["world"]["marks"][1], json!({ "arrow": [0.0, 1.0] }));
    assert_eq!(start["title"], "wildlife, 3 drones");
    for view in ["here", "twin"] {
        let scene: Scene = serde_json::from_value(start[view]["scene"].clone()).unwrap();
        assert_eq!((scene.agents.len(), scene.count("drone"), scene.count("heading")), (3, 3, 0));
        // The drones' world says that its edges are joined.
        assert_eq!(start[view]["scene"]["torus"], json!({ "corner": [0.4, 0.4], "size": [7.0, 7.0] }));
    }
    // Numbers are short.
    assert!(start["here"]["scene"].to_string().contains("\"radius\":0.44"), "{}", start["here"]["scene"]);
    // After a step, both show what was done.
    let ask = json!({ "model": "fresh:wildlife:equivariant", "seed": 1, "element": "r", "greedy": true, "step": true,
        "state": start["state"], "streams": start["streams"] });
    let next = page.episode(ask);
    let count = |view: &str| {
        let scene: Scene = serde_json::from_value(next[view]["scene"].clone()).unwrap();
        scene.count("heading")
    };
    let moved = next["actions"].as_array().unwrap().iter().filter(|a| **a != 0).count();
    assert_eq!((count("here"), count("twin")), (moved, moved));

    let city = page.episode(json!({ "model": "fresh:traffic:plain", "seed": 1 }));
    assert_eq!(city["measure"]["name"], "waiting");
    assert_eq!(city["here"]["scene"]["torus"], Value::Null);
    assert!(city["world"]["marks"][0]["bar"].is_object());
    assert_eq!(start["measure"], Value::Null);
}

#[test]
fn edits_change_probabilities_and_impossible_ones_are_refused() {
    let page = serve(None);
    let start = page.episode(json!({ "model": "fresh:wildlife:equivariant", "seed": 1 }));
    let ask = |state: &Value, edit: Value| json!({ "model": "fresh:wildlife:equivariant", "state": state, "edit": edit });
    let place = |state: &Value, key: &str| -> [f64; 2] {
        let at: [f64; 2] = serde_json::from_value(state[key].clone()).unwrap();
        [at[1] + 0.9, at[0] + 0.9]
    };
    let old = start["state"]["poacher"].clone();
    let mut wanted = start["state"].clone();
    wanted["poacher"] = json!([(old[0].as_u64().unwrap() + 2) % 7, old[1]]);
    let moved =
        page.episode(ask(&start["state"], json!({ "id": "poacher", "to": place(&wanted, "poacher") })));
    assert_eq!(moved["state"], wanted);
    assert_ne!(moved["here"]["probabilities"], start["here"]["probabilities"]);

    let onto: [f64; 2] = serde_json::from_value(start["state"]["drones"][0].clone()).unwrap();
    let edit = json!({ "id": "drone 1", "to": [onto[1] + 0.9, onto[0] + 0.9] });
    let reply = page.post("/api/episode", &ask(&start["state"], edit));
    assert_eq!(reply.status, 422);
    assert!(reply.json()["error"].as_str().unwrap().contains("drone 0 is there"), "{reply:?}");
    // A state that cannot be is refused as well.
    let mut state = start["state"].clone();
    state["drones"][1] = state["drones"][0].clone();
    let reply = page.post("/api/episode", &json!({ "model": "fresh:wildlife:equivariant", "state": state }));
    assert_eq!(reply.status, 422);
    assert!(reply.json()["error"].as_str().unwrap().contains("drones 0 and 1 share the cell"), "{reply:?}");

    let city = page.episode(json!({ "model": "fresh:traffic:plain", "seed": 1 }));
    let mut state = city["state"].clone();
    state["vehicles"] = json!([[2, 1, 0, 1, 0, false]]);
    let ask =
        |edit: Value| json!({ "model": "fresh:traffic:plain", "state": state, "edit": edit, "element": "r" });
    let moved = page.episode(ask(json!({ "id": "light 2" })));
    assert_ne!(moved["here"]["probabilities"], city["here"]["probabilities"]);
    assert_eq!(moved["state"]["phases"][2], 1);
    assert_eq!(moved["twin"]["state"]["vehicles"].as_array().unwrap().len(), 1);
    let moved = page.episode(ask(json!({ "id": "vehicle 0", "to": [4.9, 2.9] })));
    assert_eq!(moved["state"]["vehicles"][0][1], 4);
    let reply = page.post("/api/episode", &ask(json!({ "id": "vehicle 0", "to": [0.5, 0.5] })));
    assert_eq!(reply.status, 422);
    assert!(reply.json()["error"].as_str().unwrap().contains("no lane runs there"), "{reply:?}");
}

#[test]
fn worlds_of_any_size_up_to_some() {
    let page = serve(None);
    let ask = |rows: usize, cols: usize| json!({ "model": "fresh:traffic:equivariant", "settings": { "rows": rows, "cols": cols }, "element": "r", "pictures": [0, 1] });
    for (rows, cols) in [(1, 1), (3, 5), (10, 10)] {
        let answer = page.episode(ask(rows, cols));
        assert_eq!(answer["here"]["probabilities"].as_array().unwrap().len(), rows * cols);
        assert!(difference(&answer) < 1e-5);
    }
    let reply = page.post("/api/episode", &ask(21, 20));
    assert_eq!(reply.status, 422);
    assert!(reply.json()["error"].as_str().unwrap().contains("420 agents"), "{reply:?}");
    let drones = |n: u64| json!({ "model": "fresh:wildlife:plain", "settings": { "drones": n } });
    assert_eq!(page.episode(drones(12))["here"]["probabilities"].as_array().unwrap().len(), 12);
    assert_eq!(page.post("/api/episode", &drones(1)).status, 422);
    assert_eq!(page.post("/api/episode", &drones(49)).status, 422);
    // A network that sees images of one size plays in worlds of that size.
    let grid = json!({ "model": "fresh:wildlife:plain", "settings": { "grid": 9 } });
    assert_eq!(page.post("/api/episode", &grid).status, 422);
}
