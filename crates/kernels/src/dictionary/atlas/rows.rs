//! Rows of pixels to runs: the k1 pixels of a row that a patch sees.
//!
//! Rows repeat, so the runs of a row are looked up once per distinct row.

use super::Intern;
use crate::dictionary::geometry::Geometry;

#[derive(Debug, Clone)]
pub(super) struct Rows {
    rows: Intern,
    /// \[row\]\[column of patches\] -> run
    runs_of: Vec<u32>,
    runs: Intern,
    /// One run, filled up.
    run: Vec<u32>,
    /// The picture's bits, \[channel and row\]\[column, filled up\].
    bits: Vec<u32>,
}

impl Rows {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let (rows, runs) = (Intern::new(geometry.width), Intern::new(geometry.kernels[0]));
        let bits = vec![0; geometry.channels * geometry.height * rows.width()];
        Self { run: vec![0; runs.width()], rows, runs_of: Vec::new(), runs, bits }
    }

    /// Takes a picture and writes its runs as \[column of patches\]\[channel\]\[row\].
    pub(super) fn look(&mut self, geometry: &Geometry, picture: &[f32], out: &mut [u32]) {
        let (count, columns) = (geometry.channels * geometry.height, geometry.hidden.1);
        let width = self.rows.width();
        let rows = picture.chunks_exact(geometry.width).zip(self.bits.chunks_exact_mut(width));
        for (row, bits) in rows {
            for (bits, pixel) in bits.iter_mut().zip(row) {
                // -0 + 0 = 0: both zeros become one, everything else stays.
                *bits = (pixel + 0.0).to_bits();
            }
        }
        for i in 0..count {
            let bits = &self.bits[i * width..][..width];
            let id = match self.rows.find(bits) {
                Some(id) => id,
                None => {
                    for x in 0..columns {
                        let pixels = &bits[x * geometry.strides[0]..][..geometry.kernels[0]];
                        self.run[..pixels.len()].copy_from_slice(pixels);
                        self.runs_of.push(self.runs.intern(&self.run).0);
                    }
                    self.rows.intern(bits).0
                }
            };
            let runs = &self.runs_of[id as usize * columns..][..columns];
            for (out, &run) in out[i..].iter_mut().step_by(count).zip(runs) {
                *out = run;
            }
        }
    }

    /// The bits of patch (y, x) of the last picture, \[channel\]\[row\]\[column\].
    pub(super) fn patch(&self, geometry: &Geometry, (y, x): (usize, usize), out: &mut [u32]) {
        let (k, s) = (geometry.kernels[0], geometry.strides[0]);
        for (i, out) in out[..geometry.patch()].chunks_exact_mut(k).enumerate() {
            let row = i / k * geometry.height + y * s + i % k;
            out.copy_from_slice(&self.bits[row * self.rows.width() + x * s..][..k]);
        }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.runs_of.clear();
        self.runs.clear();
    }

    #[cfg(test)]
    pub(super) fn collide(&mut self) {
        self.rows.collide();
        self.runs.collide();
    }
}
