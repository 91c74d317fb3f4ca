//! Runs for tests.

use crate::brief::{Briefs, preset_of};
use crate::record::{Curve, Record, State};
use equimarl_learn::{Method, TrainConfig};
use equimarl_worlds::builtin;
use serde_json::Value;
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
        summary: Value::Null,
        reached: None,
        curve: Curve::default(),
    }
}
