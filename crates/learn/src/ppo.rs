//! Proximal policy optimisation with centralised training and distributed execution, from top to bottom: rollout,
//! returns, epochs, loss, clip, step.

use crate::config::{AugmentRatio, Method, TrainConfig};
use crate::episodes::{Episodes, Finished};
use crate::error::{Error, Result};
use crate::loss::{LossConfig, Samples};
use crate::observe::{Seen, batch_of};
use crate::optimiser::Optimiser;
use crate::returns::{Step, advantages};
use burn::tensor::Device;
use equimarl_group::Element;
use equimarl_nn::{Network, Policy, Sharing};
use equimarl_worlds::{Batch, End, Outcome, Purpose, Stream, Symmetric};

/// A learner in the middle of its run.
pub struct Trainer<W: Symmetric> {
    pub(crate) config: TrainConfig,
    pub(crate) network: Network,
    pub(crate) optimiser: Optimiser,
    pub(crate) environments: Batch<W>,
    /// One stream of action choices per environment.
    pub(crate) choices: Vec<Stream>,
    pub(crate) shuffle: Stream,
    pub(crate) augment: Stream,
    pub(crate) episodes: Episodes,
    pub(crate) steps: u64,
    pub(crate) iterations: u64,
    /// What is averaged over the steps of an episode besides its return, such as waiting times.
    measure: fn(&W) -> f64,
    sharing: Sharing,
}

/// What one iteration did.
#[derive(Clone, Debug)]
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

/// What was seen and done in an iteration; state (t, e) stands at t * environments + e.
struct Rollout<K> {
    seen: Vec<Seen<K>>,
    /// The group element that each state was turned by before the network saw it.
    turned: Vec<Element>,
    /// One action per agent, states one after the other.
    actions: Vec<usize>,
    log_probabilities: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
}

