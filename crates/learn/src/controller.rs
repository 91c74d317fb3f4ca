//! A trained team as a controller: it plays wherever controllers do, on teams and cities of any size.

use crate::error::Result;
use crate::evaluate::{Inference, decide};
use crate::stuck::{StuckReport, Watch, Watcher};
use equimarl_nn::{Choice, Policy, Sharing};
use equimarl_worlds::{Controller, End, Envs, Joint, Stream, Token, World};

/// A policy that decides for all agents of a world.
pub struct Learned {
    policy: Policy,
    inference: Inference,
    choice: Choice,
    /// Of a greedy team: whether it is stuck, in this episode and so far.
    watcher: Option<Watcher>,
    watch: Watch,
    seed: u64,
    episode: u64,
    /// Of this episode, when somebody has acted in it.
    tokens: Vec<Token>,
    stuck: StuckReport,
}

impl Learned {
    /// `sharing` as the network likes it; by orbits, the world must be under the network's group.
    ///
    /// # Errors
    /// If this policy cannot play in this world: observations or actions differ, or a central network was made for another
    /// team.
    pub fn new(policy: Policy, sharing: &Sharing, choice: Choice, envs: &dyn Envs) -> Result<Learned> {
        let inference = Inference::new(&policy, sharing, envs)?;
        let watcher = match choice {
            Choice::Greedy if !envs.is_empty() => Some(Watcher::new(&policy, envs.world(0))?),
            _ => None,
        };
        let (watch, stuck) = (Watch::default(), StuckReport::default());
        let (seed, episode, tokens) = (0, 0, vec![]);
        Ok(Learned { policy, inference, choice, watcher, watch, seed, episode, tokens, stuck })
    }

    /// How many episodes since this was last asked were cut off with the team stuck, and why. A team whose actions are drawn
    /// never is.
    pub fn take_stuck(&mut self) -> StuckReport {
        std::mem::take(&mut self.stuck)
    }
}

impl Controller for Learned {
    fn name(&self) -> &str {
        "learned"
    }

    fn begin(&mut self, seed: u64, episode: u64) {
        (self.seed, self.episode, self.watch) = (seed, episode, Watch::default());
        self.tokens.clear();
    }

    fn end(&mut self, how: End) {
        self.watch.finish(self.episode, how).into_iter().for_each(|found| self.stuck.add(found));
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
        // None for policies without.
        if self.tokens.len() != world.agents() {
            self.tokens = Token::team(self.seed, self.episode, world.agents(), self.policy.token_order());
        }
        let said = self.inference.forward_with(&self.policy, [(world, &self.tokens[..])].into_iter());
        let said = said.map_err(|error| equimarl_worlds::Error::BadWorld(error.to_string()))?;
        let joint = decide(&self.policy, self.choice, &said.log_probabilities, world.spec(), stream);
        if let Some(watcher) = &self.watcher {
            self.watch.step(watcher, (world, &self.tokens[..]), &said.log_probabilities, &joint);
        }
        Ok(joint)
    }
}
