//! Dense layers.
//!
//! out\[r\]\[o\] = b\[o\] + sum_i W\[o\]\[i\] x\[r\]\[i\], with or without ReLU; W is row-major.
//!
//! Backward: dx\[r\] = W^T dout\[r\], dW\[o\] = sum_r dout\[r\]\[o\] x\[r\], db = sum_r dout\[r\], sums over rows in rising order. A row's
//! output does not depend on the other rows.

use crate::error::{Error, Result, length, positive, product, rows};
use crate::panels::{self, Panels};
use crate::parallel;
use crate::realise::{Gather, Realisation};
use crate::simd::Level;
use crate::tile::{Dot, Outer, Store};

#[cfg(test)]
mod tests;

/// Rows, or rows of dW, that one task takes. Small enough to share a minibatch, large enough to be worth a task.
const ROWS: usize = 32;

/// A plan of a dense layer: its sizes and the instruction set.
///
/// ```
/// use equimarl_kernels::linear::{Linear, Packed};
/// let layer = Linear::new(2, 1)?;
/// let mut packed = Packed::default();
/// layer.pack(&[1.0, 10.0], &[0.5], &mut packed)?;
/// let mut out = [0.0; 2];
/// layer.forward(&packed, &[1.0, 2.0, 3.0, 4.0], false, &mut out)?;
/// assert_eq!(out, [21.5, 43.5]);
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linear {
    inputs: usize,
    outputs: usize,
    level: Level,
}

/// Weights in the orders that the two passes read them. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    forward: Panels,
    backward: Panels,
    plan: Option<Linear>,
}

/// Where the packed floats of a layer come from: coefficients, without a matrix in between.
#[derive(Debug, Clone)]
pub struct Realiser {
    forward: Gather,
    bias: Gather,
    backward: Gather,
}

/// Working memory of [`Linear::backward`]. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    rows: Vec<usize>,
    taps: Vec<usize>,
    /// dW of a layer with few inputs, transposed.
    turned: Vec<f32>,
}

/// Where the gradients of a dense layer go; overwritten.
#[derive(Debug)]
pub struct Gradients<'a> {
    /// Gradient of the weight.
    pub w: &'a mut [f32],
    /// Gradient of the bias.
    pub b: &'a mut [f32],
}