impl<W: Symmetric> Trainer<W> {
    /// A fresh learner in `world`, which must be under the config's group. `measure` is averaged over the steps of each
    /// episode and reported; give `|_| 0.0` if there is nothing to measure.
    ///
    /// # Errors
    /// If the settings do not fit the world.
    pub fn new(config: &TrainConfig, world: &W, measure: fn(&W) -> f64) -> Result<Trainer<W>> {
        let device = Device::flex().autodiff();
        let mut weights = Stream::new(config.seed, Purpose::Weights, 0);
        let network = Network::init(&config.network()?, &mut || weights.normal(), &device)?;
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
        let environments = Batch::new(world, count, seed, Purpose::World);
        let mut trainer = Trainer {
            optimiser: Optimiser::new(&network, config.learning_rate, config.gradient_clip),
            // Turned copies can stand for each other only if world and network turn pictures by the same group.
            sharing: match network.sharing() {
                Sharing::Orbits(group) if group != world.symmetry().group => Sharing::Distinct,
                sharing => sharing,
            },
            network,
            environments,
            choices: (0..count as u64).map(|e| Stream::new(seed, Purpose::Action, e)).collect(),
            shuffle: Stream::new(seed, Purpose::Shuffle, 0),
            augment: Stream::new(seed, Purpose::Augment, 0),
            episodes: Episodes::new(count),
            steps: 0,
            iterations: 0,
            measure,
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
        self.optimiser.rate = self.config.learning_rate
            * if self.config.decay {
                (1.0 - self.steps as f64 / self.config.steps as f64).max(0.0)
            } else {
                1.0
            };
        let policy = Policy::new(&self.network.dense())?;
        let mut progress =
            Progress { finished: vec![], entropy: 0.0, divergence: 0.0, loss: 0.0, gradient: 0.0 };
        let rollout = self.rollout(&policy, &mut progress)?;
        let old = self.old_log_probabilities(&policy, &rollout)?;
        let updates = self.config.epochs * self.config.minibatches;
        for _ in 0..self.config.epochs {
            let order = self.shuffled(rollout.seen.len());
            for states in order.chunks(self.config.batch() / self.config.minibatches) {
                self.update(&rollout, &old, states, &mut progress)?;
            }
        }
        for mean in
            [&mut progress.entropy, &mut progress.divergence, &mut progress.loss, &mut progress.gradient]
        {
            *mean /= updates as f64;
        }
        self.steps += self.config.batch() as u64;
        self.iterations += 1;
        Ok(progress)
    }

    /// Acts for some steps in all environments with the current policy, and estimates advantages and returns.
    fn rollout(&mut self, policy: &Policy, progress: &mut Progress) -> Result<Rollout<W::Key>> {
        let (count, agents) = (self.environments.len(), self.environments.agents());
        let actions = policy.actions();
        let central = self.network.is_central();
        let mut rollout = Rollout {
            seen: vec![],
            turned: vec![],
            actions: vec![],
            log_probabilities: vec![],
            advantages: vec![],
            returns: vec![],
        };
        let mut steps: Vec<Vec<Step>> = vec![vec![]; count];
        let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; count];
        for _ in 0..self.config.rollout {
            let seen: Vec<Seen<W::Key>> =
                self.environments.worlds().iter().map(|w| Seen::of(w, central)).collect();
            let turned = self.draw_elements(count);
            let said = self.judge(policy, &seen, &turned)?;
            let mut chosen = Vec::with_capacity(count * agents);
            for (e, &g) in turned.iter().enumerate() {
                let world = &self.environments.worlds()[e];
                let mut joint = 0.0;
                for agent in 0..agents {
                    let row = &said.log_probabilities[(e * agents + agent) * actions..][..actions];
                    // The network saw the turned state; its probability of g a is that of a here.
                    let here = |a: usize| row[world.turn_action(g, a)];
                    let action = sample(actions, here, &mut self.choices[e]);
                    joint += here(action);
                    chosen.push(action);
                }
                rollout.log_probabilities.push(joint);
            }
            let mut cut: Vec<(usize, Seen<W::Key>)> = vec![];
            let mut measures: Vec<Option<f64>> = vec![None; count];
            let measure = self.measure;
            self.environments.step(&chosen, &mut outcomes, |e, last| {
                measures[e] = Some(measure(last));
                cut.push((e, Seen::of(last, central)));
            });
            cut.retain(|(e, _)| outcomes[*e].end == End::Truncated);
            let cut_values = self.values_of(policy, &cut)?;
            for (e, outcome) in outcomes.iter().enumerate() {
                let measured = measures[e].unwrap_or_else(|| measure(&self.environments.worlds()[e]));
                progress.finished.extend(self.episodes.step(e, outcome, measured));
                let cut_value = cut.iter().position(|(c, _)| *c == e).map_or(0.0, |i| cut_values[i]);
                let value = f64::from(said.values[e]);
                steps[e].push(Step { reward: outcome.reward, value, end: outcome.end, cut_value });
            }
            rollout.seen.extend(seen);
            rollout.turned.extend(turned);
            rollout.actions.extend(chosen);
        }
        let last: Vec<(usize, Seen<W::Key>)> =
            self.environments.worlds().iter().map(|w| Seen::of(w, central)).enumerate().collect();
        let next = self.values_of(policy, &last)?;
        let found: Vec<Vec<(f64, f64)>> = steps
            .iter()
            .zip(next)
            .map(|(steps, next)| advantages(steps, next, self.config.discount, self.config.lambda))
            .collect();
        for t in 0..self.config.rollout {
            for of_environment in &found {
                rollout.advantages.push(of_environment[t].0 as f32);
                rollout.returns.push(of_environment[t].1 as f32);
            }
        }
        Ok(rollout)
    }

    /// The values of some states, for bootstrapping.
    fn values_of(&mut self, policy: &Policy, states: &[(usize, Seen<W::Key>)]) -> Result<Vec<f64>> {
        if states.is_empty() {
            return Ok(vec![]);
        }
        let seen: Vec<Seen<W::Key>> = states.iter().map(|(_, seen)| seen.clone()).collect();
        let turned = self.draw_elements(seen.len());
        Ok(self.judge(policy, &seen, &turned)?.values.iter().map(|&v| f64::from(v)).collect())
    }

    /// Random augmentation draws an element per state; all other methods leave states as they are.
    fn draw_elements(&mut self, count: usize) -> Vec<Element> {
        if self.config.method != Method::AugmentRandom {
            return vec![0; count];
        }
        let order = self.environments.worlds()[0].symmetry().group.order() as u32;
        (0..count).map(|_| self.augment.below(order) as Element).collect()
    }

