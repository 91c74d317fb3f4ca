//! Numeric loops on plain slices: what equimarl's networks spend their time in.
//!
//! - [`encoder`]: conv, ReLU, conv, ReLU, global max pool as one operation, with a backward pass that only touches the
//!   maxima.
//! - [`dictionary`]: the same encoder for pictures built from few tiles: every distinct patch and window is computed once,
//!   up to the turns of a group.
//! - [`messages`]: a message round over a graph as one operation; [`edges`]: messages that are made edge by edge;
//!   [`linear`]: dense layers.
//! - [`blocks`]: dense layers that are a few blocks on a diagonal; [`fourier`]: the basis in which those of a group are;
//!   [`gate`]: what stands in place of a ReLU on vectors.
//! - [`realise`]: matrices made from free coefficients; [`gather`]: rows copied from distinct ones; and their adjoints.
//! - [`adam`]: Adam and clipping; [`softmax`]: log-probabilities.
//!
//! Every kernel is a plan with checked sizes and functions on `f32` slices, with working memory that the caller keeps. Wrong
//! lengths are errors. Results have the same bits on any number of threads, and a row's result does not depend on which
//! other rows are in the batch. Vector instructions are found at run time ([`Level`]); the variable `EQUIMARL_SIMD` holds
//! kernels to `portable`, `avx2` or `avx512`, so that machines can be compared.
//!
//! One agent of a small world encodes what it sees, listens to one neighbour and decides:
//!
//! ```
//! use equimarl_kernels::encoder::{Config, Convolution, Encoder, Packed, Scratch, Weights};
//! use equimarl_kernels::{linear, linear::Linear, messages::Round, softmax};
//!
//! let encoder = Encoder::new(Config {
//!     channels: 1, height: 21, width: 21,
//!     first: Convolution { channels: 16, kernel: 7, stride: 2 },
//!     second: Convolution { channels: 32, kernel: 5, stride: 1 },
//! })?;
//! let [n1, m1, n2, m2] = encoder.weight_lens();
//! let (w1, b1, w2, b2) = (vec![0.1; n1], vec![0.0; m1], vec![0.01; n2], vec![0.0; m2]);
//! let mut packed = Packed::default();
//! encoder.pack(Weights { w1: &w1, b1: &b1, w2: &w2, b2: &b2 }, &mut packed)?;
//!
//! let mut picture = vec![0.0; encoder.picture_len()];
//! picture[10 * 21 + 10] = 1.0;
//! let mut own = vec![0.0; encoder.features()];
//! encoder.encode(&packed, &picture, &mut Scratch::default(), &mut own)?;
//!
//! let (round, mut weights) = (Round::new(32, 2, 32)?, linear::Packed::default());
//! round.linear().pack(&vec![0.02; round.inputs() * 32], &[0.0; 32], &mut weights)?;
//! let (edge, received) = ([1.0, 0.0], own.clone());
//! let mut mixed = vec![0.0; 32];
//! round.one(&own, &edge, &received, &weights, &mut Vec::new(), &mut mixed)?;
//!
//! let (head, mut weights) = (Linear::new(32, 5)?, linear::Packed::default());
//! head.pack(&[0.0; 32 * 5], &[0.0; 5], &mut weights)?;
//! let (mut logits, mut log_probabilities) = ([0.0; 5], [0.0; 5]);
//! head.forward(&weights, &mixed, false, &mut logits)?;
//! softmax::log_softmax(&logits, 5, &mut log_probabilities)?;
//! assert!((log_probabilities[0] - 0.2f32.ln()).abs() < 1e-6);
//! # Ok::<(), equimarl_kernels::Error>(())
//! ```

pub mod adam;
pub mod blocks;
pub mod dictionary;
pub mod edges;
pub mod encoder;
mod error;
pub mod fourier;
pub mod gate;
pub mod gather;
mod lanes;
pub mod linear;
pub mod messages;
mod panels;
mod parallel;
pub mod peak;
pub mod realise;
mod simd;
pub mod softmax;
#[cfg(test)]
mod testing;
mod tile;

pub use error::{Error, Result};
pub use simd::Level;
