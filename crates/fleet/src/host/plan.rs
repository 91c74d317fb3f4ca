//! What is run, and what is told about it.

use crate::message::StepId;
use crate::payload::Action;
use equimarl_nn::Choice;
use equimarl_worlds::Joint;
use std::time::Duration;

/// What is run, and how patient everybody is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPlan {
    /// How many episodes.
    pub episodes: u32,
    /// Their seed.
    pub seed: u64,
    /// How agents choose.
    pub choice: Choice,
    /// How long an agent waits for its neighbours in a round.
    pub deadline: Duration,
    /// The least time between two steps of the world.
    pub period: Duration,
    /// How long the world waits for its agents at the start.
    pub gather: Duration,
}

impl Default for RunPlan {
    fn default() -> RunPlan {
        RunPlan {
            episodes: 20,
            seed: 0,
            choice: Choice::Sampled,
            deadline: Duration::from_millis(200),
            period: Duration::ZERO,
            gather: Duration::from_secs(60),
        }
    }
}

/// What the host needs to know of the team's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brain {
    /// Which model: agents with another one are not let in.
    pub fingerprint: u64,
    /// Message rounds of a step.
    pub rounds: usize,
}

/// What happened in a step, for those who watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub place: StepId,
    /// Who heard whom: (agent, neighbour).
    pub edges: Vec<(u32, u32)>,
    /// What was done.
    pub actions: Joint,
    /// What each agent said, if it did.
    pub said: Vec<Option<Action>>,
}
