//! The worlds as a user or a script sees them: check world, play, solve, replay, bench worlds.

mod common;

use common::{answer, equimarl, folder, json, refuses};
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn mean(value: &Value, name: &str) -> f64 {
    value[name]["mean"].as_f64().unwrap_or_else(|| panic!("no mean {name} in {value}"))
}

#[test]
fn check_world_holds_for_the_symmetries_that_worlds_have() {
    for (args, order) in [
        (&["check", "world", "wildlife", "--steps", "200"][..], 8),
        (&["check", "world", "wildlife", "--drones", "5", "--grid", "5", "--steps", "200"], 8),
        (&["check", "world", "traffic", "--steps", "200"], 4),
        (&["check", "world", "traffic", "--group", "C4", "--junctions", "3x3", "--steps", "100"], 4),
        (&["check", "world", "traffic", "--junctions", "1x3", "--steps", "200"], 2),
    ] {
        let found = json(args);
        assert_eq!(found["holds"], true, "{found}");
        let steps: u64 = args.last().unwrap().parse().unwrap();
        assert_eq!(found["steps"], steps);
        let elements = found["elements"].as_array().unwrap();
        assert_eq!(elements.len(), order);
        for element in elements {
            let mut keys = keys(element);
            // Where the law of starts is known, it is judged, too.
            keys.retain(|key| *key != "start");
            assert_eq!(keys, ["counterexample", "element", "holds", "variation"]);
            assert!(element["start"].is_null() || element["start"]["holds"] == true, "{element}");
            assert_eq!(element["holds"], true);
            assert!(element["counterexample"].is_null());
        }
    }
}

/// Transitions and rewards, actions, and the start: three verdicts under a hundred random angles and mirrors.
#[test]
fn every_angle_is_checked_in_three_verdicts() {
    let out = folder("every-angle");
    let out = out.to_str().unwrap();
    for world in ["spread", "tag"] {
        let ask = |more: &[&str]| {
            let asked = ["check", "world", world, "--actions", "continuous", "--steps", "60", "--out", out];
            answer(&[&asked, more].concat())
        };
        let fails = |found: &Value, part: &str| {
            found["elements"].as_array().unwrap().iter().filter(|e| e[part]["holds"] == false).count()
        };
        let (code, found) = ask(&["--arena", "disc", "--group", "O2"]);
        assert_eq!((code, &found["holds"], &found["group"]), (0, &json!(true), &json!("O2")));
        assert_eq!(found["elements"].as_array().unwrap().len(), 100);
        let (code, found) = ask(&["--group", "O2"]);
        assert_eq!((code, fails(&found, "actions")), (1, 100));
        assert!(fails(&found, "start") > 50);
        // Prey that flees knows the rim of the square, so the rules of tag break as well.
        let rules = found["elements"].as_array().unwrap().iter().all(|e| e["counterexample"].is_null());
        assert_eq!(rules, world == "spread");
        refuses(
            &["check", "world", world, "--group", "O2"],
            "no permutation of them is a turn by every angle",
        );
        refuses(&["check", "world", world, "--group", "C8"], "no permutation of them is a turn by C8");
    }
}

