//! Proximal policy optimisation with centralised training and distributed execution, from top to bottom: rollout and
//! returns (`rollout.rs`), epochs, loss, clip, step.

use crate::config::{AugmentRatio, Augmentation, EncoderChoice, TrainConfig};
use crate::episodes::{Episodes, Finished};
use crate::error::{Error, Result};
use crate::evaluate::Inference;
use crate::loss::{Loss, LossConfig, Samples};
use crate::observe::{Observer, States};
use crate::optimiser::Optimiser;
use crate::rollout::{Rollout, transform};
use crate::scale::ReturnScale;
use crate::tokens::Tokens;
use equimarl_group::{Element, Turn};
use equimarl_nn::{Batch, Cache, Network, Sharing};
use equimarl_worlds::{Envs, GroupAction, Over, Purpose, Registry, Resumed, Spec, Stream};
use std::time::{Duration, Instant};

/// A learner in the middle of its run.
pub struct Trainer {
    pub(crate) config: TrainConfig,
    pub(crate) network: Network,
    pub(crate) optimiser: Optimiser,
    pub(crate) environments: Box<dyn Envs>,
    /// How the group acts on the world.
    pub(crate) acts: GroupAction,
    /// How long vectors may be by which agents act.
    pub(crate) bound: f64,
    /// One stream of action choices per environment.
    pub(crate) choices: Vec<Stream>,
    pub(crate) shuffle: Stream,
    pub(crate) augment: Stream,
    pub(crate) episodes: Episodes,
    /// What agents are told apart by, if they are.
    pub(crate) tokens: Tokens,
    pub(crate) steps: u64,
    pub(crate) iterations: u64,
    /// The measure of an episode besides its return, such as waiting times: a mean over its steps, or its last value.
    pub(crate) measure: Option<(usize, Over)>,
    /// Measures that hide failures if nobody looks at them.
    pub(crate) alarms: Vec<Alarm>,
    /// The unit of rewards, if they have one of their own.
    pub(crate) scale: Option<ReturnScale>,
    /// How the rollout looks at states; its weights stay the same from one step to the next.
    pub(crate) acting: Inference,
    pub(crate) rollout: Rollout,
    pub(crate) memory: Memory,
    pub(crate) times: Times,
    /// From where the environments went on.
    pub(crate) resumed: Resumed,
}

/// A measure that hides failures if nobody looks at it, and what it was in the last episode that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Alarm {
    /// Its place among the world's measures.
    pub(crate) which: usize,
    /// Its name.
    pub name: String,
    /// Nothing before an episode ended.
    pub value: Option<f64>,
}

/// The measures that a world wants to be shown always.
fn alarms(spec: &Spec) -> Vec<Alarm> {
    let named = spec.measures.iter().enumerate().filter(|(_, m)| spec.alarms.contains(&m.name));
    named.map(|(which, m)| Alarm { which, name: m.name.clone(), value: None }).collect()
}

/// What one iteration did.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Episodes that ended in it.
    pub finished: Vec<Finished>,
    /// The loss and its parts, averaged over its updates.
    pub loss: Loss,
    /// The norm of the gradient before clipping, averaged over its updates.
    pub gradient_norm: f64,
    /// How much of the returns' variance the values knew before the updates: 1 is all of it, 0 nothing; not a number if the
    /// returns were all the same.
    pub explained_variance: f64,
    /// Measures that are always shown, as they were in the last episode that ended.
    pub alarms: Vec<Alarm>,
    /// Episodes that a simulator lost so far; nothing was learned from the end of any.
    pub abandoned: u64,
}

/// Where an iteration is: so many parts of this stage are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// What it does.
    pub stage: Stage,
    /// Steps of all environments, or updates, that are done.
    pub done: usize,
    /// All of them.
    pub of: usize,
}

/// What an iteration consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Acting in the environments.
    Acting,
    /// Updating the network.
    Learning,
}

/// Where the time of all iterations went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Stepping environments, choosing actions, and all that is not below.
    pub world: Duration,
    /// Looking at states and collating batches.
    pub collation: Duration,
    /// From images to features, and back.
    pub encoder: Duration,
    /// Message rounds, hidden layers and heads, and back; weights from coefficients.
    pub rounds: Duration,
    /// The loss and its gradient.
    pub loss: Duration,
    /// Clipping and Adam.
    pub optimiser: Duration,
}

/// Buffers that are made once.
#[derive(Default)]
pub(crate) struct Memory {
    batch: Batch,
    cache: Cache,
    samples: Samples,
    gradients: Vec<f32>,
    order: Vec<usize>,
    pub(crate) elements: Vec<Element>,
    /// States at which values are bootstrapped.
    pub(crate) ends: States,
}

