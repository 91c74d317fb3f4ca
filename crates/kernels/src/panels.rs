//! Weights rearranged so that the inner loop reads them in a straight line.
//!
//! A matrix with `depth` rows (the summed index) and `columns` columns is cut into panels of two vectors' width (the last
//! one may be one vector wide); a panel stores its rows one after another. Missing columns are zero.

use crate::simd::Level;

/// Sixteen floats on a cache line of their own.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read through the slices below")] [f32; 16]);

/// Floats that start on a cache line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// Makes room for `len` floats; keeps whatever was there before.
    pub(crate) fn resize(&mut self, len: usize) {
        self.lines.resize(len.div_ceil(16), Line::default());
        self.len = len;
    }

    /// Makes room for at least `len` floats: what was there stays, and nothing is cleared.
    pub(crate) fn grow(&mut self, len: usize) {
        if len > self.len {
            self.resize(len);
        }
    }

    /// Exactly `len` zeros.
    pub(crate) fn zeros(&mut self, len: usize) {
        self.resize(len);
        self.as_mut_slice().fill(0.0);
    }

    pub(crate) fn as_slice(&self) -> &[f32] {
        // SAFETY: the lines are plain floats without padding, and `resize` keeps at least `len` of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as in `as_slice`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// A packed `depth` x `columns` matrix with a bias per column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panels {
    weights: Aligned,
    bias: Aligned,
    depth: usize,
    columns: usize,
    lanes: usize,
}

/// One panel: the first column, how many columns are real, and its packed floats.
pub(crate) struct Panel<'a> {
    pub(crate) first: usize,
    pub(crate) columns: usize,
    pub(crate) vectors: usize,
    pub(crate) weights: &'a [f32],
    pub(crate) bias: &'a [f32],
}

impl Panels {
    /// Packs element (d, c) = `weights[c * column_stride + row(d)]`; an empty bias is zero.
    pub(crate) fn pack(
        &mut self,
        level: Level,
        (depth, columns): (usize, usize),
        weights: &[f32],
        column_stride: usize,
        row: impl Fn(usize) -> usize,
        bias: &[f32],
    ) {
        self.resize(level, (depth, columns));
        let padded = self.bias.len;
        let packed_bias = self.bias.as_mut_slice();
        packed_bias.fill(0.0);
        packed_bias[..bias.len()].copy_from_slice(bias);
        let mut rest = self.weights.as_mut_slice();
        let mut first = 0;
        while first < padded {
            let width = (padded - first).min(2 * self.lanes);
            let real = width.min(columns - first);
            let (panel, after) = rest.split_at_mut(width * depth);
            for (d, out) in panel.chunks_exact_mut(width).enumerate() {
                let from = &weights[row(d) + first * column_stride..];
                let from = from.iter().step_by(column_stride);
                for (out, from) in out[..real].iter_mut().zip(from) {
                    *out = *from;
                }
                out[real..].fill(0.0);
            }
            rest = after;
            first += width;
        }
    }

    /// Makes room for a matrix whose packed floats [`Panels::weights_mut`] and [`Panels::bias_mut`] give to be written in
    /// the order of [`order`].
    pub(crate) fn resize(&mut self, level: Level, (depth, columns): (usize, usize)) {
        (self.depth, self.columns, self.lanes) = (depth, columns, level.lanes());
        let padded = columns.div_ceil(self.lanes) * self.lanes;
        self.weights.resize(padded * depth);
        self.bias.resize(padded);
    }

    pub(crate) fn weights_mut(&mut self) -> &mut [f32] {
        self.weights.as_mut_slice()
    }

    pub(crate) fn bias_mut(&mut self) -> &mut [f32] {
        self.bias.as_mut_slice()
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Floats per vector these panels were packed for.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The panels in column order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Panel<'_>> {
        let wide = 2 * self.lanes;
        let padded = self.bias.len;
        (0..padded).step_by(wide.max(1)).map(move |first| {
            let width = (padded - first).min(wide);
            Panel {
                first,
                columns: width.min(self.columns - first),
                vectors: width / self.lanes,
                weights: &self.weights.as_slice()[first * self.depth..][..width * self.depth],
                bias: &self.bias.as_slice()[first..][..width],
            }
        })
    }
}

/// Row and column of every packed float, nothing where the padding is.
pub(crate) fn order(
    level: Level,
    (depth, columns): (usize, usize),
) -> impl Iterator<Item = Option<(usize, usize)>> {
    let padded = columns.div_ceil(level.lanes()) * level.lanes();
    let wide = 2 * level.lanes();
    (0..padded).step_by(wide).flat_map(move |first| {
        let width = (padded - first).min(wide);
        (0..depth * width).map(move |i| Some((i / width, first + i % width)).filter(|at| at.1 < columns))
    })
}

/// Column of every packed float of the bias.
pub(crate) fn bias_order(level: Level, columns: usize) -> impl Iterator<Item = Option<usize>> {
    let padded = columns.div_ceil(level.lanes()) * level.lanes();
    (0..padded).map(move |c| Some(c).filter(|c| *c < columns))
}
