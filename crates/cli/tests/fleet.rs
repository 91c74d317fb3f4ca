//! `equimarl fleet` in one process, as a user or a script sees it.

mod common;

use common::{answer, equimarl, folder, json, refuses};
use equimarl_learn::{interface, world_note};
use equimarl_nn::{Network, NetworkConfig, NetworkKind};
use equimarl_worlds::builtin;
use serde_json::json;

/// A fresh model of drones or of junctions, and its path.
fn model(name: &str, world: &str, kind: NetworkKind) -> String {
    let group = if kind == NetworkKind::Equivariant { "C4" } else { "C1" }.parse().unwrap();
    let usual = builtin().usual(world).unwrap();
    let envs = builtin().make(&usual, &group, 1).unwrap();
    let config = NetworkConfig::usual(interface(envs.spec(), kind).unwrap(), kind, &group);
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let network = Network::init(&config, &mut next).unwrap();
    let path = folder(name).join("model.safetensors");
    let world = world_note(&builtin(), &usual).unwrap();
    network.save(&path, &world, &json!({})).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn a_fleet_plays_the_episodes_that_play_plays() {
    let drones = model("fleet-drones", "wildlife", NetworkKind::Equivariant);
    let junctions = model("fleet-junctions", "traffic", NetworkKind::Plain);
    let cases: [(&str, &[&str]); 3] =
        [(&drones, &[]), (&drones, &["--drones", "5", "--greedy"]), (&junctions, &["--junctions", "1x3"])];
    for (model, extra) in cases {
        let size: &[&str] = &[&["--model", model, "--episodes", "3", "--seed", "4"], extra].concat();
        let played = json(&[&["play"], size].concat());
        let flown = json(&[&["fleet", "run"], size].concat());
        for key in ["return", "length", "episodes"] {
            assert_eq!(played[key], flown[key], "{key} of {model}");
        }
        let fleet = &flown["fleet"];
        assert_eq!((&fleet["missed"], &fleet["absent"]), (&json!(0), &json!(0)));
        assert!(fleet["bytes_per_agent_and_step"].as_f64().unwrap() > 0.0, "{fleet}");
    }
}

#[test]
fn a_record_is_checked_and_a_changed_one_fails() {
    let drones = model("fleet-record", "wildlife", NetworkKind::Equivariant);
    let log = folder("fleet-log");
    let log_path = log.to_str().unwrap();
    json(&["fleet", "run", "--model", &drones, "--episodes", "2", "--record", log_path]);
    let (code, found) = answer(&["fleet", "check", log_path]);
    assert_eq!((code, &found["holds"], &found["other_actions"]), (0, &json!(true), &json!(0)), "{found}");
    assert!(found["sent"].as_u64().unwrap() > 0 && found["steps"] == found["compared"]);
    assert_eq!(found["sent"], found["received"], "nothing was lost");
    let lossy = folder("fleet-log-lossy");
    let lossy = lossy.to_str().unwrap();
    json(&["fleet", "run", "--model", &drones, "--episodes", "2", "--drop", "0.3", "--record", lossy]);
    let (code, found) = answer(&["fleet", "check", lossy]);
    let [sent, received] = ["sent", "received"].map(|key| found[key].as_u64().unwrap());
    assert!(code == 0 && 0 < received && received < sent, "{found}");
    let file = log.join("fleet.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = text.lines().find(|line| line.contains("\"what\":\"step\"")).unwrap();
    let (before, after) = line.split_once("\"actions\":[").unwrap();
    let digit = (after.as_bytes()[0] - b'0' + 1) % 5;
    let changed = format!("{before}\"actions\":[{digit}{}", &after[1..]);
    std::fs::write(&file, text.replace(line, &changed)).unwrap();
    let (code, found) = answer(&["fleet", "check", log_path]);
    assert_eq!((code, &found["holds"]), (1, &json!(false)), "{found}");
    refuses(&["fleet", "run", "--model", &drones, "--record", log_path], "not empty");
    refuses(&["fleet", "check", "no-such-folder"], "no-such-folder");
}

