//! Agents cover landmarks without bumping into each other: `simple_spread` of MPE, as mpe2 1.1.1 has it.
//!
//! Everybody pays the sum over landmarks of the distance to the nearest agent, and 1 for each agent that it touches, both
//! weighted by a half. An episode has 25 steps. The team's reward is the mean over agents: with three agents a third of what
//! code bases report that sum over them.

mod definition;
#[cfg(test)]
mod tests;

pub use definition::Definition;
pub(crate) use definition::{label, title};

use crate::particles::{Bodies, Kind, Particles, Parts, Rules, Vector, minus};
use crate::spec::{Better, Measure, Over};
use crate::stream::Stream;

/// Agents and landmarks.
pub type Spread = Particles<SpreadRules>;

/// mpe2: an agent within this distance covers a landmark.
const COVERED: f64 = 0.1;
const AGENT: Kind = Kind { radius: 0.15, accel: 5.0, max_speed: f64::INFINITY };
const LANDMARK: f64 = 0.05;

/// What agents are rewarded for.
#[derive(Clone, Debug)]
pub struct SpreadRules {
    parts: Parts,
    /// The weight of collisions; distances have the rest.
    local_ratio: f64,
}

impl SpreadRules {
    fn new(agents: usize, landmarks: usize, local_ratio: f64) -> SpreadRules {
        let parts = Parts {
            world: "spread",
            team: ("agent", "agents", agents, AGENT),
            others: None,
            fixed: ("landmark", "landmarks", landmarks, LANDMARK),
            solid: false,
            fixed_within: 1.0,
        };
        SpreadRules { parts, local_ratio }
    }
}

impl Rules for SpreadRules {
    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn measures(&self) -> Vec<Measure> {
        let measure = |name: &str, title: &str, unit: &str, better| Measure {
            name: name.into(),
            title: title.into(),
            unit: unit.into(),
            better,
            over: Over::Steps,
            first: false,
        };
        vec![
            measure("distance", "mean distance from a landmark to the nearest agent", "", Better::Lower),
            measure("covered", "landmarks with an agent within 0.1", "landmarks", Better::Higher),
            measure("collisions", "pairs of agents that touch", "pairs", Better::Lower),
        ]
    }

    fn draw(&self, _stream: &mut Stream) -> Vec<Vector> {
        vec![]
    }

    fn rewards(&self, bodies: &Bodies, rewards: &mut [f64]) {
        let all = 0..rewards.len();
        let apart = bodies.fixed().iter().fold(0.0, |sum, &at| sum - bodies.nearest(at).sqrt());
        let shared = apart * (1.0 - self.local_ratio);
        for (agent, reward) in rewards.iter_mut().enumerate() {
            *reward = shared - bodies.touches(agent, all.clone()) as f64 * self.local_ratio;
        }
    }

    fn measure(&self, which: usize, bodies: &Bodies) -> f64 {
        let (agents, landmarks) = (bodies.places().len(), bodies.fixed().len());
        let distances = || bodies.fixed().iter().map(|&at| bodies.nearest(at).sqrt());
        match which {
            0 => distances().sum::<f64>() / landmarks as f64,
            1 => distances().filter(|&d| d < COVERED).count() as f64,
            _ => (0..agents).map(|a| bodies.touches(a, 0..agents)).sum::<usize>() as f64 / 2.0,
        }
    }

    /// The closest pair of an agent and a landmark belong together, then the closest of the others, and so on; agents that are
    /// left over stay where they are.
    fn targets(&self, bodies: &Bodies, targets: &mut [Vector]) {
        targets.copy_from_slice(bodies.places());
        let mut pairs: Vec<(f64, usize, usize)> = vec![];
        for (a, &at) in bodies.places().iter().enumerate() {
            for (l, &landmark) in bodies.fixed().iter().enumerate() {
                let [x, y] = minus(at, landmark);
                pairs.push((x * x + y * y, a, l));
            }
        }
        pairs.sort_unstable_by(|one, two| one.0.total_cmp(&two.0).then((one.1, one.2).cmp(&(two.1, two.2))));
        let (mut busy, mut taken) = (vec![false; bodies.places().len()], vec![false; bodies.fixed().len()]);
        for (_, a, l) in pairs {
            if !busy[a] && !taken[l] {
                (busy[a], taken[l]) = (true, true);
                targets[a] = bodies.fixed()[l];
            }
        }
    }
}
