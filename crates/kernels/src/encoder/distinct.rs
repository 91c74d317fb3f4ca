//! The second convolution on distinct windows only.
//!
//! feature\[k\] = max over p of relu(z\[class(p)\]\[k\]), where z is the second convolution at one representative of each class of
//! equal windows. Pictures built from few tiles repeat themselves: most windows of a batch have been seen before, in
//! another picture or elsewhere in the same one. Equal windows give equal sums, so the result has the same bits as
//! [`Encoder::forward`].

use super::forward::NOWHERE;
use super::{Activations, Encoder, Packed};
use crate::error::{Error, Result, length, rows};
use crate::parallel;
use crate::simd::{Kernel, Simd};
use crate::tile::{Dot, Store};
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Windows that one task takes.
const ROWS: usize = 64;

/// Which windows of a batch are equal. A window is the part of a picture that one pixel of the second convolution sees.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    /// \[image\]\[pixel\]
    class: Vec<u32>,
    /// The position in `class` of the first window of each class.
    first: Vec<u32>,
    seen: HashMap<u64, u32, BuildHasherDefault<Mix>>,
}

impl Windows {
    /// Sorts windows into classes by key, one key per image and output pixel of the second convolution (row-major).
    ///
    /// Equal keys promise equal windows: if the promise does not hold, features are wrong. [`Encoder::windows_agree`] tells.
    /// Keeps its memory.
    pub fn fill(&mut self, keys: &[u64]) {
        self.seen.clear();
        self.class.clear();
        self.first.clear();
        for (at, &key) in keys.iter().enumerate() {
            let class = *self.seen.entry(key).or_insert_with(|| {
                self.first.push(at as u32);
                self.first.len() as u32 - 1
            });
            self.class.push(class);
        }
    }

    /// Number of distinct windows.
    pub fn distinct(&self) -> usize {
        self.first.len()
    }

    /// Number of windows.
    pub fn len(&self) -> usize {
        self.class.len()
    }

    /// Whether there are no windows.
    pub fn is_empty(&self) -> bool {
        self.class.is_empty()
    }
}

/// Working memory of [`Encoder::forward_distinct`]. Reuse it to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct DistinctScratch {
    starts: Vec<usize>,
    z: Vec<f32>,
}

impl Encoder {
    /// As [`Encoder::forward`], computing the second convolution once per class of equal windows.
    ///
    /// # Errors
    /// As [`Encoder::forward`], or `windows` were filled for another number of images.
    pub fn forward_distinct(
        &self,
        packed: &Packed,
        pictures: &[f32],
        windows: &Windows,
        scratch: &mut DistinctScratch,
        saved: &mut Activations,
        features: &mut [f32],
    ) -> Result<()> {
        self.check_packed(packed)?;
        let images = rows("pictures", pictures.len(), self.picture_len())?;
        let (count, hidden) = (self.features(), self.shape.hidden());
        length("features", features.len(), images * count)?;
        length("windows", windows.len(), images * self.shape.second.len())?;
        // Offsets and classes of a batch are stored as u32.
        if u32::try_from(windows.len()).is_err() {
            return Err(Error::TooLarge { name: "a batch's windows", limit: u32::MAX as usize });
        }
        saved.resize(self.shape.config, images, hidden);
        parallel::chunks(&mut saved.hidden, hidden, |i, hidden| {
            self.hidden(packed, &pictures[i * self.picture_len()..][..self.picture_len()], hidden);
        });
        let pixels = &self.shape.second.pixels;
        let place = |&at: &u32| {
            let at = at as usize;
            at / pixels.len() * hidden + pixels[at % pixels.len()]
        };
        scratch.starts.clear();
        scratch.starts.extend(windows.first.iter().map(place));
        scratch.z.resize(windows.distinct() * count, 0.0);
        let (starts, x) = (&scratch.starts, &saved.hidden);
        parallel::chunks(&mut scratch.z, ROWS * count, |i, out| {
            self.level.run(Dot {
                x,
                rows: &starts[i * ROWS..][..out.len() / count],
                runs: &self.shape.second.runs,
                run: self.shape.second.run,
                panels: &packed.second,
                sink: Store { out, columns: count, relu: false },
            });
        });
        let z = &scratch.z;
        let work = |class: &[u32], at: &mut [u32], features: &mut [f32]| {
            self.level.run(Pool { z, class, at, features });
        };
        // The pool is cheap: a task should have a few images.
        const IMAGES: usize = 8;
        if parallel::alone() || images <= IMAGES {
            let pieces = windows.class.chunks_exact(pixels.len());
            let pieces = pieces.zip(saved.at.chunks_exact_mut(count));
            let pieces = pieces.zip(features.chunks_exact_mut(count));
            pieces.for_each(|((class, at), features)| work(class, at, features));
        } else {
            let pieces = windows.class.par_chunks_exact(pixels.len());
            let pieces = pieces.zip(saved.at.par_chunks_exact_mut(count));
            let pieces = pieces.zip(features.par_chunks_exact_mut(count)).with_min_len(IMAGES);
            pieces.for_each(|((class, at), features)| work(class, at, features));
        }
        Ok(())
    }

