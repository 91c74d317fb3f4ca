//! h(d) = relu(b1 + W1 rep(d)) from the pixels that are not zero, and the list of its entries that are not zero.

use crate::dictionary::strips::{Strip, load, store, strips};
use crate::dictionary::{Book, LANES, Packed};
use crate::simd::{Kernel, Simd};

/// An entry of a hidden vector that is not zero.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) at: u32,
    pub(super) value: f32,
}

/// The hidden vectors of a few patches in a row.
pub(super) struct Hidden<'a> {
    pub(super) book: &'a Book,
    pub(super) packed: &'a Packed,
    /// The first patch.
    pub(super) first: usize,
    /// Floats of a hidden vector.
    pub(super) width: usize,
    /// \[patch\]\[hidden\]
    pub(super) out: &'a mut [f32],
    /// \[patch\]\[hidden\], of which the first `counts[patch]` count.
    pub(super) entries: &'a mut [Entry],
    pub(super) counts: &'a mut [u32],
}

impl Kernel for Hidden<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let vectors = self.width / LANES;
        // SAFETY: the CPU has the instructions by the caller's promise, and rows have so many vectors.
        unsafe { strips::<S, 8>(&mut self, vectors) };
        let rows = self.out.chunks_exact(self.width).zip(self.entries.chunks_exact_mut(self.width));
        for ((row, entries), count) in rows.zip(&mut *self.counts) {
            let mut n = 0;
            for (at, &value) in row.iter().enumerate() {
                entries[n] = Entry { at: at as u32, value };
                // NaN counts, too. `n` stays below the width until the row is done.
                n += usize::from(value != 0.0);
            }
            *count = n as u32;
        }
    }
}

impl Strip for Hidden<'_> {
    #[inline(always)]
    unsafe fn strip<S: Simd, const N: usize>(&mut self, first: usize) {
        let (w1, b1) = (self.packed.w1.as_slice(), self.packed.b1.as_slice());
        assert!((first + N) * LANES <= self.width && b1.len() == self.width);
        assert_eq!(w1.len(), self.book.geometry().patch() * self.width);
        let at = first * LANES;
        // SAFETY: the vectors lie within a row by the assertion; pixels of a patch lie within it, and w1 has a row for
        // each of them. The instructions are the caller's promise.
        unsafe {
            let bias = load::<S, N>(b1.as_ptr().add(at));
            for (i, out) in self.out.chunks_exact_mut(self.width).enumerate() {
                let mut sum = bias;
                for pixel in self.book.pixels(self.first + i) {
                    let value = S::splat(pixel.value);
                    let w = w1.as_ptr().add(pixel.at as usize * self.width + at);
                    for (n, sum) in sum.iter_mut().enumerate() {
                        *sum = S::fma(value, S::load(w.add(n * LANES)), *sum);
                    }
                }
                for sum in &mut sum {
                    *sum = S::relu(*sum);
                }
                store::<S, N>(out.as_mut_ptr().add(at), sum);
            }
        }
    }
}