#[test]
fn losses_delays_crashes_and_partitions_are_reported() {
    let junctions = model("fleet-faults", "traffic", NetworkKind::Equivariant);
    let run = |faults: &[&str]| {
        let args: &[&str] = &["fleet", "run", "--model", &junctions, "--episodes", "1", "--step-limit", "40"];
        json(&[args, faults].concat())["fleet"].clone()
    };
    let whole = run(&[]);
    let (missed, expected) =
        (|f: &serde_json::Value| f["missed"].as_f64().unwrap(), whole["expected"].as_f64().unwrap());
    assert_eq!((missed(&whole), &whole["round_p50_us"]), (0.0, &json!(0)));
    let share = missed(&run(&["--drop", "0.5"])) / expected;
    assert!((0.4..0.6).contains(&share), "{share}");
    assert_eq!(run(&["--drop", "0.5"])["missed"], run(&["--drop", "0.5", "--threads", "1"])["missed"]);
    assert_eq!(run(&["--delay", "5", "--jitter", "0"])["round_p50_us"], 5000);
    let split = run(&["--partition", "0|1,2,3", "--fallback", "fixed-cycle"]);
    assert_eq!(split["cut_off"], split["steps"]);
    let crash = run(&["--crash", "1@10"]);
    assert_eq!(crash["absent"].as_u64().unwrap(), crash["steps"].as_u64().unwrap() - 10);
}

#[test]
fn wrong_input_is_refused_in_a_line() {
    let drones = model("fleet-wrong", "wildlife", NetworkKind::Equivariant);
    let central = model("fleet-central", "wildlife", NetworkKind::CentralPlain);
    let run =
        |more: &[&str], part: &str| refuses(&[&["fleet", "run", "--model", &drones], more].concat(), part);
    run(&["--world", "traffic"], "was made for the world `wildlife`, not for that of --world");
    run(&["--episodes", "0"], "at least 1");
    run(&["--drop", "1.5"], "between 0 and 1");
    run(&["--drop", "nan"], "between 0 and 1");
    run(&["--delay", "-1"], "milliseconds");
    run(&["--partition", "0,1"], "two groups");
    run(&["--partition", "0|7"], "agents 0 to 2");
    run(&["--crash", "3@1"], "agents 0 to 2");
    run(&["--deadline", "0"], "no time to talk");
    run(&["--fallback", "fixed-cycle"], "fixed-cycle");
    run(&["--threads", "0"], "--threads");
    run(&["--no-tls"], "--transport zenoh");
    run(&["--grid", "9"], "this model sees images of [1, 21, 21]");
    refuses(&["fleet", "run", "--model", &central], "distributed");
    refuses(&["fleet", "run", "--model", "no-such-model"], "no-such-model");
}

#[test]
fn messages_that_the_network_lost_are_missed_and_not_refused() {
    let drones = model("fleet-words", "wildlife", NetworkKind::Equivariant);
    let asked = ["fleet", "run", "--quiet", "--model", &drones, "--episodes", "2", "--drop", "0.3"];
    let text = String::from_utf8(equimarl(&asked).stdout).unwrap();
    let line = |name: &str| text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    assert!(!line("messages missed").contains(" 0 of "), "{text}");
    assert!(line("refused by receivers").ends_with("none") && !text.contains("dropped"), "{text}");
}

#[cfg(not(feature = "zenoh"))]
#[test]
fn without_the_network_the_program_says_how_to_get_it() {
    let drones = model("fleet-no-network", "wildlife", NetworkKind::Equivariant);
    refuses(&["fleet", "run", "--model", &drones, "--transport", "zenoh"], "--features zenoh");
    refuses(&["fleet", "agent", "--agent", "0"], "--features zenoh");
    let yard = folder("fleet-no-network-keys").join("yard");
    let keys = ["fleet", "keys", "--model", &drones, "--out", yard.to_str().unwrap()];
    refuses(&keys, "certificates for encrypted links come with the network part");
    assert!(!yard.join("fleet.toml").exists());
    // Keys need no network.
    let output = equimarl(&[&keys[..], &["--no-tls"]].concat());
    assert!(output.status.success() && yard.join("secrets/agent-0").exists(), "{output:?}");
}
