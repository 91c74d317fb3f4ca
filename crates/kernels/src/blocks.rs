//! Dense layers that are a few dense blocks on a diagonal, as equivariant maps are in the right basis (Schur).
//!
//! out\[r\]\[to_p + o\] = b\[o\] + sum_j sum_i W_j\[o\]\[i\] x\[r\]\[from_p + at_j + i\]
//!
//! for every block, every place p where it stands, and the runs j of its inputs. A block may stand in several places with the same
//! weights. Entries of the weight are counted block by block, run by run, \[o\]\[i\]; those of the bias block by block.
//!
//! Backward: dx by the transposed blocks, dW_j\[o\] = sum_p sum_r dout\[r\]\[to_p + o\] x\[r\]\[from_p + at_j ..\], db likewise; rows rise within
//! a place. A row's output does not depend on the other rows.

use crate::error::{Error, Result, length, positive, product, rows};
use crate::linear::Gradients;
use crate::panels::{self, Panels};
use crate::parallel;
use crate::realise::{Gather, Realisation};
use crate::simd::Level;
use crate::tile::{Dot, Outer, Place};

#[cfg(test)]
mod tests;

/// Rows that one task takes.
const ROWS: usize = 32;

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Rows of W.
    pub outputs: usize,
    /// Where each run of inputs begins, relative to the place.
    pub runs: Vec<usize>,
    /// The length of a run.
    pub run: usize,
    /// The first input and the first output of every place where the block stands.
    pub places: Vec<[usize; 2]>,
}

impl Block {
    fn depth(&self) -> usize {
        self.runs.len() * self.run
    }
}

/// A plan of such a layer.
///
/// ```
/// use equimarl_kernels::blocks::{Block, Blocks, Packed};
/// use equimarl_kernels::realise::Realisation;
/// // One number, the same for both components of a vector.
/// let block = Block { outputs: 1, runs: vec![0], run: 1, places: vec![[0, 0], [1, 1]] };
/// let layer = Blocks::new(2, 2, vec![block])?;
/// let weight = Realisation::new(1, vec![0, 1], vec![0], vec![1.0])?;
/// let bias = Realisation::new(1, vec![0, 0], vec![], vec![])?;
/// let (realiser, mut packed) = (layer.realiser(&weight, &bias)?, Packed::default());
/// layer.realise(&realiser, &[3.0], &mut packed)?;
/// let mut out = [0.0; 2];
/// layer.forward(&packed, &[1.0, 2.0], &mut out)?;
/// assert_eq!(out, [3.0, 6.0]);
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    inputs: usize,
    outputs: usize,
    blocks: Vec<Block>,
    /// Whether every input is read.
    all: bool,
    level: Level,
}

/// Weights in the orders that the two passes read them. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// A block each.
    forward: Vec<Panels>,
    /// A run of a block each.
    backward: Vec<Panels>,
}

/// Where the packed floats come from: coefficients, without a matrix in between.
#[derive(Debug, Clone)]
pub struct Realiser {
    forward: Vec<[Gather; 2]>,
    backward: Vec<Gather>,
}

/// Working memory of [`Blocks::backward`]. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    rows: Vec<usize>,
    taps: Vec<usize>,
}

impl Blocks {
    /// Checks the blocks and plans for this CPU.
    ///
    /// # Errors
    /// A size is zero, a block reaches beyond a row, an output is not written exactly once, or an input is read by two blocks.
    pub fn new(inputs: usize, outputs: usize, blocks: Vec<Block>) -> Result<Self> {
        Self::with_level(inputs, outputs, blocks, Level::best())
    }

    /// As [`Blocks::new`], with a chosen instruction set.
    ///
    /// # Errors
    /// As [`Blocks::new`].
    pub fn with_level(inputs: usize, outputs: usize, blocks: Vec<Block>, level: Level) -> Result<Self> {
        positive("the number of inputs", inputs)?;
        positive("the number of outputs", outputs)?;
        product("a layer's weight", &[inputs, outputs])?;
        let (mut read, mut written) = (vec![0u8; inputs], vec![0u8; outputs]);
        for block in &blocks {
            positive("the outputs of a block", block.outputs)?;
            positive("the inputs of a block", block.depth())?;
            for &[from, to] in &block.places {
                mark("outputs", &mut written, to, block.outputs)?;
                for &run in &block.runs {
                    mark("inputs", &mut read, from.saturating_add(run), block.run)?;
                }
            }
        }
        length("the outputs of all blocks", written.iter().filter(|n| **n == 1).count(), outputs)?;
        Ok(Self { inputs, outputs, blocks, all: read.iter().all(|n| *n == 1), level })
    }

