//! One layer of a network: relu(W x + b) where the group permutes channels, and gate(W x + b) where channels turn.

use super::gate::{Gate, GateShape, GateWeights, GateWork};
use super::{Linear, LinearWork, Space};
use crate::error::Result;
use equimarl_group::Rep;
use equimarl_kernels::linear::Packed;
use std::slice::from_ref;

/// An equivariant linear layer and what makes it bend.
#[derive(Clone, Debug)]
pub struct Dense {
    linear: Linear,
    gate: Option<Box<Gate>>,
}

/// Weights in the orders that the passes read them.
#[derive(Clone, Debug, Default)]
pub struct DenseWeights {
    linear: Packed,
    gate: GateWeights,
}

/// What a gated layer keeps for its backward pass; nothing where there is a ReLU.
#[derive(Clone, Debug, Default)]
pub struct DenseWork {
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
        Ok(Dense { linear: Linear::new(input, from_ref(output), true)?, gate: None })
    }

    /// With a gate.
    ///
    /// # Errors
    /// If only the zero map is equivariant.
    pub fn gated(input: &Rep, shape: &GateShape) -> Result<Dense> {
        let linear = Linear::new(input, from_ref(&shape.candidates()?), false)?;
        Ok(Dense { linear, gate: Some(Box::new(Gate::new(shape)?)) })
    }

    /// The space of W and b, and those of the gate.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.linear.parts().iter().chain(self.gate.iter().flat_map(|gate| gate.spaces()))
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.gate.as_ref().map_or_else(|| self.linear.outputs(), |gate| gate.outputs())
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.linear.parameters() + self.gate.as_ref().map_or(0, |gate| gate.parameters())
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], weights: &mut DenseWeights) -> Result<()> {
        let Some(gate) = &self.gate else { return self.linear.realise(parameters, &mut weights.linear) };
        let (first, second) = parameters.split_at(self.linear.parameters().min(parameters.len()));
        self.linear.realise(first, &mut weights.linear)?;
        gate.realise(second, &mut weights.gate)
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
        let Some(gate) = &self.gate else { return self.linear.forward(&weights.linear, x, out) };
        work.candidates.resize(out.len() / gate.outputs() * self.linear.outputs(), 0.0);
        self.linear.forward(&weights.linear, x, &mut work.candidates)?;
        gate.forward(&weights.gate, &work.candidates, &mut work.gate, out)
    }

    /// Given the input, the output and its gradient: writes the gradient of the input, and adds to those of the
    /// coefficients. `dout` becomes the gradient before the ReLU, if there is one.
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
        let Some(gate) = &self.gate else {
            return self.linear.backward(&weights.linear, (x, out), dout, dense, dx, gradients);
        };
        let (first, second) = gradients.split_at_mut(self.linear.parameters().min(gradients.len()));
        let DenseWork { candidates, dcandidates, gate: saved } = work;
        dcandidates.resize(candidates.len(), 0.0);
        gate.backward(&weights.gate, candidates, saved, dout, dcandidates, second)?;
        self.linear.backward(&weights.linear, (x, candidates), dcandidates, dense, dx, first)
    }
}
