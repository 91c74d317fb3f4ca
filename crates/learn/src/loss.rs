//! The PPO loss of a minibatch and its gradient:
//!
//! ```text
//! ratio  = prod_i pi(a_i | s) / pi_old(a_i | s)                        the team's joint ratio
//! loss   = - mean_s min(ratio A, clip(ratio, 1 - c, 1 + c) A)          surrogate
//!          + v mean_s (V - R)^2 / 2                                    value
//!          - e mean_i H(pi_i)                                          entropy, mean over agents
//!
//! d loss / d log ratio   = - ratio A / states   where the ratio is not clipped, else 0
//! d log ratio / d x_ik   = [k = a_i] - p_ik
//! d H(pi_i) / d x_ik     = - p_ik (log p_ik + H(pi_i))
//! d loss / d V           = v (V - R) / states
//! ```

use equimarl_kernels::softmax::log_softmax;
use equimarl_nn::{Error, Gaussian, Output, Result};

/// What the rollout remembers of the states of a minibatch.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The action of every agent; empty where agents act by vectors.
    pub actions: Vec<usize>,
    /// The vectors of all agents before the squash, one after the other; empty where they choose.
    pub vectors: Vec<f32>,
    /// The log-probability of the team's joint action under the rollout's policy, per state.
    pub log_probabilities: Vec<f32>,
    /// The advantage, per state.
    pub advantages: Vec<f32>,
    /// The return, per state.
    pub returns: Vec<f32>,
}

impl Samples {
    /// Forgets everything but its memory.
    pub(crate) fn clear(&mut self) {
        self.actions.clear();
        self.vectors.clear();
        self.log_probabilities.clear();
        self.advantages.clear();
        self.returns.clear();
    }
}

/// The weights of the loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossConfig {
    /// How far the ratio may move, c.
    pub clip: f32,
    /// The weight of the value loss, v.
    pub value: f32,
    /// The weight of the entropy, e.
    pub entropy: f32,
}

impl Default for LossConfig {
    /// The paper's.
    fn default() -> Self {
        LossConfig { clip: 0.1, value: 1.0, entropy: 0.01 }
    }
}

/// The loss and its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// What is minimised.
    pub total: f64,
    /// The policy's part: minus the mean clipped surrogate.
    pub policy: f64,
    /// The value's part, before its weight: half the mean squared error.
    pub value: f64,
    /// The mean entropy of the agents' policies.
    pub entropy: f64,
    /// The mean of old minus new joint log-probability: an estimate of the KL divergence.
    pub approx_kl: f64,
    /// The share of states whose ratio has left the range of the clip.
    pub clip_fraction: f64,
}

impl Loss {
    /// Adds the parts of another, for means over several.
    pub(crate) fn add(&mut self, other: &Loss) {
        self.total += other.total;
        self.policy += other.policy;
        self.value += other.value;
        self.entropy += other.entropy;
        self.approx_kl += other.approx_kl;
        self.clip_fraction += other.clip_fraction;
    }
}

