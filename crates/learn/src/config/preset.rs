//! Where settings start from: what all worlds share, and over that what a world says suits it.

use super::{AugmentRatio, EncoderChoice, Method, TrainConfig};
use crate::error::{Error, Result};
use crate::left::usual_group;
use equimarl_worlds::{Registry, WorldConfig};

/// The presets.
pub const PRESETS: [&str; 2] = ["default", "paper"];

impl TrainConfig {
    /// The settings of a preset for a world and a method.
    ///
    /// # Errors
    /// If there is no such preset or no such world.
    pub fn preset(
        registry: &Registry,
        name: &str,
        world: WorldConfig,
        method: Method,
    ) -> Result<TrainConfig> {
        let definition = registry.get(&world.name)?;
        let paper = TrainConfig {
            preset: "paper".into(),
            method,
            group: usual_group(registry, &world, method)?,
            seed: 0,
            steps: 100_000,
            learning_rate: 1e-3,
            decay: false,
            environments: 16,
            rollout: 5,
            epochs: 4,
            minibatches: 4,
            clip: 0.1,
            discount: 0.99,
            lambda: 1.0,
            value_coefficient: 1.0,
            entropy_coefficient: 0.01,
            gradient_clip: 1.0,
            normalise_advantages: false,
            scale_returns: false,
            penalty: super::usual_penalty(),
            tokens: false,
            augment_ratio: AugmentRatio::Copy,
            warm_up: 0,
            evaluate_every: 25_000,
            evaluate_episodes: 100,
            checkpoint_every: 10_000,
            log_every: 400,
            encoder: EncoderChoice::Auto,
            from: String::new(),
            world,
        };
        let shared = match name {
            "paper" => paper,
            // What was tried and why: docs/learning.md.
            "default" => TrainConfig {
                preset: "default".into(),
                augment_ratio: AugmentRatio::Rollout,
                decay: true,
                lambda: 0.95,
                normalise_advantages: true,
                // Where observations repeat, larger batches cost little, and less noise ends higher.
                environments: 32,
                rollout: 16,
                minibatches: 8,
                ..paper
            },
            _ => {
                return Err(Error::BadConfig(format!(
                    "no preset is called `{name}`; there are {}",
                    PRESETS.join(" and ")
                )));
            }
        };
        match definition.presets().iter().find(|(preset, _)| *preset == name) {
            Some((_, own)) => TrainConfig::overlay(registry, &shared, own),
            None => Ok(shared),
        }
    }
}
