//! Acting with the current policy, and what is remembered of it.

use crate::config::{AugmentRatio, Augmentation};
use crate::error::Result;
use crate::evaluate::Inference;
use crate::observe::States;
use crate::ppo::{Progress, Pulse, Stage, Trainer};
use crate::returns::{Step, gae};
use equimarl_group::Element;
use equimarl_nn::sample;
use equimarl_worlds::{End, Outcome};
use serde_json::Value;
use std::time::Instant;

/// What was seen and done in an iteration; state (t, e) stands at t * environments + e. Kept and reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rollout {
    pub(crate) states: States,
    /// One action per agent, states one after the other.
    pub(crate) actions: Vec<usize>,
    /// What ratios are against, one row of all states per copy of the minibatch: the joint log-probability of what was done.
    /// The first row is the rollout itself; further ones are those of turned copies.
    pub(crate) log_probabilities: Vec<f32>,
    pub(crate) advantages: Vec<f32>,
    pub(crate) returns: Vec<f32>,
    /// What the values were before learning.
    pub(crate) values: Vec<f32>,
}

impl Rollout {
    /// Forgets everything but its memory.
    fn clear(&mut self) {
        self.states.clear();
        self.actions.clear();
        self.log_probabilities.clear();
        self.advantages.clear();
        self.returns.clear();
        self.values.clear();
    }

    /// 1 - Var(returns - values) / Var(returns).
    pub(crate) fn explained_variance(&self) -> f64 {
        let variance = |of: &dyn Fn(usize) -> f64| {
            let n = self.returns.len() as f64;
            let mean = (0..self.returns.len()).map(of).sum::<f64>() / n;
            (0..self.returns.len()).map(|i| (of(i) - mean).powi(2)).sum::<f64>() / n
        };
        let returns = |i: usize| f64::from(self.returns[i]);
        let missed = variance(&|i| returns(i) - f64::from(self.values[i]));
        let all = variance(&returns);
        if all > 0.0 { 1.0 - missed / all } else { f64::NAN }
    }
}

impl Trainer {
    /// Random steps before learning, a different number in each environment. They count as nothing, and neither do the
    /// episodes that they belong to.
    pub(crate) fn warm_up(&mut self) -> Result<()> {
        if self.config.warm_up == 0 {
            return Ok(());
        }
        let spec = self.environments.spec().clone();
        let (agents, actions) = (spec.agents, spec.actions.count() as u32);
        let wait: Vec<u32> =
            self.choices.iter_mut().map(|c| c.below(self.config.warm_up as u32 + 1)).collect();
        let last = wait.iter().copied().max().unwrap_or(0);
        // Environments are stepped together; one that has waited long enough is put back to where it stopped. Worlds that
        // cannot be put back are stepped no further.
        let exact = self.environments.exact().is_some();
        let mut stopped: Vec<Option<Value>> = vec![None; wait.len()];
        let mut chosen = vec![0; agents];
        for step in 0..=last {
            for e in 0..wait.len() {
                if step == wait[e] {
                    stopped[e] = self.environments.exact().map(|exact| exact.state(e));
                }
                chosen.fill_with(|| self.choices[e].below(actions) as usize);
                if !exact && step >= wait[e] {
                    continue;
                }
                if self.environments.step_one(e, &chosen)?.end != End::Running {
                    self.environments.restart(e)?;
                }
            }
        }
        if let Some(exact) = self.environments.exact_mut() {
            for (e, state) in stopped.iter().enumerate() {
                state.iter().try_for_each(|state| exact.set_state(e, state))?;
            }
        }
        self.episodes.ignore_current();
        Ok(())
    }

