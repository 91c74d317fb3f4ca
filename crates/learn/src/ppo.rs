//! Proximal policy optimisation with centralised training and distributed execution, from top to bottom: rollout,
//! returns, epochs, loss, clip, step.

use crate::config::{AugmentRatio, Method, TrainConfig};
use crate::episodes::{Episodes, Finished};
use crate::error::{Error, Result};
use crate::evaluate::Inference;
use crate::loss::{LossConfig, Samples};
use crate::observe::{Observer, States};
use crate::optimiser::Optimiser;
use crate::returns::{Step, advantages};
use equimarl_group::Element;
use equimarl_nn::{Batch, Cache, Network, Sharing};
use equimarl_worlds::{Batch as Environments, End, Outcome, Purpose, Stream, Symmetric};
use std::time::{Duration, Instant};

/// A learner in the middle of its run.
pub struct Trainer<W: Symmetric> {
    pub(crate) config: TrainConfig,
    pub(crate) network: Network,
    pub(crate) optimiser: Optimiser,
    pub(crate) environments: Environments<W>,
    /// One stream of action choices per environment.
    pub(crate) choices: Vec<Stream>,
    pub(crate) shuffle: Stream,
    pub(crate) augment: Stream,
    pub(crate) episodes: Episodes,
    pub(crate) steps: u64,
    pub(crate) iterations: u64,
    /// What is averaged over the steps of an episode besides its return, such as waiting times.
    measure: fn(&W) -> f64,
    /// How the rollout looks at states; its weights stay the same from one step to the next.
    acting: Inference<W>,
    rollout: Rollout,
    memory: Memory,
    times: Times,
}

/// What one iteration did.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Episodes that ended in it.
    pub finished: Vec<Finished>,
    /// The mean entropy of the agents' policies over its updates.
    pub entropy: f64,
    /// The mean of old minus new joint log-probability over its updates, an estimate of the KL divergence.
    pub divergence: f64,
    /// The loss, averaged over its updates.
    pub loss: f64,
    /// The norm of the gradient before clipping, averaged over its updates.
    pub gradient: f64,
}

/// Where the time of all iterations went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Stepping environments, choosing actions, and all that is not below.
    pub world: Duration,
    /// Looking at states and collating batches.
    pub collation: Duration,
    /// From pictures to features, and back.
    pub encoder: Duration,
    /// Message rounds, hidden layers and heads, and back; weights from coefficients.
    pub rounds: Duration,
    /// The loss and its gradient.
    pub loss: Duration,
    /// Clipping and Adam.
    pub optimiser: Duration,
}

/// What was seen and done in an iteration; state (t, e) stands at t * environments + e. Kept and reused.
#[derive(Clone, Debug, Default)]
struct Rollout {
    states: States,
    /// One action per agent, states one after the other.
    actions: Vec<usize>,
    /// What ratios are against, one row of all states per copy of the minibatch: the joint log-probability of what was done.
    /// The first row is the rollout itself; further ones are those of turned copies.
    log_probabilities: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
}

/// Buffers that are made once.
#[derive(Default)]
struct Memory {
    batch: Batch,
    cache: Cache,
    samples: Samples,
    gradients: Vec<f32>,
    order: Vec<usize>,
    elements: Vec<Element>,
    /// States at which values are bootstrapped.
    ends: States,
}

impl<W: Symmetric> Trainer<W> {
    /// A fresh learner in `world`, which must be under the config's group. `measure` is averaged over the steps of each
    /// episode and reported; give `|_| 0.0` if there is nothing to measure.
    ///
    /// # Errors
    /// If the settings do not fit the world.
    pub fn new(config: &TrainConfig, world: &W, measure: fn(&W) -> f64) -> Result<Trainer<W>> {
        let mut weights = Stream::new(config.seed, Purpose::Weights, 0);
        let network = Network::init(&config.network()?, &mut || weights.normal())?;
        Trainer::with_network(config, world, measure, network)
    }

