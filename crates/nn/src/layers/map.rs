//! One linear map out = W x + b in the form in which it runs fastest.
//!
//! ```text
//! dense      W as it is
//! blocks     channels that turn: types do not mix, W is one block per type              (`map/types.rs`)
//! Fourier    regular channels of C_n and D_n: W is block-diagonal after a change of basis   (`map/spectrum.rs`)
//! ```
//!
//! All forms are the same map with the same coefficients.

mod spectrum;
#[cfg(test)]
mod tests;
mod types;

use super::{LinearWork, Space};
use crate::error::Result;
use equimarl_kernels::blocks::{self, Blocks};
use equimarl_kernels::linear::{Gradients, Linear, Packed, Realiser};
use equimarl_kernels::realise::Realisation;
use spectrum::{Hats, Spectrum};
use std::ops::Range;

/// Some columns of a space's W, with or without its bias.
#[derive(Clone, Debug)]
pub(super) struct Map {
    inputs: usize,
    outputs: usize,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Dense(Box<Full>),
    Blocks(Box<Diagonal>),
    Fourier(Box<Spectrum>),
}

/// A matrix, and how its entries follow from coefficients.
#[derive(Clone, Debug)]
struct Full {
    weight: Realisation,
    bias: Realisation,
    kernel: Linear,
    realiser: Realiser,
}

/// Blocks, and how their entries follow from coefficients.
#[derive(Clone, Debug)]
struct Diagonal {
    weight: Realisation,
    bias: Realisation,
    kernel: Blocks,
    realiser: blocks::Realiser,
}

/// Weights in the orders that the passes read them.
#[derive(Clone, Debug, Default)]
pub(super) struct MapWeights {
    dense: Packed,
    blocks: blocks::Packed,
    hats: Vec<f32>,
}

/// What a map keeps for its backward pass, and working memory.
#[derive(Clone, Debug, Default)]
pub(super) struct MapWork {
    hats: Hats,
}

impl Diagonal {
    fn new(kernel: Blocks, weight: Realisation, bias: Realisation) -> Result<Diagonal> {
        let realiser = kernel.realiser(&weight, &bias)?;
        Ok(Diagonal { weight, bias, kernel, realiser })
    }

    /// Writes `dx` if it is asked for, and adds to the gradients of the coefficients.
    fn backward(
        &self,
        packed: &blocks::Packed,
        (x, dout): (&[f32], &[f32]),
        work: &mut LinearWork,
        dx: Option<&mut [f32]>,
        gradients: &mut [f32],
    ) -> Result<()> {
        work.w.resize(self.weight.entries(), 0.0);
        work.b.resize(self.bias.entries(), 0.0);
        let both = Gradients { w: &mut work.w, b: &mut work.b };
        self.kernel.backward(packed, x, dout, &mut work.blocks, dx, both)?;
        self.weight.add_adjoint(&work.w, gradients)?;
        Ok(self.bias.add_adjoint(&work.b, gradients)?)
    }
}

impl Map {
    /// These columns of W, over all coefficients of the space.
    pub fn new(space: &Space, columns: Range<usize>, with_bias: bool) -> Result<Map> {
        let ([weights, biases], outputs) = (space.ranks(), space.output().dim());
        let weight = space.weight().columns(space.input().dim(), columns.clone())?;
        let weight = Realisation::stacked(weights + biases, [(0, &weight)])?;
        let bias = match with_bias {
            true => Realisation::stacked(weights + biases, [(weights, space.bias())])?,
            false => Realisation::new(weights + biases, vec![0; outputs + 1], vec![], vec![])?,
        };
        let inputs = columns.len();
        let form = if let Some(spectrum) = Spectrum::of(space, columns.clone(), &weight, &bias)? {
            Form::Fourier(Box::new(spectrum))
        } else if let Some(diagonal) = types::blocks(space, columns, &weight, &bias)? {
            Form::Blocks(Box::new(diagonal))
        } else {
            let kernel = Linear::new(inputs, outputs)?;
            let realiser = kernel.realiser(&weight, &bias)?;
            Form::Dense(Box::new(Full { weight, bias, kernel, realiser }))
        };
        Ok(Map { inputs, outputs, form })
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Puts the weights in the orders that the passes read them.
    pub fn realise(&self, parameters: &[f32], weights: &mut MapWeights) -> Result<()> {
        match &self.form {
            Form::Dense(d) => Ok(d.kernel.realise(&d.realiser, parameters, &mut weights.dense)?),
            Form::Blocks(d) => Ok(d.kernel.realise(&d.realiser, parameters, &mut weights.blocks)?),
            Form::Fourier(s) => s.realise(parameters, &mut weights.hats, &mut weights.blocks),
        }
    }

    /// Rows to rows, after a ReLU if `relu`. A row's result does not depend on the other rows.
    pub fn forward(
        &self,
        weights: &MapWeights,
        x: &[f32],
        relu: bool,
        work: &mut MapWork,
        out: &mut [f32],
    ) -> Result<()> {
        match &self.form {
            Form::Dense(d) => Ok(d.kernel.forward(&weights.dense, x, relu, out)?),
            Form::Blocks(d) => {
                d.kernel.forward(&weights.blocks, x, out)?;
                if relu {
                    out.iter_mut().for_each(|y| *y = if *y < 0.0 { 0.0 } else { *y });
                }
                Ok(())
            }
            Form::Fourier(s) => s.forward(&weights.blocks, x, relu, &mut work.hats, out),
        }
    }

    /// Given the input of the last forward pass and the gradient of the output before any ReLU: writes `dx` if it is asked for,
    /// and adds to the gradients of the coefficients.
    pub fn backward(
        &self,
        weights: &MapWeights,
        (x, dout): (&[f32], &[f32]),
        (saved, work): (&mut MapWork, &mut LinearWork),
        dx: Option<&mut [f32]>,
        gradients: &mut [f32],
    ) -> Result<()> {
        match &self.form {
            Form::Dense(full) => {
                let Full { weight, bias, kernel, .. } = &**full;
                work.w.resize(weight.entries(), 0.0);
                work.b.resize(bias.entries(), 0.0);
                let dense = Gradients { w: &mut work.w, b: &mut work.b };
                kernel.backward(&weights.dense, x, dout, &mut work.kernel, dx, dense)?;
                weight.add_adjoint(&work.w, gradients)?;
                Ok(bias.add_adjoint(&work.b, gradients)?)
            }
            Form::Blocks(d) => d.backward(&weights.blocks, (x, dout), work, dx, gradients),
            Form::Fourier(s) => s.backward(&weights.blocks, dout, (&mut saved.hats, work), dx, gradients),
        }
    }
}
