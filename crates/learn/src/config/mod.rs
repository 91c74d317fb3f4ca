//! Everything that decides what a training run does. Training is a function of this and nothing else.

mod kind;
mod later;
mod method;
mod preset;
mod suggest;
mod world;

pub use method::{AugmentRatio, Augmentation, EncoderChoice, Method};
pub use preset::PRESETS;

use crate::error::{Error, Result};
use equimarl_worlds::{Registry, WorldConfig};
use kind::of_kind;
use serde::{Deserialize, Serialize};
use suggest::unknown;
use toml::{Table, Value};

/// All settings of a run. In TOML, every key at the top and the world in its own table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// The preset that the rest started from.
    pub preset: String,
    /// How the team learns.
    pub method: Method,
    /// The symmetry that equivariant networks have and augmentation uses.
    pub group: String,
    /// The seed of everything random.
    pub seed: u64,
    /// Environment steps in all, over all environments.
    pub steps: u64,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Whether the learning rate falls linearly to zero over the run.
    pub decay: bool,
    /// Environments side by side.
    pub environments: usize,
    /// Steps of each environment per iteration.
    pub rollout: usize,
    /// Passes over the rollout per iteration.
    pub epochs: usize,
    /// Minibatches per pass.
    pub minibatches: usize,
    /// How far the ratio may move before it is clipped.
    pub clip: f64,
    /// The discount.
    pub discount: f64,
    /// The lambda of generalised advantage estimation.
    pub lambda: f64,
    /// The weight of the value loss.
    pub value_coefficient: f64,
    /// The weight of the entropy.
    pub entropy_coefficient: f64,
    /// The largest norm of the gradient over all parameters.
    pub gradient_clip: f64,
    /// Whether advantages of a minibatch are shifted to mean 0 and scaled to deviation 1.
    pub normalise_advantages: bool,
    /// Whether rewards are divided by a running deviation of returns, so that their unit does not matter.
    #[serde(default)]
    pub scale_returns: bool,
    /// For the method `relaxed`: how strongly weights that left the symmetry are pulled back; `inf` lets none leave.
    #[serde(default = "usual_penalty")]
    pub penalty: f64,
    /// For full augmentation: what the new probability of a turned copy is compared with.
    #[serde(default)]
    pub augment_ratio: AugmentRatio,
    /// Each environment starts after 0 to this many random steps, so that episodes do not run in lockstep.
    pub warm_up: usize,
    /// Steps between evaluations; 0 for one at the end only.
    pub evaluate_every: u64,
    /// Episodes of an evaluation.
    pub evaluate_episodes: usize,
    /// Steps between checkpoints.
    pub checkpoint_every: u64,
    /// Steps between lines of metrics.
    pub log_every: u64,
    /// Whether agents are told apart by random tokens, drawn for every episode: then greedy teams are not held by symmetries of
    /// what they see.
    #[serde(default)]
    pub tokens: bool,
    /// How images become features.
    #[serde(default)]
    pub encoder: EncoderChoice,
    /// The trained team that the run began with, by its weights; empty for one that began with fresh weights.
    #[serde(default)]
    pub from: String,
    /// The world.
    pub world: WorldConfig,
}

fn usual_penalty() -> f64 {
    10.0
}

/// States per iteration that fit into memory.
const MAX_BATCH: usize = 1_000_000;

impl TrainConfig {
    /// Settings from TOML text over those of `base`: keys that are not there keep their value. Unknown keys are errors
    /// with a suggestion.
    ///
    /// # Errors
    /// If it is not TOML, or a key or value is wrong.
    pub fn overlay(registry: &Registry, base: &TrainConfig, text: &str) -> Result<TrainConfig> {
        let changes: Table = text
            .parse()
            .map_err(|e: toml::de::Error| Error::BadConfig(format!("not TOML: {}", e.message())))?;
        let mut table = Table::try_from(base).map_err(|e| Error::BadConfig(e.to_string()))?;
        for (key, value) in changes {
            match (key.as_str(), table.get(&key), value) {
                ("world", _, Value::Table(new)) => merge_world(registry, &mut table, new)?,
                (_, Some(old), value) => {
                    let value = of_kind(&key, old, value)?;
                    table.insert(key, value);
                }
                _ => return Err(unknown(&key, table.keys())),
            }
        }
        let config: TrainConfig =
            table.try_into().map_err(|e: toml::de::Error| Error::BadConfig(e.message().to_string()))?;
        config.complete(registry)
    }

