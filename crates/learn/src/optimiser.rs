//! One step of Adam on all parameters, after clipping the gradient's norm over all of them together.

use crate::error::{Error, Result};
use equimarl_kernels::adam::{Adam, clip_global_norm};
use equimarl_nn::Network;

/// Adam with its moments, in the order of [`Network::parameters`].
#[derive(Clone, Debug)]
pub struct Optimiser {
    adam: Adam,
    /// The learning rate.
    pub rate: f64,
    /// The largest norm of the gradient.
    pub clip: f64,
    steps: u64,
    first: Vec<Vec<f32>>,
    second: Vec<Vec<f32>>,
}

impl Optimiser {
    /// Fresh moments for this network.
    pub fn new(network: &Network, rate: f64, clip: f64) -> Optimiser {
        let zeros: Vec<Vec<f32>> =
            network.parameters().iter().map(|(_, values)| vec![0.0; values.len()]).collect();
        Optimiser { adam: Adam::default(), rate, clip, steps: 0, first: zeros.clone(), second: zeros }
    }

    /// Moves the network's parameters against `gradients`, and gives the gradient's norm before clipping.
    ///
    /// # Errors
    /// If the gradient is not finite; then nothing changes.
    pub fn update(&mut self, network: &mut Network, mut gradients: Vec<Vec<f32>>) -> Result<f64> {
        let mut slices: Vec<&mut [f32]> = gradients.iter_mut().map(Vec::as_mut_slice).collect();
        let norm = clip_global_norm(&mut slices, self.clip);
        if !norm.is_finite() {
            return Err(Error::Diverged("the gradient is not finite".into()));
        }
        self.steps += 1;
        let mut values: Vec<Vec<f32>> = network.parameters().into_iter().map(|(_, v)| v).collect();
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((value, gradient), (m, v)) in values.iter_mut().zip(&gradients).zip(moments) {
            self.adam.step(self.steps, self.rate, gradient, value, m, v).map_err(equimarl_nn::Error::from)?;
        }
        network.set_parameters(values)?;
        Ok(norm)
    }

    /// Updates so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The first and second moments.
    pub(crate) fn moments(&self) -> (&[Vec<f32>], &[Vec<f32>]) {
        (&self.first, &self.second)
    }

    /// Continues from saved moments.
    pub(crate) fn restore(&mut self, steps: u64, first: Vec<Vec<f32>>, second: Vec<Vec<f32>>) {
        (self.steps, self.first, self.second) = (steps, first, second);
    }
}
