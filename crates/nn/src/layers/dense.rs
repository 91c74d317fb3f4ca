//! One layer of a network: relu(W x + b) where the group permutes channels, and gate(W x + b) where channels turn.

use super::gate::{Gate, GateShape, GateWeights, GateWork};
use super::map::{Map, MapWeights, MapWork};
use super::stack::not_its_coefficients;
use super::{LinearWork, Space, check_relu};
use crate::error::Result;
use equimarl_group::Rep;
use equimarl_kernels::linear::relu_backward;

/// An equivariant linear layer and what makes it bend.
#[derive(Clone, Debug)]
pub struct Dense {
    space: Box<Space>,
    map: Map,
    gate: Option<Box<Gate>>,
}

/// Weights in the orders that the passes read them.
#[derive(Clone, Debug, Default)]
pub struct DenseWeights {
    map: MapWeights,
    gate: GateWeights,
}

/// What a layer keeps for its backward pass.
#[derive(Clone, Debug, Default)]
pub struct DenseWork {
    map: MapWork,
    candidates: Vec<f32>,
    dcandidates: Vec<f32>,
    gate: GateWork,
}

impl Dense {
    /// With a ReLU.
    ///
    /// # Errors
    /// If only the zero map is equivariant, or a ReLU would break the symmetry of the output.
    pub fn relu(input: &Rep, output: &Rep) -> Result<Dense> {
        check_relu(output)?;
        Dense::by(input, output, None)
    }

    /// With a gate.
    ///
    /// # Errors
    /// If only the zero map is equivariant.
    pub fn gated(input: &Rep, shape: &GateShape) -> Result<Dense> {
        Dense::by(input, &shape.candidates()?, Some(Box::new(Gate::new(shape)?)))
    }

    fn by(input: &Rep, output: &Rep, gate: Option<Box<Gate>>) -> Result<Dense> {
        let space = Box::new(Space::new(input, output, None)?);
        Ok(Dense { map: Map::new(&space, 0..input.dim(), true)?, space, gate })
    }

    /// The space of W and b, and those of the gate.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        [&*self.space].into_iter().chain(self.gate.iter().flat_map(|gate| gate.spaces()))
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.gate.as_ref().map_or_else(|| self.map.outputs(), |gate| gate.outputs())
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.space.parameters() + self.gate.as_ref().map_or(0, |gate| gate.parameters())
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], weights: &mut DenseWeights) -> Result<()> {
        if parameters.len() != self.parameters() {
            return Err(not_its_coefficients(parameters.len()));
        }
        let (first, second) = parameters.split_at(self.space.parameters());
        self.map.realise(first, &mut weights.map)?;
        self.gate.as_ref().map_or(Ok(()), |gate| gate.realise(second, &mut weights.gate))
    }

    /// Applies the layer to rows. A row's result does not depend on the other rows.
    ///
    /// # Errors
    /// If the rows do not have the dimension of the input representation, or `weights` are another layer's.
    pub fn forward(
        &self,
        weights: &DenseWeights,
        x: &[f32],
        work: &mut DenseWork,
        out: &mut [f32],
    ) -> Result<()> {
        let DenseWork { map, candidates, gate: saved, .. } = work;
        let Some(gate) = &self.gate else { return self.map.forward(&weights.map, x, true, map, out) };
        candidates.resize(out.len() / gate.outputs() * self.map.outputs(), 0.0);
        self.map.forward(&weights.map, x, false, map, candidates)?;
        gate.forward(&weights.gate, candidates, saved, out)
    }

    /// Given the input, the output and its gradient: writes the gradient of the input, and adds to those of the
    /// coefficients. `dout` becomes the gradient before the ReLU, if there is one. Working memory must be as the forward pass of
    /// these very rows left it.
    ///
    /// # Errors
    /// If a length does not fit.
    #[allow(clippy::too_many_arguments)] // what went in, what came out, and where gradients go
    pub fn backward(
        &self,
        weights: &DenseWeights,
        (x, out): (&[f32], &[f32]),
        dout: &mut [f32],
        work: &mut DenseWork,
        dense: &mut LinearWork,
        dx: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<()> {
        if gradients.len() != self.parameters() {
            return Err(not_its_coefficients(gradients.len()));
        }
        let (first, second) = gradients.split_at_mut(self.space.parameters());
        let DenseWork { map, candidates, dcandidates, gate: saved } = work;
        let Some(gate) = &self.gate else {
            relu_backward(out, dout)?;
            return self.map.backward(&weights.map, (x, dout), (map, dense), Some(dx), first);
        };
        dcandidates.resize(candidates.len(), 0.0);
        gate.backward(&weights.gate, candidates, saved, dout, dcandidates, second)?;
        self.map.backward(&weights.map, (x, dcandidates), (map, dense), Some(dx), first)
    }
}