    /// These settings, checked, with all options of the world in their order.
    ///
    /// # Errors
    /// If they cannot train.
    pub fn complete(self, registry: &Registry) -> Result<TrainConfig> {
        let config = TrainConfig { world: registry.complete(&self.world)?, ..self };
        config.check()?;
        Ok(config)
    }

    /// The settings as TOML, every key written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// What tells this run from others, as TOML: all settings but those that came later and are as before they existed.
    /// So it stays the same when settings are added.
    pub fn identity(&self, registry: &Registry) -> String {
        later::without(&TrainConfig { world: registry.identity(&self.world), ..self.clone() }.to_toml())
    }

    /// A short name of exactly these settings: FNV-1a of their identity.
    pub fn hash(&self, registry: &Registry) -> String {
        format!("{:016x}", equimarl_nn::model::fnv1a(self.identity(registry).as_bytes()))
    }

    /// States per iteration.
    pub fn batch(&self) -> usize {
        self.environments * self.rollout
    }

    /// Refuses settings that cannot train, saying which and why.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(&self) -> Result<()> {
        let wrong = |key: &str, why: String| Err(Error::BadConfig(format!("`{key}` {why}")));
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0) {
            return wrong(
                "learning_rate",
                format!("must be above 0 and at most 1, not {}", self.learning_rate),
            );
        }
        for (key, value) in [
            ("environments", self.environments),
            ("rollout", self.rollout),
            ("epochs", self.epochs),
            ("minibatches", self.minibatches),
            ("evaluate_episodes", self.evaluate_episodes),
        ] {
            if value == 0 || value > 100_000 {
                return wrong(key, format!("must be between 1 and 100000, not {value}"));
            }
        }
        for (key, value) in [
            ("steps", self.steps),
            ("checkpoint_every", self.checkpoint_every),
            ("log_every", self.log_every),
        ] {
            if value == 0 {
                return wrong(key, "must be at least 1".into());
            }
        }
        for (key, value) in [
            ("seed", self.seed),
            ("steps", self.steps),
            ("evaluate_every", self.evaluate_every),
            ("checkpoint_every", self.checkpoint_every),
            ("log_every", self.log_every),
        ] {
            // TOML has no larger numbers.
            if value > i64::MAX as u64 {
                return wrong(key, format!("must be at most {}, not {value}", i64::MAX));
            }
        }
        if self.batch() > MAX_BATCH {
            return wrong(
                "rollout",
                format!(
                    "must be smaller: {} environments with {} steps each make {} states per iteration, and at most \
                     {MAX_BATCH} are allowed",
                    self.environments,
                    self.rollout,
                    self.batch()
                ),
            );
        }
        if !self.batch().is_multiple_of(self.minibatches) {
            return wrong(
                "minibatches",
                format!(
                    "must divide the {} states of an iteration; {} does not",
                    self.batch(),
                    self.minibatches
                ),
            );
        }
        // A group that is none is refused when its world is made.
        let endless = self.symmetry().is_ok_and(|symmetry| !symmetry.is_finite());
        if endless && self.method.augmentation() == Augmentation::Full {
            return wrong(
                "group",
                format!(
                    "is {}, which has no end of turned copies; augment-random draws some of them",
                    self.group
                ),
            );
        }
        for (key, value, most) in [
            ("clip", self.clip, 1.0),
            ("discount", self.discount, 1.0),
            ("lambda", self.lambda, 1.0),
            ("value_coefficient", self.value_coefficient, 1e3),
            ("entropy_coefficient", self.entropy_coefficient, 1e3),
            ("gradient_clip", self.gradient_clip, 1e9),
        ] {
            if !(value >= 0.0 && value <= most) {
                return wrong(key, format!("must be between 0 and {most}, not {value}"));
            }
        }
        if self.penalty.is_nan() || self.penalty < 0.0 {
            return wrong(
                "penalty",
                format!("must be 0 or more (inf lets no weight leave the symmetry), not {}", self.penalty),
            );
        }
        if self.warm_up > 1_000_000 {
            return wrong("warm_up", format!("must be at most 1000000, not {}", self.warm_up));
        }
        Ok(())
    }
}

