//! A trained team as a controller: it plays wherever controllers do, on teams and cities of any size.

use crate::error::Result;
use crate::evaluate::{Inference, decide};
use equimarl_nn::{Choice, Policy, Sharing};
use equimarl_worlds::{Controller, Envs, Joint, Stream, World};

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
        let mut joint = self.decide(world, stream)?;
        actions.swap_with_slice(&mut joint.choices);
        Ok(())
    }

    fn act_vectors(
        &mut self,
        world: &dyn World,
        stream: &mut Stream,
        vectors: &mut [f64],
    ) -> equimarl_worlds::Result<()> {
        let mut joint = self.decide(world, stream)?;
        vectors.swap_with_slice(&mut joint.vectors);
        Ok(())
    }
}

impl Learned {
    fn decide(&mut self, world: &dyn World, stream: &mut Stream) -> equimarl_worlds::Result<Joint> {
        let said = self.inference.forward(&self.policy, [world].into_iter());
        let said = said.map_err(|error| equimarl_worlds::Error::BadWorld(error.to_string()))?;
        Ok(decide(&self.policy, self.choice, &said.log_probabilities, world.spec(), stream))
    }
}