impl LossConfig {
    /// The loss of what a network said about a minibatch whose agents act by vectors, and its gradient. Ratios are those of vectors
    /// before the squash, which are the same as after it; the entropy is that before the squash.
    ///
    /// # Errors
    /// If the samples are not those of the minibatch.
    pub fn loss_vectors(
        &self,
        said: &Output,
        starts: &[u32],
        samples: &Samples,
        gradient: &mut Output,
    ) -> Result<Loss> {
        let states = starts.len().saturating_sub(1);
        let agents = starts.last().map_or(0, |&n| n as usize);
        let (width, dim) = (said.logits.len() / agents.max(1), samples.vectors.len() / agents.max(1));
        let fits = [said.values.len(), samples.log_probabilities.len()]
            .iter()
            .chain(&[samples.advantages.len(), samples.returns.len()])
            .all(|&n| n == states)
            && (said.logits.len(), samples.vectors.len()) == (agents * width, agents * dim)
            && width == dim + 1;
        if !fits {
            return Err(Error::BadBatch("the samples are not those of the minibatch".into()));
        }
        let Output { logits: drows, values: dvalues } = gradient;
        drows.resize(said.logits.len(), 0.0);
        dvalues.clear();
        let of = |i: usize| Gaussian::of(&said.logits[i * width..][..width]);
        let done = |i: usize| &samples.vectors[i * dim..][..dim];
        let each_entropy = -self.entropy / agents as f32;
        let (mut surrogate, mut value, mut entropy, mut approx_kl) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        let mut outside = 0u32;
        for (s, team) in starts.windows(2).enumerate() {
            let team = team[0] as usize..team[1] as usize;
            let joint: f32 = team.clone().map(|i| of(i).log_density(done(i))).sum();
            let change = joint - samples.log_probabilities[s];
            let (ratio, advantage) = (change.exp(), samples.advantages[s]);
            let free = ratio * advantage;
            let clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip) * advantage;
            // Written so that what is not a number stays one.
            let is_clipped = clipped < free;
            surrogate += f64::from(if is_clipped { clipped } else { free });
            approx_kl -= f64::from(change);
            outside += u32::from((ratio - 1.0).abs() > self.clip);
            let dchange = if is_clipped { 0.0 } else { -free / states as f32 };
            for i in team {
                entropy += f64::from(of(i).entropy());
                of(i).gradient(done(i), dchange, each_entropy, &mut drows[i * width..][..width]);
            }
            let error = said.values[s] - samples.returns[s];
            value += f64::from(error) * f64::from(error) / 2.0;
            dvalues.push(self.value * error / states as f32);
        }
        let states = states as f64;
        let entropy = entropy / agents as f64;
        Ok(Loss {
            total: f64::from(self.value) * value / states
                - surrogate / states
                - f64::from(self.entropy) * entropy,
            policy: -surrogate / states,
            value: value / states,
            entropy,
            approx_kl: approx_kl / states,
            clip_fraction: f64::from(outside) / states,
        })
    }

    /// The loss of what a network said about a minibatch, and its gradient; the agents of state s are
    /// `starts[s]..starts[s + 1]`.
    ///
    /// # Errors
    /// If the samples are not those of the minibatch.
    pub fn loss(
        &self,
        said: &Output,
        starts: &[u32],
        samples: &Samples,
        gradient: &mut Output,
    ) -> Result<Loss> {
        let (states, agents) = (starts.len().saturating_sub(1), samples.actions.len());
        let actions = said.logits.len() / agents.max(1);
        let fits = [said.values.len(), samples.log_probabilities.len()]
            .iter()
            .chain(&[samples.advantages.len(), samples.returns.len()])
            .all(|&n| n == states)
            && starts.last().is_some_and(|&n| n as usize == agents)
            && said.logits.len() == agents * actions
            && samples.actions.iter().all(|&a| a < actions);
        if !fits {
            return Err(Error::BadBatch("the samples are not those of the minibatch".into()));
        }
        let Output { logits: dlogits, values: dvalues } = gradient;
        dlogits.resize(said.logits.len(), 0.0);
        dvalues.clear();
        // Log-probabilities first; row by row they are replaced by gradients.
        log_softmax(&said.logits, actions.max(1), dlogits)?;
        let each_entropy = self.entropy / agents.max(1) as f32;
        let (mut surrogate, mut value, mut entropy, mut approx_kl) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        let mut outside = 0u32;
        for (s, team) in starts.windows(2).enumerate() {
            let team = team[0] as usize..team[1] as usize;
            let joint: f32 = team.clone().map(|i| dlogits[i * actions + samples.actions[i]]).sum();
            let change = joint - samples.log_probabilities[s];
            let (ratio, advantage) = (change.exp(), samples.advantages[s]);
            let free = ratio * advantage;
            let clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip) * advantage;
            // Written so that what is not a number stays one.
            let is_clipped = clipped < free;
            surrogate += f64::from(if is_clipped { clipped } else { free });
            approx_kl -= f64::from(change);
            outside += u32::from((ratio - 1.0).abs() > self.clip);
            let dchange = if is_clipped { 0.0 } else { -free / states as f32 };
            for i in team {
                let row = &mut dlogits[i * actions..][..actions];
                let own = -row.iter().map(|l| l.exp() * l).sum::<f32>();
                entropy += f64::from(own);
                for (k, x) in row.iter_mut().enumerate() {
                    let (log, p) = (*x, x.exp());
                    let taken = if k == samples.actions[i] { 1.0 } else { 0.0 };
                    *x = dchange * (taken - p) + each_entropy * p * (log + own);
                }
            }
            let error = said.values[s] - samples.returns[s];
            value += f64::from(error) * f64::from(error) / 2.0;
            dvalues.push(self.value * error / states as f32);
        }
        let states = states as f64;
        let entropy = entropy / agents as f64;
        let total =
            f64::from(self.value) * value / states - surrogate / states - f64::from(self.entropy) * entropy;
        Ok(Loss {
            total,
            policy: -surrogate / states,
            value: value / states,
            entropy,
            approx_kl: approx_kl / states,
            clip_fraction: f64::from(outside) / states,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same loss in f64, straight from its definition.
    fn oracle(logits: &[f64], values: &[f64], starts: &[u32], s: &Samples, c: &LossConfig) -> f64 {
        let log_policy: Vec<Vec<f64>> = logits
            .chunks(2)
            .map(|row| {
                let total = row.iter().map(|x| x.exp()).sum::<f64>().ln();
                row.iter().map(|x| x - total).collect()
            })
            .collect();
        let states = values.len() as f64;
        let mut loss = 0.0;
        for (state, team) in starts.windows(2).enumerate() {
            let joint: f64 = (team[0] as usize..team[1] as usize).map(|i| log_policy[i][s.actions[i]]).sum();
            let ratio = (joint - f64::from(s.log_probabilities[state])).exp();
            let a = f64::from(s.advantages[state]);
            let clip = f64::from(c.clip);
            loss -= (ratio * a).min(ratio.clamp(1.0 - clip, 1.0 + clip) * a) / states;
            loss += f64::from(c.value) * (values[state] - f64::from(s.returns[state])).powi(2) / 2.0 / states;
        }
        let entropy: f64 = log_policy.iter().map(|row| -row.iter().map(|l| l.exp() * l).sum::<f64>()).sum();
        loss - f64::from(c.entropy) * entropy / log_policy.len() as f64
    }

    /// Two agents and one: with `old` far from the logits the ratios are clipped, on either side.
    fn case(old: [f32; 2], advantages: [f32; 2]) -> Samples {
        Samples {
            actions: vec![0, 1, 1],
            vectors: vec![],
            log_probabilities: old.to_vec(),
            advantages: advantages.to_vec(),
            returns: vec![0.3, 2.0],
        }
    }

    #[test]
    fn the_loss_and_its_gradient_are_those_of_the_definition() {
        let config = LossConfig { clip: 0.1, value: 0.7, entropy: 0.05 };
        let starts = [0, 2, 3];
        let (logits, values) = ([0.1, -0.4, 0.9, 0.2, -0.3, 0.5], [0.5, 1.0]);
        let narrow = |v: &[f64]| v.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let said = Output { logits: narrow(&logits), values: narrow(&values) };
        // Joint log-probabilities are about -1.58 and -0.37.
        for old in [[-1.2, -0.9], [-1.58, -0.37], [-3.0, 0.0]] {
            for advantages in [[0.8, -1.5], [-0.8, 1.5], [0.0, 0.3]] {
                let samples = case(old, advantages);
                let mut gradient = Output::default();
                let loss = config.loss(&said, &starts, &samples, &mut gradient).unwrap();
                let exact = oracle(&logits, &values, &starts, &samples, &config);
                assert!((loss.total - exact).abs() < 1e-6);
                let parts = loss.policy + f64::from(config.value) * loss.value
                    - f64::from(config.entropy) * loss.entropy;
                assert!((loss.total - parts).abs() < 1e-9);
                // Ratios are far from 1 in the first and last case, and close to it in the middle one.
                assert_eq!(loss.clip_fraction, if old == [-1.58, -0.37] { 0.0 } else { 1.0 });
                let step = 1e-6;
                for (k, g) in gradient.logits.iter().enumerate() {
                    let at = |d: f64| {
                        let mut moved = logits;
                        moved[k] += d;
                        oracle(&moved, &values, &starts, &samples, &config)
                    };
                    assert!(
                        (f64::from(*g) - (at(step) - at(-step)) / (2.0 * step)).abs() < 1e-5,
                        "logit {k}"
                    );
                }
                for (k, g) in gradient.values.iter().enumerate() {
                    let at = |d: f64| {
                        let mut moved = values;
                        moved[k] += d;
                        oracle(&logits, &moved, &starts, &samples, &config)
                    };
                    assert!(
                        (f64::from(*g) - (at(step) - at(-step)) / (2.0 * step)).abs() < 1e-5,
                        "value {k}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_a_number_shows_in_the_loss() {
        let (config, starts) = (LossConfig::default(), [0, 2, 3]);
        let said = |x: f32| Output { logits: vec![0.1, -0.4, x, 0.2, -0.3, 0.5], values: vec![0.5, 1.0] };
        for bad in [f32::NAN, f32::INFINITY] {
            let mut gradient = Output::default();
            let samples = case([-1.2, -0.9], [0.8, -1.5]);
            let loss = config.loss(&said(bad), &starts, &samples, &mut gradient).unwrap();
            assert!(!loss.total.is_finite());
        }
    }

    #[test]
    fn gradients_of_vectors_are_those_of_finite_differences() {
        let (starts, config) = ([0u32, 2, 3], LossConfig { clip: 0.2, value: 0.5, entropy: 0.03 });
        let said = Output {
            logits: vec![0.3, -0.2, -0.4, 0.1, 0.6, 0.2, -0.5, 0.4, -0.1],
            values: vec![0.5, -0.25],
        };
        let vectors = vec![0.5, 0.1, -0.3, 0.9, -0.4, 0.0];
        let old = |scale: f32| {
            let of = |i: usize| Gaussian::of(&said.logits[i * 3..][..3]).log_density(&vectors[i * 2..][..2]);
            vec![of(0) + of(1) + scale, of(2) - scale]
        };
        // Within the clip, and far outside of it on both sides.
        for (scale, advantages) in [(0.05, [0.8, -1.5]), (1.0, [0.8, -1.5]), (-1.0, [0.8, -1.5])] {
            let samples = Samples {
                actions: vec![],
                vectors: vectors.clone(),
                log_probabilities: old(scale),
                advantages: advantages.to_vec(),
                returns: vec![1.0, 0.0],
            };
            let mut gradient = Output::default();
            config.loss_vectors(&said, &starts, &samples, &mut gradient).unwrap();
            let total = |logits: &[f64], values: &[f64]| {
                let (mut total, mut entropy) = (0.0, 0.0);
                for (s, team) in starts.windows(2).enumerate() {
                    let mut joint = 0.0;
                    for i in team[0] as usize..team[1] as usize {
                        let row = &logits[i * 3..][..3];
                        let u = |k: usize| f64::from(vectors[i * 2 + k]);
                        let squared = (u(0) - row[0]).powi(2) + (u(1) - row[1]).powi(2);
                        joint -=
                            squared / 2.0 / (2.0 * row[2]).exp() + 2.0 * row[2] + std::f64::consts::TAU.ln();
                        entropy += 1.0 + std::f64::consts::TAU.ln() + 2.0 * row[2];
                    }
                    let ratio = (joint - f64::from(samples.log_probabilities[s])).exp();
                    let a = f64::from(advantages[s]);
                    let clip = f64::from(config.clip);
                    total -= (ratio * a).min(ratio.clamp(1.0 - clip, 1.0 + clip) * a) / 2.0;
                    let error = values[s] - f64::from(samples.returns[s]);
                    total += f64::from(config.value) * error * error / 2.0 / 2.0;
                }
                total - f64::from(config.entropy) * entropy / 3.0
            };
            let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
            let (logits, values) = (wide(&said.logits), wide(&said.values));
            for (k, &found) in gradient.logits.iter().enumerate() {
                let slope = |step: f64| {
                    let mut moved = logits.clone();
                    moved[k] += step;
                    total(&moved, &values)
                };
                let expected = (slope(1e-6) - slope(-1e-6)) / 2e-6;
                assert!(
                    (f64::from(found) - expected).abs() < 1e-4,
                    "{scale}, {k}: {found} instead of {expected}"
                );
            }
            for (k, &found) in gradient.values.iter().enumerate() {
                let slope = |step: f64| {
                    let mut moved = values.clone();
                    moved[k] += step;
                    total(&logits, &moved)
                };
                let expected = (slope(1e-6) - slope(-1e-6)) / 2e-6;
                assert!((f64::from(found) - expected).abs() < 1e-4, "{scale}, value {k}");
            }
        }
    }

    #[test]
    fn samples_of_other_states_are_refused() {
        let said = Output { logits: vec![0.0; 6], values: vec![0.0; 2] };
        let (config, mut gradient) = (LossConfig::default(), Output::default());
        let samples = case([-1.0, -1.0], [1.0, 1.0]);
        assert!(config.loss(&said, &[0, 2, 3], &samples, &mut gradient).is_ok());
        for starts in [&[][..], &[0, 3], &[0, 2, 4]] {
            assert!(config.loss(&said, starts, &samples, &mut gradient).is_err());
        }
        let wrong = Samples { actions: vec![0, 1, 2], ..samples };
        assert!(config.loss(&said, &[0, 2, 3], &wrong, &mut gradient).is_err());
    }
}
