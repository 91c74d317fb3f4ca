//! T\[t\]\[d\] = W2\[t\] h(d), summed over the hidden entries that are not zero.

use super::hidden::Entry;
use crate::dictionary::LANES;
use crate::dictionary::strips::{Strip, store, strips};
use crate::simd::{Kernel, Simd};

/// Some rows of one tap's table.
pub(super) struct Table<'a> {
    /// The patch of each row.
    pub(super) patches: &'a [u32],
    /// \[patch\]\[hidden\], of which the first `counts[patch]` count.
    pub(super) entries: &'a [Entry],
    pub(super) counts: &'a [u32],
    /// Floats of a hidden vector.
    pub(super) hidden: usize,
    /// \[hidden\]\[out\]
    pub(super) w2: &'a [f32],
    /// Floats of a row.
    pub(super) width: usize,
    pub(super) out: &'a mut [f32],
}

impl Kernel for Table<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let vectors = self.width / LANES;
        // SAFETY: the CPU has the instructions by the caller's promise, and rows have so many vectors.
        unsafe { strips::<S, 8>(&mut self, vectors) }
    }
}

impl Strip for Table<'_> {
    #[inline(always)]
    unsafe fn strip<S: Simd, const N: usize>(&mut self, first: usize) {
        assert!((first + N) * LANES <= self.width);
        assert_eq!(self.w2.len(), self.hidden * self.width);
        let at = first * LANES;
        for (&patch, out) in self.patches.iter().zip(self.out.chunks_exact_mut(self.width)) {
            let patch = patch as usize;
            let entries = &self.entries[patch * self.hidden..][..self.counts[patch] as usize];
            // SAFETY: an entry's place is below `hidden`, so its row of w2 exists; vectors lie within a row by the
            // assertion. The instructions are the caller's promise.
            unsafe {
                let mut sum = [S::splat(0.0); N];
                for entry in entries {
                    let value = S::splat(entry.value);
                    let w = self.w2.as_ptr().add(entry.at as usize * self.width + at);
                    for (n, sum) in sum.iter_mut().enumerate() {
                        *sum = S::fma(value, S::load(w.add(n * LANES)), *sum);
                    }
                }
                store::<S, N>(out.as_mut_ptr().add(at), sum);
            }
        }
    }
}
