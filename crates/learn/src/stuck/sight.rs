//! Everything that a team sees in one state, and the same transformed.

use crate::observe::transform_image;
use equimarl_group::Element;
use equimarl_worlds::{Edges, GroupAction, Token, World};

/// What an agent hears across one edge.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    /// The agent, or the kind of a sender.
    pub from: Result<usize, usize>,
    pub vector: Vec<f32>,
    /// What is heard of a sender; what agents say follows from what they see.
    pub features: Vec<f32>,
}

/// What the whole team sees.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    /// Agent by agent: an image or a feature vector.
    pub own: Vec<Vec<f32>>,
    pub heard: Vec<Vec<Heard>>,
    /// What breaks the symmetry, if the network is told.
    pub cause: Vec<f32>,
    /// Agents' tokens, if they have some.
    pub tokens: Vec<Token>,
}

impl Sight {
    pub fn of((world, tokens): (&dyn World, &[Token]), acts: &GroupAction, told: bool) -> Sight {
        let spec = world.spec();
        let numbers = match acts.features_dim() {
            0 => spec.image.map_or(0, |shape| shape.iter().product()),
            dim => dim,
        };
        let (mut own, mut heard, mut edges) = (vec![], vec![], Edges::default());
        for agent in 0..world.agents() {
            let mut seen = vec![0.0; numbers];
            world.observe(agent, &mut seen);
            own.push(seen);
            world.neighbours(agent, &mut edges);
            let each = edges.iter().map(|(from, vector)| {
                let kind = if from < world.agents() { None } else { spec.sender_kind(from) };
                let mut features = vec![0.0; kind.map_or(0, |kind| acts.sender_dim(kind))];
                if !features.is_empty() {
                    world.observe(from, &mut features);
                }
                Heard { from: kind.map_or(Ok(from), Err), vector: vector.to_vec(), features }
            });
            heard.push(each.collect());
        }
        let mut cause = vec![0.0; if told { acts.cause_dim() } else { 0 }];
        if !cause.is_empty() {
            world.cause(&mut cause);
        }
        Sight { own, heard, cause, tokens: tokens.to_vec() }
    }

    /// As the element g shows it; agents keep their numbers.
    pub fn transformed(&self, acts: &GroupAction, shape: [usize; 3], g: Element) -> Sight {
        let mut all = self.clone();
        if g == 0 {
            return all;
        }
        for (new, old) in all.own.iter_mut().zip(&self.own) {
            match acts.features_dim() {
                0 => transform_image(acts, shape, g, old, new),
                _ => acts.features(g, None, old, new),
            }
        }
        for (new, old) in all.heard.iter_mut().flatten().zip(self.heard.iter().flatten()) {
            acts.edge(g, &old.vector, &mut new.vector);
            if let (Err(kind), false) = (old.from, old.features.is_empty()) {
                acts.features(g, Some(kind), &old.features, &mut new.features);
            }
        }
        if !self.cause.is_empty() {
            acts.cause(g, &self.cause, &mut all.cause);
        }
        all.tokens.iter_mut().for_each(|token| *token = token.times(acts, g));
        all
    }
}