/// The total variation that a wind or a tilt makes, for every element by itself, and nothing when it turns along.
#[test]
fn what_breaks_a_symmetry_has_a_size() {
    let out = folder("sizes");
    let out = out.to_str().unwrap();
    let ask =
        |more: &[&str]| answer(&[&["check", "world"], more, &["--steps", "200", "--out", out]].concat());
    // Elements of D4: e, r, r2, r3, m, rm, r2m, r3m. One mirror leaves a wind from the west as it is.
    let wind = ["wildlife", "--wind", "0.3"];
    let (code, found) = ask(&wind);
    assert_eq!((code, &found["controller"], &found["transform_cause"]), (1, &json!("random"), &json!(false)));
    let most = |e: &Value| e["variation"]["most"].as_f64().unwrap();
    let elements = found["elements"].as_array().unwrap();
    let held: Vec<&Value> = elements.iter().filter(|e| e["holds"] == true).collect();
    assert_eq!((elements.len(), held.len()), (8, 2));
    assert!(held.iter().all(|e| most(e) == 0.0) && held[0]["element"] == "e");
    for e in elements.iter().filter(|e| e["holds"] == false) {
        assert!((most(e) - 0.3).abs() < 1e-12, "{e}");
        assert!(e["counterexample"]["text"].as_str().unwrap().contains("is 0.3"), "{e}");
    }
    let (code, found) = ask(&[&wind[..], &["--transform-cause", "--controller", "greedy"]].concat());
    assert_eq!((code, &found["controller"], &found["transform_cause"]), (0, &json!("greedy"), &json!(true)));
    // Arrivals are drawn when an episode starts.
    let start = |found: &Value, g: usize| found["elements"][g]["start"]["variation"].as_f64().unwrap();
    let (code, found) = ask(&["traffic", "--tilt", "0.4"]);
    assert_eq!((code, start(&found, 2)), (1, 0.0));
    assert!((start(&found, 1) - 0.246).abs() < 5e-4 && found["elements"][1]["variation"]["most"] == 0.0);
    for along in [&["--tilt", "0.4"][..], &["--main-road", "3"], &["--tilt", "0.4", "--main-road", "2"]] {
        let (code, found) = ask(&[&["traffic", "--transform-cause"], along].concat());
        assert_eq!((code, start(&found, 1)), (0, 0.0), "{along:?}");
    }
    let nothing = "nothing is known that breaks the symmetry";
    refuses(&["check", "world", "traffic", "--transform-cause"], nothing);
    refuses(
        &["check", "network", "--world", "wildlife", "--method", "equivariant", "--transform-cause"],
        nothing,
    );
    refuses(&["check", "world", "wildlife", "--wind", "2"], "wind");
    refuses(&["check", "world", "wildlife", "--wind", "0.2", "--wind-from", "nowhere"], "nowhere");
    refuses(&["train", "--world", "wildlife", "--method", "cause", "--out", out], "nothing");
    refuses(
        &["train", "--world", "wildlife", "--method", "relaxed", "--set", "penalty=-1", "--out", out],
        "penalty",
    );
}

/// A relaxed team says how far its weights and what it does are from equivariant ones; with an infinite penalty it is one.
#[test]
fn relaxed_networks_say_how_asymmetric_they_are() {
    let folder = folder("relaxed");
    let run = |name: &str, more: &[&str]| {
        let out = folder.join(name).display().to_string();
        let asked =
            ["train", "--world", "wildlife", "--wind", "0.8", "--steps", "480", "--seed", "3", "--out", &out];
        let done = equimarl(&[&asked, more, &["--set", "evaluate_episodes=1", "--quiet"]].concat());
        assert!(done.status.success(), "{done:?}");
        out
    };
    let free = run("free", &["--method", "relaxed"]);
    let found = json(&["inspect", &free]);
    let norms = found["asymmetry"].as_object().unwrap();
    assert!(norms.len() == 6 && norms.values().all(|norm| norm.as_f64().unwrap() > 0.0), "{found}");
    let found = json(&["check", "network", "--model", &free]);
    assert_eq!((&found["claims"], &found["equivariant"]), (&Value::Null, &json!(false)));
    let divergence = |e: &Value| e["divergence"].as_f64().unwrap();
    let elements = found["elements"].as_array().unwrap();
    assert!(divergence(&elements[0]) < 1e-9 && elements[1..].iter().all(|e| divergence(e) > 1e-5), "{found}");
    let bound = run("bound", &["--method", "relaxed", "--set", "penalty=inf"]);
    let exact = run("exact", &["--method", "equivariant"]);
    let dense = |run: &str, to: &str| {
        let to = folder.join(to).display().to_string();
        json(&["export", "--model", run, "--dense", &to]);
        let bytes = std::fs::read(to).unwrap();
        // What it is called differs; the numbers stand at the end.
        bytes[bytes.len() - 100_000..].to_vec()
    };
    assert_eq!(dense(&bound, "bound.safetensors"), dense(&exact, "exact.safetensors"));
    json(&["check", "network", "--model", &bound, "--method", "relaxed"]);
}

