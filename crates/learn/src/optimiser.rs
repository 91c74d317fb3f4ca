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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Method, TrainConfig};
    use equimarl_worlds::{Purpose, Stream, builtin};

    fn network(method: Method) -> Network {
        let registry = builtin();
        let world = registry.usual("wildlife").unwrap();
        let config = TrainConfig::preset(&registry, "default", world, method).unwrap();
        let mut stream = Stream::new(1, Purpose::Weights, 0);
        Network::init(&config.network(&registry).unwrap(), &mut || stream.normal()).unwrap()
    }

    /// Three updates, with gradients of very different size for what keeps the symmetry and what leaves it.
    fn updated(mut network: Network, rest: f32, penalty: f64) -> Network {
        let mut optimiser = Optimiser::new(&network, 0.01, 1.0).with_penalty(penalty);
        let kept = if network.rest().is_empty() { network.values().len() } else { network.rest().start };
        for step in 1..4 {
            let of = |k: usize| ((k * step) as f32 * 0.7).sin() * if k < kept { 1.0 } else { rest };
            let mut gradients: Vec<f32> = (0..network.values().len()).map(of).collect();
            optimiser.update(&mut network, &mut gradients).unwrap();
        }
        network
    }

    #[test]
    fn what_leaves_the_symmetry_is_clipped_apart() {
        let exact = updated(network(Method::Equivariant), 1.0, 10.0);
        for rest in [1e-3, 1.0, 1e6] {
            let relaxed = updated(network(Method::Relaxed), rest, 10.0);
            assert!(exact.values() == &relaxed.values()[..exact.values().len()], "{rest}");
            assert!(relaxed.values()[relaxed.rest()].iter().any(|d| *d != 0.0));
        }
    }

    /// d <- d / (1 + rate * penalty), after every step: d_1 = k s_1, d_2 = k (d_1 + s_2), ... with steps s that do not depend on d.
    #[test]
    fn weights_that_left_are_pulled_back_after_every_step() {
        let steps: Vec<Vec<f32>> = {
            let mut network = network(Method::Relaxed);
            let mut optimiser = Optimiser::new(&network, 0.01, 1.0);
            let mut before = network.values()[network.rest()].to_vec();
            (0..3)
                .map(|_| {
                    let mut gradients: Vec<f32> =
                        (0..network.values().len()).map(|k| (k as f32).cos()).collect();
                    optimiser.update(&mut network, &mut gradients).unwrap();
                    let now = network.values()[network.rest()].to_vec();
                    let step = now.iter().zip(&before).map(|(a, b)| a - b).collect();
                    before = now;
                    step
                })
                .collect()
        };
        let mut network = network(Method::Relaxed);
        let mut optimiser = Optimiser::new(&network, 0.01, 1.0).with_penalty(50.0);
        let mut expected = vec![0.0f64; network.rest().len()];
        for step in &steps {
            let mut gradients: Vec<f32> = (0..network.values().len()).map(|k| (k as f32).cos()).collect();
            optimiser.update(&mut network, &mut gradients).unwrap();
            expected.iter_mut().zip(step).for_each(|(d, s)| *d = (*d + f64::from(*s)) / 1.5);
            for (found, expected) in network.values()[network.rest()].iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-7, "{found} {expected}");
            }
        }
    }
}