    /// Whether windows of the same class are equal in `pictures`: the promise behind [`Windows::fill`], checked slowly.
    ///
    /// # Errors
    /// `pictures` is not a whole number of pictures, or `windows` were filled for another number of images.
    pub fn windows_agree(&self, pictures: &[f32], windows: &Windows) -> Result<bool> {
        let images = rows("pictures", pictures.len(), self.picture_len())?;
        let (_, columns) = self.pooled_size();
        length("windows", windows.len(), images * self.shape.second.len())?;
        let config = self.shape.config;
        let (first, second) = (config.first, config.second);
        let side = (second.kernel - 1) * first.stride + first.kernel;
        let step = first.stride * second.stride;
        let row = |window: usize, line: usize| {
            let (image, pixel) = (window / self.shape.second.len(), window % self.shape.second.len());
            let (channel, y) = (line / side, pixel / columns * step + line % side);
            let start = image * self.picture_len() + (channel * config.height + y) * config.width;
            &pictures[start + pixel % columns * step..][..side]
        };
        let equal = |a: usize, b: usize| (0..config.channels * side).all(|line| row(a, line) == row(b, line));
        let mut pairs = windows.class.iter().enumerate();
        Ok(pairs.all(|(at, &class)| equal(at, windows.first[class as usize] as usize)))
    }
}

/// The maximum over one image's classes. A kernel only to get wider vectors.
struct Pool<'a> {
    z: &'a [f32],
    class: &'a [u32],
    at: &'a mut [u32],
    features: &'a mut [f32],
}

impl Kernel for Pool<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let count = self.features.len();
        self.features.fill(0.0);
        self.at.fill(NOWHERE);
        let mut finite = true;
        for (pixel, &class) in self.class.iter().enumerate() {
            let row = &self.z[class as usize * count..][..count];
            let mut poison = 0.0;
            for ((feature, at), &z) in self.features.iter_mut().zip(&mut *self.at).zip(row) {
                let greater = z > *feature;
                *feature = if greater { z } else { *feature };
                *at = if greater { pixel as u32 } else { *at };
                poison += z * 0.0;
            }
            finite &= poison == 0.0;
        }
        if !finite {
            // Rare enough to look again, column by column.
            for &class in self.class {
                let row = &self.z[class as usize * count..][..count];
                for (feature, &z) in self.features.iter_mut().zip(row) {
                    *feature += z * 0.0;
                }
            }
        }
    }
}

/// Spreads the bits of one u64; keys are the caller's own, so no defence against chosen ones is needed.
#[derive(Debug, Clone, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let product = u128::from(self.0 ^ key ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
