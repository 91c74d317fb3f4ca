//! The encoder of the paper's networks, as one operation.
//!
//! feature\[k\] = max over p of relu(b2\[k\] + (W2 * relu(b1 + W1 * x))\[k, p\])
//!
//! where `*` is a strided cross-correlation without padding and p runs over all output pixels. Pictures are
//! \[image\]\[channel\]\[row\]\[column\], weights \[output\]\[input\]\[row\]\[column\], both row-major.
//!
//! - Forward: both convolutions read their windows in place (no im2col), several pixels by two vectors of channels in
//!   registers, and the second one's output is never stored: the maximum is kept as the tiles are finished.
//! - Backward: only the pixel that holds a channel's maximum has a gradient, so what PyTorch does as two dense
//!   convolutions becomes one short `axpy` per (image, channel) for dW2 and one for the hidden picture; dW1 follows from
//!   the latter. Pictures get no gradient.
//! - Equal maxima: the first pixel in row-major order gets the gradient. A channel that is nowhere positive has feature 0
//!   and no gradient. A non-finite value anywhere in a channel makes its feature NaN instead of hiding in the maximum.
//! - An image's features do not depend on the other images. Sums over images run in chunks that depend only on the
//!   number of images, added in index order, so gradients have the same bits on any number of threads.
//!
//! ```
//! use equimarl_kernels::encoder::{Activations, Config, Convolution, Encoder, Packed, Weights};
//! // One 4 x 4 picture, a 2 x 2 filter that sums, a 1 x 1 filter that doubles.
//! let encoder = Encoder::new(Config {
//!     channels: 1, height: 4, width: 4,
//!     first: Convolution { channels: 1, kernel: 2, stride: 2 },
//!     second: Convolution { channels: 1, kernel: 1, stride: 1 },
//! })?;
//! let weights = Weights { w1: &[1.0; 4], b1: &[0.0], w2: &[2.0], b2: &[1.0] };
//! let mut packed = Packed::default();
//! encoder.pack(weights, &mut packed)?;
//! let picture: Vec<f32> = (0..16).map(|i| i as f32).collect();
//! let (mut saved, mut features) = (Activations::default(), [0.0]);
//! encoder.forward(&packed, &picture, &mut saved, &mut features)?;
//! assert_eq!(features, [2.0 * (10 + 11 + 14 + 15) as f32 + 1.0]);
//! # Ok::<(), equimarl_kernels::Error>(())
//! ```

mod backward;
mod forward;
mod shape;
#[cfg(test)]
mod tests;

pub use backward::{Gradients, Workspace};
pub use forward::{Activations, Scratch};
pub use shape::{Config, Convolution};

use crate::error::{Error, Result, length};
use crate::panels::{self, Panels};
use crate::realise::{Gather, Realisation};
use crate::simd::Level;
use shape::Shape;

/// Weights of an encoder, row-major.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    /// First filter, \[output\]\[input\]\[row\]\[column\].
    pub w1: &'a [f32],
    /// First bias.
    pub b1: &'a [f32],
    /// Second filter, \[output\]\[input\]\[row\]\[column\].
    pub w2: &'a [f32],
    /// Second bias.
    pub b2: &'a [f32],
}

/// Weights in the order the inner loops read them. Fill with [`Encoder::pack`] once per change of weights; reuse to
/// avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    first: Panels,
    second: Panels,
    /// The second filter, row-major with taps in the hidden picture's order: what the backward pass reads.
    w2: Vec<f32>,
    config: Option<(Config, Level)>,
}

/// Where the packed floats come from: the coefficients of the two layers, without matrices in between.
#[derive(Debug, Clone)]
pub struct Realiser {
    first: [Gather; 2],
    second: [Gather; 2],
    w2: Gather,
}

/// A plan: checked sizes, windows and the instruction set. Cheap to keep, free of weights.
#[derive(Debug, Clone)]
pub struct Encoder {
    shape: Shape,
    /// Taps of the first window, relative to its pixel.
    taps: Vec<usize>,
    level: Level,
}

impl Encoder {
    /// Checks the sizes and plans for this CPU.
    ///
    /// # Errors
    /// A size is zero or too large, or a filter does not fit its picture.
    pub fn new(config: Config) -> Result<Self> {
        Self::with_level(config, Level::best())
    }

    /// As [`Encoder::new`], with a chosen instruction set.
    ///
    /// # Errors
    /// As [`Encoder::new`].
    pub fn with_level(config: Config, level: Level) -> Result<Self> {
        let shape = Shape::new(config)?;
        let taps = shape.first.taps();
        Ok(Self { shape, taps, level })
    }

    /// The sizes this plan was made for.
    pub fn config(&self) -> Config {
        self.shape.config
    }

    /// Elements of one picture.
    pub fn picture_len(&self) -> usize {
        self.shape.picture()
    }

