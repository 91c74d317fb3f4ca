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

/// Two slices in step, `work(index, chunk of a, chunk of b)`; on one thread if the work is only so many multiply-adds.
pub(crate) fn pairs<A: Send, B: Send>(
    multiply_adds: usize,
    (a, size_a): (&mut [A], usize),
    (b, size_b): (&mut [B], usize),
    work: impl Fn(usize, &mut [A], &mut [B]) + Sync + Send,
) {
    if alone() || multiply_adds < WORTH {
        let chunks = a.chunks_mut(size_a).zip(b.chunks_mut(size_b));
        chunks.enumerate().for_each(|(i, (a, b))| work(i, a, b));
    } else {
        let chunks = a.par_chunks_mut(size_a).zip(b.par_chunks_mut(size_b));
        chunks.enumerate().for_each(|(i, (a, b))| work(i, a, b));
    }
}

/// As [`pairs`] for three slices.
pub(crate) fn triples<A: Send, B: Send, C: Send>(
    multiply_adds: usize,
    (a, size_a): (&mut [A], usize),
    (b, size_b): (&mut [B], usize),
    (c, size_c): (&mut [C], usize),
    work: impl Fn(usize, &mut [A], &mut [B], &mut [C]) + Sync + Send,
) {
    if alone() || multiply_adds < WORTH {
        let chunks = a.chunks_mut(size_a).zip(b.chunks_mut(size_b)).zip(c.chunks_mut(size_c));
        chunks.enumerate().for_each(|(i, ((a, b), c))| work(i, a, b, c));
    } else {
        let chunks = a.par_chunks_mut(size_a).zip(b.par_chunks_mut(size_b)).zip(c.par_chunks_mut(size_c));
        chunks.enumerate().for_each(|(i, ((a, b), c))| work(i, a, b, c));
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
