//! Rows of vectors, a few at a time in registers.

use super::LANES;
use crate::simd::Simd;

/// Work on rows of vectors that can be done for N vectors at a time.
pub(super) trait Strip {
    /// Vectors `first..first + N` of every row.
    ///
    /// # Safety
    /// The CPU has the instructions of `S`, which has [`LANES`] lanes, and the vectors exist.
    unsafe fn strip<S: Simd, const N: usize>(&mut self, first: usize);
}

/// All `vectors` of every row, at most `MOST` (a power of two up to 8) at a time.
///
/// # Safety
/// The CPU has the instructions of `S`, and rows have as many vectors.
#[inline(always)]
pub(super) unsafe fn strips<S: Simd, const MOST: usize>(work: &mut impl Strip, vectors: usize) {
    assert_eq!(S::LANES, LANES);
    let mut first = 0;
    while first < vectors {
        let left = vectors - first;
        // SAFETY: `first + N <= vectors`; the rest is the caller's promise.
        first += unsafe {
            if MOST >= 8 && left >= 8 {
                work.strip::<S, 8>(first);
                8
            } else if MOST >= 4 && left >= 4 {
                work.strip::<S, 4>(first);
                4
            } else if left >= 2 {
                work.strip::<S, 2>(first);
                2
            } else {
                work.strip::<S, 1>(first);
                1
            }
        };
    }
}

/// N vectors from memory.
///
/// # Safety
/// The CPU has the instructions of `S`, and N vectors are readable.
#[inline(always)]
pub(super) unsafe fn load<S: Simd, const N: usize>(from: *const f32) -> [S::V; N] {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        let mut row = [S::splat(0.0); N];
        for (n, row) in row.iter_mut().enumerate() {
            *row = S::load(from.add(n * S::LANES));
        }
        row
    }
}

/// N vectors to memory.
///
/// # Safety
/// The CPU has the instructions of `S`, and N vectors are writable.
#[inline(always)]
pub(super) unsafe fn store<S: Simd, const N: usize>(to: *mut f32, row: [S::V; N]) {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        for (n, row) in row.into_iter().enumerate() {
            S::store(to.add(n * S::LANES), row);
        }
    }
}
