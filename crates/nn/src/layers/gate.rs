//! What stands in place of a ReLU where everything turns by any angle. A row y has numbers s (frequency 0) and t (signs), and
//! pairs z (frequency 1) and w (frequency 2), which are complex numbers: a turn by a multiplies z by e^(ia) and w by e^(2ia), a
//! mirror conjugates them and negates t.
//!
//! ```text
//! |z| = sqrt(Re^2 + Im^2 + eps^2),   n = z/|z|,  m = w/|w|,  u = t/|t|      lengths, smooth at 0, and directions
//! i = [s; |t|; |z|; |w|; Re z_k conj n_(k+1); Re w_k conj m_(k+1)]          invariants; for SO(2) also the Im
//! o = H relu(G i + g) + h                                                   an ordinary MLP
//! s'_k = relu(o_k)
//! t'_k = o u_k + o Im(n_k conj n_(k+1))
//! z'_k = o n_k + o m_k conj(n_k)                                            its outputs are lengths
//! w'_k = o m_k + o n_k n_(k+1)
//! ```
//!
//! Every o has its own place in the MLP's output, and indices go around where there are fewer. The products bring frequency 2 out
//! of frequency 1 and back: linear maps between equal types never reach another one. eps is 1: far above it what comes out grows in
//! proportion to y, as of a ReLU, and pairs that are 0 stay 0. A channel that nothing reaches is refused when the layer is made.

use super::channels::Channels;
use super::{Linear, LinearWork, Space};
use crate::error::{Error, Result};
use equimarl_group::{Rep, Symmetry};
use equimarl_kernels::gate as kernel;
use equimarl_kernels::linear::Packed;
use std::slice::from_ref;

/// The shapes of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateShape {
    symmetry: Symmetry,
    /// What goes in.
    pub from: Channels,
    /// What comes out.
    pub to: Channels,
    /// Hidden numbers of the MLP.
    pub hidden: usize,
}

impl GateShape {
    /// A gate that gives `to` after a linear map from a row that has `input`; the map then gives [`GateShape::from`].
    ///
    /// # Errors
    /// If a channel could never be anything but 0, saying which.
    pub fn new(symmetry: &Symmetry, input: Channels, to: Channels, hidden: usize) -> Result<GateShape> {
        let some = |reached: bool, wanted: usize| if reached { wanted } else { 0 };
        let from = Channels {
            zero: some(input.zero > 0, to.zero),
            sign: some(input.sign > 0, to.sign),
            one: some(input.one > 0, to.one.max(to.two.min(1)).max(2 * to.sign.min(1))),
            two: some(input.two > 0, to.two),
        };
        let bad = |why: &str| Err(Error::BadNetwork(format!("under {symmetry} {why}")));
        if to.one > 0 && from.one == 0 {
            return bad("channels of frequency 1 come out and none go in, so they would always be 0");
        }
        if to.two > 0 && from.two == 0 && from.one == 0 {
            return bad(
                "channels of frequency 2 come out and neither those nor frequency 1 go in, so they would always be 0",
            );
        }
        if to.sign > 0 && from.sign == 0 && from.one < 2 {
            return bad(
                "signs come out and neither signs nor two channels of frequency 1 go in, so they would always be 0",
            );
        }
        if to.dim() == 0 || hidden == 0 || from.dim() == 0 {
            return bad("a layer has at least one channel and one hidden number");
        }
        Ok(GateShape { symmetry: symmetry.clone(), from, to, hidden })
    }

    /// The numeric loops of this shape.
    fn kernel(&self) -> kernel::Gate {
        let counts = |c: Channels| kernel::Counts { zero: c.zero, sign: c.sign, one: c.one, two: c.two };
        kernel::Gate::new(counts(self.from), counts(self.to), self.symmetry.has_mirrors())
    }

    /// How many numbers of the MLP go in.
    pub fn invariants(&self) -> usize {
        self.kernel().invariants()
    }

    /// How many come out.
    pub fn scales(&self) -> usize {
        self.kernel().scales()
    }

    /// What the linear map before it gives.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn candidates(&self) -> Result<Rep> {
        self.from.rep(&self.symmetry)
    }

    /// What comes out.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn output(&self) -> Result<Rep> {
        self.to.rep(&self.symmetry)
    }

    /// The representations of the MLP: what goes in, its hidden numbers, and what comes out.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn numbers(&self) -> Result<[Rep; 3]> {
        let one = Rep::trivial(&self.symmetry.carrier()?);
        let [i, h, o] = [self.invariants(), self.hidden, self.scales()].map(|n| one.copies(n));
        Ok([i?, h?, o?])
    }
}

