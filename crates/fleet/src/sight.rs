//! What agents sense of a state: what the host shows them, and what an audit recomputes decisions from.

use crate::error::{Error, Result};
use crate::member::Member;
use crate::observation::{Observation, Sensed};
use crate::shape::Shape;
use crate::world::hear;
use equimarl_worlds::{Edges, Spec, World};

/// Looks at states of one world on behalf of its agents.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    shape: Shape,
    /// Of every sender, its kind and where what is seen of it begins in `things`.
    senders: Vec<(usize, usize)>,
    /// What is seen of all senders: looked at once per state, not once per agent.
    things: Vec<f32>,
    /// What breaks the symmetry of the state, the same for everybody.
    cause: Vec<f32>,
    heard: Edges,
    seen: Observation,
}

impl Sight {
    /// For states of a world that fits this shape.
    pub fn new(shape: Shape, spec: &Spec) -> Sight {
        let (mut senders, mut numbers) = (vec![], 0);
        for (kind, (of, dim)) in spec.senders.iter().zip(&shape.senders).enumerate() {
            for _ in 0..of.count {
                senders.push((kind, numbers));
                numbers += dim;
            }
        }
        let (heard, seen) = (Edges::default(), Observation::default());
        let cause = vec![0.0; shape.cause];
        Sight { shape, senders, things: vec![0.0; numbers], cause, heard, seen }
    }

    /// What its observations have.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// A new state: looks at its senders, and at what breaks its symmetry.
    ///
    /// # Errors
    /// If the world shows what are no numbers.
    pub fn look(&mut self, world: &dyn World) -> Result<()> {
        if !self.cause.is_empty() {
            world.cause(&mut self.cause);
        }
        if let Some(x) = self.cause.iter().find(|x| !x.is_finite()) {
            let name = &world.spec().world;
            return Err(Error::Mismatch(format!(
                "{name} says that {x} breaks its symmetry; that must be finite numbers"
            )));
        }
        for (index, &(kind, at)) in self.senders.iter().enumerate() {
            let features = &mut self.things[at..at + self.shape.senders[kind]];
            if features.is_empty() {
                continue;
            }
            let who = world.agents() + index;
            world.observe(who, features);
            if let Some(x) = features.iter().find(|x| !x.is_finite()) {
                let (spec, first) = (world.spec(), self.senders.partition_point(|&(k, _)| k < kind));
                let name = spec.senders.get(kind).map_or("sender", |s| s.kind.as_str());
                return Err(Error::Mismatch(format!(
                    "{} shows the number {x} of {name} {}; features are finite numbers",
                    spec.world,
                    index - first
                )));
            }
        }
        Ok(())
    }

    /// What an agent sees and hears in the state that was looked at last.
    ///
    /// # Errors
    /// If the world says nonsense.
    pub fn of(&mut self, world: &dyn World, agent: usize) -> Result<&Observation> {
        let (seen, dim) = (&mut self.seen, self.shape.edge);
        seen.own.resize(self.shape.numbers, 0.0);
        hear(world, agent, dim, &mut self.heard)?;
        world.observe(agent, &mut seen.own);
        if let Some(x) = seen.own.iter().find(|x| !x.is_finite()) {
            return Err(Error::Mismatch(format!(
                "{} shows {} the number {x}; images and features have finite ones",
                world.spec().world,
                Member::agent(agent)
            )));
        }
        seen.cause.clone_from(&self.cause);
        seen.neighbours.clear();
        seen.edges.clear();
        seen.senders.resize_with(self.shape.senders.len(), Sensed::default);
        seen.senders.iter_mut().for_each(Sensed::clear);
        for (&from, vector) in self.heard.from.iter().zip(self.heard.vectors.chunks_exact(dim)) {
            let sender =
                (from as usize).checked_sub(world.agents()).and_then(|index| self.senders.get(index));
            match sender {
                None => {
                    seen.neighbours.push(Member::agent(from as usize));
                    seen.edges.extend_from_slice(vector);
                }
                Some(&(kind, at)) => {
                    let sensed = &mut seen.senders[kind];
                    sensed.edges.extend_from_slice(vector);
                    sensed.features.extend_from_slice(&self.things[at..at + self.shape.senders[kind]]);
                }
            }
        }
        Ok(&self.seen)
    }
}
