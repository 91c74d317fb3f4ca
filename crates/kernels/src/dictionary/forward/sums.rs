//! z(w) = b2 + sum over places of a table row with its blocks permuted.

use super::Rows;
use crate::dictionary::LANES;
use crate::dictionary::book::Part;
use crate::dictionary::plan::Blocks;
use crate::dictionary::strips::{Strip, load, store, strips};
use crate::simd::{Kernel, Simd};

/// The sums of a few windows in a row.
pub(super) struct Sums<'a> {
    /// One table per tap.
    pub(super) tables: &'a [Rows],
    /// \[window\]\[place\]
    pub(super) parts: &'a [Part],
    pub(super) bias: &'a [f32],
    pub(super) blocks: &'a Blocks,
    /// \[window\]\[out\]
    pub(super) out: &'a mut [f32],
}

impl Kernel for Sums<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let vectors = self.blocks.vectors;
        // SAFETY: the CPU has the instructions by the caller's promise, and rows have so many vectors.
        unsafe { strips::<S, 8>(&mut self, vectors) }
    }
}

impl Strip for Sums<'_> {
    #[inline(always)]
    unsafe fn strip<S: Simd, const N: usize>(&mut self, first: usize) {
        let each = self.blocks.padded / LANES;
        // SAFETY: the caller's promise, passed on.
        unsafe {
            if N >= 4 && each.is_multiple_of(4) {
                self.runs::<S, N, 4>(first);
            } else if N >= 2 && each.is_multiple_of(2) {
                self.runs::<S, N, 2>(first);
            } else {
                self.runs::<S, N, 1>(first);
            }
        }
    }
}

impl Sums<'_> {
    /// The strip where every `RUN` vectors lie side by side, so that one address serves them all: blocks are whole runs,
    /// and a strip starts at a multiple of its N.
    ///
    /// # Safety
    /// As [`Strip::strip`]; `RUN` divides the vectors of a block and N.
    #[inline(always)]
    unsafe fn runs<S: Simd, const N: usize, const RUN: usize>(&mut self, first: usize) {
        let (width, vectors) = (self.blocks.width, self.blocks.vectors);
        assert!(first + N <= vectors && self.bias.len() == width);
        let taps = self.tables.len();
        let mut tables = [std::ptr::null::<f32>(); 64];
        for (to, table) in tables.iter_mut().zip(self.tables) {
            *to = table.values.as_slice().as_ptr();
        }
        // SAFETY: a book only makes parts with taps of its geometry, rows of that tap and shifts below the order, and the
        // tables hold all rows of the book before any sum is asked for; vectors lie within a row by the assertion. The
        // instructions are the caller's promise.
        unsafe {
            let bias = load::<S, N>(self.bias.as_ptr().add(first * LANES));
            let windows = self.parts.chunks_exact(taps).zip(self.out.chunks_exact_mut(width));
            for (parts, out) in windows {
                let mut sum = bias;
                for part in parts {
                    let row = tables.get_unchecked(part.tap()).add(part.row() * width);
                    let from = self.blocks.turned.as_ptr().add(part.shift() * vectors + first);
                    for (n, sum) in sum.iter_mut().enumerate() {
                        let start = row.add(*from.add(n / RUN * RUN) as usize);
                        *sum = S::add(*sum, S::load(start.add(n % RUN * LANES)));
                    }
                }
                store::<S, N>(out.as_mut_ptr().add(first * LANES), sum);
            }
        }
    }
}
