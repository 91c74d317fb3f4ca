//! The PPO loss of a minibatch:
//!
//! ```text
//! ratio  = prod_i pi(a_i | s) / pi_old(a_i | s)                        the team's joint ratio
//! loss   = - mean_s min(ratio A, clip(ratio, 1 - c, 1 + c) A)          surrogate
//!          + v mean_s (V - R)^2 / 2                                    value
//!          - e mean_i entropy(pi_i)                                    mean over agents
//! ```

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use equimarl_nn::{Output, sum_over_team};
use std::sync::Arc;

/// What the rollout remembers of the states of a minibatch.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The action of every agent.
    pub actions: Vec<usize>,
    /// The log-probability of the team's joint action under the rollout's policy, per state.
    pub log_probabilities: Vec<f32>,
    /// The advantage, per state.
    pub advantages: Vec<f32>,
    /// The return, per state.
    pub returns: Vec<f32>,
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

/// The loss and its parts, each a tensor of one number.
#[derive(Clone, Debug)]
pub struct Loss {
    /// What is minimised.
    pub total: Tensor<1>,
    /// The mean entropy of the agents' policies.
    pub entropy: Tensor<1>,
    /// The mean of old minus new joint log-probability: an estimate of the KL divergence.
    pub divergence: Tensor<1>,
}

impl LossConfig {
    /// The loss of what a network said about a minibatch; `starts` are the batch's.
    pub fn loss(&self, said: &Output, starts: &Arc<[u32]>, samples: &Samples) -> Loss {
        let device = said.logits.device();
        let column = |values: &[f32]| column(values, &device);
        let log_policy = log_softmax(said.logits.clone(), 1);
        let actions: Vec<i64> = samples.actions.iter().map(|&a| a as i64).collect();
        let agents = actions.len();
        let actions: Tensor<2, Int> = Tensor::from_data(TensorData::new(actions, [agents, 1]), &device);
        let joint = sum_over_team(log_policy.clone().gather(1, actions), starts);
        let change = joint - column(&samples.log_probabilities);
        let ratio = change.clone().exp();
        let advantages = column(&samples.advantages);
        let free = ratio.clone() * advantages.clone();
        let clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip) * advantages;
        let surrogate = free.min_pair(clipped).mean();
        let value = (said.values.clone() - column(&samples.returns)).square().mean() / 2.0;
        let entropy = -(log_policy.clone().exp() * log_policy).sum_dim(1).mean();
        let total = value * self.value - surrogate - entropy.clone() * self.entropy;
        Loss { total, entropy, divergence: -change.mean() }
    }
}

fn column(values: &[f32], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len(), 1]), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same loss in f64, straight from its definition, for one action choice and three agents in two states.
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

    #[test]
    fn the_loss_and_its_gradient_are_those_of_the_definition() {
        let config = LossConfig { clip: 0.1, value: 0.7, entropy: 0.05 };
        let starts: Arc<[u32]> = Arc::new([0, 2, 3]);
        let samples = Samples {
            actions: vec![0, 1, 1],
            log_probabilities: vec![-1.2, -0.9],
            advantages: vec![0.8, -1.5],
            returns: vec![0.3, 2.0],
        };
        let (logits, values) = ([0.1, -0.4, 0.9, 0.2, -0.3, 0.5], [0.5, 1.0]);
        let device = Device::flex().autodiff();
        let tensor = |v: &[f64], shape: [usize; 2]| {
            let v: Vec<f32> = v.iter().map(|&x| x as f32).collect();
            Tensor::<2>::from_data(TensorData::new(v, shape), &device).require_grad()
        };
        let said = Output { logits: tensor(&logits, [3, 2]), values: tensor(&values, [2, 1]) };
        let loss = config.loss(&said, &starts, &samples).total;
        let exact = oracle(&logits, &values, &starts, &samples, &config);
        assert!((f64::from(loss.clone().into_scalar::<f32>()) - exact).abs() < 1e-6);

        let gradients = loss.backward();
        let found =
            |t: &Tensor<2>| -> Vec<f32> { t.grad(&gradients).unwrap().into_data().try_to_vec().unwrap() };
        let step = 1e-6;
        for (k, g) in found(&said.logits).into_iter().enumerate() {
            let at = |d: f64| {
                let mut moved = logits;
                moved[k] += d;
                oracle(&moved, &values, &starts, &samples, &config)
            };
            assert!((f64::from(g) - (at(step) - at(-step)) / (2.0 * step)).abs() < 1e-5, "logit {k}");
        }
        for (k, g) in found(&said.values).into_iter().enumerate() {
            let at = |d: f64| {
                let mut moved = values;
                moved[k] += d;
                oracle(&logits, &moved, &starts, &samples, &config)
            };
            assert!((f64::from(g) - (at(step) - at(-step)) / (2.0 * step)).abs() < 1e-5, "value {k}");
        }
    }
}
