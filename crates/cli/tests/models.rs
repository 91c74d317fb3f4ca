//! `inspect` and `export` as a user or a script sees them.

use equimarl_learn::interface;
use equimarl_nn::{DenseModel, Network, NetworkConfig, NetworkKind, Scratch};
use equimarl_worlds::builtin;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Output};

fn equimarl(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_equimarl")).args(args).output().unwrap()
}

fn answer(args: &[&str]) -> Value {
    let output = equimarl(args);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder with a fresh model, and its path.
fn model(name: &str, kind: NetworkKind) -> (PathBuf, String) {
    let folder = std::env::temp_dir().join(format!("equimarl-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let group = "C4".parse().unwrap();
    let envs = builtin().make(&builtin().usual("wildlife").unwrap(), &group, 1).unwrap();
    let config = NetworkConfig::usual(interface(envs.spec(), kind).unwrap(), kind, &group);
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let network = Network::init(&config, &mut next).unwrap();
    let path = folder.join("model.safetensors");
    network.save(&path, &Value::Null, &json!({ "seed": 7 })).unwrap();
    (folder, path.to_str().unwrap().into())
}

#[test]
fn inspect_prints_layers_ranks_and_metadata() {
    let (folder, path) = model("inspect", NetworkKind::Equivariant);
    let found = answer(&["inspect", &path, "--json"]);
    assert_eq!(found["parameters"], 25_891);
    assert_eq!(
        (&found["world"], &found["kind"], &found["group"]),
        (&json!("wildlife"), &json!("equivariant"), &json!("C4"))
    );
    assert_eq!(found["extra"]["seed"], 7);
    let round = &found["layers"][2];
    assert_eq!(
        (&round["name"], &round["in"]),
        (&json!("round1"), &json!("16*regular + rotation + 16*regular"))
    );
    assert_eq!((&round["weight_rank"], &round["bias_rank"]), (&json!(4160), &json!(32)));
    let text = String::from_utf8(equimarl(&["inspect", &path]).stdout).unwrap();
    assert!(text.contains("25891 parameters") && text.contains("seed: 7"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn export_writes_what_other_frameworks_need() {
    let (folder, path) = model("export", NetworkKind::Equivariant);
    let [dense, sample] = ["dense", "sample"].map(|name| folder.join(name).to_str().unwrap().to_string());
    let found = answer(&["export", "--model", &path, "--dense", &dense, "--sample", &sample, "--json"]);
    assert_eq!(found["tensors"]["round1.weight"], json!([128, 130]));
    assert_eq!(found["tensors"]["conv2.weight"], json!([64, 32, 5, 5]));
    assert_eq!(answer(&["inspect", &dense, "--json"])["content"], "dense");

    // The weights are those of the model, and the sample's answers are the model's, run one agent at a time.
    let (network, _) = Network::load(&path).unwrap();
    let (exported, _) = DenseModel::from_bytes(&std::fs::read(&dense).unwrap()).unwrap();
    assert_eq!(exported, network.dense().unwrap());
    let policy = network.policy().unwrap();
    let sample: Value = serde_json::from_slice(&std::fs::read(&sample).unwrap()).unwrap();
    let numbers = |v: &Value| -> Vec<f32> {
        v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
    };
    let mut scratch = Scratch::default();
    let mut features: Vec<Vec<f32>> = vec![];
    for picture in sample["pictures"].as_array().unwrap() {
        let mut own = vec![];
        policy.encode(&numbers(picture), &mut scratch, &mut own).unwrap();
        features.push(own);
    }
    for round in 0..policy.rounds() {
        let before = features.clone();
        for (agent, mixed) in features.iter_mut().enumerate() {
            let heard = sample["neighbours"][agent].as_array().unwrap();
            let messages: Vec<f32> =
                heard.iter().flat_map(|j| before[j.as_u64().unwrap() as usize].clone()).collect();
            let edges: Vec<f32> =
                sample["edges"][agent].as_array().unwrap().iter().flat_map(&numbers).collect();
            policy.round(round, &before[agent], &edges, &messages, &mut scratch, mixed).unwrap();
        }
    }
    let decisions: Vec<_> = features.iter().map(|f| policy.decide(f).unwrap()).collect();
    for (decision, logits) in decisions.iter().zip(sample["logits"].as_array().unwrap()) {
        let logits = numbers(logits);
        let total = logits.iter().map(|l| l.exp()).sum::<f32>().ln();
        for (logit, found) in logits.iter().zip(&decision.log_probabilities) {
            assert!((logit - total - found).abs() < 1e-5);
        }
    }
    let value = decisions.iter().map(|d| d.value).sum::<f32>() / decisions.len() as f32;
    assert!((value - numbers(&sample["value"])[0]).abs() < 1e-5);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn files_that_are_no_models_are_one_clear_line_and_exit_code_2() {
    let (folder, path) = model("refused", NetworkKind::CentralEquivariant);
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).unwrap();
        folder.join(name).to_str().unwrap().to_string()
    };
    let mut damaged = std::fs::read(&path).unwrap();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    for (path, part) in [
        (file("empty", b""), "not a safetensors file"),
        (file("six.gif", b"GIF89a and then some"), "it is not a safetensors file"),
        (file("damaged", &damaged), "its checksum does not fit"),
        (file("cut", &damaged[..last]), "cut off"),
        (folder.join("missing").to_str().unwrap().into(), "missing: No such file"),
    ] {
        for args in [vec!["inspect", &path], vec!["export", "--model", &path, "--dense", "never-written"]] {
            let output = equimarl(&args);
            assert_eq!(output.status.code(), Some(2));
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.contains(part) && error.lines().count() == 1, "{error}");
        }
    }
    assert!(!PathBuf::from("never-written").exists());
    std::fs::remove_dir_all(folder).unwrap();
}
