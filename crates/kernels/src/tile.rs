//! The two inner loops everything else is made of.
//!
//! [`Dot`]: out[r][c] = bias[c] + sum_d x[rows[r] + at(d)] w[d][c], where at(d) walks through equally long runs. A dense
//! layer has one run per row; a convolution has one per row of its filter, so no patch is ever copied out.
//!
//! [`Outer`]: out[a][c] += sum_r x[rows[r] + taps[a]] y[r][c], the gradient of the weights of either.
//!
//! Every element is one chain of multiply-adds in the order of its sum, so it does not depend on its tile.

use crate::panels::{Panel, Panels};
use crate::simd::{Kernel, Simd};
use std::mem::MaybeUninit;

/// The largest tile of any level: eight rows of two vectors of sixteen.
const LARGEST: usize = 8 * 32;

/// Takes finished tiles, panel by panel, rows rising within a panel.
///
/// A tile comes as floats in memory, not as registers: a sink has branches and loops that the compiler does not unroll
/// as a whole, and an array that such a loop walks through stays in memory from its beginning, so that every single
/// multiply-add would be followed by a store (dense layers were three times slower with AVX2 for that). Written out once
/// by plain stores, the accumulators stay in registers.
pub(crate) trait Sink {
    /// `count` rows from `row` on, of `vectors` vectors each, one after the other; the first element is (`row`,
    /// `panel.first`).
    ///
    /// # Safety
    /// The CPU has the instructions of `S`, the tile lies within the rows and panels the sink was made for, and `tile`
    /// leads to `count * vectors * S::LANES` floats.
    unsafe fn put<S: Simd>(&mut self, row: usize, count: usize, panel: &Panel<'_>, tile: *const f32);
    /// All rows of a panel were put.
    fn end(&mut self, panel: &Panel<'_>);
    /// Checks that it can take `rows` x `columns`; panics otherwise.
    fn check(&self, rows: usize, columns: usize);
}

/// Rows times packed weights, into a [`Sink`].
pub(crate) struct Dot<'a, K> {
    pub(crate) x: &'a [f32],
    /// Where each row starts in `x`.
    pub(crate) rows: &'a [usize],
    /// Where each run starts, relative to the row.
    pub(crate) runs: &'a [usize],
    /// Length of a run.
    pub(crate) run: usize,
    pub(crate) panels: &'a Panels,
    pub(crate) sink: K,
}

impl<K: Sink> Kernel for Dot<'_, K> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        if self.rows.is_empty() {
            return;
        }
        // These hold for every plan in this crate; they make the raw reads below sound on their own.
        assert_eq!(self.panels.lanes(), S::LANES);
        assert_eq!(self.panels.depth(), self.runs.len() * self.run);
        assert!(last(self.rows) + last(self.runs) + self.run <= self.x.len());
        self.sink.check(self.rows.len(), self.panels.columns());
        for panel in self.panels.iter() {
            // SAFETY: the CPU has the instructions (the caller's promise); reads and writes are in range by the
            // assertions above.
            unsafe {
                if panel.vectors == 2 {
                    self.panel::<S, 2>(&panel);
                } else {
                    self.panel::<S, 1>(&panel);
                }
            }
            self.sink.end(&panel);
        }
    }
}

