//! One message round: f_i' = relu(W \[f_i (+) sum_j a_ij (e_ij (+) f_j)\] + b), j over the neighbours of i, with
//! a_ij = 1 / (1 + number of neighbours) and W (L_g (+) U_g (+) L_g) = L_g W.

use super::linear::stacked;
use super::{Initial, LinearWork, Space, check_relu};
use crate::error::Result;
use equimarl_group::Rep;
use equimarl_kernels::linear::{self, Packed};
use equimarl_kernels::messages::{self as kernel, Graph};
use equimarl_kernels::realise::Realisation;
use std::slice::from_ref;

/// An equivariant message-passing layer. An agent without neighbours gets a zero message.
#[derive(Clone, Debug)]
pub struct MessageRound {
    space: Box<Space>,
    weight: Realisation,
    bias: Realisation,
    kernel: kernel::Round,
    realiser: linear::Realiser,
}

/// What a round keeps for its backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct RoundWork {
    saved: kernel::Activations,
    workspace: kernel::Workspace,
    dense: LinearWork,
}

impl MessageRound {
    /// From features in `features` and edge vectors in `edge` to features in `output`.
    ///
    /// # Errors
    /// If a ReLU would break the symmetry of the output.
    pub fn new(features: &Rep, edge: &Rep, output: &Rep) -> Result<MessageRound> {
        check_relu(output)?;
        let input = features.clone().plus(edge)?.plus(features)?;
        let space = Box::new(Space::new(&input, output, None)?);
        let [weight, bias] = stacked(from_ref(&*space))?;
        let kernel = kernel::Round::new(features.dim(), edge.dim(), output.dim())?;
        let realiser = kernel.linear().realiser(&weight, &bias)?;
        Ok(MessageRound { space, weight, bias, kernel, realiser })
    }