#[test]
fn traffic_has_no_mirror_and_the_counterexample_says_why() {
    let folder = folder("mirror");
    let out = folder.join("saved").display().to_string();
    let asked = ["check", "world", "traffic", "--group", "D4", "--steps", "50", "--out", &out];
    let (code, found) = answer(&asked);
    assert_eq!(code, 1);
    assert_eq!(found["holds"], false);
    for element in found["elements"].as_array().unwrap() {
        let name = element["element"].as_str().unwrap();
        assert_eq!(element["holds"], !name.contains('m'), "{name}");
        if name == "m" {
            // The lane and its image.
            let text = element["counterexample"]["text"].as_str().unwrap();
            assert!(text.contains("along row 2 running to growing columns"), "{text}");
            assert!(text.contains("onto row 2 running to falling columns"), "{text}");
            let file = element["counterexample"]["file"].as_str().unwrap();
            let saved: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            assert_eq!(saved["world"], "traffic");
            assert_eq!(saved["state"]["rows"], 2);
            assert_eq!(saved["actions"].as_array().unwrap().len(), 4);
        }
    }
    assert_eq!(std::fs::read_dir(folder.join("saved")).unwrap().count(), 4);

    let output = equimarl(&asked);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("r3       holds                                      holds\nm        FAILS                                      -\n"), "{text}");
    assert!(text.contains("traffic-m.json") && text.contains("does not have this symmetry"), "{text}");
}

#[test]
fn play_reports_means_with_standard_errors() {
    let wildlife = ["play", "--world", "wildlife", "--episodes", "40", "--seed", "5", "--controller"];
    let traffic = ["play", "--world", "traffic", "--episodes", "40", "--seed", "5", "--controller"];
    let report = |world: &[&str], controller: &str, own: &[&str]| {
        let found = json(&[world, &[controller]].concat());
        assert_eq!(found["episodes"], 40);
        assert_eq!(found["seed"], 5);
        assert_eq!(found["controller"], controller);
        for name in ["return", "length"].iter().chain(own) {
            assert_eq!(keys(&found[*name]), ["mean", "stderr"], "{name}");
            assert!(found[*name]["mean"].is_f64() && found[*name]["stderr"].is_f64(), "{name}");
        }
        found
    };
    let returns =
        ["random", "greedy", "optimal"].map(|c| mean(&report(&wildlife, c, &["captures"]), "return"));
    assert!(returns[0] < returns[1] && returns[1] < returns[2], "{returns:?}");

    let own = ["waiting", "travel_time", "throughput", "vehicle_waiting", "queue", "outside"];
    let [random, fixed, queue, pressure] =
        ["random", "fixed-cycle", "longest-queue", "max-pressure"].map(|controller| {
            let found = report(&traffic, controller, &own);
            // A vehicle takes 15 steps in free flow, and whatever it waited.
            assert!((mean(&found, "travel_time") - mean(&found, "vehicle_waiting") - 15.0).abs() < 1e-9);
            ["waiting", "travel_time"].map(|name| mean(&found, name))
        });
    assert!(queue[0] < fixed[0] && fixed[0] < random[0] / 2.0, "{queue:?} {fixed:?} {random:?}");
    // Max pressure locks up in a few episodes, so that only the vehicles that finish tell its skill.
    assert!(pressure[1] < random[1] - 5.0, "{pressure:?} {random:?}");
}

#[test]
fn play_gives_the_same_episodes_again_and_others_for_another_seed() {
    let play = |seed: &str| {
        equimarl(&["play", "--world", "traffic", "--controller", "random", "--episodes", "3", "--seed", seed])
            .stdout
    };
    assert_eq!(play("1"), play("1"));
    assert_ne!(play("1"), play("2"));
}

