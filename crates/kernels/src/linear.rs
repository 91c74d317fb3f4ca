//! Dense layers.
//!
//! out\[r\]\[o\] = b\[o\] + sum_i W\[o\]\[i\] x\[r\]\[i\], with or without ReLU; W is row-major.
//!
//! Backward: dx\[r\] = W^T dout\[r\], dW\[o\] = sum_r dout\[r\]\[o\] x\[r\], db = sum_r dout\[r\], sums over rows in rising order. A row's
//! output does not depend on the other rows.

use crate::error::{Error, Result, length, positive, product, rows};
use crate::panels::Panels;
use crate::parallel;
use crate::simd::Level;
use crate::tile::{Dot, Outer, Store};

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

/// Weights in the order the forward pass reads them. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    panels: Panels,
    plan: Option<Linear>,
}

/// Working memory of [`Linear::backward`]. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    panels: Panels,
    rows: Vec<usize>,
    taps: Vec<usize>,
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

    /// Puts weights in the order the forward pass reads them.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn pack(&self, w: &[f32], b: &[f32], packed: &mut Packed) -> Result<()> {
        length("w", w.len(), self.inputs * self.outputs)?;
        length("b", b.len(), self.outputs)?;
        let size = (self.inputs, self.outputs);
        packed.panels.pack(self.level, size, w, self.inputs, |d| d, b);
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
        self.rows_times(&packed.panels, x, relu, out);
        Ok(())
    }

    /// x times packed weights, `ROWS` rows at a time.
    fn rows_times(&self, panels: &Panels, x: &[f32], relu: bool, out: &mut [f32]) {
        let (depth, columns) = (panels.depth(), panels.columns());
        parallel::chunks(out, ROWS * columns, |i, out| {
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
        x: &[f32],
        w: &[f32],
        dout: &[f32],
        workspace: &mut Workspace,
        dx: Option<&mut [f32]>,
        gradients: Gradients<'_>,
    ) -> Result<()> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let count = rows("x", x.len(), inputs)?;
        length("w", w.len(), inputs * outputs)?;
        length("dout", dout.len(), count * outputs)?;
        length("gradients.w", gradients.w.len(), inputs * outputs)?;
        length("gradients.b", gradients.b.len(), outputs)?;
        if let Some(dx) = dx {
            length("dx", dx.len(), x.len())?;
            let (size, row) = ((outputs, inputs), |d| d * inputs);
            workspace.panels.pack(self.level, size, w, 1, row, &[]);
            self.rows_times(&workspace.panels, dout, false, dx);
        }
        gradients.b.fill(0.0);
        for row in dout.chunks_exact(outputs) {
            for (b, g) in gradients.b.iter_mut().zip(row) {
                *b += g;
            }
        }
        workspace.rows.clear();
        workspace.rows.extend((0..count).map(|r| r * outputs));
        workspace.taps.clear();
        workspace.taps.extend(0..outputs);
        let (starts, taps) = (&workspace.rows, &workspace.taps);
        parallel::chunks(gradients.w, ROWS * inputs, |i, out| {
            out.fill(0.0);
            self.level.run(Outer {
                x: dout,
                rows: starts,
                taps: &taps[i * ROWS..][..out.len() / inputs],
                y: x,
                columns: inputs,
                out,
            });
        });
        Ok(())
    }
}

