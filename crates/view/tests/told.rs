//! Worlds whose symmetry is broken, and teams that are told of it: their twins, with what breaks the symmetry turned along or held
//! fixed.

mod common;

use common::{Page, folder, serve};
use equimarl_learn::{Method, TrainConfig, world_note};
use equimarl_nn::Network;
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{Purpose, Stream, WorldConfig, builtin};
use serde_json::{Value, json};

/// A page with a team that has made up its mind: whoever is indifferent turns with everything.
fn page(name: &str, world: WorldConfig, method: Method) -> Page {
    let registry = builtin();
    let base = TrainConfig::preset(&registry, "default", world.clone(), method).unwrap();
    let group = if method == Method::Plain { "C1" } else { "C4" };
    let config = TrainConfig { group: group.into(), ..base }.network(&registry).unwrap();
    let mut weights = Stream::new(5, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || weights.normal()).unwrap();
    network.enliven(4.0, &mut || weights.normal());
    let file = folder(name).join("model.safetensors");
    network.save(&file, &world_note(&registry, &world).unwrap(), &Value::Null).unwrap();
    serve(Some(&file))
}

fn windy(from: &str) -> WorldConfig {
    builtin().usual("wildlife").unwrap().with("wind", 0.4).with("wind_from", from)
}

fn tilted() -> WorldConfig {
    builtin().usual("traffic").unwrap().with("tilt", 0.4)
}

fn ask(element: &str, along: Option<bool>) -> Value {
    let mut ask = json!({ "model": "file", "seed": 3, "element": element });
    if let Some(along) = along {
        ask["along"] = json!(along);
    }
    ask
}

fn difference(answer: &Value) -> f64 {
    let twin = &answer["twin"];
    twin["difference"].as_f64().unwrap().max(twin["value_difference"].as_f64().unwrap())
}

/// The line below a picture.
fn line(view: &Value) -> String {
    let scene: Scene = serde_json::from_value(view["scene"].clone()).unwrap();
    let items = serde_json::to_value(scene.items()).unwrap();
    let found = items.as_array().unwrap().iter().find(|item| item["name"] == "caption");
    found.and_then(|item| item["shape"]["label"]["text"].as_str()).unwrap_or_default().into()
}

#[test]
fn whoever_is_told_turns_with_what_breaks_the_symmetry_and_not_without() {
    for (name, world) in [("told-wind", windy("west")), ("told-any", windy("any")), ("told-tilt", tilted())] {
        let page = page(name, world, Method::Cause);
        for element in ["r", "r2", "r3"] {
            // Along is what a team that is told wants, unless somebody asks for something else.
            for along in [None, Some(true)] {
                let answer = page.episode(ask(element, along));
                assert_eq!(answer["cause"], json!({ "told": true, "along": true }));
                assert!(difference(&answer) < 1e-5, "{name} {element}: {}", difference(&answer));
            }
            let fixed = page.episode(ask(element, Some(false)));
            assert_eq!(fixed["cause"], json!({ "told": true, "along": false }));
            // Half turns keep a tilt.
            let kept = name == "told-tilt" && element == "r2";
            let found = difference(&fixed);
            assert!(if kept { found < 1e-5 } else { found > 1e-3 }, "{name} {element}: {found}");
            let known = fixed["elements"].as_array().unwrap().iter().find(|e| e["name"] == element);
            assert_eq!(known.unwrap()["built_in"], true);
        }
    }
}

#[test]
fn whoever_is_not_told_is_asked_the_same_either_way() {
    let page = page("untold", windy("west"), Method::Equivariant);
    let usual = page.episode(ask("r", None));
    assert_eq!(usual["cause"], json!({ "told": false, "along": false }));
    for along in [false, true] {
        let answer = page.episode(ask("r", Some(along)));
        assert_eq!(answer["cause"]["along"], along);
        assert!(difference(&answer) < 1e-5, "{along}: {}", difference(&answer));
    }
    let road =
        json!({ "model": "fresh:traffic:equivariant", "settings": { "main_road": 3 }, "element": "r" });
    assert_eq!(page.episode(road)["cause"], json!({ "told": false, "along": false }));
    // A network without a symmetry has none, told or not.
    let plain = self::page("told-plain", windy("any"), Method::Plain).episode(ask("r", None));
    assert_eq!(plain["cause"], json!({ "told": true, "along": true }));
    assert!(difference(&plain) > 1e-3);
}

#[test]
fn the_wind_is_seen_and_turns_in_the_twin_if_it_is_turned_along() {
    let page = page("seen", windy("west"), Method::Cause);
    let (along, fixed) = (page.episode(ask("r", None)), page.episode(ask("r", Some(false))));
    assert_eq!([line(&along["here"]), line(&fixed["here"])], ["wind 0.4 from the west"; 2]);
    assert_eq!(line(&along["twin"]), "wind 0.4 from the south");
    assert_eq!(line(&fixed["twin"]), "wind 0.4 from the west");
    assert_eq!(along["twin"]["state"]["wind"], "south");
    for view in [&along["here"], &along["twin"]] {
        let scene: Scene = serde_json::from_value(view["scene"].clone()).unwrap();
        assert_eq!(scene.count("wind"), 2);
    }
    // A step and an edit keep it.
    let mut next = ask("r", None);
    next["state"] = along["state"].clone();
    next["streams"] = along["streams"].clone();
    next["step"] = json!(true);
    let next = page.episode(next);
    assert_eq!((line(&next["here"]), line(&next["twin"])), (line(&along["here"]), line(&along["twin"])));
}

#[test]
fn without_anything_that_breaks_the_symmetry_nothing_is_said_of_it() {
    let page = serve(None);
    for world in ["wildlife", "traffic", "spread", "tag"] {
        let ask = |along: Value| json!({ "model": format!("fresh:{world}:equivariant"), "seed": 3, "element": "r", "along": along });
        let (usual, asked) = (page.episode(ask(Value::Null)), page.episode(ask(json!(true))));
        assert_eq!((&usual["cause"], &asked["cause"]), (&Value::Null, &Value::Null), "{world}");
        assert_eq!(usual["twin"]["difference"], asked["twin"]["difference"]);
        assert_eq!((line(&usual["here"]), &usual["alarms"]), (String::new(), &json!([])));
    }
    let bad = json!({ "model": "fresh:wildlife:plain", "along": "west" });
    let reply = page.post("/api/episode", &bad);
    assert_eq!(reply.status, 400);
    assert!(reply.json()["error"].as_str().unwrap().contains("`along` must be true or false"), "{reply:?}");
}
