//! Acting with the current policy, and what is remembered of it.

use crate::config::{AugmentRatio, Augmentation};
use crate::error::Result;
use crate::evaluate::Inference;
use crate::observe::States;
use crate::ppo::{Progress, Pulse, Stage, Trainer};
use crate::returns::{Step, gae, mark_lost};
use equimarl_group::Element;
use equimarl_nn::{Choice, Gaussian, sample};
use equimarl_worlds::{End, GroupAction, Joint, Outcome, Over};
use serde_json::Value;
use std::time::Instant;

/// What was seen and done in an iteration; state (t, e) stands at t * environments + e. Kept and reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rollout {
    pub(crate) states: States,
    /// One action per agent, states one after the other; empty where agents act by vectors.
    pub(crate) actions: Vec<usize>,
    /// One vector per agent before the squash, states one after the other; empty where agents choose.
    pub(crate) vectors: Vec<f32>,
    /// What the vectors of one step are after the squash, for the environments.
    pub(crate) squashed: Vec<f64>,
    /// What ratios are against, one row of all states per copy of the minibatch: the joint log-probability of what was done.
    /// The first row is the rollout itself; further ones are those of turned copies.
    pub(crate) log_probabilities: Vec<f32>,
    pub(crate) advantages: Vec<f32>,
    pub(crate) returns: Vec<f32>,
    /// What the values were before learning.
    pub(crate) values: Vec<f32>,
    /// States of episodes that a simulator lost; empty if there are none.
    pub(crate) lost: Vec<bool>,
}

impl Rollout {
    /// Forgets everything but its memory.
    fn clear(&mut self) {
        self.states.clear();
        self.actions.clear();
        self.vectors.clear();
        self.log_probabilities.clear();
        self.advantages.clear();
        self.returns.clear();
        self.values.clear();
        self.lost.clear();
    }

    /// Whether a state is one to learn from.
    pub(crate) fn counts(&self, state: usize) -> bool {
        !self.lost.get(state).copied().unwrap_or(false)
    }

