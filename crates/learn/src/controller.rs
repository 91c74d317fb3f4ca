//! A trained team as a controller: it plays wherever controllers do, on teams and cities of any size.

use crate::error::Result;
use crate::evaluate::Inference;
use equimarl_nn::{Choice, Policy, Sharing};
use equimarl_worlds::{Controller, Envs, Stream, World};

/// A policy that decides for all agents of a world.
pub struct Learned {
    policy: Policy,
    inference: Inference,
    choice: Choice,
}

impl Learned {
    /// `sharing` as the network likes it; by orbits, the world must be under the network's group.
    ///
    /// # Errors
    /// If this policy cannot play in this world: observations or actions differ, or a central network was made for another
    /// team.
    pub fn new(policy: Policy, sharing: &Sharing, choice: Choice, envs: &dyn Envs) -> Result<Learned> {
        let inference = Inference::new(&policy, sharing, envs)?;
        Ok(Learned { policy, inference, choice })
    }
}

impl Controller for Learned {
    fn name(&self) -> &str {
        "learned"
    }

    fn act(
        &mut self,
        world: &dyn World,
        stream: &mut Stream,
        actions: &mut [usize],
    ) -> equimarl_worlds::Result<()> {
        let said = self.inference.forward(&self.policy, [world].into_iter());
        let said = said.map_err(|error| equimarl_worlds::Error::BadWorld(error.to_string()))?;
        let count = world.actions();
        for (action, row) in actions.iter_mut().zip(said.log_probabilities.chunks(count)) {
            *action = self.choice.action(row, || stream.unit());
        }
        Ok(())
    }
}