impl Trainer {
    /// A fresh learner.
    ///
    /// # Errors
    /// If the settings do not fit the world.
    pub fn new(registry: &Registry, config: &TrainConfig) -> Result<Trainer> {
        let mut weights = Stream::new(config.seed, Purpose::Weights, 0);
        let network = Network::init(&config.network(registry)?, &mut || weights.normal())?;
        Trainer::with(config, config.make(registry, config.environments)?, network)
    }

    /// A learner with a network of your own, in environments of your own, which it starts.
    ///
    /// # Errors
    /// If the settings do not fit.
    pub fn with(config: &TrainConfig, mut environments: Box<dyn Envs>, network: Network) -> Result<Trainer> {
        config.check()?;
        let (seed, count) = (config.seed, environments.len());
        if count != config.environments {
            return Err(Error::Mismatch(format!(
                "there are {count} environments, and the settings want {}",
                config.environments
            )));
        }
        let acts = augmentation(config, environments.spec())?;
        environments.start_all(seed, Purpose::World)?;
        // Transformed copies can stand for each other only if world and network transform observations by the same group.
        let sharing = match network.sharing() {
            Sharing::Orbits(group) if group != acts.group => Sharing::Distinct,
            sharing => sharing,
        };
        let dictionary = network.dictionary().filter(|_| config.encoder != EncoderChoice::Dense);
        let observer = Observer::new(&*environments, network.config(), &sharing)?.with_action(acts.clone());
        let acting = Inference::of(observer.with_dictionary(&*environments, dictionary));
        let memory = Memory { batch: acting.observer.batch(), ..Memory::default() };
        let order = network.config().token_order()?;
        let mut trainer = Trainer {
            tokens: Tokens::new(seed, order, environments.spec().agents, count),
            optimiser: Optimiser::new(&network, config.learning_rate, config.gradient_clip)
                .with_penalty(config.penalty),
            acting,
            network,
            choices: (0..count as u64).map(|e| Stream::new(seed, Purpose::Action, e)).collect(),
            shuffle: Stream::new(seed, Purpose::Shuffle, 0),
            augment: Stream::new(seed, Purpose::Augment, 0),
            episodes: Episodes::new(count),
            steps: 0,
            iterations: 0,
            measure: environments.spec().first_measure().map(|(which, measure)| (which, measure.over)),
            bound: environments.spec().actions.vectors().map_or(1.0, |(bound, _)| bound),
            alarms: alarms(environments.spec()),
            acts,
            scale: config.scale_returns.then(|| ReturnScale::new(count)),
            rollout: Rollout::default(),
            memory,
            times: Times::default(),
            resumed: Resumed::State,
            config: config.clone(),
            environments,
        };
        trainer.warm_up()?;
        Ok(trainer)
    }

    /// One iteration: a rollout, and some passes of updates over it.
    ///
    /// # Errors
    /// If learning diverges to numbers that are not finite.
    pub fn iterate(&mut self) -> Result<Progress> {
        Ok(self.iterate_while(&mut |_| true)?.unwrap_or_default())
    }

    /// One iteration, as long as `go_on` says so: it is asked after every step and every update. Nothing if it said no; then
    /// this learner is somewhere in the middle of the iteration, and not to be used any more.
    ///
    /// # Errors
    /// If learning diverges to numbers that are not finite.
    pub fn iterate_while(&mut self, go_on: &mut dyn FnMut(Pulse) -> bool) -> Result<Option<Progress>> {
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
        if !self.act(&mut progress, go_on)? {
            return Ok(None);
        }
        self.forward_copies()?;
        let count = (0..self.rollout.states.len()).filter(|&s| self.rollout.counts(s)).count();
        // What a dead simulator leaves may be less than there are minibatches.
        let minibatches = self.config.minibatches.min(count);
        let updates = self.config.epochs * minibatches;
        let size = count / minibatches.max(1);
        for epoch in 0..self.config.epochs {
            self.reshuffle();
            for minibatch in 0..minibatches {
                self.update(minibatch * size..(minibatch + 1) * size, &mut progress)?;
                let done = epoch * minibatches + minibatch + 1;
                if done < updates && !go_on(Pulse { stage: Stage::Learning, done, of: updates }) {
                    return Ok(None);
                }
            }
        }
        let Loss { total, policy, value, entropy, approx_kl, clip_fraction } = &mut progress.loss;
        for mean in [total, policy, value, entropy, approx_kl, clip_fraction, &mut progress.gradient_norm] {
            *mean /= updates.max(1) as f64;
        }
        progress.explained_variance = self.rollout.explained_variance();
        (progress.alarms, progress.abandoned) = (self.alarms.clone(), self.episodes.abandoned());
        self.steps += self.config.batch() as u64;
        self.iterations += 1;
        self.times.world += start.elapsed().saturating_sub(self.measured() - before);
        Ok(Some(progress))
    }

