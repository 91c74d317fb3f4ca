//! One message round: f_i' = relu(W \[f_i (+) sum_j a_ij (e_ij (+) f_j)\] + b), j over the neighbours of i, with
//! a_ij = 1 / (1 + number of neighbours) and W (L_g (+) U_g (+) L_g) = L_g W.

use super::linear::check_relu;
use super::weights::{Initial, Space, Weights};
use crate::error::Result;
use crate::ops::{Messages, apply3};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use equimarl_group::Rep;
use equimarl_kernels::messages::{Graph, Round};
use std::sync::Arc;

/// An equivariant message-passing layer. An agent without neighbours gets a zero message.
#[derive(Module, Debug)]
pub struct MessageRound {
    /// The trainable coefficients.
    pub weights: Weights,
    #[module(skip)]
    plan: Round,
}

/// What makes a [`MessageRound`].
#[derive(Clone, Debug)]
pub struct MessageRoundConfig {
    /// The representation of an agent's features.
    pub features: Rep,
    /// The representation of edge vectors.
    pub edge: Rep,
    /// The representation of the new features.
    pub output: Rep,
}

impl MessageRoundConfig {
    /// Builds the layer; `normal` gives standard normal numbers.
    ///
    /// # Errors
    /// If a ReLU would break the symmetry of the output.
    pub fn init(&self, normal: &mut dyn FnMut() -> f64, device: &Device) -> Result<MessageRound> {
        check_relu(&self.output)?;
        let input = self.features.clone().plus(&self.edge)?.plus(&self.features)?;
        let space = Space::new(&input, &self.output, None)?;
        Ok(MessageRound {
            plan: Round::new(self.features.dim(), self.edge.dim(), self.output.dim())?,
            weights: Weights::init(space, Initial::BeforeRelu, normal, device),
        })
    }
}

impl MessageRound {
    /// One round for all agents; `edges` holds one vector per edge of the graph, in its order.
    ///
    /// # Panics
    /// If features and edges do not fit the graph.
    pub fn forward(&self, features: Tensor<2>, graph: &Arc<Graph>, edges: &Arc<[f32]>) -> Tensor<2> {
        assert_eq!(features.dims()[0], graph.agents(), "one row of features per agent");
        let (w, b) = self.weights.realise();
        let messages = Messages { plan: self.plan, graph: graph.clone(), edges: edges.clone() };
        apply3(messages, features, w, b)
    }

    /// The kernel's plan.
    pub fn plan(&self) -> Round {
        self.plan
    }
}