impl Linear {
    /// Checks the sizes and plans for this CPU.
    ///
    /// # Errors
    /// A size is zero or their product too large.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self> {
        Self::with_level(inputs, outputs, Level::best())
    }

    /// As [`Linear::new`], with a chosen instruction set.
    ///
    /// # Errors
    /// As [`Linear::new`].
    pub fn with_level(inputs: usize, outputs: usize, level: Level) -> Result<Self> {
        positive("the number of inputs", inputs)?;
        positive("the number of outputs", outputs)?;
        product("a dense layer's weight", &[inputs, outputs])?;
        Ok(Self { inputs, outputs, level })
    }

    /// Elements of an input row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Elements of an output row.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Puts weights in the orders that the passes read them.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn pack(&self, w: &[f32], b: &[f32], packed: &mut Packed) -> Result<()> {
        length("w", w.len(), self.inputs * self.outputs)?;
        length("b", b.len(), self.outputs)?;
        let (inputs, outputs) = (self.inputs, self.outputs);
        packed.forward.pack(self.level, (inputs, outputs), w, inputs, |d| d, b);
        packed.backward.pack(self.level, (outputs, inputs), w, 1, |d| d * inputs, &[]);
        packed.plan = Some(*self);
        Ok(())
    }

    /// Finds where each packed float comes from, for weights and biases made from one list of coefficients.
    ///
    /// # Errors
    /// They have other sizes, or are made from different lists.
    pub fn realiser(&self, weight: &Realisation, bias: &Realisation) -> Result<Realiser> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        length("weight", weight.entries(), inputs * outputs)?;
        length("bias", bias.entries(), outputs)?;
        length("coefficients", bias.coefficients(), weight.coefficients())?;
        let entry = |at: Option<(usize, usize)>| at.map(|(i, o)| o * inputs + i);
        let back = |at: Option<(usize, usize)>| at.map(|(o, i)| o * inputs + i);
        Ok(Realiser {
            forward: weight.in_order(panels::order(self.level, (inputs, outputs)).map(entry)),
            bias: bias.in_order(panels::bias_order(self.level, outputs)),
            backward: weight.in_order(panels::order(self.level, (outputs, inputs)).map(back)),
        })
    }

    /// Puts weights made from `coefficients` in the orders that the passes read them.
    ///
    /// # Errors
    /// `coefficients` has the wrong length, or the realiser belongs to another plan.
    pub fn realise(&self, realiser: &Realiser, coefficients: &[f32], packed: &mut Packed) -> Result<()> {
        packed.forward.resize(self.level, (self.inputs, self.outputs));
        packed.backward.resize(self.level, (self.outputs, self.inputs));
        realiser.forward.run(coefficients, packed.forward.weights_mut())?;
        realiser.bias.run(coefficients, packed.forward.bias_mut())?;
        realiser.backward.run(coefficients, packed.backward.weights_mut())?;
        packed.backward.bias_mut().fill(0.0);
        packed.plan = Some(*self);
        Ok(())
    }

    /// Outputs of a batch of rows, after ReLU if `relu`. A single row runs on the calling thread.
    ///
    /// # Errors
    /// `x` is not a whole number of rows, `out` has another length, or `packed` belongs to another plan.
    pub fn forward(&self, packed: &Packed, x: &[f32], relu: bool, out: &mut [f32]) -> Result<()> {
        if packed.plan != Some(*self) {
            return Err(Error::Foreign { name: "packed" });
        }
        let count = rows("x", x.len(), self.inputs)?;
        length("out", out.len(), count * self.outputs)?;
        self.rows_times(&packed.forward, x, relu, out);
        Ok(())
    }

    /// x times packed weights, `ROWS` rows at a time.
    fn rows_times(&self, panels: &Panels, x: &[f32], relu: bool, out: &mut [f32]) {
        let (depth, columns) = (panels.depth(), panels.columns());
        let work = out.len() * depth;
        parallel::chunks_if_worth(work, out, ROWS * columns, |i, out| {
            let count = out.len() / columns;
            let starts: [usize; ROWS] = std::array::from_fn(|r| r * depth);
            self.level.run(Dot {
                x: &x[i * ROWS * depth..][..count * depth],
                rows: &starts[..count],
                runs: &[0],
                run: depth,
                panels,
                sink: Store { out, columns, relu },
            });
        });
    }

    /// Gradients, given that of the outputs before any ReLU (see [`relu_backward`]); `dx` only if asked for.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn backward(
        &self,
        packed: &Packed,
        x: &[f32],
        dout: &[f32],
        workspace: &mut Workspace,
        dx: Option<&mut [f32]>,
        gradients: Gradients<'_>,
    ) -> Result<()> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let count = rows("x", x.len(), inputs)?;
        if packed.plan != Some(*self) {
            return Err(Error::Foreign { name: "packed" });
        }
        length("dout", dout.len(), count * outputs)?;
        length("gradients.w", gradients.w.len(), inputs * outputs)?;
        length("gradients.b", gradients.b.len(), outputs)?;
        if let Some(dx) = dx {
            length("dx", dx.len(), x.len())?;
            self.rows_times(&packed.backward, dout, false, dx);
        }
        gradients.b.fill(0.0);
        for row in dout.chunks_exact(outputs) {
            for (b, g) in gradients.b.iter_mut().zip(row) {
                *b += g;
            }
        }
        // Few inputs would leave most lanes of a vector empty: then outputs are the columns. The sums are the same.
        let thin = inputs < self.level.narrow().lanes() && outputs > inputs;
        let (step, sums) = if thin { (inputs, inputs) } else { (outputs, outputs) };
        workspace.rows.clear();
        workspace.rows.extend((0..count).map(|r| r * step));
        workspace.taps.clear();
        workspace.taps.extend(0..sums);
        if thin {
            let Workspace { rows, taps, turned } = workspace;
            turned.clear();
            turned.resize(inputs * outputs, 0.0);
            let (stride, columns) = (outputs, outputs);
            self.level.run(Outer { x, rows, taps, y: dout, stride, columns, out: turned });
            for (i, row) in turned.chunks_exact(outputs).enumerate() {
                gradients.w.iter_mut().skip(i).step_by(inputs).zip(row).for_each(|(w, from)| *w = *from);
            }
            return Ok(());
        }
        let (starts, taps) = (&workspace.rows, &workspace.taps);
        let work = x.len() * outputs;
        parallel::chunks_if_worth(work, gradients.w, ROWS * inputs, |i, out| {
            out.fill(0.0);
            self.level.run(Outer {
                x: dout,
                rows: starts,
                taps: &taps[i * ROWS..][..out.len() / inputs],
                y: x,
                stride: inputs,
                columns: inputs,
                out,
            });
        });
        Ok(())
    }
}

/// Turns the gradient after a ReLU into the one before it: nothing flows where the output is not positive.
///
/// # Errors
/// The slices differ in length.
pub fn relu_backward(out: &[f32], gradient: &mut [f32]) -> Result<()> {
    length("gradient", gradient.len(), out.len())?;
    for (gradient, &y) in gradient.iter_mut().zip(out) {
        *gradient = if y > 0.0 { *gradient } else { 0.0 };
    }
    Ok(())
}