    /// Acts for some steps in all environments with the current policy, and estimates advantages and returns. Whether it came to
    /// its end.
    pub(crate) fn act(
        &mut self,
        progress: &mut Progress,
        go_on: &mut dyn FnMut(Pulse) -> bool,
    ) -> Result<bool> {
        let (count, agents) = (self.environments.len(), self.environments.spec().agents);
        let actions = self.network.actions();
        self.rollout.clear();
        let mut steps: Vec<Vec<Step>> = vec![vec![]; count];
        let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; count];
        for t in 0..self.config.rollout {
            self.see_environments()?;
            self.draw_elements(count);
            self.forward_states(t * count..(t + 1) * count)?;
            for (e, steps) in steps.iter_mut().enumerate() {
                let (acts, g) = (&self.acts, self.memory.elements[e]);
                let mut joint = 0.0;
                for agent in 0..agents {
                    let row =
                        &self.acting.said.log_probabilities[(e * agents + agent) * actions..][..actions];
                    // The network saw the turned state; its probability of g a is that of a here.
                    let here = |a: usize| row[acts.action(g, a)];
                    let action = sample(actions, here, self.choices[e].unit());
                    joint += here(action);
                    self.rollout.actions.push(action);
                }
                self.rollout.log_probabilities.push(joint);
                self.rollout.values.push(self.acting.said.values[e]);
                let value = f64::from(self.acting.said.values[e]);
                steps.push(Step { reward: 0.0, value, end: End::Running, bootstrap_value: 0.0 });
            }
            let chosen = &self.rollout.actions[t * count * agents..];
            self.environments.step(chosen, &mut outcomes)?;
            let mut cut: Vec<usize> = vec![];
            self.memory.ends.clear();
            for (e, outcome) in outcomes.iter().enumerate() {
                let world = self.environments.world(e);
                let measured = self.measure.and_then(|which| world.measure(which, outcome.end));
                progress.finished.extend(self.episodes.step(e, outcome, measured.unwrap_or(0.0)));
                if outcome.end != End::Running {
                    cut.push(e);
                    self.acting.observer.see(world, &mut self.memory.ends)?;
                    self.environments.restart(e)?;
                }
            }
            let truncated = |i: &usize| outcomes[cut[*i]].end == End::Truncated;
            let wanted: Vec<usize> = (0..cut.len()).filter(truncated).collect();
            let bootstrap_values = self.values_of(&wanted)?;
            for (e, outcome) in outcomes.iter().enumerate() {
                let step = &mut steps[e][t];
                (step.reward, step.end) = (outcome.reward, outcome.end);
            }
            for (&i, value) in wanted.iter().zip(bootstrap_values) {
                steps[cut[i]][t].bootstrap_value = value;
            }
            if !go_on(Pulse { stage: Stage::Acting, done: t + 1, of: self.config.rollout }) {
                return Ok(false);
            }
        }
        if let Some(scale) = &mut self.scale {
            scale.scale(&mut steps, self.config.discount);
        }
        self.memory.ends.clear();
        for e in 0..count {
            self.acting.observer.see(self.environments.world(e), &mut self.memory.ends)?;
        }
        let next = self.values_of(&(0..count).collect::<Vec<usize>>())?;
        let found: Vec<Vec<(f64, f64)>> = steps
            .iter()
            .zip(next)
            .map(|(steps, next)| gae(steps, next, self.config.discount, self.config.lambda))
            .collect();
        for t in 0..self.config.rollout {
            for of_environment in &found {
                self.rollout.advantages.push(of_environment[t].0 as f32);
                self.rollout.returns.push(of_environment[t].1 as f32);
            }
        }
        Ok(true)
    }

    /// Adds what all environments look like now to the rollout.
    fn see_environments(&mut self) -> Result<()> {
        let start = Instant::now();
        for e in 0..self.environments.len() {
            self.acting.observer.see(self.environments.world(e), &mut self.rollout.states)?;
        }
        self.times.collation += start.elapsed();
        Ok(())
    }

    /// What the network says about states of the rollout, each turned by its element in `memory.elements`.
    fn forward_states(&mut self, states: std::ops::Range<usize>) -> Result<()> {
        let start = Instant::now();
        let Inference { observer, batch, .. } = &mut self.acting;
        batch.next();
        let chosen = states.zip(self.memory.elements.iter().copied());
        observer.collate(&self.rollout.states, chosen, batch)?;
        self.times.collation += start.elapsed();
        self.forward()
    }

    /// The values of some of the states at which something ended, for bootstrapping.
    fn values_of(&mut self, wanted: &[usize]) -> Result<Vec<f64>> {
        if wanted.is_empty() {
            return Ok(vec![]);
        }
        self.draw_elements(wanted.len());
        let start = Instant::now();
        let Inference { observer, batch, .. } = &mut self.acting;
        batch.next();
        let chosen = wanted.iter().copied().zip(self.memory.elements.iter().copied());
        observer.collate(&self.memory.ends, chosen, batch)?;
        self.times.collation += start.elapsed();
        self.forward()?;
        Ok(self.acting.said.values.iter().map(|&v| f64::from(v)).collect())
    }

    /// What the network says about the batch.
    fn forward(&mut self) -> Result<()> {
        let Inference { batch, cache, said, .. } = &mut self.acting;
        self.network.forward(batch, cache)?;
        Ok(said.take(cache, self.network.actions())?)
    }

    /// Random augmentation draws an element per state; all other methods leave states as they are.
    pub(crate) fn draw_elements(&mut self, count: usize) {
        let elements = &mut self.memory.elements;
        elements.clear();
        if self.config.method.augmentation() != Augmentation::Random {
            return elements.resize(count, 0);
        }
        let order = self.acts.group.order() as u32;
        elements.extend((0..count).map(|_| self.augment.below(order) as Element));
    }

    /// The copies that full augmentation makes of every state: all turns of it. Other methods have the state itself.
    pub(crate) fn copies(&self) -> usize {
        let full = self.config.method.augmentation() == Augmentation::Full;
        if full { self.acts.group.order() } else { 1 }
    }

    /// Adds what the ratios of turned copies are against: the joint log-probability of what was done, as the rollout's
    /// policy sees it in the copy, or as it was done.
    pub(crate) fn forward_copies(&mut self) -> Result<()> {
        let (states, agents) = (self.rollout.states.len(), self.environments.spec().agents);
        let actions = self.network.actions();
        for g in 1..self.copies() {
            if self.config.augment_ratio == AugmentRatio::Rollout {
                self.rollout.log_probabilities.extend_from_within(..states);
                continue;
            }
            self.memory.elements.clear();
            self.memory.elements.resize(states, g);
            self.forward_states(0..states)?;
            let acts = &self.acts;
            let Rollout { actions: done, log_probabilities, .. } = &mut self.rollout;
            let said = &self.acting.said.log_probabilities;
            let agent = |i: usize| said[i * actions + acts.action(g, done[i])];
            let joint = |s: usize| (s * agents..(s + 1) * agents).map(agent).sum::<f32>();
            log_probabilities.extend((0..states).map(joint));
        }
        Ok(())
    }
}
