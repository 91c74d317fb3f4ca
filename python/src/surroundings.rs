//! What an agent sees and hears in one vector of fixed length, for those who bring a network of their own:
//!
//! ```text
//! [ own features | per other agent: heard, edge | per sender: heard, edge, its features ]
//! ```
//!
//! in the order of their index, without the agent itself. Whoever is out of earshot is all zeros; `heard` is 0 or 1. Vectors are
//! (down, right), as everywhere here.

use equimarl_group::{Group, Rep};
use equimarl_worlds::{Edges, GroupAction, Result, Spec, World};

/// Where what stands.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    own: usize,
    edge: usize,
    agents: usize,
    /// Where the numbers of each other agent and of each sender begin, and where all end.
    starts: Vec<usize>,
}

impl Surroundings {
    /// Of a world with features; `None` where nobody is ever heard.
    pub fn of(spec: &Spec, own: usize) -> Result<Option<Surroundings>> {
        let agents = spec.agents;
        if agents + spec.sender_count() < 2 {
            return Ok(None);
        }
        let acts = GroupAction::new(spec)?;
        let dim = |who: usize| spec.sender_kind(agents + who).map_or(0, |kind| acts.sender_dim(kind));
        let edge = acts.edge_dim();
        let mut starts = vec![own];
        for other in 0..agents - 1 + spec.sender_count() {
            let features = other.checked_sub(agents - 1).map_or(0, dim);
            starts.push(starts[other] + 1 + edge + features);
        }
        Ok(Some(Surroundings { own, edge, agents, starts }))
    }

    /// How the group acts on them, where agents keep their number.
    pub fn rep(spec: &Spec, group: &Group) -> String {
        let plane = if Rep::rotation(group, 1).is_ok() { "rotation" } else { "natural" };
        let edge = if spec.edge.is_empty() { plane } else { &spec.edge };
        let heard = format!(" + trivial + {edge}");
        let mut text = spec.features.clone() + &heard.repeat(spec.agents.saturating_sub(1));
        for who in 0..spec.sender_count() {
            text += &heard;
            let kind = spec.sender_kind(spec.agents + who).and_then(|kind| spec.senders.get(kind));
            if let Some(features) = kind.map(|kind| &kind.features).filter(|features| !features.is_empty()) {
                text += &format!(" + {features}");
            }
        }
        text
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(self.own)
    }

    /// Writes them.
    pub fn write(&self, world: &dyn World, agent: usize, edges: &mut Edges, out: &mut [f32]) {
        out.fill(0.0);
        world.observe(agent, &mut out[..self.own]);
        world.neighbours(agent, edges);
        for (from, vector) in edges.iter() {
            let other = if from > agent { from - 1 } else { from };
            let out = &mut out[self.starts[other]..self.starts[other + 1]];
            out[0] = 1.0;
            out[1..=self.edge].copy_from_slice(vector);
            if from >= self.agents {
                world.observe(from, &mut out[1 + self.edge..]);
            }
        }
    }
}
