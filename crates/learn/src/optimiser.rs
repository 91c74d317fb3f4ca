//! One step of Adam on all parameters, after clipping the gradient's norm over all of them together. What leaves the symmetry in
//! a relaxed network is clipped apart, and pulled back after the step: d <- d / (1 + rate * penalty). (Adam would rescale the
//! gradient of a penalty in the loss away.)

use crate::error::{Error, Result};
use equimarl_kernels::adam::{Adam, clip_global_norm};
use equimarl_nn::Network;

/// Adam with its moments, in the order of [`Network::values`].
#[derive(Clone, Debug)]
pub struct Optimiser {
    adam: Adam,
    /// The learning rate.
    pub rate: f64,
    /// The largest norm of the gradient.
    pub clip: f64,
    /// How strongly weights that left the symmetry are pulled back.
    pub penalty: f64,
    steps: u64,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Optimiser {
    /// Fresh moments for this network.
    pub fn new(network: &Network, rate: f64, clip: f64) -> Optimiser {
        let zeros = vec![0.0; network.values().len()];
        Optimiser {
            adam: Adam::default(),
            rate,
            clip,
            penalty: 0.0,
            steps: 0,
            first: zeros.clone(),
            second: zeros,
        }
    }

    /// The same, pulling back weights that left the symmetry.
    pub fn with_penalty(mut self, penalty: f64) -> Optimiser {
        self.penalty = penalty;
        self
    }

    /// Moves the network's parameters against `gradients`, which it clips, and gives their norm before clipping.
    ///
    /// # Errors
    /// If the gradient is not finite; then nothing changes.
    pub fn update(&mut self, network: &mut Network, gradients: &mut [f32]) -> Result<f64> {
        let rest = network.rest();
        let norm = if rest.is_empty() {
            clip_global_norm(&mut [gradients], self.clip)
        } else {
            let (free, rest) = gradients.split_at_mut(rest.start);
            clip_global_norm(&mut [free], self.clip).hypot(clip_global_norm(&mut [rest], self.clip))
        };
        if !norm.is_finite() {
            return Err(Error::Diverged("the gradient is not finite".into()));
        }
        self.steps += 1;
        let (m, v) = (&mut self.first, &mut self.second);
        self.adam
            .step(self.steps, self.rate, gradients, network.values_mut(), m, v)
            .map_err(equimarl_nn::Error::from)?;
        if !rest.is_empty() {
            let keep = (1.0 / (1.0 + self.rate * self.penalty)) as f32;
            network.values_mut()[rest].iter_mut().for_each(|d| *d *= keep);
        }
        Ok(norm)
    }

    /// Updates so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The first and second moments.
    pub(crate) fn moments(&self) -> [&[f32]; 2] {
        [&self.first, &self.second]
    }

    /// Continues from saved moments.
    pub(crate) fn restore(&mut self, steps: u64, first: Vec<f32>, second: Vec<f32>) {
        (self.steps, self.first, self.second) = (steps, first, second);
    }
}
