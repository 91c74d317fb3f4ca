//! Where teams are evaluated while they learn.

use crate::config::TrainConfig;
use crate::error::Result;
use crate::evaluate::{Games, evaluate_watched};
use crate::ppo::Trainer;
use crate::ranges::message_ranges;
use crate::run::EVALUATION_SEED;
use crate::stuck::StuckReport;
use crate::summary::Evaluation;
use equimarl_nn::{Choice, MessageRanges};
use equimarl_worlds::{Envs, Registry};
use serde_json::Map;
use std::cell::OnceCell;

/// More agents than this are not looked at at once: large teams would take much memory and be no faster.
const MOST_AGENTS: usize = 40_000;

/// How many episodes are evaluated side by side. What comes out does not depend on it.
pub(crate) fn side_by_side(config: &TrainConfig, agents: usize) -> usize {
    config.evaluate_episodes.min((MOST_AGENTS / agents.max(1)).max(1))
}

/// Where teams are evaluated.
pub(crate) struct Arena {
    envs: Box<dyn Envs>,
    /// The best possible mean return, if it is known; asked for once, since it takes seconds for large teams.
    optimum: OnceCell<Option<f64>>,
}

impl Arena {
    pub(crate) fn new(registry: &Registry, config: &TrainConfig) -> Result<Arena> {
        let envs = config.make(registry, 1)?;
        // A copy of an exact world costs next to nothing. Of others there are as many as in training.
        let count = side_by_side(config, envs.spec().agents);
        let envs = match envs.exact() {
            Some(exact) => exact.fork(count),
            None => config.make(registry, config.environments.min(count))?,
        };
        Ok(Arena { envs, optimum: OnceCell::new() })
    }

    /// What agents of the team say to each other, for its model file.
    pub(crate) fn message_ranges(&mut self, trainer: &mut Trainer) -> Result<Option<MessageRanges>> {
        let policy = trainer.network().policy()?;
        message_ranges(&policy, trainer.inference(), &mut *self.envs, EVALUATION_SEED)
    }

    /// Both ways of choosing, on the same episodes; nothing if `stop` says so before they are over.
    pub(crate) fn judge(
        &mut self,
        trainer: &mut Trainer,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Evaluation>> {
        let (policy, episodes) = (trainer.network().policy()?, trainer.config().evaluate_episodes);
        let inference = trainer.inference();
        let mut score = |choice| {
            let games = Games { episodes, seed: EVALUATION_SEED, choice };
            evaluate_watched(&policy, inference, &mut *self.envs, games, stop)
        };
        let Some((greedy, stuck)) = score(Choice::Greedy)? else { return Ok(None) };
        let Some((sampled, _)) = score(Choice::Sampled)? else { return Ok(None) };
        let optimum = *self.optimum.get_or_init(|| self.envs.world(0).optimum());
        let gap = optimum.map(|optimum| optimum - greedy.total.mean.max(sampled.total.mean));
        let stuck = Some(stuck).filter(StuckReport::is_undecided);
        Ok(Some(Evaluation { greedy, sampled, optimum, gap, stuck, more: Map::new() }))
    }
}
