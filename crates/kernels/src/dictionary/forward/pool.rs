//! feature\[k\] = max over p of (L_g z(w))\[k\], at least 0, and where.

use super::NOWHERE;
use crate::dictionary::LANES;
use crate::dictionary::plan::Blocks;
use crate::dictionary::strips::{Strip, store, strips};
use crate::simd::{Kernel, Simd};

/// The features of one picture.
pub(super) struct Pool<'a> {
    /// \[window\]\[out\]
    pub(super) sums: &'a [f32],
    /// \[position\] -> window << 4 | g
    pub(super) codes: &'a [u32],
    pub(super) order: usize,
    pub(super) blocks: &'a Blocks,
    /// Channel-major.
    pub(super) features: &'a mut [f32],
    pub(super) at: &'a mut [u32],
}

impl Kernel for Pool<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let vectors = self.blocks.vectors;
        // SAFETY: the CPU has the instructions by the caller's promise, and rows have so many vectors.
        unsafe { strips::<S, 4>(&mut self, vectors) }
    }
}

impl Strip for Pool<'_> {
    #[inline(always)]
    unsafe fn strip<S: Simd, const N: usize>(&mut self, first: usize) {
        let Blocks { width, vectors, padded, channels, .. } = *self.blocks;
        assert!(first + N <= vectors);
        let (mut best, mut position, mut poison) = ([0.0; 8 * LANES], [0.0; 8 * LANES], [0.0; 8 * LANES]);
        // SAFETY: a book only makes codes with windows of its own and turns below the order, and all its sums are there
        // before the pool is asked for; vectors lie within a row by the assertion, N is at most 8. The instructions are
        // the caller's promise.
        unsafe {
            let zero = S::splat(0.0);
            let (mut most, mut at) = ([zero; N], [S::splat(-1.0); N]);
            // 0 as long as all values are finite, NaN afterwards
            let mut spoilt = [zero; N];
            for (p, &code) in self.codes.iter().enumerate() {
                let row = self.sums.as_ptr().add((code >> 4) as usize * width);
                let from = self.blocks.turned.as_ptr().add((code & 15) as usize * vectors + first);
                // Positions as floats live in the same registers; exact up to 2^24.
                let here = S::splat(p as f32);
                for n in 0..N {
                    let value = S::load(row.add(*from.add(n) as usize));
                    (most[n], at[n]) = S::keep_greater(most[n], at[n], value, here);
                    spoilt[n] = S::fma(value, zero, spoilt[n]);
                }
            }
            store::<S, N>(best.as_mut_ptr(), most);
            store::<S, N>(position.as_mut_ptr(), at);
            store::<S, N>(poison.as_mut_ptr(), spoilt);
        }
        for i in 0..N * LANES {
            let lane = first * LANES + i;
            let (u, c) = (lane / padded, lane % padded);
            if c < channels {
                let k = c * self.order + u;
                self.features[k] = best[i] + poison[i];
                self.at[k] = if position[i] < 0.0 { NOWHERE } else { position[i] as u32 };
            }
        }
    }
}
