//! What a whole team does in one step, whether its agents choose or act by vectors.

use crate::controller::{Controller, uniform, uniform_vectors};
use crate::envs::Envs;
use crate::error::Result;
use crate::scene::Scene;
use crate::spec::Spec;
use crate::stream::Stream;
use crate::world::{Outcome, World};

/// A joint action: one choice per agent, or one vector per agent, one after the other. The other list is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joint {
    /// One choice per agent.
    pub choices: Vec<usize>,
    /// The numbers of one vector per agent.
    pub vectors: Vec<f64>,
}

impl Joint {
    /// Room for a joint action of a world.
    pub fn of(spec: &Spec) -> Joint {
        match spec.actions.vectors() {
            None => Joint { choices: vec![0; spec.agents], vectors: vec![] },
            Some(_) => Joint { choices: vec![], vectors: vec![0.0; spec.agents * spec.actions.count()] },
        }
    }

    /// Whether agents act by vectors.
    pub fn is_vectors(&self) -> bool {
        !self.vectors.is_empty()
    }

    /// What a controller does.
    ///
    /// # Errors
    /// If it cannot act in this world.
    pub fn take(&mut self, of: &mut dyn Controller, world: &dyn World, stream: &mut Stream) -> Result<()> {
        match self.is_vectors() {
            false => of.act(world, stream, &mut self.choices),
            true => of.act_vectors(world, stream, &mut self.vectors),
        }
    }

    /// Anything that agents may do, at random.
    pub fn take_uniform(&mut self, world: &dyn World, stream: &mut Stream) {
        match self.is_vectors() {
            false => uniform(world, stream, &mut self.choices),
            true => uniform_vectors(world, stream, &mut self.vectors),
        }
    }

    /// One step of an environment.
    ///
    /// # Errors
    /// If a simulator does not, or this is of another world.
    pub fn step(&self, envs: &mut dyn Envs, e: usize) -> Result<Outcome> {
        match self.is_vectors() {
            false => envs.step_one(e, &self.choices),
            true => envs.step_one_vectors(e, &self.vectors),
        }
    }

    /// The state after it, as a picture.
    ///
    /// # Errors
    /// If it is too large to make out anything.
    pub fn scene(&self, world: &dyn World) -> Result<Scene> {
        match self.is_vectors() {
            false => world.scene_after(&self.choices),
            true => world.scene_after_vectors(&self.vectors),
        }
    }
}
