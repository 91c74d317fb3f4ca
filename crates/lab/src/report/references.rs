//! What stands beside learned teams: chance, the best possible, controllers that come with the world.

use crate::figure::{Measure, Reference};
use crate::record::Record;
use equimarl_worlds::{Named, Registry, WorldConfig, play};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everybody plays the episodes of this seed, as evaluated teams do.
const SEED: u64 = 0;
/// Episodes of a controller; fewer with many agents, where they take long.
const EPISODES: usize = 1000;
const EPISODES_OF_LARGE: usize = 50;
const LARGE: usize = 16;
/// Episodes of controllers that somebody asked for: the first of those that all others play, because some of them take long.
const EPISODES_OF_MORE: usize = 100;
/// Of a simulator, which takes seconds for one.
const EPISODES_OF_SIMULATORS: usize = 5;

/// The values that a setting's measure has without learning.
#[derive(Clone, Debug, Default, Serialize)]
pub struct References {
    /// Random actions.
    pub random: Option<f64>,
    /// The best possible, where runs say so.
    pub optimum: Option<f64>,
    /// The world's own controllers, by their names with underscores.
    #[serde(flatten)]
    pub controllers: BTreeMap<String, f64>,
    /// How many episodes random actions and the world's usual controllers played.
    pub episodes: usize,
    /// Measures that hide failures if nobody looks, by who played and their names.
    #[serde(skip)]
    pub(super) alarms: BTreeMap<String, BTreeMap<String, f64>>,
    /// Why somebody is missing, if one could not play.
    #[serde(skip)]
    pub(super) missing: Option<String>,
}

impl References {
    /// Plays whoever has not learned in this world. A world that cannot be built here has no references.
    /// `more` are controllers to play besides, where the world has them.
    pub fn of(
        registry: &Registry,
        world: &WorldConfig,
        measure: &Measure,
        runs: &[&Record],
        more: &[String],
    ) -> References {
        let optimum = runs.iter().find_map(|r| r.optimum());
        let mut references = References { optimum, ..References::default() };
        let group = registry.usual_group(world).and_then(|name| name.parse().ok());
        let Some(mut envs) = group.and_then(|group| registry.make(world, &group, 1).ok()) else {
            return references;
        };
        let spec = envs.spec().clone();
        let episodes = match envs.exact() {
            None => EPISODES_OF_SIMULATORS,
            Some(_) if spec.agents > LARGE => EPISODES_OF_LARGE,
            Some(_) => EPISODES,
        };
        let (mut alarms, mut missing) = (BTreeMap::new(), None);
        let mut played = |name: &str, episodes: usize| {
            let mut controller = Named::new(name, envs.world(0)).ok()?;
            let summary = match play(&mut *envs, &mut controller, episodes, SEED) {
                Ok(summary) => summary,
                Err(error) => {
                    missing.get_or_insert(error.to_string());
                    return None;
                }
            };
            let seen = spec.alarms.iter().filter_map(|a| Some((a.clone(), summary.measures.get(a)?.mean)));
            alarms.insert(name.to_string(), seen.collect());
            measure.of_played(&summary)
        };
        references.random = played("random", episodes);
        references.episodes = episodes;
        let usual = spec.references.iter().map(|name| (name, episodes));
        for (name, episodes) in usual.chain(more.iter().map(|name| (name, EPISODES_OF_MORE.min(episodes)))) {
            references
                .controllers
                .extend(played(name, episodes).map(|value| (name.replace('-', "_"), value)));
        }
        (references.alarms, references.missing) = (alarms, missing);
        references
    }

    /// Dashed lines for figures.
    pub fn lines(&self) -> Vec<Reference> {
        let line = |name: &str, value: f64| Reference::new(format!("{name}: {value:.2}"), value);
        let best = self.optimum.map(|value| line("best possible", value));
        let controllers = self.controllers.iter().map(|(name, value)| line(&name.replace('_', " "), *value));
        best.into_iter().chain(controllers).collect()
    }
}