    /// Elements of an input row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Elements of an output row.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Entries of all blocks.
    pub fn entries(&self) -> usize {
        self.blocks.iter().map(|b| b.outputs * b.depth()).sum()
    }

    /// Entries of the biases of all blocks.
    pub fn biases(&self) -> usize {
        self.blocks.iter().map(|b| b.outputs).sum()
    }

    /// Finds where each packed float comes from, for weights and biases made from one list of coefficients.
    ///
    /// # Errors
    /// They have other sizes, or are made from different lists.
    pub fn realiser(&self, weight: &Realisation, bias: &Realisation) -> Result<Realiser> {
        length("weight", weight.entries(), self.entries())?;
        length("bias", bias.entries(), self.biases())?;
        length("coefficients", bias.coefficients(), weight.coefficients())?;
        let (mut forward, mut backward, mut first, mut first_bias) = (vec![], vec![], 0, 0);
        for block in &self.blocks {
            let (outputs, run) = (block.outputs, block.run);
            let entry = |d: usize, o: usize| first + (d / run * outputs + o) * run + d % run;
            let order = panels::order(self.level, (block.depth(), outputs));
            let biases = panels::bias_order(self.level, outputs);
            forward.push([
                weight.in_order(order.map(|at| at.map(|(d, o)| entry(d, o)))),
                bias.in_order(biases.map(|at| at.map(|o| first_bias + o))),
            ]);
            for j in 0..block.runs.len() {
                let order = panels::order(self.level, (outputs, run));
                backward.push(weight.in_order(order.map(|at| at.map(|(o, i)| entry(j * run + i, o)))));
            }
            first += outputs * block.depth();
            first_bias += outputs;
        }
        Ok(Realiser { forward, backward })
    }

    /// Puts weights made from `coefficients` in the orders that the passes read them.
    ///
    /// # Errors
    /// `coefficients` has the wrong length, or the realiser belongs to another plan.
    pub fn realise(&self, realiser: &Realiser, coefficients: &[f32], packed: &mut Packed) -> Result<()> {
        length("realiser", realiser.forward.len(), self.blocks.len())?;
        length("realiser", realiser.backward.len(), self.blocks.iter().map(|b| b.runs.len()).sum())?;
        packed.forward.resize_with(realiser.forward.len(), Panels::default);
        packed.backward.resize_with(realiser.backward.len(), Panels::default);
        let mut backward = packed.backward.iter_mut().zip(&realiser.backward);
        for ((block, panels), [weight, bias]) in
            self.blocks.iter().zip(&mut packed.forward).zip(&realiser.forward)
        {
            panels.resize(self.level, (block.depth(), block.outputs));
            weight.run(coefficients, panels.weights_mut())?;
            bias.run(coefficients, panels.bias_mut())?;
            for (panels, weight) in backward.by_ref().take(block.runs.len()) {
                panels.resize(self.level, (block.outputs, block.run));
                weight.run(coefficients, panels.weights_mut())?;
                panels.bias_mut().fill(0.0);
            }
        }
        Ok(())
    }

    /// That the weights are of this plan's sizes.
    fn check(&self, packed: &Packed) -> Result<()> {
        let lanes = self.level.lanes();
        let is = |p: &Panels, depth, columns| (p.depth(), p.columns(), p.lanes()) == (depth, columns, lanes);
        let runs = self.blocks.iter().flat_map(|b| b.runs.iter().map(move |_| b));
        let fits = packed.forward.len() == self.blocks.len()
            && packed.forward.iter().zip(&self.blocks).all(|(p, b)| is(p, b.depth(), b.outputs))
            && packed.backward.len() == runs.clone().count()
            && packed.backward.iter().zip(runs).all(|(p, b)| is(p, b.outputs, b.run));
        if fits { Ok(()) } else { Err(Error::Foreign { name: "packed" }) }
    }

