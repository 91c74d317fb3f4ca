//! A trained team as a controller: it plays wherever controllers do, on teams and cities of any size.

use crate::error::{Error, Result};
use crate::evaluate::{Choice, Inference, likeliest};
use crate::rollout::sample;
use equimarl_nn::{Policy, Sharing};
use equimarl_worlds::{Controller, Stream, Symmetric, World};

/// A policy that decides for all agents of a world.
pub struct Learned<W: Symmetric> {
    policy: Policy,
    inference: Inference<W>,
    choice: Choice,
}

impl<W: Symmetric> Learned<W> {
    /// `sharing` as the network likes it; by orbits, the world must be under the network's group.
    ///
    /// # Errors
    /// If this policy cannot play in `world`: pictures or actions have other sizes, or a central network was made for another
    /// team.
    pub fn new(policy: Policy, sharing: &Sharing, choice: Choice, world: &W) -> Result<Learned<W>> {
        let config = policy.config();
        let shape = world.picture_shape();
        let found = [shape.channels, shape.height, shape.width];
        if found != config.setting.picture || world.actions() != policy.actions() {
            return Err(Error::Mismatch(format!(
                "this model sees pictures of {:?} and has {} actions; the world has {found:?} and {}",
                config.setting.picture,
                policy.actions(),
                world.actions()
            )));
        }
        let inference = Inference::new(&policy, sharing, world)?;
        let mut learned = Learned { policy, inference, choice };
        learned.inference.judge(&learned.policy, [world].into_iter())?;
        Ok(learned)
    }
}

impl<W: Symmetric> Controller<W> for Learned<W> {
    fn name(&self) -> &str {
        "learned"
    }

    /// # Panics
    /// If `world` is another one than that which this was made for.
    fn act(&mut self, world: &W, stream: &mut Stream, actions: &mut [usize]) {
        let said = self.inference.judge(&self.policy, [world].into_iter());
        let said = said.unwrap_or_else(|error| panic!("checked before playing: {error}"));
        let count = World::actions(world);
        for (action, row) in actions.iter_mut().zip(said.log_probabilities.chunks(count)) {
            *action = match self.choice {
                Choice::Greedy => likeliest(row),
                Choice::Sampled => sample(count, |a| row[a], stream),
            };
        }
    }
}