impl TrainConfig {
    /// The first setting in which two runs differ: its name and both values.
    pub fn difference(&self, other: &TrainConfig) -> Option<(String, Value, Value)> {
        fn first(one: &Table, other: &Table) -> Option<(String, Value, Value)> {
            one.iter().find_map(|(key, a)| match (a, other.get(key)?) {
                (a, b) if a == b => None,
                (Value::Table(a), Value::Table(b)) => first(a, b),
                (a, b) => Some((key.clone(), a.clone(), b.clone())),
            })
        }
        first(&Table::try_from(self).ok()?, &Table::try_from(other).ok()?)
    }
}

fn merge_world(registry: &Registry, table: &mut Table, new: Table) -> Result<()> {
    let mut world = table.get("world").and_then(Value::as_table).cloned().unwrap_or_default();
    if let Some(name) = new.get("name").filter(|name| world.get("name") != Some(name)) {
        let usual = registry.usual(name.as_str().unwrap_or("that"))?;
        world = Table::try_from(usual).map_err(|e| Error::BadConfig(e.to_string()))?;
    }
    for (key, value) in new {
        let name = format!("world.{key}");
        let Some(old) = world.get(&key) else {
            return Err(unknown(&name, world.keys()));
        };
        let value = of_kind(&name, old, value)?;
        world.insert(key, value);
    }
    table.insert("world".into(), Value::Table(world));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_worlds::builtin;

    fn base() -> TrainConfig {
        preset("paper", "wildlife", Method::Equivariant)
    }

    fn preset(name: &str, world: &str, method: Method) -> TrainConfig {
        let registry = builtin();
        TrainConfig::preset(&registry, name, registry.usual(world).unwrap(), method).unwrap()
    }

    fn overlay(text: &str) -> Result<TrainConfig> {
        TrainConfig::overlay(&builtin(), &base(), text)
    }

    #[test]
    fn settings_read_back() {
        for preset in PRESETS {
            for world in builtin().names() {
                for method in Method::ALL {
                    let config = self::preset(preset, world, method);
                    config.check().unwrap();
                    assert_eq!(overlay(&config.to_toml()).unwrap(), config);
                }
            }
        }
    }

    #[test]
    fn numbers_that_toml_cannot_hold_are_refused() {
        let config = TrainConfig { seed: u64::MAX, ..base() };
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains("`seed` must be at most 9223372036854775807"), "{error}");
        TrainConfig { seed: i64::MAX as u64, ..base() }.check().unwrap();
    }

    #[test]
    fn whole_numbers_may_be_written_short() {
        assert_eq!(overlay("steps = 2e5").unwrap().steps, 200_000);
        assert_eq!(overlay("learning_rate = 1").unwrap().learning_rate, 1.0);
    }

    #[test]
    fn changes_change_the_hash() {
        let hash = |config: &TrainConfig| config.hash(&builtin());
        for change in ["seed = 1", "encoder = 'dense'", "[world]\ndrones = 4"] {
            assert_ne!(hash(&overlay(change).unwrap()), hash(&base()), "{change}");
        }
        assert_eq!(hash(&base()), hash(&base()));
    }

    #[test]
    fn bad_settings_say_what_is_wrong() {
        for (text, part) in [
            ("learning_rte = 1e-3", "did you mean `learning_rate`?"),
            ("colour = 3", "there is no setting `colour`; there are"),
            ("learning_rate = nan", "must be above 0"),
            ("steps = 0", "`steps` must be at least 1"),
            ("environments = 100000\nrollout = 100000", "at most 1000000 are allowed"),
            ("minibatches = 3", "must divide the 80 states"),
            ("discount = 1.5", "between 0 and 1"),
            ("method = \"magic\"", "unknown variant"),
            ("[world]\ndrone = 4", "did you mean `drones`?"),
            ("[world]\nname = \"chess\"", "no world is called `chess`"),
            ("[world]\nrows = 4", "there is no setting `world.rows`"),
            ("steps = ", "not TOML"),
            ("steps = \"many\"", "`steps` must be a whole number"),
            ("seed = 1.5", "`seed` must be a whole number from 0 on, not 1.5"),
            ("seed = -1", "`seed` must be a whole number from 0 on, not -1"),
            ("clip = true", "`clip` must be a number, not true"),
            ("decay = 1", "`decay` must be true or false, not 1"),
            ("group = 4", "`group` must be a name in quotes, not 4"),
            ("world = \"traffic\"", "`world` must be a table"),
            ("[world]\ndrones = [1, 2]", "`world.drones` must be a whole number"),
        ] {
            let error = overlay(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