    fn judge(
        &self,
        policy: &Policy,
        seen: &[Seen<W::Key>],
        turned: &[Element],
    ) -> Result<equimarl_nn::Judgement> {
        let world = &self.environments.worlds()[0];
        let turned: Vec<Seen<W::Key>> = seen.iter().zip(turned).map(|(s, &g)| turn(s, g, world)).collect();
        Ok(policy.forward(&batch_of(world, &turned, policy.config(), &self.sharing)?)?)
    }

    /// What the ratios of each copy are against. Row g holds all states turned by g: the joint log-probability of what was
    /// done, as the rollout's policy sees it in the turned copy, or as it was done. The first row is the rollout itself.
    fn old_log_probabilities(&self, policy: &Policy, rollout: &Rollout<W::Key>) -> Result<Vec<Vec<f32>>> {
        let mut rows = vec![rollout.log_probabilities.clone()];
        if self.config.method != Method::AugmentFull {
            return Ok(rows);
        }
        let world = &self.environments.worlds()[0];
        let (agents, actions) = (self.environments.agents(), policy.actions());
        for g in world.symmetry().group.elements().skip(1) {
            if self.config.augment_ratio == AugmentRatio::Rollout {
                rows.push(rollout.log_probabilities.clone());
                continue;
            }
            let said = self.judge(policy, &rollout.seen, &vec![g; rollout.seen.len()])?;
            let joint = |state: usize| -> f32 {
                let agent = |i: usize| (i * actions) + world.turn_action(g, rollout.actions[i]);
                (state * agents..(state + 1) * agents).map(|i| said.log_probabilities[agent(i)]).sum()
            };
            rows.push((0..rollout.seen.len()).map(joint).collect());
        }
        Ok(rows)
    }

    /// One gradient step on a minibatch.
    fn update(
        &mut self,
        rollout: &Rollout<W::Key>,
        old: &[Vec<f32>],
        states: &[usize],
        progress: &mut Progress,
    ) -> Result<()> {
        let drawn = self.draw_elements(states.len());
        let world = &self.environments.worlds()[0];
        let agents = self.environments.agents();
        let copies: Vec<Element> = match self.config.method {
            Method::AugmentFull => world.symmetry().group.elements().collect(),
            _ => vec![0],
        };
        let (mut seen, mut samples) = (vec![], Samples::default());
        for &copy in &copies {
            for (&s, &drawn) in states.iter().zip(&drawn) {
                let g = if self.config.method == Method::AugmentRandom { drawn } else { copy };
                seen.push(turn(&rollout.seen[s], g, world));
                let team = &rollout.actions[s * agents..(s + 1) * agents];
                samples.actions.extend(team.iter().map(|&a| world.turn_action(g, a)));
                samples.log_probabilities.push(old[copy][s]);
                samples.advantages.push(rollout.advantages[s]);
                samples.returns.push(rollout.returns[s]);
            }
        }
        if self.config.normalise_advantages {
            normalise(&mut samples.advantages);
        }
        let batch = batch_of(world, &seen, self.network.config(), &self.sharing)?;
        let said = self.network.forward(&batch);
        let weights = LossConfig {
            clip: self.config.clip as f32,
            value: self.config.value_coefficient as f32,
            entropy: self.config.entropy_coefficient as f32,
        };
        let loss = weights.loss(&said, &batch.starts, &samples);
        let number = |t: &burn::tensor::Tensor<1>| f64::from(t.clone().into_scalar::<f32>());
        let (total, entropy, divergence) =
            (number(&loss.total), number(&loss.entropy), number(&loss.divergence));
        if !total.is_finite() {
            return Err(diverged(&self.config, self.steps, &format!("the loss is {total}")));
        }
        let gradients = self.network.gradients(&loss.total.backward());
        progress.gradient += match self.optimiser.update(&mut self.network, gradients) {
            Err(Error::Diverged(what)) => return Err(diverged(&self.config, self.steps, &what)),
            done => done?,
        };
        progress.loss += total;
        progress.entropy += entropy;
        progress.divergence += divergence;
        Ok(())
    }

    /// Fisher-Yates.
    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            order.swap(i, self.shuffle.below(i as u32 + 1) as usize);
        }
        order
    }

    /// The settings.
    pub fn config(&self) -> &TrainConfig {
        &self.config
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

/// What is seen after turning; the identity costs a copy.
fn turn<W: Symmetric>(seen: &Seen<W::Key>, g: Element, world: &W) -> Seen<W::Key> {
    if g == 0 { seen.clone() } else { seen.turned(g, world) }
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