    /// As [`Trainer::new`], with a network of your own.
    ///
    /// # Errors
    /// If the settings do not fit.
    pub fn with_network(
        config: &TrainConfig,
        world: &W,
        measure: fn(&W) -> f64,
        network: Network,
    ) -> Result<Trainer<W>> {
        config.check()?;
        let (seed, count) = (config.seed, config.environments);
        let environments = Environments::new(world, count, seed, Purpose::World);
        // Turned copies can stand for each other only if world and network turn pictures by the same group.
        let sharing = match network.sharing() {
            Sharing::Orbits(group) if group != world.symmetry().group => Sharing::Distinct,
            sharing => sharing,
        };
        let mut trainer = Trainer {
            optimiser: Optimiser::new(&network, config.learning_rate, config.gradient_clip),
            acting: Inference::of(
                Observer::new(world, network.config(), &sharing)?.with_dictionary(network.dictionary()),
            ),
            network,
            environments,
            choices: (0..count as u64).map(|e| Stream::new(seed, Purpose::Action, e)).collect(),
            shuffle: Stream::new(seed, Purpose::Shuffle, 0),
            augment: Stream::new(seed, Purpose::Augment, 0),
            episodes: Episodes::new(count),
            steps: 0,
            iterations: 0,
            measure,
            rollout: Rollout::default(),
            memory: Memory::default(),
            times: Times::default(),
            config: config.clone(),
        };
        trainer.warm_up();
        Ok(trainer)
    }

