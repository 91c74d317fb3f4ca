//! A trained team as a controller: it plays wherever controllers do, on teams and cities of any size.

use crate::error::{Error, Result};
use crate::evaluate::{Choice, likeliest};
use crate::observe::{Seen, batch_of};
use crate::ppo::sample;
use equimarl_nn::{Policy, Sharing};
use equimarl_worlds::{Controller, Stream, Symmetric, World};

/// A policy that decides for all agents of a world.
#[derive(Clone, Debug)]
pub struct Learned {
    policy: Policy,
    sharing: Sharing,
    choice: Choice,
}

impl Learned {
    /// `sharing` as the network likes it; by orbits, the world must be under the network's group.
    pub fn new(policy: Policy, sharing: Sharing, choice: Choice) -> Learned {
        Learned { policy, sharing, choice }
    }

    /// Whether this policy can play in `world`, and if not, why.
    ///
    /// # Errors
    /// If pictures or actions have other sizes, or a central network was made for another team.
    pub fn check<W: Symmetric>(&self, world: &W) -> Result<()> {
        let config = self.policy.config();
        let shape = world.picture_shape();
        let found = [shape.channels, shape.height, shape.width];
        if found != config.setting.picture || world.actions() != self.policy.actions() {
            return Err(Error::Mismatch(format!(
                "this model sees pictures of {:?} and has {} actions; the world has {found:?} and {}",
                config.setting.picture,
                self.policy.actions(),
                world.actions()
            )));
        }
        self.judge(world).map(|_| ())
    }

    fn judge<W: Symmetric>(&self, world: &W) -> Result<equimarl_nn::Judgement> {
        let config = self.policy.config();
        let seen = Seen::of(world, config.kind.is_central());
        Ok(self.policy.forward(&batch_of(world, [&seen], config, &self.sharing)?)?)
    }
}

impl<W: Symmetric> Controller<W> for Learned {
    fn name(&self) -> &str {
        "learned"
    }

    /// # Panics
    /// If [`Learned::check`] would refuse the world.
    fn act(&mut self, world: &W, stream: &mut Stream, actions: &mut [usize]) {
        let said = self.judge(world).unwrap_or_else(|error| panic!("checked before playing: {error}"));
        let count = World::actions(world);
        for (action, row) in actions.iter_mut().zip(said.log_probabilities.chunks(count)) {
            *action = match self.choice {
                Choice::Greedy => likeliest(row),
                Choice::Sampled => sample(count, |a| row[a], stream),
            };
        }
    }
}
