//! dW1\[pixel\] += x\[pixel\] dh and db1 += dh, where dh counts only where h > 0.

use super::Chunk;
use crate::dictionary::strips::{Strip, load, store, strips};
use crate::dictionary::{Book, LANES};
use crate::simd::{Kernel, Simd};
use std::ops::Range;

pub(super) struct First<'a> {
    pub(super) book: &'a Book,
    pub(super) patches: Range<usize>,
    /// \[patch\]\[hidden\]
    pub(super) hidden: &'a [f32],
    /// Floats of a hidden vector.
    pub(super) width: usize,
    /// Whose dh are added, in this order.
    pub(super) parts: &'a [Chunk],
    /// \[pixel\]\[hidden\], added to.
    pub(super) dw1: &'a mut [f32],
    pub(super) db1: &'a mut [f32],
}

impl Kernel for First<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let vectors = self.width / LANES;
        // SAFETY: the CPU has the instructions by the caller's promise, and rows have so many vectors.
        unsafe { strips::<S, 4>(&mut self, vectors) }
    }
}

impl Strip for First<'_> {
    #[inline(always)]
    unsafe fn strip<S: Simd, const N: usize>(&mut self, first: usize) {
        let (at, width) = (first * LANES, self.width);
        let end = self.patches.end * width;
        assert!((first + N) * LANES <= width && self.db1.len() == width);
        assert!(
            end <= self.hidden.len() && self.parts.iter().all(|part| end <= part.hidden.as_slice().len())
        );
        assert_eq!(self.dw1.len(), self.book.geometry().patch() * width);
        // SAFETY: patches and vectors lie within the rows by the assertions, pixels of a patch within a patch. The
        // instructions are the caller's promise.
        unsafe {
            let mut bias = load::<S, N>(self.db1.as_ptr().add(at));
            for patch in self.patches.clone() {
                let row = patch * width + at;
                let mut sum = [S::splat(0.0); N];
                for part in self.parts {
                    let from = load::<S, N>(part.hidden.as_slice().as_ptr().add(row));
                    for n in 0..N {
                        sum[n] = S::add(sum[n], from[n]);
                    }
                }
                let h = load::<S, N>(self.hidden.as_ptr().add(row));
                let zero = S::splat(0.0);
                for n in 0..N {
                    // The gradient where h > 0, zero elsewhere.
                    sum[n] = S::keep_greater(zero, zero, h[n], sum[n]).1;
                    bias[n] = S::add(bias[n], sum[n]);
                }
                for pixel in self.book.pixels(patch) {
                    let value = S::splat(pixel.value);
                    let to = self.dw1.as_mut_ptr().add(pixel.at as usize * width + at);
                    for (n, &sum) in sum.iter().enumerate() {
                        let to = to.add(n * LANES);
                        S::store(to, S::fma(value, sum, S::load(to)));
                    }
                }
            }
            store::<S, N>(self.db1.as_mut_ptr().add(at), bias);
        }
    }
}
