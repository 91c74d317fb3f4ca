//! Runs for tests.

use crate::brief::{Briefs, preset_of};
use crate::record::{Curve, Record, State};
use equimarl_learn::{Method, Summary, TrainConfig};
use equimarl_worlds::builtin;
use serde_json::{Value, json};
use std::sync::Arc;

/// The paper's settings for three drones, with changes.
pub(crate) fn config(change: &str) -> TrainConfig {
    let registry = builtin();
    let usual = registry.usual("wildlife").unwrap();
    let base = TrainConfig::preset(&registry, "paper", usual, Method::Equivariant).unwrap();
    TrainConfig::overlay(&registry, &base, change).unwrap()
}

/// A finished run without a curve.
pub(crate) fn record(change: &str) -> Record {
    of(change, config(change))
}

/// A finished run with these settings.
pub(crate) fn of(name: &str, config: TrainConfig) -> Record {
    let registry = builtin();
    Record {
        name: name.into(),
        state: State::Finished,
        config_hash: config.hash(&registry),
        world: Briefs::new(&registry).of(&config.world, None),
        preset: preset_of(&registry, &config).map(Arc::new),
        config,
        summary: None,
        reached: None,
        curve: Curve::default(),
        damage: None,
    }
}

/// How a run with these settings may have ended, in a world with this optimum. Nothing was measured.
pub(crate) fn summary(config: &TrainConfig, optimum: f64) -> Summary {
    let nothing = json!({ "mean": Value::Null, "stderr": Value::Null });
    let played = json!({ "episodes": 0, "return": nothing, "length": nothing });
    serde_json::from_value(json!({
        "world": config.world.name, "method": config.method, "preset": config.preset, "group": config.group,
        "learning_rate": config.learning_rate, "seed": config.seed, "steps": config.steps, "episodes": 0,
        "return": nothing, "length": nothing, "reached": {}, "parameters": 1, "steps_per_second": 1.0,
        "evaluation": { "greedy": played, "sampled": played, "optimum": optimum },
        "wall_seconds": 1.0, "peak_memory_mb": Value::Null, "config_hash": config.hash(&builtin()),
        "version": "1", "commit": "abc", "cpu": "x",
    }))
    .unwrap()
}