    /// Random steps before learning, a different number in each environment. They count as nothing, and neither do the
    /// episodes that they belong to.
    fn warm_up(&mut self) {
        if self.config.warm_up == 0 {
            return;
        }
        let (agents, actions) = (self.environments.agents(), self.environments.worlds()[0].actions() as u32);
        let wait: Vec<u32> =
            self.choices.iter_mut().map(|c| c.below(self.config.warm_up as u32 + 1)).collect();
        let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; wait.len()];
        // Environments are stepped together; one that has waited long enough is put back to where it stopped.
        let mut stopped: Vec<Option<W>> = vec![None; wait.len()];
        for step in 0..=wait.iter().copied().max().unwrap_or(0) {
            for (e, world) in self.environments.worlds().iter().enumerate() {
                if step == wait[e] {
                    stopped[e] = Some(world.clone());
                }
            }
            let mut choose = |e: usize| self.choices[e].below(actions) as usize;
            let chosen: Vec<usize> = (0..wait.len() * agents).map(|i| choose(i / agents)).collect();
            self.environments.step(&chosen, &mut outcomes, |_, _| {});
        }
        for (world, stopped) in self.environments.worlds_mut().iter_mut().zip(stopped) {
            if let Some(stopped) = stopped {
                *world = stopped;
            }
        }
        self.episodes.ignore_current();
    }

    /// One iteration: a rollout, and some passes of updates over it.
    ///
    /// # Errors
    /// If learning diverges to numbers that are not finite.
    pub fn iterate(&mut self) -> Result<Progress> {
        let (start, before) = (Instant::now(), self.measured());
        self.optimiser.rate = self.config.learning_rate
            * if self.config.decay {
                (1.0 - self.steps as f64 / self.config.steps as f64).max(0.0)
            } else {
                1.0
            };
        let mut progress = Progress::default();
        if self.acting.observer.is_full() {
            self.acting.observer.clear();
        }
        self.acting.batch.clear();
        self.act(&mut progress)?;
        self.judge_copies()?;
        let updates = self.config.epochs * self.config.minibatches;
        let size = self.config.batch() / self.config.minibatches;
        for _ in 0..self.config.epochs {
            self.reshuffle();
            for minibatch in 0..self.config.minibatches {
                self.update(minibatch * size..(minibatch + 1) * size, &mut progress)?;
            }
        }
        for mean in
            [&mut progress.entropy, &mut progress.divergence, &mut progress.loss, &mut progress.gradient]
        {
            *mean /= updates as f64;
        }
        self.steps += self.config.batch() as u64;
        self.iterations += 1;
        self.times.world += start.elapsed().saturating_sub(self.measured() - before);
        Ok(progress)
    }

    /// Acts for some steps in all environments with the current policy, and estimates advantages and returns.
    fn act(&mut self, progress: &mut Progress) -> Result<()> {
        let (count, agents) = (self.environments.len(), self.environments.agents());
        let actions = self.network.actions();
        self.rollout.clear();
        let mut steps: Vec<Vec<Step>> = vec![vec![]; count];
        let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; count];
        for t in 0..self.config.rollout {
            self.see_environments()?;
            self.draw_elements(count);
            self.judge_states(t * count..(t + 1) * count)?;
            for (e, steps) in steps.iter_mut().enumerate() {
                let (world, g) = (&self.environments.worlds()[e], self.memory.elements[e]);
                let mut joint = 0.0;
                for agent in 0..agents {
                    let row =
                        &self.acting.said.log_probabilities[(e * agents + agent) * actions..][..actions];
                    // The network saw the turned state; its probability of g a is that of a here.
                    let here = |a: usize| row[world.turn_action(g, a)];
                    let action = sample(actions, here, &mut self.choices[e]);
                    joint += here(action);
                    self.rollout.actions.push(action);
                }
                self.rollout.log_probabilities.push(joint);
                let value = f64::from(self.acting.said.values[e]);
                steps.push(Step { reward: 0.0, value, end: End::Running, cut_value: 0.0 });
            }
            let chosen = &self.rollout.actions[t * count * agents..];
            let (mut cut, mut measures): (Vec<usize>, Vec<Option<f64>>) = (vec![], vec![None; count]);
            let (measure, observer, ends) = (self.measure, &mut self.acting.observer, &mut self.memory.ends);
            ends.clear();
            let mut seen = Ok(());
            self.environments.step(chosen, &mut outcomes, |e, last| {
                measures[e] = Some(measure(last));
                cut.push(e);
                if let Err(error) = observer.see(last, ends) {
                    seen = Err(error);
                }
            });
            seen?;
            let truncated = |i: &usize| outcomes[cut[*i]].end == End::Truncated;
            let wanted: Vec<usize> = (0..cut.len()).filter(truncated).collect();
            let cut_values = self.values_of(&wanted)?;
            for (e, outcome) in outcomes.iter().enumerate() {
                let measured = measures[e].unwrap_or_else(|| measure(&self.environments.worlds()[e]));
                progress.finished.extend(self.episodes.step(e, outcome, measured));
                let step = &mut steps[e][t];
                (step.reward, step.end) = (outcome.reward, outcome.end);
            }
            for (&i, value) in wanted.iter().zip(cut_values) {
                steps[cut[i]][t].cut_value = value;
            }
        }
        self.memory.ends.clear();
        for world in self.environments.worlds() {
            self.acting.observer.see(world, &mut self.memory.ends)?;
        }
        let next = self.values_of(&(0..count).collect::<Vec<usize>>())?;
        let found: Vec<Vec<(f64, f64)>> = steps
            .iter()
            .zip(next)
            .map(|(steps, next)| advantages(steps, next, self.config.discount, self.config.lambda))
            .collect();
        for t in 0..self.config.rollout {
            for of_environment in &found {
                self.rollout.advantages.push(of_environment[t].0 as f32);
                self.rollout.returns.push(of_environment[t].1 as f32);
            }
        }
        Ok(())
    }

    /// Adds what all environments look like now to the rollout.
    fn see_environments(&mut self) -> Result<()> {
        let start = Instant::now();
        for world in self.environments.worlds() {
            self.acting.observer.see(world, &mut self.rollout.states)?;
        }
        self.times.collation += start.elapsed();
        Ok(())
    }

    /// What the network says about states of the rollout, each turned by its element in `memory.elements`.
    fn judge_states(&mut self, states: std::ops::Range<usize>) -> Result<()> {
        let start = Instant::now();
        let Inference { observer, batch, .. } = &mut self.acting;
        batch.next();
        let chosen = states.zip(self.memory.elements.iter().copied());
        observer.collate(&self.rollout.states, chosen, batch)?;
        self.times.collation += start.elapsed();
        self.judge()
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
        self.judge()?;
        Ok(self.acting.said.values.iter().map(|&v| f64::from(v)).collect())
    }

    /// What the network says about the batch.
    fn judge(&mut self) -> Result<()> {
        let Inference { batch, cache, said, .. } = &mut self.acting;
        self.network.forward(batch, cache)?;
        Ok(said.take(cache, self.network.actions())?)
    }

    /// Random augmentation draws an element per state; all other methods leave states as they are.
    fn draw_elements(&mut self, count: usize) {
        let elements = &mut self.memory.elements;
        elements.clear();
        if self.config.method != Method::AugmentRandom {
            return elements.resize(count, 0);
        }
        let order = self.environments.worlds()[0].symmetry().group.order() as u32;
        elements.extend((0..count).map(|_| self.augment.below(order) as Element));
    }

    /// The copies that full augmentation makes of every state: all turns of it. Other methods have the state itself.
    fn copies(&self) -> usize {
        let full = self.config.method == Method::AugmentFull;
        if full { self.environments.worlds()[0].symmetry().group.order() } else { 1 }
    }

    /// Adds what the ratios of turned copies are against: the joint log-probability of what was done, as the rollout's
    /// policy sees it in the copy, or as it was done.
    fn judge_copies(&mut self) -> Result<()> {
        let (states, agents) = (self.rollout.states.len(), self.environments.agents());
        let actions = self.network.actions();
        for g in 1..self.copies() {
            if self.config.augment_ratio == AugmentRatio::Rollout {
                self.rollout.log_probabilities.extend_from_within(..states);
                continue;
            }
            self.memory.elements.clear();
            self.memory.elements.resize(states, g);
            self.judge_states(0..states)?;
            let world = &self.environments.worlds()[0];
            let Rollout { actions: done, log_probabilities, .. } = &mut self.rollout;
            let said = &self.acting.said.log_probabilities;
            let agent = |i: usize| said[i * actions + world.turn_action(g, done[i])];
            let joint = |s: usize| (s * agents..(s + 1) * agents).map(agent).sum::<f32>();
            log_probabilities.extend((0..states).map(joint));
        }
        Ok(())
    }

    /// One gradient step on a minibatch: some places of the shuffled order. Allocates nothing once its buffers have grown.
    fn update(&mut self, places: std::ops::Range<usize>, progress: &mut Progress) -> Result<()> {
        self.draw_elements(places.len());
        let start = Instant::now();
        let (copies, agents) = (self.copies(), self.environments.agents());
        let world = &self.environments.worlds()[0];
        let Memory { batch, cache, samples, gradients, order, elements, .. } = &mut self.memory;
        let rollout = &self.rollout;
        batch.clear();
        samples.clear();
        for copy in 0..copies {
            for (&s, &drawn) in order[places.clone()].iter().zip(&*elements) {
                let g = if copies > 1 { copy } else { drawn };
                self.acting.observer.collate(&rollout.states, [(s, g)], batch)?;
                let team = &rollout.actions[s * agents..(s + 1) * agents];
                samples.actions.extend(team.iter().map(|&a| world.turn_action(g, a)));
                samples.log_probabilities.push(rollout.log_probabilities[copy * rollout.states.len() + s]);
                samples.advantages.push(rollout.advantages[s]);
                samples.returns.push(rollout.returns[s]);
            }
        }
        if self.config.normalise_advantages {
            normalise(&mut samples.advantages);
        }
        self.times.collation += start.elapsed();
        self.network.forward(batch, cache)?;
        let start = Instant::now();
        let weights = LossConfig {
            clip: self.config.clip as f32,
            value: self.config.value_coefficient as f32,
            entropy: self.config.entropy_coefficient as f32,
        };
        let (said, gradient) = cache.output_gradient();
        let loss = weights.loss(said, &batch.starts, samples, gradient)?;
        self.times.loss += start.elapsed();
        if !loss.total.is_finite() {
            return Err(diverged(&self.config, self.steps, &format!("the loss is {}", loss.total)));
        }
        gradients.resize(self.network.values().len(), 0.0);
        self.network.backward(batch, cache, gradients)?;
        let start = Instant::now();
        progress.gradient += match self.optimiser.update(&mut self.network, gradients) {
            Err(Error::Diverged(what)) => return Err(diverged(&self.config, self.steps, &what)),
            done => done?,
        };
        self.times.optimiser += start.elapsed();
        progress.loss += loss.total;
        progress.entropy += loss.entropy;
        progress.divergence += loss.divergence;
        Ok(())
    }

    /// Fisher-Yates.
    fn reshuffle(&mut self) {
        let order = &mut self.memory.order;
        order.clear();
        order.extend(0..self.rollout.states.len());
        for i in (1..order.len()).rev() {
            order.swap(i, self.shuffle.below(i as u32 + 1) as usize);
        }
    }

    /// Where the time of all iterations went.
    pub fn times(&self) -> Times {
        let [one, two] = [self.memory.cache.times(), self.acting.cache.times()];
        Times { encoder: one.encoder + two.encoder, rounds: one.trunk + two.trunk, ..self.times }
    }

    /// All that is measured by itself.
    fn measured(&self) -> Duration {
        let t = self.times();
        t.collation + t.encoder + t.rounds + t.loss + t.optimiser
    }

    /// The settings.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// How this learner looks at states, for looking with other weights between iterations.
    pub(crate) fn inference(&mut self) -> &mut Inference<W> {
        self.acting.batch.clear();
        &mut self.acting
    }

    /// The network as it is now.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Environment steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The episodes so far.
    pub fn episodes(&self) -> &Episodes {
        &self.episodes
    }

    /// Whether all steps are done.
    pub fn is_finished(&self) -> bool {
        self.steps >= self.config.steps
    }
}

