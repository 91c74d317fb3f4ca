//! A world that the page has never heard of: listed, played, edited, turned and refused like any other.

mod common;

#[path = "common/buoys.rs"]
mod buoys;

use buoys::Buoys;
use common::{Page, serve_with};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{Registry, builtin};
use serde_json::{Value, json};

fn registry() -> Registry {
    let lake = Buoys { name: "lake", exact: true };
    builtin().with(lake).unwrap().with(Buoys { name: "sea", exact: false }).unwrap()
}

fn page() -> Page {
    serve_with(registry(), None)
}

const MODEL: &str = "fresh:lake:equivariant";

fn refused(page: &Page, ask: &Value) -> (u16, String) {
    let reply = page.post("/api/episode", ask);
    (reply.status, reply.json()["error"].as_str().unwrap_or_default().to_string())
}

#[test]
fn it_is_as_symmetric_as_it_says() {
    let registry = registry();
    let envs = registry.make(&registry.usual("lake").unwrap(), &"D4".parse().unwrap(), 1).unwrap();
    let report = envs.exact().unwrap().audit(200, 0);
    assert!(report.holds, "{report:?}");
}

#[test]
fn it_is_listed_with_all_its_options() {
    let list = page().list();
    let worlds = list["worlds"].as_array().unwrap();
    let lake = worlds.iter().find(|w| w["name"] == "lake").unwrap();
    let kinds: Vec<&str> =
        lake["options"].as_array().unwrap().iter().map(|o| o["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["whole", "whole", "number", "flag", "text"]);
    assert_eq!(lake["options"][0]["help"], "how many boats");
    let models = list["models"].as_array().unwrap();
    let model = models.iter().find(|m| m["id"] == MODEL).unwrap();
    assert_eq!((&model["world"], &model["label"]), (&json!("lake"), &json!("lake")));
    assert_eq!(model["settings"]["flag"], "blue");
    assert!(models.iter().any(|m| m["id"] == "fresh:sea:plain"));
}

#[test]
fn it_is_played_and_shows_what_agents_see_as_numbers() {
    let page = page();
    let ask = json!({ "model": MODEL, "seed": 4, "pictures": [1, 0] });
    let start = page.episode(ask.clone());
    assert_eq!(start["world"]["sees"]["labels"].as_array().unwrap().len(), 3);
    assert!(start["world"]["sees"]["representation"].as_str().unwrap().starts_with("trivial + "));
    assert_eq!(start["here"]["pictures"], Value::Null);
    let boat: [f64; 2] = serde_json::from_value(start["state"]["boats"][1].clone()).unwrap();
    assert_eq!(start["here"]["numbers"]["1"], json!([0.0, -boat[0] + 0.0, -boat[1] + 0.0]));
    assert_eq!(start["measure"]["name"], "found");
    // Each of two boats hears the other one and two buoys.
    assert_eq!(start["here"]["edges"].as_array().unwrap().len(), 6);
    let scene: Scene = serde_json::from_value(start["here"]["scene"].clone()).unwrap();
    assert_eq!((scene.count("boat"), scene.count("buoy")), (2, 2));
    let mut now = start;
    for step in 0..30 {
        let mut next = ask.clone();
        next["state"] = now["state"].clone();
        next["streams"] = now["streams"].clone();
        next["step"] = json!(true);
        now = page.episode(next);
        assert_eq!(now["end"], if step == 29 { "truncated" } else { "running" });
        // What the world calls an alarm stands beside what it shows first, as soon as it is known.
        let alarm = &now["alarms"][0];
        assert_eq!(
            (&alarm["name"], &alarm["title"]),
            (&json!("aground"), &json!("boats that end at the shore"))
        );
        let boats: Vec<[i32; 2]> = serde_json::from_value(now["state"]["boats"].clone()).unwrap();
        let ashore = boats.iter().filter(|boat| boat.iter().any(|v| v.abs() == 3)).count();
        assert_eq!(alarm["value"], if step == 29 { json!(ashore as f64) } else { Value::Null });
        assert_eq!(now["alarms"].as_array().unwrap().len(), 1);
    }
    // Nothing breaks its symmetry, so nothing can be turned along.
    assert_eq!(now["cause"], Value::Null);
    let more = json!({ "model": MODEL, "settings": { "boats": 5, "gain": 2, "calm": false, "flag": "red" } });
    assert_eq!(page.episode(more)["here"]["probabilities"].as_array().unwrap().len(), 5);
}

#[test]
fn it_is_turned_and_its_networks_turn_or_break() {
    let page = page();
    let ask = |kind: &str, element: &str| json!({ "model": format!("fresh:lake:{kind}"), "seed": 3, "element": element, "pictures": [0] });
    for element in ["e", "r", "r2", "r3"] {
        let answer = page.episode(ask("equivariant", element));
        let difference = answer["twin"]["difference"].as_f64().unwrap();
        assert!(difference < 1e-5, "{element}: {difference}");
        let plain = page.episode(ask("plain", element))["twin"]["difference"].as_f64().unwrap();
        assert!(element == "e" || plain > 1e-4, "{element}: {plain}");
    }
    let mirror = page.episode(ask("equivariant", "m"));
    assert_eq!(mirror["elements"][4]["built_in"], false);
    assert!(mirror["twin"]["difference"].as_f64().unwrap() > 1e-4);
    // The features of the twin are the same numbers in other columns.
    let answer = page.episode(ask("equivariant", "r"));
    let values = |view: &str| -> Vec<f64> {
        serde_json::from_value(answer[view]["features"]["values"].clone()).unwrap()
    };
    let columns: Vec<usize> = serde_json::from_value(answer["twin"]["columns"].clone()).unwrap();
    let (here, there) = (values("here"), values("twin"));
    for (k, v) in here.iter().enumerate() {
        assert!((v - there[k / 4 * 4 + columns[k % 4]]).abs() < 1e-4);
    }
}

#[test]
fn it_is_edited_and_refuses_in_its_own_words() {
    let page = page();
    let start = page.episode(json!({ "model": MODEL, "seed": 4 }));
    let ask = |edit: Value| json!({ "model": MODEL, "state": start["state"], "edit": edit });
    let moved = page.episode(ask(json!({ "id": "boat 1", "to": [6.5, 0.5] })));
    assert_eq!(moved["state"]["boats"], json!([start["state"]["boats"][0], [-3, 3]]));
    assert_eq!(moved["state"]["buoys"], start["state"]["buoys"]);
    for (edit, part) in [
        (json!({ "id": "boat 2", "to": [1.0, 1.0] }), "there is boats and buoys"),
        (json!({ "id": "boat 0", "to": [9.0, 1.0] }), "outside of the lake"),
        (json!({ "id": "boat 0" }), "boat 0 can be moved, not pressed"),
    ] {
        let (status, why) = refused(&page, &ask(edit));
        assert!(status == 422 && why.contains(part), "{status} {why}");
    }
}

#[test]
fn what_cannot_be_shown_is_refused_with_a_reason() {
    let page = page();
    // A world that does not save its state is shown while the server keeps its episode; nothing in it can be moved.
    let sea = "fresh:sea:equivariant";
    let start = page.episode(json!({ "model": sea, "seed": 4 }));
    let next = page.episode(json!({ "model": sea, "seed": 4, "state": start["state"], "step": true }));
    assert!(next["here"].is_object() && next["twin"].is_null(), "{next}");
    let edit = json!({ "id": "boat 0", "to": [1.0, 1.0] });
    let (status, why) = refused(&page, &json!({ "model": sea, "state": next["state"], "edit": edit }));
    assert!(status == 422 && why.contains("nothing in it can be moved"), "{status} {why}");
    for (settings, part) in [
        (json!({ "boats": 401 }), "401 agents"),
        (json!({ "boats": 0 }), "a lake has a boat"),
        (json!({ "half": 100 }), "40407 shapes"),
        (json!({ "half": 100_001 }), "`half` must be a whole number from 0 to 100000, not 100001"),
        (json!({ "calm": 1 }), "must be true or false"),
        (json!({ "flag": true }), "must be a name"),
        (json!({ "gain": "much" }), "must be a number"),
        (json!({ "sails": 2 }), "lake has no option `sails`"),
    ] {
        let (status, why) = refused(&page, &json!({ "model": MODEL, "settings": settings }));
        assert!(status == 422 && why.contains(part), "{settings}: {status} {why}");
    }
    let state = json!({ "boats": [[9, 9], [0, 0]], "buoys": [[0, 0], [1, 1]], "steps": 0 });
    let (status, why) = refused(&page, &json!({ "model": MODEL, "state": state }));
    assert!(status == 422 && why.contains("no places on this lake"), "{status} {why}");
    for id in ["fresh:lake:central-plain", "fresh:lake", "fresh::plain", "fresh:pond:plain"] {
        assert_eq!(refused(&page, &json!({ "model": id })).0, 404, "{id}");
    }
    assert_eq!(page.post("/api/episode", &json!({ "model": MODEL })).status, 200);
}