    /// Outputs of a batch of rows.
    ///
    /// # Errors
    /// `x` is not a whole number of rows, `out` has another length, or `packed` belongs to another plan.
    pub fn forward(&self, packed: &Packed, x: &[f32], out: &mut [f32]) -> Result<()> {
        self.check(packed)?;
        let count = rows("x", x.len(), self.inputs)?;
        length("out", out.len(), count * self.outputs)?;
        let work = self.work(count);
        parallel::chunks_if_worth(work, out, ROWS * self.outputs, |i, out| {
            let x = &x[i * ROWS * self.inputs..];
            for (block, panels) in self.blocks.iter().zip(&packed.forward) {
                for &[from, to] in &block.places {
                    self.times((x, self.inputs, from), &block.runs, panels, (out, self.outputs, to));
                }
            }
        });
        Ok(())
    }

    /// Multiply-adds for so many rows.
    fn work(&self, count: usize) -> usize {
        let each = |b: &Block| b.outputs * b.depth() * b.places.len();
        count.saturating_mul(self.blocks.iter().map(each).sum())
    }

    /// Columns of rows (their stride, and the first) times packed weights, into columns of as many rows as are there, at most
    /// `ROWS`.
    fn times(
        &self,
        (x, from, first): (&[f32], usize, usize),
        runs: &[usize],
        panels: &Panels,
        (out, to, column): (&mut [f32], usize, usize),
    ) {
        let count = out.len() / to;
        let reads: [usize; ROWS] = std::array::from_fn(|r| r * from + first);
        let writes: [usize; ROWS] = std::array::from_fn(|r| r * to + column);
        self.level.run(Dot {
            x,
            rows: &reads[..count],
            runs,
            run: panels.depth() / runs.len(),
            panels,
            sink: Place { out, starts: &writes[..count] },
        });
    }

    /// Gradients, given that of the outputs; `dx` only if asked for.
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
        self.check(packed)?;
        let count = rows("x", x.len(), self.inputs)?;
        length("dout", dout.len(), count * self.outputs)?;
        length("gradients.w", gradients.w.len(), self.entries())?;
        length("gradients.b", gradients.b.len(), self.biases())?;
        let work = self.work(count);
        if let Some(dx) = dx {
            length("dx", dx.len(), x.len())?;
            parallel::chunks_if_worth(work, dx, ROWS * self.inputs, |i, dx| {
                let dout = &dout[i * ROWS * self.outputs..];
                if !self.all {
                    dx.fill(0.0);
                }
                let mut packed = packed.backward.iter();
                for block in &self.blocks {
                    for (&run, panels) in block.runs.iter().zip(packed.by_ref()) {
                        for &[from, to] in &block.places {
                            self.times((dout, self.outputs, to), &[0], panels, (dx, self.inputs, from + run));
                        }
                    }
                }
            });
        }
        gradients.w.fill(0.0);
        gradients.b.fill(0.0);
        if count == 0 {
            return Ok(());
        }
        workspace.taps.clear();
        workspace.taps.extend(0..self.outputs);
        let (mut dw, mut db) = (gradients.w, gradients.b);
        for block in &self.blocks {
            let (own, rest) = std::mem::take(&mut db).split_at_mut(block.outputs);
            db = rest;
            let (weights, rest) = std::mem::take(&mut dw).split_at_mut(block.outputs * block.depth());
            dw = rest;
            for &[from, to] in &block.places {
                for row in dout.chunks_exact(self.outputs) {
                    own.iter_mut().zip(&row[to..]).for_each(|(b, g)| *b += g);
                }
                workspace.rows.clear();
                workspace.rows.extend((0..count).map(|r| r * self.outputs + to));
                let (starts, taps) = (&workspace.rows, &workspace.taps);
                let runs = weights.chunks_exact_mut(block.outputs * block.run).zip(&block.runs);
                for (weights, run) in runs {
                    let work = count * weights.len();
                    parallel::chunks_if_worth(work, weights, ROWS * block.run, |i, out| {
                        self.level.run(Outer {
                            x: dout,
                            rows: starts,
                            taps: &taps[i * ROWS..][..out.len() / block.run],
                            y: &x[from + run..],
                            stride: self.inputs,
                            columns: block.run,
                            out,
                        });
                    });
                }
            }
        }
        Ok(())
    }
}

/// Counts a range of columns.
fn mark(name: &'static str, seen: &mut [u8], first: usize, count: usize) -> Result<()> {
    let limit = seen.len();
    let end = first.saturating_add(count);
    let Some(columns) = seen.get_mut(first..end) else {
        return Err(Error::Index { name, at: first, index: end, limit });
    };
    for (at, seen) in columns.iter_mut().enumerate() {
        if *seen > 0 {
            return Err(Error::Index { name, at: first + at, index: first + at, limit });
        }
        *seen = 1;
    }
    Ok(())
}