    /// One gradient step on a minibatch: some places of the shuffled order. Allocates nothing once its buffers have grown.
    fn update(&mut self, places: std::ops::Range<usize>, progress: &mut Progress) -> Result<()> {
        self.draw_elements(places.len());
        let start = Instant::now();
        let (copies, agents) = (self.copies(), self.environments.spec().agents);
        let acts = &self.acts;
        let Memory { batch, cache, samples, gradients, order, elements, .. } = &mut self.memory;
        let rollout = &self.rollout;
        let (by_vectors, dim) = (self.network.acts_by_vectors(), acts.vector_dim());
        batch.clear();
        samples.clear();
        for copy in 0..copies {
            for (&s, &drawn) in order[places.clone()].iter().zip(&*elements) {
                let g = if copies > 1 { copy } else { drawn };
                self.acting.observer.collate(&rollout.states, [(s, g)], batch)?;
                if by_vectors {
                    for agent in s * agents..(s + 1) * agents {
                        let at = samples.vectors.len();
                        samples.vectors.extend_from_slice(&rollout.vectors[agent * dim..(agent + 1) * dim]);
                        transform(acts, g, &mut samples.vectors[at..]);
                    }
                } else {
                    let team = &rollout.actions[s * agents..(s + 1) * agents];
                    samples.actions.extend(team.iter().map(|&a| acts.action(g, a)));
                }
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
        let loss = match by_vectors {
            false => weights.loss(said, &batch.starts, samples, gradient)?,
            true => weights.loss_vectors(said, &batch.starts, samples, gradient)?,
        };
        self.times.loss += start.elapsed();
        if !loss.total.is_finite() {
            return Err(diverged(&self.config, self.steps, &format!("the loss is {}", loss.total)));
        }
        gradients.resize(self.network.values().len(), 0.0);
        self.network.backward(batch, cache, gradients)?;
        let start = Instant::now();
        progress.gradient_norm += match self.optimiser.update(&mut self.network, gradients) {
            Err(Error::Diverged(what)) => return Err(diverged(&self.config, self.steps, &what)),
            done => done?,
        };
        self.times.optimiser += start.elapsed();
        progress.loss.add(&loss);
        Ok(())
    }

    /// Fisher-Yates.
    fn reshuffle(&mut self) {
        let order = &mut self.memory.order;
        order.clear();
        order.extend((0..self.rollout.states.len()).filter(|&s| self.rollout.counts(s)));
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

    /// The environments.
    pub fn environments(&self) -> &dyn Envs {
        &*self.environments
    }

    /// The settings.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// How this learner looks at states, for looking with other weights between iterations.
    pub(crate) fn inference(&mut self) -> &mut Inference {
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

/// Angles that augmentation draws from, if it is by SO2 or O2: drawn once per run.
const ANGLES: usize = 1024;

/// How the group acts on the world; or, if augmentation is by SO2 or O2, how some turns of these do.
fn augmentation(config: &TrainConfig, spec: &Spec) -> Result<GroupAction> {
    let symmetry = config.symmetry()?;
    if symmetry.is_finite() || config.method.augmentation() == Augmentation::Nothing {
        return Ok(GroupAction::new(spec)?);
    }
    let mut stream = Stream::new(config.seed, Purpose::Augment, 1);
    let drawn = (0..ANGLES).map(|_| symmetry.any_turn(&mut || stream.unit()));
    let turns: Vec<Turn> = [Turn::NONE].into_iter().chain(drawn).collect();
    Ok(GroupAction::of_turns(spec, &symmetry, &turns)?)
}

/// Says what to do about numbers that are not finite.
fn diverged(config: &TrainConfig, steps: u64, what: &str) -> Error {
    let cure = match (config.method.augmentation(), config.augment_ratio) {
        // Observation again and again, whatever the learning rate: docs/learning.md.
        (Augmentation::Full, AugmentRatio::Copy) => {
            "full augmentation often ends so with the ratio of copies; start a new run with \
             --set augment_ratio=rollout"
                .into()
        }
        _ => format!("lower the learning rate ({})", config.learning_rate),
    };
    Error::Diverged(format!("{what} after {steps} steps; {cure}"))
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
    use crate::config::Method;

    #[test]
    fn a_collapse_is_said_with_what_helps() {
        for (preset, method, part) in [
            ("paper", Method::AugmentFull, "with --set augment_ratio=rollout"),
            ("default", Method::AugmentFull, "lower the learning rate (0.003)"),
            ("paper", Method::Plain, "lower the learning rate (0.001)"),
        ] {
            let registry = equimarl_worlds::builtin();
            let world = registry.usual("wildlife").unwrap();
            let config = TrainConfig::preset(&registry, preset, world, method).unwrap();
            let error = diverged(&config, 80, "the loss is NaN").to_string();
            assert!(error.starts_with("the loss is NaN after 80 steps; ") && error.contains(part), "{error}");
        }
    }
}