#[test]
fn play_takes_short_numbers_and_refuses_what_it_would_ignore() {
    let play = ["play", "--world", "wildlife", "--controller", "random"];
    assert_eq!(json(&[&play[..], &["--episodes", "1e1"]].concat())["episodes"], 10);
    refuses(&[&play[..], &["--greedy"]].concat(), "--greedy belongs to --model");
    let output = equimarl(&[&play[..], &["--episodes", "ten"]].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("a whole number such as"), "{error}");
}

#[test]
fn play_at_other_sizes() {
    let found = json(&[
        "play",
        "--world",
        "wildlife",
        "--controller",
        "greedy",
        "--drones",
        "6",
        "--grid",
        "9",
        "--episodes",
        "5",
    ]);
    assert_eq!((&found["drones"], &found["grid"]), (&json!(6), &json!(9)));
    let found = json(&[
        "play",
        "--world",
        "traffic",
        "--controller",
        "fixed-cycle:6",
        "--junctions",
        "1x3",
        "--arrival-steps",
        "30",
        "--episodes",
        "5",
    ]);
    assert_eq!([&found["rows"], &found["cols"]], [&json!(1), &json!(3)]);
    assert_eq!(found["controller"], "fixed-cycle:6");
    // One episode has no standard error, and a world without vehicles no travel time.
    let empty =
        ["play", "--world", "traffic", "--controller", "random", "--arrival-steps", "0", "--episodes", "1"];
    let found = json(&empty);
    assert!(found["return"]["stderr"].is_null() && found["travel_time"]["mean"].is_null());
    let text = String::from_utf8(equimarl(&empty).stdout).unwrap();
    assert!(text.starts_with("traffic, random, 1 episode\n") && !text.contains("NaN"), "{text}");
}

#[test]
fn episodes_can_be_looked_at() {
    let folder = folder("looks");
    let gif = folder.join("film.gif").display().to_string();
    let svg = folder.join("picture.svg").display().to_string();
    for world in ["wildlife", "traffic", "spread", "tag"] {
        let output = equimarl(&[
            "play",
            "--world",
            world,
            "--controller",
            "random",
            "--episodes",
            "1",
            "--gif",
            &gif,
            "--svg",
            &svg,
            "--at",
            "2",
            "--watch",
            "--json",
        ]);
        assert!(output.status.success(), "{output:?}");
        assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap().is_object());
        let seen = String::from_utf8(output.stderr).unwrap();
        assert!(seen.contains("step 2   return") && seen.contains("wrote"), "{seen}");
        let film = std::fs::read(&gif).unwrap();
        assert!(film.starts_with(b"GIF89a") && film.ends_with(&[0x3b]));
        let picture = std::fs::read_to_string(&svg).unwrap();
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
        assert!(picture.contains("step 2"));
    }
}

#[test]
fn solve_gives_the_best_possible_return() {
    for (drones, optimum) in [("2", 1.7988), ("3", 2.7785)] {
        let found = json(&["solve", "wildlife", "--drones", drones]);
        assert_eq!(found["drones"], drones.parse::<u64>().unwrap());
        assert!((found["optimum"].as_f64().unwrap() - optimum).abs() < 1e-3, "{found}");
    }
    let best = json(&["solve", "wildlife"]);
    let played = json(&[
        "play",
        "--world",
        "wildlife",
        "--controller",
        "optimal",
        "--episodes",
        "2000",
        "--seed",
        "1",
    ]);
    let away = (mean(&played, "return") - best["optimum"].as_f64().unwrap()).abs();
    assert!(away < 3.0 * played["return"]["stderr"].as_f64().unwrap(), "{played}");
}

/// Replays a script and gives its steps.
fn replay(name: &str, script: &Value) -> Vec<Value> {
    let file = folder(name).join("script.json");
    std::fs::write(&file, script.to_string()).unwrap();
    let found = json(&["replay", &file.display().to_string()]);
    assert_eq!(found["world"], script["world"]);
    found["steps"].as_array().unwrap().clone()
}

fn assert_step(step: &Value, reward: f64, end: &str, state: &Value) {
    assert!((step["reward"].as_f64().unwrap() - reward).abs() < 1e-12, "{step}");
    assert_eq!(step["terminated"], end == "terminated", "{step}");
    assert_eq!(step["truncated"], end == "truncated", "{step}");
    for (key, value) in state.as_object().unwrap() {
        assert_eq!(&step[key], value, "{step}");
    }
}

