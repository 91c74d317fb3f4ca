//! Pictures to features.

use super::{Config, Encoder, Packed};
use crate::error::{Result, length, rows};
use crate::panels::{Aligned, Panel};
use crate::parallel;
use crate::simd::Simd;
use crate::tile::{Dot, Sink, Store};
use rayon::prelude::*;

/// Marks a channel that is nowhere positive.
pub(super) const NOWHERE: u32 = u32::MAX;

/// What the backward pass needs from the forward pass. Reuse it to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Activations {
    /// The first convolution's output after ReLU, \[image\]\[row\]\[column\]\[channel\].
    pub(super) hidden: Vec<f32>,
    /// The pixel of each maximum, \[image\]\[channel\].
    pub(super) at: Vec<u32>,
    pub(super) config: Option<Config>,
}

impl Activations {
    /// Makes room for a batch whose hidden pictures have `hidden` elements.
    pub(super) fn resize(&mut self, config: Config, images: usize, hidden: usize) {
        self.hidden.resize(images * hidden, 0.0);
        self.at.resize(images * config.second.channels, NOWHERE);
        self.config = Some(config);
    }

    /// Images of the forward pass that filled this.
    pub fn images(&self) -> usize {
        self.config.map_or(0, |config| self.at.len() / config.second.channels)
    }

    /// For each image and channel the row-major output pixel of the maximum, `None` where the channel is nowhere
    /// positive.
    #[cfg(test)]
    pub(crate) fn maxima(&self) -> impl Iterator<Item = Option<usize>> {
        self.at.iter().map(|&at| (at != NOWHERE).then_some(at as usize))
    }
}

/// Working memory of [`Encoder::encode`]. Reuse it to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    hidden: Aligned,
    at: Vec<u32>,
}

impl Encoder {
    /// Features of a batch of pictures, and what [`Encoder::backward`] needs.
    ///
    /// # Errors
    /// `pictures` is not a whole number of pictures, `features` has another length, or `packed` belongs to another plan.
    pub fn forward(
        &self,
        packed: &Packed,
        pictures: &[f32],
        saved: &mut Activations,
        features: &mut [f32],
    ) -> Result<()> {
        self.check_packed(packed)?;
        let picture = self.picture_len();
        let images = rows("pictures", pictures.len(), picture)?;
        let count = self.features();
        length("features", features.len(), images * count)?;
        let hidden = self.shape.hidden();
        saved.resize(self.shape.config, images, hidden);
        let work = |picture: &[f32], hidden: &mut [f32], at: &mut [u32], features: &mut [f32]| {
            self.image(packed, picture, hidden, at, features);
        };
        if parallel::alone() || images == 1 {
            let pieces = pictures.chunks_exact(picture);
            let pieces = pieces.zip(saved.hidden.chunks_exact_mut(hidden));
            let pieces = pieces.zip(saved.at.chunks_exact_mut(count));
            let pieces = pieces.zip(features.chunks_exact_mut(count));
            pieces.for_each(|(((x, h), a), f)| work(x, h, a, f));
        } else {
            let pieces = pictures.par_chunks_exact(picture);
            let pieces = pieces.zip(saved.hidden.par_chunks_exact_mut(hidden));
            let pieces = pieces.zip(saved.at.par_chunks_exact_mut(count));
            let pieces = pieces.zip(features.par_chunks_exact_mut(count));
            pieces.for_each(|(((x, h), a), f)| work(x, h, a, f));
        }
        Ok(())
    }

    /// Features of a single picture, on the calling thread: what an agent does on its own. The same bits as
    /// [`Encoder::forward`].
    ///
    /// # Errors
    /// `picture` or `features` has the wrong length, or `packed` belongs to another plan.
    pub fn encode(
        &self,
        packed: &Packed,
        picture: &[f32],
        scratch: &mut Scratch,
        features: &mut [f32],
    ) -> Result<()> {
        self.check_packed(packed)?;
        length("picture", picture.len(), self.picture_len())?;
        length("features", features.len(), self.features())?;
        scratch.hidden.resize(self.shape.hidden());
        scratch.at.resize(self.features(), NOWHERE);
        let (hidden, at) = (scratch.hidden.as_mut_slice(), &mut scratch.at);
        self.image(packed, picture, hidden, at, features);
        Ok(())
    }

