//! What stands beside learned teams: chance, the best possible, traffic lights without learning.

use crate::figure::Reference;
use crate::record::Record;
use equimarl_learn::WorldConfig;
use equimarl_worlds::traffic::{FixedCycle, LongestQueue, TrafficMeasures};
use equimarl_worlds::wildlife::Captures;
use equimarl_worlds::{Controller, Traffic, TrafficOptions, Uniform, Wildlife, play};
use serde::Serialize;

/// Everybody plays the episodes of this seed, as evaluated teams do.
const SEED: u64 = 0;
/// Episodes of a controller; fewer in large cities, where they take long.
const EPISODES: usize = 1000;
const EPISODES_OF_LARGE: usize = 50;
const LARGE: usize = 16;

/// The values that a setting's measure has without learning.
#[derive(Clone, Debug, Default, Serialize)]
pub struct References {
    /// Random actions.
    pub random: Option<f64>,
    /// The best possible, where runs say so.
    pub optimum: Option<f64>,
    /// Lights that change all alike, every four steps.
    pub fixed_cycle: Option<f64>,
    /// Green to the longer queue.
    pub longest_queue: Option<f64>,
    /// How many episodes random actions and controllers played.
    pub episodes: usize,
}

impl References {
    /// Plays whoever has not learned in this world. A world that cannot be built has no references.
    pub fn of(world: &WorldConfig, runs: &[&Record]) -> References {
        let optimum = runs.iter().find_map(|r| r.summary["evaluation"]["optimum"].as_f64());
        match *world {
            WorldConfig::Wildlife { drones, grid } => {
                let random = Wildlife::new(drones, grid).ok().and_then(|world| {
                    let summary = play(&world, &mut Uniform, &mut Captures::default(), EPISODES, SEED);
                    Some(summary.ok()?.total.mean)
                });
                References { random, optimum, episodes: EPISODES, ..References::default() }
            }
            WorldConfig::Traffic { rows, cols, arrival_steps, arrival_probability, step_limit } => {
                let options = TrafficOptions { rows, cols, arrival_steps, arrival_probability, step_limit };
                let episodes = if rows.saturating_mul(cols) > LARGE { EPISODES_OF_LARGE } else { EPISODES };
                let world = Traffic::new(options).ok();
                let waiting = |controller: &mut dyn Controller<Traffic>| {
                    let world = world.as_ref()?;
                    let summary =
                        play(world, controller, &mut TrafficMeasures::default(), episodes, SEED).ok()?;
                    summary.measures.get("waiting").map(|s| s.mean)
                };
                References {
                    random: waiting(&mut Uniform),
                    optimum,
                    fixed_cycle: waiting(&mut FixedCycle::default()),
                    longest_queue: waiting(&mut LongestQueue),
                    episodes,
                }
            }
        }
    }

    /// Dashed lines for figures.
    pub fn lines(&self) -> Vec<Reference> {
        let line =
            |name: String, value: Option<f64>| value.map(|v| Reference::new(format!("{name}: {v:.2}"), v));
        let cycle = format!("fixed cycle of {}", FixedCycle::USUAL);
        [
            line("best possible".into(), self.optimum),
            line(cycle, self.fixed_cycle),
            line("longest queue".into(), self.longest_queue),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