impl<K: Sink> Dot<'_, K> {
    #[inline(always)]
    unsafe fn panel<S: Simd, const N: usize>(&mut self, panel: &Panel<'_>) {
        let rows = self.rows.len();
        let tiles = rows.div_ceil(S::ROWS);
        for tile in 0..tiles {
            // Balanced tiles: 16 rows are 6 + 5 + 5, not 6 + 6 + 4.
            let (from, to) = (rows * tile / tiles, rows * (tile + 1) / tiles);
            // SAFETY: from..to lies in the rows; the rest is the caller's promise.
            unsafe {
                match to - from {
                    8 if S::ROWS >= 8 => self.tile::<S, 8, N>(from, panel),
                    7 if S::ROWS >= 7 => self.tile::<S, 7, N>(from, panel),
                    6 if S::ROWS >= 6 => self.tile::<S, 6, N>(from, panel),
                    5 if S::ROWS >= 5 => self.tile::<S, 5, N>(from, panel),
                    4 if S::ROWS >= 4 => self.tile::<S, 4, N>(from, panel),
                    3 if S::ROWS >= 3 => self.tile::<S, 3, N>(from, panel),
                    2 => self.tile::<S, 2, N>(from, panel),
                    _ => self.tile::<S, 1, N>(from, panel),
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn tile<S: Simd, const M: usize, const N: usize>(&mut self, row: usize, panel: &Panel<'_>) {
        // SAFETY: `run` checked that every row, run and column is in range, and the panel holds depth * N * LANES
        // floats; the CPU has the instructions by the caller's promise.
        unsafe {
            let mut bias = [S::splat(0.0); N];
            for (n, bias) in bias.iter_mut().enumerate() {
                *bias = S::load(panel.bias.as_ptr().add(n * S::LANES));
            }
            let mut tile = [bias; M];
            let mut weights = panel.weights.as_ptr();
            for &run in self.runs {
                let mut x = [self.x.as_ptr(); M];
                for (m, x) in x.iter_mut().enumerate() {
                    *x = x.add(*self.rows.get_unchecked(row + m) + run);
                }
                for d in 0..self.run {
                    let mut w = [S::splat(0.0); N];
                    for (n, w) in w.iter_mut().enumerate() {
                        *w = S::load(weights.add(n * S::LANES));
                    }
                    weights = weights.add(N * S::LANES);
                    for m in 0..M {
                        let a = S::splat(*x[m].add(d));
                        for n in 0..N {
                            tile[m][n] = S::fma(a, w[n], tile[m][n]);
                        }
                    }
                }
            }
            const { assert!(M * N * S::LANES <= LARGEST) };
            let mut finished = MaybeUninit::<[f32; LARGEST]>::uninit();
            let to = finished.as_mut_ptr().cast::<f32>();
            for (m, row) in tile.iter().enumerate() {
                for (n, &v) in row.iter().enumerate() {
                    S::store(to.add((m * N + n) * S::LANES), v);
                }
            }
            self.sink.put::<S>(row, M, panel, to);
        }
    }
}

/// Adds products of two row lists to a matrix.
pub(crate) struct Outer<'a> {
    pub(crate) x: &'a [f32],
    /// Where each row starts in `x`.
    pub(crate) rows: &'a [usize],
    /// Where each output row's factor sits, relative to the row.
    pub(crate) taps: &'a [usize],
    /// Rows of `columns` floats, as many as `rows`, the next one `stride` floats after the last.
    pub(crate) y: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) columns: usize,
    /// Rows of `columns` floats, as many as `taps`.
    pub(crate) out: &'a mut [f32],
}

impl Kernel for Outer<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        if self.rows.is_empty() || self.taps.is_empty() {
            return;
        }
        // These hold for every plan in this crate; they make the raw reads below sound on their own.
        assert!(last(self.rows) + last(self.taps) < self.x.len());
        assert!((self.rows.len() - 1) * self.stride + self.columns <= self.y.len());
        assert_eq!(self.out.len(), self.taps.len() * self.columns);
        let tiles = self.taps.len().div_ceil(S::ROWS);
        for tile in 0..tiles {
            let from = self.taps.len() * tile / tiles;
            let to = self.taps.len() * (tile + 1) / tiles;
            let mut column = 0;
            while column < self.columns {
                let left = self.columns - column;
                // SAFETY: the CPU has the instructions (the caller's promise); from..to and the columns are in range
                // by the assertions above.
                unsafe {
                    if left > S::LANES {
                        self.tiles::<S, 2>(from, to, column);
                    } else {
                        self.tiles::<S, 1>(from, to, column);
                    }
                }
                column += 2 * S::LANES;
            }
        }
    }
}

impl Outer<'_> {
    #[inline(always)]
    unsafe fn tiles<S: Simd, const N: usize>(&mut self, from: usize, to: usize, column: usize) {
        // SAFETY: the caller's promise, passed on.
        unsafe {
            match to - from {
                8 if S::ROWS >= 8 => self.tile::<S, 8, N>(from, column),
                7 if S::ROWS >= 7 => self.tile::<S, 7, N>(from, column),
                6 if S::ROWS >= 6 => self.tile::<S, 6, N>(from, column),
                5 if S::ROWS >= 5 => self.tile::<S, 5, N>(from, column),
                4 if S::ROWS >= 4 => self.tile::<S, 4, N>(from, column),
                3 if S::ROWS >= 3 => self.tile::<S, 3, N>(from, column),
                2 => self.tile::<S, 2, N>(from, column),
                _ => self.tile::<S, 1, N>(from, column),
            }
        }
    }

    #[inline(always)]
    unsafe fn tile<S: Simd, const M: usize, const N: usize>(&mut self, tap: usize, column: usize) {
        // SAFETY: `run` checked that every row, tap and column is in range, masked lanes are not touched, and the CPU
        // has the instructions by the caller's promise.
        unsafe {
            // Only the last vector can be cut off by the edge.
            let edge = S::first(self.columns - column - (N - 1) * S::LANES);
            let mut tile = [[S::splat(0.0); N]; M];
            for (m, tile) in tile.iter_mut().enumerate() {
                let from = self.out.as_ptr().add((tap + m) * self.columns + column);
                *tile = load_row::<S, N>(from, edge);
            }
            let mut x = [self.x.as_ptr(); M];
            for (m, x) in x.iter_mut().enumerate() {
                *x = x.add(*self.taps.get_unchecked(tap + m));
            }
            let mut y = self.y.as_ptr().add(column);
            for &row in self.rows {
                let w = load_row::<S, N>(y, edge);
                // Not past the last row's start, as a pointer may not leave its allocation.
                y = y.wrapping_add(self.stride);
                for m in 0..M {
                    let a = S::splat(*x[m].add(row));
                    for n in 0..N {
                        tile[m][n] = S::fma(a, w[n], tile[m][n]);
                    }
                }
            }
            for (m, tile) in tile.iter().enumerate() {
                let to = self.out.as_mut_ptr().add((tap + m) * self.columns + column);
                for (n, &v) in tile[..N - 1].iter().enumerate() {
                    S::store(to.add(n * S::LANES), v);
                }
                S::store_first(to.add((N - 1) * S::LANES), tile[N - 1], edge);
            }
        }
    }
}