    fn image(
        &self,
        packed: &Packed,
        picture: &[f32],
        hidden: &mut [f32],
        at: &mut [u32],
        features: &mut [f32],
    ) {
        self.hidden(packed, picture, hidden);
        self.level.run(Dot {
            x: hidden,
            rows: &self.shape.second.pixels,
            runs: &self.shape.second.runs,
            run: self.shape.second.run,
            panels: &packed.second,
            sink: Pool::new(features, at),
        });
    }

    /// The first convolution of one image.
    pub(super) fn hidden(&self, packed: &Packed, picture: &[f32], hidden: &mut [f32]) {
        self.level.run(Dot {
            x: picture,
            rows: &self.shape.first.pixels,
            runs: &self.shape.first.runs,
            run: self.shape.first.run,
            panels: &packed.first,
            sink: Store { out: hidden, columns: self.shape.config.first.channels, relu: true },
        });
    }
}

/// Widest panel of any level: two vectors of sixteen.
const WIDEST: usize = 32;

/// Keeps the largest positive value of each column and its row.
struct Pool<'a> {
    features: &'a mut [f32],
    at: &'a mut [u32],
    best: [f32; WIDEST],
    /// Row numbers as floats, so that they live in the same registers; exact up to 2^24.
    row: [f32; WIDEST],
    /// 0 as long as all values are finite, NaN afterwards.
    poison: [f32; WIDEST],
}

impl<'a> Pool<'a> {
    fn new(features: &'a mut [f32], at: &'a mut [u32]) -> Self {
        Self { features, at, best: [0.0; WIDEST], row: [-1.0; WIDEST], poison: [0.0; WIDEST] }
    }
}

impl Sink for Pool<'_> {
    #[inline(always)]
    unsafe fn put<S: Simd>(&mut self, row: usize, count: usize, panel: &Panel<'_>, tile: *const f32) {
        // SAFETY: a panel has at most 2 vectors, and no level has more than WIDEST / 2 lanes; the tile is as long as the
        // caller promises, and the CPU has the instructions.
        unsafe {
            for n in 0..panel.vectors {
                let mut best = S::load(self.best.as_ptr().add(n * S::LANES));
                let mut at = S::load(self.row.as_ptr().add(n * S::LANES));
                let mut poison = S::load(self.poison.as_ptr().add(n * S::LANES));
                for m in 0..count {
                    let value = S::load(tile.add((m * panel.vectors + n) * S::LANES));
                    let index = S::splat((row + m) as f32);
                    (best, at) = S::keep_greater(best, at, value, index);
                    poison = S::fma(value, S::splat(0.0), poison);
                }
                S::store(self.best.as_mut_ptr().add(n * S::LANES), best);
                S::store(self.row.as_mut_ptr().add(n * S::LANES), at);
                S::store(self.poison.as_mut_ptr().add(n * S::LANES), poison);
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, panel: &Panel<'_>) {
        let (from, to) = (panel.first, panel.first + panel.columns);
        let columns = self.features[from..to].iter_mut().zip(&mut self.at[from..to]);
        for (j, (feature, at)) in columns.enumerate() {
            *feature = self.best[j] + self.poison[j];
            let row = self.row[j];
            *at = if row < 0.0 { NOWHERE } else { row as u32 };
        }
        self.best = [0.0; WIDEST];
        self.row = [-1.0; WIDEST];
        self.poison = [0.0; WIDEST];
    }

    #[inline(always)]
    fn check(&self, _: usize, columns: usize) {
        assert!(self.features.len() == columns && self.at.len() == columns);
    }
}