    /// Features of one picture: the second convolution's channels.
    pub fn features(&self) -> usize {
        self.shape.config.second.channels
    }

    /// Rows and columns of the first convolution's output.
    pub fn hidden_size(&self) -> (usize, usize) {
        self.shape.first.output
    }

    /// Rows and columns that the pool takes the maximum over.
    pub fn pooled_size(&self) -> (usize, usize) {
        self.shape.second.output
    }

    /// Lengths of `w1`, `b1`, `w2` and `b2`.
    pub fn weight_lens(&self) -> [usize; 4] {
        let (first, second) = (self.shape.config.first, self.shape.config.second);
        [
            first.channels * self.shape.first.depth(),
            first.channels,
            second.channels * self.shape.second.depth(),
            second.channels,
        ]
    }

    /// Puts weights in the order the forward pass reads them.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn pack(&self, weights: Weights<'_>, packed: &mut Packed) -> Result<()> {
        let [w1, b1, w2, b2] = self.weight_lens();
        length("w1", weights.w1.len(), w1)?;
        length("b1", weights.b1.len(), b1)?;
        length("w2", weights.w2.len(), w2)?;
        length("b2", weights.b2.len(), b2)?;
        let depth = self.shape.first.depth();
        packed.first.pack(self.level, (depth, b1), weights.w1, depth, |d| d, weights.b1);
        let depth = self.shape.second.depth();
        let tap = |d| self.shape.second_tap(d);
        packed.second.pack(self.level, (depth, b2), weights.w2, depth, tap, weights.b2);
        packed.w2.resize(w2, 0.0);
        let rows = packed.w2.chunks_exact_mut(depth).zip(weights.w2.chunks_exact(depth));
        for (out, from) in rows {
            backward::transpose(from, self.shape.config.second.kernel.pow(2), out);
        }
        packed.config = Some((self.shape.config, self.level));
        Ok(())
    }

    /// Finds where each packed float comes from; each layer's weight and bias are made from one list of coefficients.
    ///
    /// # Errors
    /// They have other sizes, or a weight and its bias are made from different lists.
    pub fn realiser(&self, first: [&Realisation; 2], second: [&Realisation; 2]) -> Result<Realiser> {
        let [w1, b1, w2, b2] = self.weight_lens();
        for (name, found, expected) in [
            ("w1", first[0].entries(), w1),
            ("b1", first[1].entries(), b1),
            ("w2", second[0].entries(), w2),
            ("b2", second[1].entries(), b2),
            ("the first layer's coefficients", first[1].coefficients(), first[0].coefficients()),
            ("the second layer's coefficients", second[1].coefficients(), second[0].coefficients()),
        ] {
            length(name, found, expected)?;
        }
        let depths = [self.shape.first.depth(), self.shape.second.depth()];
        let order = |depth, columns| panels::order(self.level, (depth, columns));
        let tap = |d| self.shape.second_tap(d);
        let from_first = order(depths[0], b1).map(|at| at.map(|(d, c)| c * depths[0] + d));
        let from_second = order(depths[1], b2).map(|at| at.map(|(d, c)| c * depths[1] + tap(d)));
        Ok(Realiser {
            first: [first[0].in_order(from_first), first[1].in_order(panels::bias_order(self.level, b1))],
            second: [second[0].in_order(from_second), second[1].in_order(panels::bias_order(self.level, b2))],
            w2: second[0].in_order((0..w2).map(|e| Some(e / depths[1] * depths[1] + tap(e % depths[1])))),
        })
    }

    /// Puts weights made from the coefficients of the two layers in the orders that the passes read them.
    ///
    /// # Errors
    /// `coefficients` have the wrong lengths, or the realiser belongs to another plan.
    pub fn realise(&self, realiser: &Realiser, coefficients: [&[f32]; 2], packed: &mut Packed) -> Result<()> {
        let [_, b1, w2, b2] = self.weight_lens();
        packed.first.resize(self.level, (self.shape.first.depth(), b1));
        packed.second.resize(self.level, (self.shape.second.depth(), b2));
        packed.w2.resize(w2, 0.0);
        realiser.first[0].run(coefficients[0], packed.first.weights_mut())?;
        realiser.first[1].run(coefficients[0], packed.first.bias_mut())?;
        realiser.second[0].run(coefficients[1], packed.second.weights_mut())?;
        realiser.second[1].run(coefficients[1], packed.second.bias_mut())?;
        realiser.w2.run(coefficients[1], &mut packed.w2)?;
        packed.config = Some((self.shape.config, self.level));
        Ok(())
    }

    fn check_packed(&self, packed: &Packed) -> Result<()> {
        if packed.config == Some((self.shape.config, self.level)) {
            Ok(())
        } else {
            Err(Error::Foreign { name: "packed" })
        }
    }
}