    /// 1 - Var(returns - values) / Var(returns).
    pub(crate) fn explained_variance(&self) -> f64 {
        let variance = |of: &dyn Fn(usize) -> f64| {
            let all = || (0..self.returns.len()).filter(|&i| self.counts(i));
            let n = all().count() as f64;
            let mean = all().map(of).sum::<f64>() / n;
            all().map(|i| (of(i) - mean).powi(2)).sum::<f64>() / n
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
        let wait: Vec<u32> =
            self.choices.iter_mut().map(|c| c.below(self.config.warm_up as u32 + 1)).collect();
        let last = wait.iter().copied().max().unwrap_or(0);
        // Environments are stepped together; one that has waited long enough is put back to where it stopped. Worlds that
        // cannot be put back are stepped no further.
        let exact = self.environments.exact().is_some();
        let mut stopped: Vec<Option<Value>> = vec![None; wait.len()];
        let mut chosen = Joint::of(self.environments.spec());
        for step in 0..=last {
            for e in 0..wait.len() {
                if step == wait[e] {
                    stopped[e] = self.environments.exact().map(|exact| exact.state(e));
                }
                chosen.take_uniform(self.environments.world(e), &mut self.choices[e]);
                if !exact && step >= wait[e] {
                    continue;
                }
                if chosen.step(&mut *self.environments, e)?.end != End::Running {
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
            self.rollout.squashed.clear();
            for (e, steps) in steps.iter_mut().enumerate() {
                let joint = match self.network.acts_by_vectors() {
                    false => self.choose(e, agents, actions),
                    true => self.choose_vectors(e, agents, actions),
                };
                self.rollout.log_probabilities.push(joint);
                self.rollout.values.push(self.acting.said.values[e]);
                let value = f64::from(self.acting.said.values[e]);
                steps.push(Step { reward: 0.0, value, end: End::Running, bootstrap_value: 0.0, lost: false });
            }
            match self.network.acts_by_vectors() {
                false => {
                    self.environments.step(&self.rollout.actions[t * count * agents..], &mut outcomes)?
                }
                true => self.environments.step_vectors(&self.rollout.squashed, &mut outcomes)?,
            }
            let mut cut: Vec<usize> = vec![];
            self.memory.ends.clear();
            for (e, outcome) in outcomes.iter().enumerate() {
                let world = self.environments.world(e);
                let measured = self.measure.and_then(|(which, _)| world.measure(which, outcome.end));
                let over = self.measure.map_or(Over::Steps, |(_, over)| over);
                let finished = self.episodes.step(e, outcome, (measured.unwrap_or(0.0), over));
                if finished.is_some() {
                    for alarm in &mut self.alarms {
                        alarm.value = world.measure(alarm.which, outcome.end).or(alarm.value);
                    }
                }
                progress.finished.extend(finished);
                if outcome.end != End::Running {
                    cut.push(e);
                    self.acting.observer.see_with(world, self.tokens.of(e), &mut self.memory.ends)?;
                    self.environments.restart(e)?;
                    self.tokens.next(e);
                }
            }
            let truncated = |i: &usize| outcomes[cut[*i]].end != End::Terminated;
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
        steps.iter_mut().for_each(|steps| mark_lost(steps));
        if steps.iter().flatten().any(|step| step.lost) {
            let states = (0..self.config.rollout).flat_map(|t| steps.iter().map(move |of| of[t].lost));
            self.rollout.lost.extend(states);
        }
        if let Some(scale) = &mut self.scale {
            scale.scale(&mut steps, self.config.discount);
        }
        self.memory.ends.clear();
        for e in 0..count {
            let (world, tokens) = (self.environments.world(e), self.tokens.of(e));
            self.acting.observer.see_with(world, tokens, &mut self.memory.ends)?;
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

    /// Draws the actions of an environment's agents; their joint log-probability.
    fn choose(&mut self, e: usize, agents: usize, actions: usize) -> f32 {
        let (acts, g) = (&self.acts, self.memory.elements[e]);
        let mut joint = 0.0;
        for agent in 0..agents {
            let row = &self.acting.said.log_probabilities[(e * agents + agent) * actions..][..actions];
            // The network saw the turned state; its probability of g a is that of a here.
            let here = |a: usize| row[acts.action(g, a)];
            let action = sample(actions, here, self.choices[e].unit());
            joint += here(action);
            self.rollout.actions.push(action);
        }
        joint
    }

    /// Draws the vectors of an environment's agents; the log-density of all of them before the squash.
    fn choose_vectors(&mut self, e: usize, agents: usize, width: usize) -> f32 {
        let (acts, g) = (&self.acts, self.memory.elements[e]);
        let (bound, squash) = (self.bound, self.network.squash());
        let (mut joint, mut drawn) = (0.0, vec![0.0; width - 1]);
        for agent in 0..agents {
            let row = &self.acting.said.log_probabilities[(e * agents + agent) * width..][..width];
            // The network saw the turned state, so what is drawn is g u.
            Choice::Sampled.vector(row, || self.choices[e].normal(), &mut drawn);
            joint += Gaussian::of(row).log_density(&drawn);
            transform_back(acts, g, &mut drawn);
            let at = self.rollout.squashed.len();
            self.rollout.squashed.resize(at + drawn.len(), 0.0);
            squash.apply(&drawn, &mut self.rollout.squashed[at..]);
            self.rollout.squashed[at..].iter_mut().for_each(|a| *a *= bound);
            self.rollout.vectors.extend_from_slice(&drawn);
        }
        joint
    }

    /// Adds what all environments look like now to the rollout.
    fn see_environments(&mut self) -> Result<()> {
        let start = Instant::now();
        for e in 0..self.environments.len() {
            let (world, tokens) = (self.environments.world(e), self.tokens.of(e));
            self.acting.observer.see_with(world, tokens, &mut self.rollout.states)?;
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
        Ok(said.take(cache, self.network.actions(), self.network.acts_by_vectors())?)
    }

    /// Random augmentation draws an element per state; all other methods leave states as they are.
    pub(crate) fn draw_elements(&mut self, count: usize) {
        let elements = &mut self.memory.elements;
        elements.clear();
        if self.config.method.augmentation() != Augmentation::Random {
            return elements.resize(count, 0);
        }
        // Of turns by any angle, the first turns nothing and is not one of those that were drawn.
        let first = usize::from(self.acts.turn(0).is_some());
        let order = (self.acts.count() - first) as u32;
        elements.extend((0..count).map(|_| first + self.augment.below(order) as Element));
    }

    /// The copies that full augmentation makes of every state: all turns of it. Other methods have the state itself.
    pub(crate) fn copies(&self) -> usize {
        let full = self.config.method.augmentation() == Augmentation::Full;
        if full { self.acts.count() } else { 1 }
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
            let Rollout { actions: done, vectors, log_probabilities, .. } = &mut self.rollout;
            let said = &self.acting.said.log_probabilities;
            let by_vectors = self.network.acts_by_vectors();
            let agent = |i: usize| {
                if !by_vectors {
                    return said[i * actions + acts.action(g, done[i])];
                }
                let mut u = vectors[i * (actions - 1)..][..actions - 1].to_vec();
                transform(acts, g, &mut u);
                Gaussian::of(&said[i * actions..][..actions]).log_density(&u)
            };
            let joint = |s: usize| (s * agents..(s + 1) * agents).map(agent).sum::<f32>();
            log_probabilities.extend((0..states).map(joint));
        }
        Ok(())
    }
}

/// g u, in place.
pub(crate) fn transform(acts: &GroupAction, g: Element, u: &mut [f32]) {
    in_place(g, u, |u, out| acts.vector(g, u, out));
}

/// g^-1 u, in place.
fn transform_back(acts: &GroupAction, g: Element, u: &mut [f32]) {
    in_place(g, u, |u, out| acts.vector_back(g, u, out));
}

fn in_place(g: Element, u: &mut [f32], by: impl Fn(&[f64], &mut [f64])) {
    // Number 0 transforms nothing.
    if g == 0 {
        return;
    }
    let wide: Vec<f64> = u.iter().map(|&x| f64::from(x)).collect();
    let mut turned = vec![0.0; wide.len()];
    by(&wide, &mut turned);
    u.iter_mut().zip(turned).for_each(|(u, x)| *u = x as f32);
}
