//! Numbers of patches and windows by content, for as long as a run lasts.
//!
//! A picture is looked up level by level, everything found by its hash is compared:
//!
//! row of pixels -> runs of k1 pixels; channels x k1 runs -> patch (d, g); k2 x k2 patches -> window (w, g).

mod intern;
mod patches;
mod rows;
mod windows;

use super::geometry::Geometry;
use super::{Pixel, Plan, generation};
use crate::error::{Error, Result, length};
use intern::Intern;
use patches::Patches;
use rows::Rows;
use std::sync::Arc;
use windows::Windows;

/// Windows, and pairs of a patch and a tap, take 28 bits.
const MOST: usize = 1 << 28;

/// All patches and windows met so far, up to turns. It grows with what it is shown: look at [`Atlas::windows`] and
/// [`Atlas::clear`] it between books when it is too large.
#[derive(Debug)]
pub struct Atlas {
    geometry: Arc<Geometry>,
    generation: u64,
    rows: Rows,
    patches: Patches,
    windows: Windows,
    /// Patches as they lie in pictures (channels x k1 runs), and their codes.
    patch_places: Intern,
    patch_codes: Vec<u32>,
    /// Windows as they lie in pictures (k2 x k2 codes of patches), and their codes.
    window_places: Intern,
    window_codes: Vec<u32>,
    /// Of the last picture: runs \[column of patches\]\[channel\]\[row\], codes \[row of patches\]\[column of patches\].
    runs: Vec<u32>,
    codes: Vec<u32>,
    /// A row of `patch_places`, one of `window_places`, the bits of a patch.
    patch: Vec<u32>,
    window: Vec<u32>,
    bits: Vec<u32>,
}

impl Atlas {
    /// An empty atlas for pictures, filters and turns as in `plan`; plans that differ in channels only can share it.
    pub fn new(plan: &Plan) -> Self {
        let geometry = plan.geometry.clone();
        let patch_places = Intern::new(geometry.channels * geometry.kernels[0]);
        let window_places = Intern::new(geometry.taps());
        let (rows, columns) = geometry.hidden;
        Self {
            generation: generation(),
            rows: Rows::new(&geometry),
            patches: Patches::new(geometry.patch()),
            windows: Windows::new(geometry.taps()),
            patch_codes: Vec::new(),
            window_codes: Vec::new(),
            runs: vec![0; columns * geometry.channels * geometry.height],
            codes: vec![0; rows * columns],
            patch: vec![0; patch_places.width()],
            window: vec![0; window_places.width()],
            bits: vec![0; geometry.patch()],
            patch_places,
            window_places,
            geometry,
        }
    }

    /// Writes for every output position p the code `w << 4 | g`: the window at p is g . rep(w).
    ///
    /// # Errors
    /// `picture` or `codes` has the wrong length, or there are 2^28 windows or pairs of a patch and a tap.
    pub fn look(&mut self, picture: &[f32], codes: &mut [u32]) -> Result<()> {
        length("picture", picture.len(), self.geometry.picture())?;
        length("codes", codes.len(), self.geometry.positions())?;
        let pairs = (self.patches.len() + self.codes.len()) * self.geometry.taps();
        if pairs.max(self.window_places.len() + codes.len()) > MOST {
            return Err(Error::TooLarge { name: "the atlas", limit: MOST });
        }
        self.rows.look(&self.geometry, picture, &mut self.runs);
        self.look_patches();
        self.look_windows(codes);
        Ok(())
    }

    fn look_patches(&mut self) {
        let geometry = &*self.geometry;
        let (k, s) = (geometry.kernels[0], geometry.strides[0]);
        let column = geometry.channels * geometry.height;
        for y in 0..geometry.hidden.0 {
            for x in 0..geometry.hidden.1 {
                let runs = &self.runs[x * column..][..column];
                let planes = self.patch.chunks_exact_mut(k).zip(runs.chunks_exact(geometry.height));
                for (patch, runs) in planes {
                    copy(patch, &runs[y * s..][..k]);
                }
                let id = self.patch_places.find(&self.patch).unwrap_or_else(|| {
                    self.rows.patch(geometry, (y, x), &mut self.bits);
                    self.patch_codes.push(self.patches.code(&geometry.turns, &self.bits));
                    self.patch_places.intern(&self.patch).0
                });
                self.codes[y * geometry.hidden.1 + x] = self.patch_codes[id as usize];
            }
        }
    }

    fn look_windows(&mut self, out: &mut [u32]) {
        let geometry = &*self.geometry;
        let (k, s, columns) = (geometry.kernels[1], geometry.strides[1], geometry.hidden.1);
        for (y, out) in out.chunks_exact_mut(geometry.pooled.1).enumerate() {
            let rows = &self.codes[y * s * columns..][..k * columns];
            for (x, out) in out.iter_mut().enumerate() {
                for (window, row) in self.window.chunks_exact_mut(k).zip(rows.chunks_exact(columns)) {
                    copy(window, &row[x * s..][..k]);
                }
                let id = self.window_places.find(&self.window).unwrap_or_else(|| {
                    self.window_codes.push(self.windows.code(&geometry.turns, &self.patches, &self.window));
                    self.window_places.intern(&self.window).0
                });
                *out = self.window_codes[id as usize];
            }
        }
    }

    /// Distinct patches so far, up to turns.
    pub fn patches(&self) -> usize {
        self.patches.len()
    }

    /// Distinct windows so far, up to turns.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// Forgets everything; codes given out before mean nothing any more. Keeps the memory.
    pub fn clear(&mut self) {
        self.generation = generation();
        self.rows.clear();
        self.patches.clear();
        self.windows.clear();
        self.patch_places.clear();
        self.patch_codes.clear();
        self.window_places.clear();
        self.window_codes.clear();
    }

    pub(super) fn geometry(&self) -> &Arc<Geometry> {
        &self.geometry
    }

    /// Changes when codes lose their meaning.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// The parts of representative w, place by place: `(d * taps + tap) << 4 | g` for the patch g . rep(d) at place g tap.
    pub(super) fn parts(&self, w: u32) -> &[u32] {
        &self.windows.parts(w)[..self.geometry.taps()]
    }

    /// The pixels of representative d that are not zero.
    pub(super) fn pixels(&self, d: u32) -> &[Pixel] {
        self.patches.pixels(d)
    }

    /// Gives everything the same hash, which must not change any result.
    #[cfg(test)]
    pub(super) fn collide(&mut self) {
        self.rows.collide();
        self.patches.collide();
        self.windows.collide();
        self.patch_places.collide();
        self.window_places.collide();
    }
}

/// A few words: too few for a call.
#[inline(always)]
fn copy(to: &mut [u32], from: &[u32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from;
    }
}