#[test]
fn a_vehicle_waits_at_a_red_light_restarts_and_leaves() {
    // Row 2 has its stop lines in columns 2 and 10. Junction 0 is red for it in step 1, and again in step 4, when the
    // vehicle is past the line and no longer asks.
    let phases = |t: usize| if t == 1 || t == 4 { vec![0, 0, 0, 0] } else { vec![1, 1, 1, 1] };
    let steps = replay(
        "red-light",
        &json!({"world": "traffic", "rows": 2, "cols": 2, "schedule": [[0, 2, 0]],
                "actions": (0..20).map(phases).collect::<Vec<_>>()}),
    );
    assert_eq!(steps.len(), 17, "15 steps of free flow and 2 of waiting");
    // (column, waiting, marked) after each step.
    let expected = [
        (1, 0, false),
        (1, 1, true),  // held by the light
        (1, 2, false), // green: the mark is cleared, and it stays
        (2, 2, false),
        (3, 2, false),
        (4, 2, false),
    ];
    let driving = (5..15).map(|col| (col, 2, false));
    for (step, (col, waiting, marked)) in steps.iter().zip(expected.into_iter().chain(driving)) {
        let vehicles = json!({ "vehicles": [[2, col, 0, 1, waiting, marked]] });
        assert_step(step, -f64::from(waiting) / 1000.0, "", &vehicles);
    }
    assert_step(&steps[16], 0.0, "terminated", &json!({ "vehicles": [] }));
}

#[test]
fn a_vehicle_inside_a_junction_claims_its_next_cell() {
    // One drives along row 2 and is between the crossing cells, at (2, 3), when the light turns to the columns; the
    // other stands at (1, 4) before (2, 4), which the first one claims.
    let steps = replay(
        "claim",
        &json!({"world": "traffic", "rows": 2, "cols": 2, "schedule": [[0, 2, 0], [2, 0, 4]],
                "actions": [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]}),
    );
    let vehicles = |all: Value| json!({ "vehicles": all });
    assert_step(&steps[1], 0.0, "", &vehicles(json!([[2, 2, 0, 1, 0, false]])));
    assert_step(&steps[2], 0.0, "", &vehicles(json!([[1, 4, 1, 0, 0, false], [2, 3, 0, 1, 0, false]])));
    // Held by the claim, although the light is green.
    assert_step(&steps[3], -0.0005, "", &vehicles(json!([[1, 4, 1, 0, 1, true], [2, 4, 0, 1, 0, false]])));
    // (2, 4) is vacated in this step: no longer held, so the mark is cleared.
    assert_step(&steps[4], -0.001, "", &vehicles(json!([[1, 4, 1, 0, 2, false], [2, 5, 0, 1, 0, false]])));
    assert_step(&steps[5], -0.001, "", &vehicles(json!([[2, 4, 1, 0, 2, false], [2, 6, 0, 1, 0, false]])));
}

#[test]
fn an_empty_city_is_done_after_one_step() {
    let steps = replay(
        "empty",
        &json!({"world": "traffic", "rows": 1, "cols": 1, "schedule": [], "actions": [[0], [0]]}),
    );
    assert_eq!(steps.len(), 1);
    assert_step(&steps[0], 0.0, "terminated", &json!({ "vehicles": [] }));
}

#[test]
fn drones_that_want_one_cell_fall_back_and_block_others() {
    let steps = replay(
        "fall-back",
        &json!({"world": "wildlife", "grid": 7, "drones": [[0, 0], [0, 2], [0, 3]], "poacher": [5, 5],
                "actions": [[2, 4, 4], [3, 2, 4], [0, 0, 0]], "poacher_moves": [4, 1, 1]}),
    );
    // 0 and 1 both want (0, 1) and fall back; 1 is then where 2 wants to go, so 2 falls back too.
    let state = |drones: Value, poacher: Value| json!({ "drones": drones, "poacher": poacher });
    assert_step(&steps[0], -0.05, "", &state(json!([[0, 0], [0, 2], [0, 3]]), json!([5, 4])));
    // 0 leaves over the upper edge of the torus, 1 and 2 swap.
    assert_step(&steps[1], -0.05, "", &state(json!([[6, 0], [0, 3], [0, 2]]), json!([6, 4])));
    // The poacher leaves over the lower edge.
    assert_step(&steps[2], -0.05, "", &state(json!([[6, 0], [0, 3], [0, 2]]), json!([0, 4])));
}