/// # Safety
/// As [`Simd::load`] for the first N - 1 vectors and [`Simd::load_first`] for the last.
#[inline(always)]
unsafe fn load_row<S: Simd, const N: usize>(from: *const f32, edge: S::Mask) -> [S::V; N] {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        let mut row = [S::splat(0.0); N];
        for (n, v) in row[..N - 1].iter_mut().enumerate() {
            *v = S::load(from.add(n * S::LANES));
        }
        row[N - 1] = S::load_first(from.add((N - 1) * S::LANES), edge);
        row
    }
}

/// The real columns of one row of a tile to `to`.
///
/// # Safety
/// The CPU has the instructions of `S`, `tile` leads to `panel.vectors` vectors, and `to` to room for `panel.columns` floats.
#[inline(always)]
unsafe fn store_row<S: Simd>(tile: *const f32, panel: &Panel<'_>, relu: bool, to: *mut f32) {
    // SAFETY: the caller's promise; columns beyond the panel's real ones are masked.
    unsafe {
        for n in 0..panel.vectors {
            let v = S::load(tile.add(n * S::LANES));
            let v = if relu { S::relu(v) } else { v };
            let (to, left) = (to.add(n * S::LANES), panel.columns - n * S::LANES);
            if left >= S::LANES {
                S::store(to, v);
            } else {
                S::store_first(to, v, S::first(left));
            }
        }
    }
}

/// Stores rows, with or without ReLU.
pub(crate) struct Store<'a> {
    pub(crate) out: &'a mut [f32],
    pub(crate) columns: usize,
    pub(crate) relu: bool,
}

impl Sink for Store<'_> {
    #[inline(always)]
    unsafe fn put<S: Simd>(&mut self, row: usize, count: usize, panel: &Panel<'_>, tile: *const f32) {
        // SAFETY: `check` saw room for all rows and columns; columns beyond the panel's real ones are masked.
        unsafe {
            for m in 0..count {
                let to = self.out.as_mut_ptr().add((row + m) * self.columns + panel.first);
                store_row::<S>(tile.add(m * panel.vectors * S::LANES), panel, self.relu, to);
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, _: &Panel<'_>) {}

    #[inline(always)]
    fn check(&self, rows: usize, columns: usize) {
        assert!(columns == self.columns && self.out.len() == rows * columns);
    }
}

/// Stores rows wherever each begins.
pub(crate) struct Place<'a> {
    pub(crate) out: &'a mut [f32],
    pub(crate) starts: &'a [usize],
}

impl Sink for Place<'_> {
    #[inline(always)]
    unsafe fn put<S: Simd>(&mut self, row: usize, count: usize, panel: &Panel<'_>, tile: *const f32) {
        // SAFETY: `check` saw room for all columns after every start; columns beyond the panel's real ones are masked.
        unsafe {
            for m in 0..count {
                let to = self.out.as_mut_ptr().add(*self.starts.get_unchecked(row + m) + panel.first);
                store_row::<S>(tile.add(m * panel.vectors * S::LANES), panel, false, to);
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, _: &Panel<'_>) {}

    #[inline(always)]
    fn check(&self, rows: usize, columns: usize) {
        assert!(rows == self.starts.len() && last(self.starts) + columns <= self.out.len());
    }
}

fn last(offsets: &[usize]) -> usize {
    offsets.iter().copied().max().unwrap_or(0)
}