    /// The space of its weight and bias.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.kernel.outputs()
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.weight.coefficients()
    }

    /// Variance-preserving coefficients from a source of standard normal numbers.
    pub fn init(&self, normal: &mut dyn FnMut() -> f64) -> Vec<f32> {
        self.space.init(Initial::BeforeRelu, normal)
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], packed: &mut Packed) -> Result<()> {
        Ok(self.kernel.linear().realise(&self.realiser, parameters, packed)?)
    }

    /// One round for all agents; `edges` holds one vector per edge of the graph, in its order.
    ///
    /// # Errors
    /// If features and edges do not fit the graph, or `packed` is another layer's.
    pub fn forward(
        &self,
        packed: &Packed,
        (graph, edges): (&Graph, &[f32]),
        features: &[f32],
        work: &mut RoundWork,
        out: &mut [f32],
    ) -> Result<()> {
        Ok(self.kernel.forward(graph, edges, features, packed, &mut work.saved, out)?)
    }

    /// The round of one agent, from what it received: the same bits as in [`MessageRound::forward`]. `input` is working
    /// memory.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn one(
        &self,
        packed: &Packed,
        (own, edges, received): (&[f32], &[f32], &[f32]),
        input: &mut Vec<f32>,
        out: &mut [f32],
    ) -> Result<()> {
        Ok(self.kernel.one(own, edges, received, packed, input, out)?)
    }

    /// Given the output of the last forward pass and its gradient: writes the gradient of the features, and adds to those
    /// of the coefficients. `dout` becomes the gradient before the ReLU.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        packed: &Packed,
        graph: &Graph,
        (out, dout): (&[f32], &mut [f32]),
        work: &mut RoundWork,
        dfeatures: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<()> {
        linear::relu_backward(out, dout)?;
        let RoundWork { saved, workspace, dense } = work;
        dense.w.resize(self.weight.entries(), 0.0);
        dense.b.resize(self.bias.entries(), 0.0);
        let into = kernel::Gradients { features: dfeatures, w: &mut dense.w, b: &mut dense.b };
        self.kernel.backward(graph, packed, saved, dout, workspace, into)?;
        self.weight.add_adjoint(&dense.w, gradients)?;
        Ok(self.bias.add_adjoint(&dense.b, gradients)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Noise, check_equivariance, check_gradients};
    use equimarl_group::Group;

    /// Three agents: 0 hears 1 and 2, 1 hears 2, 2 hears nobody.
    fn graph() -> Graph {
        Graph::new(vec![0, 2, 3, 3], vec![1, 2, 2]).unwrap()
    }

    fn layer(group: &str) -> MessageRound {
        let group: Group = group.parse().unwrap();
        let rep = |text: &str| Rep::parse(&group, text).unwrap();
        MessageRound::new(&rep("2*regular"), &Rep::rotation(&group, 1).unwrap(), &rep("3*regular")).unwrap()
    }

    /// The equation in f64.
    fn oracle(layer: &MessageRound, parameters: &[f64], edges: &[f64], x: &[f64]) -> Vec<f64> {
        let (graph, mut out, mut edge) = ([vec![1, 2], vec![2], vec![]], vec![], 0);
        let f = x.len() / 3;
        for (i, heard) in graph.iter().enumerate() {
            let mut input = x[i * f..][..f].to_vec();
            input.resize(2 * f + 2, 0.0);
            let a = 1.0 / (1.0 + heard.len() as f64);
            for &j in heard {
                (0..2).for_each(|k| input[f + k] += a * edges[2 * edge + k]);
                (0..f).for_each(|k| input[f + 2 + k] += a * x[j * f + k]);
                edge += 1;
            }
            let space = layer.space();
            for o in 0..layer.outputs() {
                let bias = space.bias().terms(o);
                let mut y: f64 = bias.map(|(c, s)| parameters[space.ranks()[0] + c] * f64::from(s)).sum();
                for (k, x) in input.iter().enumerate() {
                    let terms = space.weight().terms(o * input.len() + k);
                    y += terms.map(|(c, s)| parameters[c] * f64::from(s)).sum::<f64>() * x;
                }
                out.push(y.max(0.0));
            }
        }
        out
    }

    #[test]
    fn gradients_are_those_of_the_equation() {
        for group in ["C4", "D4", "C3"] {
            let (layer, mut noise) = (layer(group), Noise::new(3));
            let f = (layer.kernel.inputs() - 2) / 2;
            let (parameters, x) = (noise.normals(layer.parameters()), noise.normals(3 * f));
            let (edges, weights) = (noise.normals(6), noise.normals(3 * layer.outputs()));
            let (mut packed, mut work) = (Packed::default(), RoundWork::default());
            layer.realise(&parameters, &mut packed).unwrap();
            let mut out = vec![0.0; weights.len()];
            layer.forward(&packed, (&graph(), &edges), &x, &mut work, &mut out).unwrap();
            let (mut dx, mut gradients) = (vec![0.0; x.len()], vec![0.0; parameters.len()]);
            let mut dout = weights.clone();
            let both = (&out[..], &mut dout[..]);
            layer.backward(&packed, &graph(), both, &mut work, &mut dx, &mut gradients).unwrap();
            let wide: Vec<f64> = edges.iter().map(|&e| f64::from(e)).collect();
            check_gradients(
                &[&parameters, &x],
                &[&gradients, &dx],
                |[parameters, x]| oracle(&layer, parameters, &wide, x),
                (&out, &weights),
            );
        }
    }

    #[test]
    fn features_turn_with_features_and_edges() {
        for group in ["C4", "D4", "C3"] {
            let layer = layer(group);
            let parameters = Noise::new(4).normals(layer.parameters());
            let mut packed = Packed::default();
            layer.realise(&parameters, &mut packed).unwrap();
            let group: Group = group.parse().unwrap();
            let features = Rep::parse(&group, "2*regular").unwrap();
            let edge = Rep::rotation(&group, 1).unwrap();
            // All three agents' features and all three edges as one vector.
            let input = features.copies(3).unwrap().plus(&edge.copies(3).unwrap()).unwrap();
            let output = Rep::parse(&group, "3*regular").unwrap().copies(3).unwrap();
            let f = 2 * group.order();
            check_equivariance(&input, &output, |x| {
                let mut out = vec![0.0; 3 * layer.outputs()];
                let (x, edges) = x.split_at(3 * f);
                let mut work = RoundWork::default();
                layer.forward(&packed, (&graph(), edges), x, &mut work, &mut out).unwrap();
                out
            });
        }
    }
}
