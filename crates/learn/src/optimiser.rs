//! One step of Adam on all parameters, after clipping the gradient's norm over all of them together.

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
    steps: u64,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Optimiser {
    /// Fresh moments for this network.
    pub fn new(network: &Network, rate: f64, clip: f64) -> Optimiser {
        let zeros = vec![0.0; network.values().len()];
        Optimiser { adam: Adam::default(), rate, clip, steps: 0, first: zeros.clone(), second: zeros }
    }

    /// Moves the network's parameters against `gradients`, which it clips, and gives their norm before clipping.
    ///
    /// # Errors
    /// If the gradient is not finite; then nothing changes.
    pub fn update(&mut self, network: &mut Network, gradients: &mut [f32]) -> Result<f64> {
        let norm = clip_global_norm(&mut [gradients], self.clip);
        if !norm.is_finite() {
            return Err(Error::Diverged("the gradient is not finite".into()));
        }
        self.steps += 1;
        let (m, v) = (&mut self.first, &mut self.second);
        self.adam
            .step(self.steps, self.rate, gradients, network.values_mut(), m, v)
            .map_err(equimarl_nn::Error::from)?;
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