/// Says what to do about numbers that are not finite.
fn diverged(config: &TrainConfig, steps: u64, what: &str) -> Error {
    let cure = match (config.method, config.augment_ratio) {
        // Seen again and again, whatever the learning rate: docs/learning.md.
        (Method::AugmentFull, AugmentRatio::Copy) => {
            "full augmentation often ends so with the ratio of copies; start a new run with \
             --set augment_ratio=rollout"
                .into()
        }
        _ => format!("lower the learning rate ({})", config.learning_rate),
    };
    Error::Diverged(format!("{what} after {steps} steps; {cure}"))
}

impl Rollout {
    /// Forgets everything but its memory.
    fn clear(&mut self) {
        self.states.clear();
        self.actions.clear();
        self.log_probabilities.clear();
        self.advantages.clear();
        self.returns.clear();
    }
}

/// Draws an action by its probability: one word, whatever comes out.
pub fn sample(actions: usize, log_probability: impl Fn(usize) -> f32, stream: &mut Stream) -> usize {
    let (mut left, mut last) = (stream.unit() as f32, 0);
    for a in 0..actions {
        let p = log_probability(a).exp();
        if p > 0.0 {
            last = a;
        }
        left -= p;
        if left < 0.0 {
            return a;
        }
    }
    // Rounding may leave a little; an action of probability zero is never taken.
    last
}

fn normalise(values: &mut [f32]) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
    let scale = 1.0 / (variance.sqrt() + 1e-8);
    for v in values {
        *v = ((f64::from(*v) - mean) * scale) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WorldConfig;

    #[test]
    fn a_collapse_is_said_with_what_helps() {
        for (preset, method, part) in [
            ("paper", Method::AugmentFull, "with --set augment_ratio=rollout"),
            ("default", Method::AugmentFull, "lower the learning rate (0.001)"),
            ("paper", Method::Plain, "lower the learning rate (0.001)"),
        ] {
            let config = TrainConfig::preset(preset, WorldConfig::wildlife(), method).unwrap();
            let error = diverged(&config, 80, "the loss is NaN").to_string();
            assert!(error.starts_with("the loss is NaN after 80 steps; ") && error.contains(part), "{error}");
        }
    }
}