/// A gate.
#[derive(Clone, Debug)]
pub struct Gate {
    shape: GateShape,
    kernel: kernel::Gate,
    hidden: Linear,
    scales: Linear,
}

/// Weights in the orders that the passes read them.
#[derive(Clone, Debug, Default)]
pub struct GateWeights {
    hidden: Packed,
    scales: Packed,
}

/// What a gate keeps for its backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct GateWork {
    saved: kernel::Saved,
    invariants: Vec<f32>,
    hidden: Vec<f32>,
    scales: Vec<f32>,
    dinvariants: Vec<f32>,
    dhidden: Vec<f32>,
    dscales: Vec<f32>,
    dense: LinearWork,
}

impl Gate {
    /// The gate of this shape.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn new(shape: &GateShape) -> Result<Gate> {
        let [i, h, o] = shape.numbers()?;
        Ok(Gate {
            shape: shape.clone(),
            kernel: shape.kernel(),
            hidden: Linear::new(&i, from_ref(&h), true)?,
            scales: Linear::new(&h, from_ref(&o), false)?,
        })
    }

    /// Its shape.
    pub fn shape(&self) -> &GateShape {
        &self.shape
    }

    /// The spaces of G and H.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.hidden.parts().iter().chain(self.scales.parts())
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.hidden.parameters() + self.scales.parameters()
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.shape.to.dim()
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], weights: &mut GateWeights) -> Result<()> {
        let (hidden, scales) = parameters.split_at(self.hidden.parameters().min(parameters.len()));
        self.hidden.realise(hidden, &mut weights.hidden)?;
        self.scales.realise(scales, &mut weights.scales)
    }

    /// Rows y to rows of the output.
    ///
    /// # Errors
    /// If a length does not fit, or `weights` are another layer's.
    pub fn forward(
        &self,
        weights: &GateWeights,
        y: &[f32],
        work: &mut GateWork,
        out: &mut [f32],
    ) -> Result<()> {
        let rows = self.rows(y.len(), out.len())?;
        let GateWork { saved, invariants, hidden, scales, .. } = work;
        invariants.resize(rows * self.kernel.invariants(), 0.0);
        hidden.resize(rows * self.shape.hidden, 0.0);
        scales.resize(rows * self.kernel.scales(), 0.0);
        self.kernel.look(y, saved, invariants)?;
        self.hidden.forward(&weights.hidden, invariants, hidden)?;
        self.scales.forward(&weights.scales, hidden, scales)?;
        Ok(self.kernel.scale(scales, saved, out)?)
    }

    /// Given the rows of the last forward pass and the gradient of its output: writes the gradient of the rows, and adds to those
    /// of the coefficients.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        weights: &GateWeights,
        y: &[f32],
        work: &mut GateWork,
        dout: &[f32],
        dy: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<()> {
        let rows = self.rows(y.len(), dout.len())?;
        if work.scales.len() != rows * self.kernel.scales()
            || dy.len() != y.len()
            || gradients.len() != self.parameters()
        {
            return Err(Error::BadBatch("the gradients do not belong to the last forward pass".into()));
        }
        let GateWork { saved, invariants, hidden, scales, dinvariants, dhidden, dscales, dense } = work;
        dscales.resize(scales.len(), 0.0);
        dhidden.resize(hidden.len(), 0.0);
        dinvariants.resize(invariants.len(), 0.0);
        let (first, second) = gradients.split_at_mut(self.hidden.parameters());
        self.kernel.scale_back(dout, saved, dscales)?;
        self.scales.backward(&weights.scales, (hidden, scales), dscales, dense, dhidden, second)?;
        self.hidden.backward(&weights.hidden, (invariants, hidden), dhidden, dense, dinvariants, first)?;
        Ok(self.kernel.look_back(dinvariants, saved, dy)?)
    }

    fn rows(&self, from: usize, to: usize) -> Result<usize> {
        let (row, out) = (self.shape.from.dim(), self.shape.to.dim());
        let rows = from / row;
        if rows * row == from && rows * out == to {
            return Ok(rows);
        }
        Err(Error::BadBatch(format!(
            "rows of {row} numbers become rows of {out}; {from} and {to} were given"
        )))
    }
}

#[cfg(test)]
pub(super) mod tests;
