//! Work on independent pieces, on one thread or many, with the same result.

use rayon::prelude::*;

/// Whether splitting work is of no use: handing work to a pool of one costs a thread switch and gains nothing.
pub(crate) fn alone() -> bool {
    rayon::current_num_threads() == 1
}

/// Multiply-adds below which a dense layer stays on one thread: waking another takes as long as the work.
const WORTH: usize = 2_000_000;

/// As [`chunks`], on one thread if all the work is only so many multiply-adds.
pub(crate) fn chunks_if_worth<T: Send>(
    multiply_adds: usize,
    data: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    if multiply_adds < WORTH {
        data.chunks_mut(size).enumerate().for_each(|(i, chunk)| work(i, chunk));
    } else {
        chunks(data, size, work);
    }
}

/// `work(index, chunk)` for every chunk of `size` elements. Sizes must not depend on the number of threads; then neither
/// do results.
pub(crate) fn chunks<T: Send>(data: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Sync + Send) {
    if alone() || data.len() <= size {
        data.chunks_mut(size).enumerate().for_each(|(i, chunk)| work(i, chunk));
    } else {
        data.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| work(i, chunk));
    }
}