#[test]
fn a_capture_over_the_edges_pays_for_every_drone_beside_it() {
    let steps = replay(
        "capture",
        &json!({"world": "wildlife", "grid": 5, "drones": [[0, 4], [4, 0], [1, 0], [2, 2]], "poacher": [0, 0],
                "actions": [[0, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]], "poacher_moves": [0]}),
    );
    let state = |first: Value| json!({"drones": [first, [4, 0], [1, 0], [2, 2]], "poacher": [0, 0]});
    // Three drones around it catch nothing: nobody is above it.
    assert_step(&steps[0], -0.05, "", &state(json!([0, 4])));
    // 1 for the drone above, 1 for each of the two beside it, and what a step costs.
    assert_step(&steps[1], 2.95, "terminated", &state(json!([0, 0])));
    assert_eq!(steps.len(), 2);
}

#[test]
fn a_hundred_steps_without_a_capture_are_cut_off() {
    let steps = replay(
        "cut-off",
        // Alone above the poacher: no capture.
        &json!({"world": "wildlife", "grid": 7, "drones": [[3, 3], [0, 0]], "poacher": [3, 3],
                "actions": vec![[0, 0]; 101], "poacher_moves": vec![0; 101]}),
    );
    assert_eq!(steps.len(), 100);
    assert_step(&steps[98], -0.05, "", &json!({}));
    assert_step(&steps[99], -0.05, "truncated", &json!({}));
}

