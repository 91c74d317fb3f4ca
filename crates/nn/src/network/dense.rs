//! A network as plain matrices: what runs on devices and in other frameworks.

use super::{Network, NetworkConfig};
use std::collections::BTreeMap;

/// A realised weight or bias with its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseTensor {
    /// Its shape: \[out, in, k, k\] for filters, \[out, in\] for linear layers, \[out\] for biases.
    pub shape: Vec<usize>,
    /// Its numbers, row-major.
    pub values: Vec<f32>,
}

/// All realised weights by name: `conv1.weight`, `conv1.bias`, ..., `policy.weight`, `value.bias`. Channel c of group
/// element h is at c |G| + h; a round's input is own features, edge vector, messages.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseModel {
    /// What made the network.
    pub config: NetworkConfig,
    /// The tensors.
    pub tensors: BTreeMap<String, DenseTensor>,
}

impl Network {
    /// The realised weights of this network.
    pub fn dense(&self) -> DenseModel {
        let mut tensors = BTreeMap::new();
        for (name, weights) in self.layers() {
            let space = weights.space();
            let [weight, bias] = weights.coefficients();
            let (outputs, inputs) = (space.output().dim(), space.input().dim());
            let mut shape = vec![outputs, inputs];
            shape.extend(space.kernel().iter().flat_map(|&k| [k, k]));
            let values = space.realise(&weight);
            tensors.insert(format!("{name}.weight"), DenseTensor { shape, values });
            let values = space.realise_bias(&bias);
            tensors.insert(format!("{name}.bias"), DenseTensor { shape: vec![outputs], values });
        }
        DenseModel { config: self.config().clone(), tensors }
    }
}
