//! The encoder for pictures that are built from few tiles, equivariant under a group G that turns them.
//!
//! feature\[k\] = max over p of relu(b2\[k\] + (W2 * relu(b1 + W1 * x))\[k, p\]), as [`crate::encoder`], where
//!
//! - (L_g f)\[h\] = f\[g^-1 h\], features and hidden channels are c * |G| + h, and encode(g x) = L_g encode(x):
//! - W1\[(c, h)\]\[x\]\[tap\] = A1\[c\]\[x\]\[h^-1 tap\],
//! - W2\[t\]\[(o, u)\]\[(i, j)\] = A2\[u^-1 t\]\[o\]\[(i, u^-1 j)\], so that W2\[t\] L_g = L_g W2\[g^-1 t\].
//!
//! A patch is what one output pixel of W1 sees, a window the k2 x k2 patches that one of W2 sees. Both repeat, also turned,
//! so everything is computed once per distinct one up to G:
//!
//! - h(d) = relu(b1 + W1 rep(d)) for every patch d; the table T\[t\]\[d\] = W2\[t\] h(d) for the pairs that occur;
//! - z(w) = b2 + sum over places t of L_g T\[g^-1 t\]\[d\], where the window w has the patch g . rep(d) at t;
//! - feature\[k\] = max over p of (L_g z(w))\[k\], where the picture has the window g . rep(w) at p.
//!
//! Backward, with dz the gradient at the maxima merged per window: for u = g^-1 u', dA2\[u^-1 t\]\[o\]\[(i, j)\] +=
//! dz\[(o, u')\] h\[(i, u j)\] and dh\[(i, u j)\] += dz\[(o, u')\] A2\[u^-1 t\]\[o\]\[(i, j)\]; then dW1 from dh where h > 0.
//!
//! - [`Turns`] is the group, [`Plan`] the sizes; [`Atlas`] numbers patches and windows for a run; [`Book`] holds a batch;
//!   [`Packed`] the weights; [`Cache`] what is known for both.
//! - A book may grow, and only what is new is computed: [`Plan::forward`] starts over by itself when the weights or the
//!   book changed.
//! - Frames depend on content only, local numbers on the order of first use, and sums run in chunks that depend on content
//!   only: bits do not depend on the atlas's history, on the threads, or (forward) on the other pictures.
//! - Equal maxima, features that are nowhere positive, and non-finite values as in [`crate::encoder`].
//!
//! ```
//! use equimarl_kernels::dictionary::*;
//! use equimarl_kernels::encoder::{Config, Convolution};
//! // Quarter turns, 9 x 9 pictures, one channel per group element.
//! let config = Config {
//!     channels: 1, height: 9, width: 9,
//!     first: Convolution { channels: 4, kernel: 3, stride: 1 },
//!     second: Convolution { channels: 4, kernel: 3, stride: 1 },
//! };
//! let multiply: Vec<u32> = (0..16).map(|i| (i / 4 + i % 4) % 4).collect();
//! let turn = |g, n, at| (0..g).fold(at, |[i, j]: [usize; 2], _| [n - 1 - j, i]);
//! let turns = Turns::new(4, &multiply, [3, 3], turn)?;
//! let plan = Plan::new(config, &turns, [1, 1])?;
//!
//! // A picture and its quarter turn: pixel (1, 2) goes to (9 - 1 - 2, 1).
//! let mut pictures = [vec![0.0; 81], vec![0.0; 81]];
//! pictures[0][9 + 2] = 1.0;
//! pictures[1][6 * 9 + 1] = 1.0;
//! let (mut atlas, mut book) = (Atlas::new(&plan), Book::new(&plan));
//! let mut codes = vec![0; plan.positions()];
//! for picture in &pictures {
//!     atlas.look(picture, &mut codes)?;
//!     book.add(&atlas, &codes)?;
//! }
//!
//! let a1: Vec<f32> = (0..9).map(|i| i as f32).collect();
//! let a2: Vec<f32> = (0..36).map(|i| (i % 7) as f32 - 3.0).collect();
//! let (mut packed, mut cache) = (Packed::default(), Cache::default());
//! plan.pack(Coefficients { a1: &a1, b1: &[0.5], a2: &a2, b2: &[0.0] }, &mut packed)?;
//! plan.forward(&packed, &book, &mut cache)?;
//! let features = cache.features();
//! assert_eq!(features[4..8], [features[3], features[0], features[1], features[2]]);
//!
//! let lens = plan.coefficient_lens();
//! let [mut a1, mut b1, mut a2, mut b2] = lens.map(|len| vec![0.0; len]);
//! let gradients = Gradients { a1: &mut a1, b1: &mut b1, a2: &mut a2, b2: &mut b2 };
//! plan.backward(&packed, &book, &cache, &[1.0; 8], &mut Workspace::default(), gradients)?;
//! assert_eq!(b2, [8.0]);
//! # Ok::<(), equimarl_kernels::Error>(())
//! ```

mod atlas;
mod backward;
mod book;
mod forward;
mod geometry;
mod plan;
mod strips;
#[cfg(test)]
mod tests;
mod turns;
mod weights;

pub use atlas::Atlas;
pub use backward::{Gradients, Workspace};
pub use book::Book;
pub use forward::Cache;
pub use plan::Plan;
pub use turns::Turns;
pub use weights::{Coefficients, Packed};

use std::sync::atomic::{AtomicU64, Ordering};

/// Floats of a vector: blocks of channels are filled up to whole vectors, and all levels use this width.
const LANES: usize = 8;

/// A pixel of a patch: \[channel\]\[row\]\[column\] and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pixel {
    at: u32,
    value: f32,
}

/// A number that was never given out before; not 0.
fn generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