#[test]
fn bench_worlds_names_its_numbers_machine_and_commit() {
    let found = json(&["bench", "worlds", "--seconds", "0.01"]);
    let results = found["results"].as_array().unwrap();
    let names: Vec<&str> = results.iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "wildlife-3-images",
            "wildlife-3-ids",
            "wildlife-4-images",
            "wildlife-4-ids",
            "traffic-2x2-images",
            "traffic-2x2-ids",
            "traffic-10x10-ids",
            "traffic-100x100-ids",
            "spread-3-features",
            "spread-100-size5.77-radius1-features",
            "spread-1000-size18.26-radius1-features",
            "tag-3-features",
        ]
    );
    for result in results {
        assert_eq!(result["unit"], "steps/s");
        assert!(result["value"].as_f64().unwrap() > 0.0);
    }
    assert!(found["machine"]["cpu"].is_string() && found["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(!found["commit"].as_str().unwrap().is_empty());
}

#[test]
fn wrong_worlds_are_refused_in_one_line() {
    let wildlife = |more: &[&str], part: &str| {
        refuses(&[&["play", "--world", "wildlife", "--controller", "random"], more].concat(), part);
    };
    let traffic = |more: &[&str], part: &str| {
        refuses(&[&["play", "--world", "traffic", "--controller", "random"], more].concat(), part);
    };
    wildlife(&["--grid", "6"], "must be odd");
    wildlife(&["--grid", "1"], "at least 3 cells");
    wildlife(&["--drones", "0"], "at least 2; got 0");
    wildlife(&["--drones", "49"], "at most 48 drones");
    wildlife(&["--junctions", "2x2"], "--junctions belongs to the traffic world");
    wildlife(&["--episodes", "0"], "at least 1");
    traffic(&["--junctions", "0x2"], "at least 1 x 1 junctions");
    traffic(&["--junctions", "two"], "for example 2x2");
    traffic(&["--junctions", "99999999x99999999"], "too many");
    traffic(&["--drones", "3"], "--drones belongs to the wildlife world");
    traffic(&["--arrival-probability", "1.5"], "between 0 and 1");
    traffic(&["--step-limit", "0"], "step limit");
    refuses(
        &["play", "--world", "wildlife", "--controller", "max-pressure"],
        "use random, greedy or optimal",
    );
    refuses(
        &["play", "--world", "traffic", "--controller", "greedy"],
        "longest-queue, max-pressure or planner",
    );
    refuses(&["play", "--world", "traffic", "--controller", "fixed-cycle:0"], "at least 1 step");
    refuses(&["solve", "wildlife", "--drones", "1"], "at least 2; got 1");
    refuses(&["solve", "wildlife", "--drones", "9"], "too many states");
    let out = folder("oblong").display().to_string();
    let (code, found) =
        answer(&["check", "world", "traffic", "--junctions", "2x3", "--group", "C4", "--out", &out]);
    let why = found["elements"][1]["counterexample"]["text"].as_str().unwrap();
    assert!(
        code == 1 && why.contains("quarter turns are symmetries only of as many rows as columns"),
        "{why}"
    );
    refuses(&["check", "world", "wildlife", "--group", "C3"], "C1, C2, C4, D1, D2 and D4 only");
    refuses(&["check", "world", "wildlife", "--steps", "0"], "at least 1");
    refuses(&["bench", "worlds", "--seconds", "0"], "above 0");
    refuses(&["bench", "worlds", "--seconds", "-1"], "above 0");

    let svg = folder("unwritable").join("no/such/folder.svg").display().to_string();
    wildlife(&["--svg", &svg], "No such file or directory (os error 2)");
    let error = String::from_utf8(
        equimarl(&["play", "--world", "wildlife", "--controller", "random", "--svg", &svg]).stderr,
    );
    assert_eq!(error.unwrap().matches("os error").count(), 1);
}

#[test]
fn wrong_scripts_are_refused_in_one_line() {
    let folder = folder("scripts");
    let file = folder.join("script.json").display().to_string();
    let wrong = |content: &str, part: &str| {
        std::fs::write(&file, content).unwrap();
        refuses(&["replay", &file], part);
    };
    let good = r#"{"world":"wildlife","grid":7,"drones":[[3,1],[3,4]],"poacher":[3,3],"actions":[[2,0]],"poacher_moves":[0]}"#;
    std::fs::write(&file, good).unwrap();
    json(&["replay", &file]);
    for end in (1..good.len()).step_by(9) {
        wrong(&good[..end], "it ends too early");
    }
    wrong("", "it ends too early");
    wrong("no JSON at all", "not a script");
    wrong("[1, 2]", "not a script");
    wrong(r#"{"world":"chess"}"#, "no world is called `chess`; there are wildlife, traffic");
    // Another world's keys.
    wrong(&good.replace("wildlife", "traffic"), "unknown field");
    wrong(&good.replace(":7", ":8"), "must be odd");
    wrong(&good.replace("[3,4]]", "[3,1]]"), "share the cell [3, 1]");
    wrong(&good.replace("[3,4]]", "[3,9]]"), "outside of rows and columns 0 to 6");
    wrong(&good.replace("[[2,0]]", "[[2]]"), "step 0 has 1 actions");
    wrong(&good.replace("[[2,0]]", "[[2,5]]"), "actions are 0 to 4");
    wrong(&good.replace("\"poacher_moves\":[0]", "\"poacher_moves\":[]"), "step 0 needs one too");
    wrong(r#"{"world":"traffic","rows":2,"cols":2,"schedule":[[0,3,0]],"actions":[]}"#, "no lane begins at");
    wrong(r#"{"world":"traffic","rows":0,"cols":2,"schedule":[],"actions":[]}"#, "at least 1 x 1 junctions");
    wrong(r#"{"world":"traffic","element":"m","state":{},"actions":[0]}"#, "it holds a saved state");
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    refuses(&["replay", &file], "UTF-8");
    refuses(&["replay", &folder.join("missing.json").display().to_string()], "cannot read");
    refuses(&["replay", &folder.display().to_string()], "cannot read");
}