/// Gradient before a ReLU: dz = dout where out > 0, else 0.
///
/// # Errors
/// The slices differ in length.
pub fn relu_backward(out: &[f32], dout: &[f32], dz: &mut [f32]) -> Result<()> {
    length("dout", dout.len(), out.len())?;
    length("dz", dz.len(), out.len())?;
    for ((dz, &g), &y) in dz.iter_mut().zip(dout).zip(out) {
        *dz = if y > 0.0 { g } else { 0.0 };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Noise, deviation, on_threads};
    use proptest::prelude::*;

    struct Case {
        x: Vec<f32>,
        w: Vec<f32>,
        b: Vec<f32>,
        dout: Vec<f32>,
    }

    fn case(noise: &mut Noise, count: usize, inputs: usize, outputs: usize, whole: bool) -> Case {
        let mut numbers = |len| match whole {
            true => noise.whole(len, 8),
            false => noise.floats(len),
        };
        Case {
            x: numbers(count * inputs),
            w: numbers(inputs * outputs),
            b: numbers(outputs),
            dout: numbers(count * outputs),
        }
    }

    /// out, dx, dw, db
    fn run(plan: Linear, case: &Case, relu: bool) -> [Vec<f32>; 4] {
        let mut packed = Packed::default();
        plan.pack(&case.w, &case.b, &mut packed).unwrap();
        let mut out = vec![f32::NAN; case.dout.len()];
        plan.forward(&packed, &case.x, relu, &mut out).unwrap();
        let mut dz = case.dout.clone();
        if relu {
            relu_backward(&out, &case.dout, &mut dz).unwrap();
        }
        let mut dx = vec![f32::NAN; case.x.len()];
        let (mut dw, mut db) = (vec![f32::NAN; case.w.len()], vec![f32::NAN; case.b.len()]);
        let gradients = Gradients { w: &mut dw, b: &mut db };
        plan.backward(&case.x, &case.w, &dz, &mut Workspace::default(), Some(&mut dx), gradients).unwrap();
        [out, dx, dw, db]
    }

    fn oracle(case: &Case, inputs: usize, relu: bool) -> [Vec<f64>; 4] {
        let outputs = case.b.len();
        let count = case.x.len() / inputs;
        let mut out = vec![0.0; count * outputs];
        let mut dx = vec![0.0; case.x.len()];
        let (mut dw, mut db) = (vec![0.0; case.w.len()], vec![0.0; outputs]);
        for r in 0..count {
            for o in 0..outputs {
                let mut z = f64::from(case.b[o]);
                for i in 0..inputs {
                    z += f64::from(case.w[o * inputs + i]) * f64::from(case.x[r * inputs + i]);
                }
                let open = !relu || z > 0.0;
                out[r * outputs + o] = if open { z } else { 0.0 };
                let g = if open { f64::from(case.dout[r * outputs + o]) } else { 0.0 };
                db[o] += g;
                for i in 0..inputs {
                    dw[o * inputs + i] += g * f64::from(case.x[r * inputs + i]);
                    dx[r * inputs + i] += g * f64::from(case.w[o * inputs + i]);
                }
            }
        }
        [out, dx, dw, db]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_the_oracle(
            count in 0usize..80, inputs in 1usize..70, outputs in 1usize..70, relu: bool, seed: u64,
        ) {
            // Whole numbers with ReLU: rounding must not decide which side of zero a sum is on.
            let case = case(&mut Noise::new(seed), count, inputs, outputs, relu);
            let expected = oracle(&case, inputs, relu);
            let tolerance = if relu { 0.0 } else { 1e-5 };
            for level in Level::available() {
                let found = run(Linear::with_level(inputs, outputs, level).unwrap(), &case, relu);
                for (found, expected) in found.iter().zip(&expected) {
                    prop_assert!(deviation(found, expected) <= tolerance, "{level}");
                }
            }
        }
    }

    #[test]
    fn same_bits_on_any_number_of_threads_and_vector_width() {
        let case = case(&mut Noise::new(5), 150, 130, 64, false);
        let levels = Level::available();
        let plan = Linear::new(130, 64).unwrap();
        let one = on_threads(1, || run(plan, &case, true));
        assert_eq!(one, on_threads(2, || run(plan, &case, true)));
        for &level in &levels[1..] {
            assert_eq!(one, run(Linear::with_level(130, 64, level).unwrap(), &case, true));
        }
    }

    #[test]
    fn a_row_alone_is_the_row_in_a_batch() {
        let mut case = case(&mut Noise::new(6), 77, 31, 22, false);
        let plan = Linear::new(31, 22).unwrap();
        let [batch, dbatch, ..] = run(plan, &case, true);
        let (x, dout) = (case.x.clone(), case.dout.clone());
        for r in 0..77 {
            case.x = x[r * 31..][..31].to_vec();
            case.dout = dout[r * 22..][..22].to_vec();
            let [alone, dalone, ..] = run(plan, &case, true);
            assert_eq!(alone, batch[r * 22..][..22]);
            assert_eq!(dalone, dbatch[r * 31..][..31]);
        }
    }

    #[test]
    fn wrong_sizes_are_errors() {
        assert!(Linear::new(0, 3).is_err());
        assert!(Linear::new(usize::MAX, 3).is_err());
        let plan = Linear::new(2, 3).unwrap();
        let mut packed = Packed::default();
        let mut out = [0.0; 3];
        let unfilled = plan.forward(&packed, &[0.0; 2], false, &mut out);
        assert_eq!(unfilled, Err(Error::Foreign { name: "packed" }));
        assert!(plan.pack(&[0.0; 5], &[0.0; 3], &mut packed).is_err());
        plan.pack(&[0.0; 6], &[0.0; 3], &mut packed).unwrap();
        assert!(plan.forward(&packed, &[0.0; 3], false, &mut out).is_err());
        assert!(plan.forward(&packed, &[0.0; 4], false, &mut out).is_err());
        let other = Linear::new(3, 3).unwrap();
        assert!(other.forward(&packed, &[0.0; 3], false, &mut out).is_err());
        assert!(relu_backward(&[0.0], &[0.0; 2], &mut [0.0]).is_err());
    }
}
