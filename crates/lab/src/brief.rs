//! What reports need to know of a run's world, whether or not this program has it.

use equimarl_learn::TrainConfig;
use equimarl_worlds::{Described, Measure, Registry, WorldConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Table;

/// A world in a few words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// Its name and size, for people.
    pub title: String,
    /// Its name and size, short.
    pub label: String,
    /// The symmetry that networks usually get; empty if nobody knows.
    pub usual_group: String,
    /// What people look at first, if it is not the return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Measure>,
    /// Measures that hide failures if nobody looks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<Measure>,
    /// Milestones of what people look at first.
    pub thresholds: Vec<f64>,
}

impl Brief {
    /// Of a declaration.
    pub fn of(described: &Described) -> Brief {
        Brief {
            title: described.title.clone(),
            label: described.label.clone(),
            usual_group: described.usual_group.clone(),
            first: described.spec.first_measure().map(|(_, measure)| measure.clone()),
            alarms: described
                .spec
                .measures
                .iter()
                .filter(|m| described.spec.alarms.contains(&m.name))
                .cloned()
                .collect(),
            thresholds: described.spec.thresholds.clone(),
        }
    }
}

/// Briefs of worlds that were asked for before: making a world to ask it costs something.
#[derive(Debug)]
pub struct Briefs<'a> {
    registry: &'a Registry,
    known: BTreeMap<String, Brief>,
}

impl<'a> Briefs<'a> {
    /// By what this program knows.
    pub fn new(registry: &'a Registry) -> Briefs<'a> {
        Briefs { registry, known: BTreeMap::new() }
    }

    /// What this program knows.
    pub fn registry(&self) -> &'a Registry {
        self.registry
    }

    /// What is known of a world: by this program, by what a run says, or by its name alone.
    pub fn of(&mut self, world: &WorldConfig, said: Option<Brief>) -> Brief {
        let key = format!("{world:?}");
        if let Some(brief) = self.known.get(&key) {
            return brief.clone();
        }
        let own = self.registry.describe(world).ok().map(|described| Brief::of(&described));
        let by_name = || Brief {
            title: self.registry.title(world),
            label: self.registry.label(world),
            ..Brief::default()
        };
        let brief = own.or(said).unwrap_or_else(by_name);
        self.known.insert(key, brief.clone());
        brief
    }
}

/// The preset that a run started from, as a table; empty if this program does not have its world.
pub(crate) fn preset_of(registry: &Registry, config: &TrainConfig) -> Option<Table> {
    let preset = TrainConfig::preset(registry, &config.preset, config.world.clone(), config.method).ok()?;
    Table::try_from(preset).ok()
}
