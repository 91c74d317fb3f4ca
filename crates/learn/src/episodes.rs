//! The book-keeping of training episodes: those that run, and the last hundred that ended.

use equimarl_worlds::{End, Outcome, Over, Statistic};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Over how many episodes recent means are taken.
pub const RECENT: usize = 100;

/// An episode that ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The sum of its rewards.
    pub total: f64,
    /// Its steps.
    pub length: u64,
    /// The world's measure (waiting times): its mean over steps, or its last value if it is one of whole episodes.
    pub measure: f64,
    /// Whether it ended by itself and was not cut off.
    pub terminated: bool,
}

/// An episode that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Partial {
    total: f64,
    length: u64,
    measure: f64,
    /// It began before learning did.
    ignored: bool,
}

/// All episodes of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episodes {
    running: Vec<Partial>,
    recent: VecDeque<Finished>,
    count: u64,
    /// Episodes that a simulator lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    abandoned: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Episodes {
    /// One running episode per environment.
    pub fn new(environments: usize) -> Episodes {
        Episodes {
            running: vec![Partial::default(); environments],
            recent: VecDeque::new(),
            count: 0,
            abandoned: 0,
        }
    }

    /// The episodes that run now are not to be counted.
    pub fn ignore_current(&mut self) {
        self.running.iter_mut().for_each(|p| p.ignored = true);
    }

    /// A step of environment `e`, with what it measured and when that is taken; gives the episode if it ended and counts.
    pub fn step(&mut self, e: usize, outcome: &Outcome, (measure, over): (f64, Over)) -> Option<Finished> {
        let partial = &mut self.running[e];
        partial.total += outcome.reward;
        partial.length += 1;
        partial.measure += measure;
        if outcome.end == End::Running {
            return None;
        }
        let Partial { total, length, measure: sum, ignored } = std::mem::take(partial);
        if outcome.end == End::Abandoned {
            self.abandoned += 1;
            return None;
        }
        if ignored {
            return None;
        }
        let terminated = outcome.end == End::Terminated;
        let measure = match over {
            Over::Steps => sum / length as f64,
            Over::Episode => measure,
        };
        let finished = Finished { total, length, measure, terminated };
        self.count += 1;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(finished);
        Some(finished)
    }

    /// How many have ended.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many were lost because a simulator died.
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// How many environments there are.
    pub fn environments(&self) -> usize {
        self.running.len()
    }

    /// The last episodes that ended, at most [`RECENT`].
    pub fn recent(&self) -> impl ExactSizeIterator<Item = &Finished> {
        self.recent.iter()
    }

    /// Mean and standard error of something about recent episodes.
    pub fn statistic(&self, of: impl Fn(&Finished) -> f64) -> Statistic {
        Statistic::of(&self.recent.iter().map(of).collect::<Vec<_>>())
    }

    /// The mean return of the last hundred episodes, once a hundred have ended.
    pub fn mean_return(&self) -> Option<f64> {
        (self.recent.len() == RECENT).then(|| self.statistic(|f| f.total).mean)
    }
}
