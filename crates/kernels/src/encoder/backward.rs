//! Gradients of features to gradients of weights.
//!
//! With G\[b, k\] the gradient of feature k of image b, p(b, k) the pixel of its maximum and `win` the window of a pixel:
//!
//! - dW2\[k\] = sum_b G\[b, k\] win(hidden\[b\], p(b, k)), db2\[k\] = sum_b G\[b, k\], both only where there is a maximum;
//! - dhidden\[b\] = sum_k G\[b, k\] W2\[k\] added at win(p(b, k)), set to zero where hidden is not positive;
//! - dW1\[k\] = sum_b sum_q dhidden\[b, q, k\] win(x\[b\], q), db1\[k\] = sum_b sum_q dhidden\[b, q, k\].

use super::forward::NOWHERE;
use super::{Activations, Encoder, Packed};
use crate::error::{Error, Result, length};
use crate::panels::Aligned;
use crate::parallel;
use crate::simd::{Kernel, Simd};
use crate::tile::Outer;

/// Sums over images run in at most this many chunks, whatever the number of threads.
const CHUNKS: usize = 8;

/// Output channels whose dW2 is summed side by side: their rows and one hidden picture fit in the first-level cache.
const GROUP: usize = 8;

/// Where the gradients go; overwritten, not added to. Layouts as in [`super::Weights`].
#[derive(Debug)]
pub struct Gradients<'a> {
    /// Gradient of the first filter.
    pub w1: &'a mut [f32],
    /// Gradient of the first bias.
    pub b1: &'a mut [f32],
    /// Gradient of the second filter.
    pub w2: &'a mut [f32],
    /// Gradient of the second bias.
    pub b2: &'a mut [f32],
}

/// Working memory of [`Encoder::backward`]. Reuse it to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    groups: Vec<Group>,
    chunks: Vec<Chunk>,
}

/// dW2 of a few channels, taps in the hidden picture's order.
#[derive(Debug, Clone, Default)]
struct Group {
    w2: Vec<f32>,
    b2: Vec<f32>,
}

/// What one chunk of images adds to the first convolution's gradients.
#[derive(Debug, Clone, Default)]
struct Chunk {
    /// Gradient of one image's hidden picture.
    hidden: Aligned,
    /// \[tap\]\[channel\]
    w1: Aligned,
    b1: Vec<f32>,
}

impl Encoder {
    /// Gradients of the weights, given the gradient of the features of the forward pass that filled `saved`.
    ///
    /// # Errors
    /// A slice has the wrong length, or `packed` or `saved` was filled by another plan.
    pub fn backward(
        &self,
        packed: &Packed,
        pictures: &[f32],
        saved: &Activations,
        dfeatures: &[f32],
        workspace: &mut Workspace,
        gradients: Gradients<'_>,
    ) -> Result<()> {
        self.check_packed(packed)?;
        if saved.config != Some(self.shape.config) {
            return Err(Error::Foreign { name: "saved" });
        }
        let images = saved.images();
        length("pictures", pictures.len(), images * self.picture_len())?;
        length("dfeatures", dfeatures.len(), images * self.features())?;
        let lens = self.weight_lens();
        length("gradients.w1", gradients.w1.len(), lens[0])?;
        length("gradients.b1", gradients.b1.len(), lens[1])?;
        length("gradients.w2", gradients.w2.len(), lens[2])?;
        length("gradients.b2", gradients.b2.len(), lens[3])?;
        self.second_weights(saved, dfeatures, workspace, gradients.w2, gradients.b2);
        self.first_weights(pictures, &packed.w2, saved, dfeatures, workspace);
        self.collect(workspace, images, gradients.w1, gradients.b1);
        Ok(())
    }

    /// dW2 and db2: a few channels at a time, images in order.
    fn second_weights(
        &self,
        saved: &Activations,
        dfeatures: &[f32],
        workspace: &mut Workspace,
        dw2: &mut [f32],
        db2: &mut [f32],
    ) {
        let depth = self.shape.second.depth();
        let channels = self.features();
        workspace.groups.resize_with(channels.div_ceil(GROUP), Group::default);
        parallel::chunks(&mut workspace.groups, 1, |i, group| {
            let group = &mut group[0];
            let first = i * GROUP;
            let count = GROUP.min(channels - first);
            group.w2.clear();
            group.w2.resize(count * depth, 0.0);
            group.b2.clear();
            group.b2.resize(count, 0.0);
            self.level.run(SecondWeights {
                encoder: self,
                saved,
                dfeatures,
                first,
                w2: &mut group.w2,
                b2: &mut group.b2,
            });
        });
        for (i, group) in workspace.groups.iter().enumerate() {
            db2[i * GROUP..][..group.b2.len()].copy_from_slice(&group.b2);
            let out = &mut dw2[i * GROUP * depth..][..group.w2.len()];
            for (out, from) in out.chunks_exact_mut(depth).zip(group.w2.chunks_exact(depth)) {
                transpose(from, self.shape.config.first.channels, out);
            }
        }
    }

    /// Each chunk's part of dW1 and db1.
    fn first_weights(
        &self,
        pictures: &[f32],
        w2: &[f32],
        saved: &Activations,
        dfeatures: &[f32],
        workspace: &mut Workspace,
    ) {
        let images = saved.images();
        let count = images.min(CHUNKS);
        workspace.chunks.resize_with(count, Chunk::default);
        let [w1, b1, ..] = self.weight_lens();
        parallel::chunks(&mut workspace.chunks, 1, |i, chunk| {
            let chunk = &mut chunk[0];
            chunk.hidden.resize(self.shape.hidden());
            chunk.w1.resize(w1);
            chunk.w1.as_mut_slice().fill(0.0);
            chunk.b1.clear();
            chunk.b1.resize(b1, 0.0);
            for image in images * i / count..images * (i + 1) / count {
                let picture = &pictures[image * self.picture_len()..][..self.picture_len()];
                self.level.run(HiddenGradient {
                    encoder: self,
                    saved,
                    dfeatures,
                    image,
                    w2,
                    out: chunk.hidden.as_mut_slice(),
                    b1: &mut chunk.b1,
                });
                self.level.run(Outer {
                    x: picture,
                    rows: &self.shape.first.pixels,
                    taps: &self.taps,
                    y: chunk.hidden.as_slice(),
                    stride: b1,
                    columns: b1,
                    out: chunk.w1.as_mut_slice(),
                });
            }
        });
    }

    /// Adds the chunks in index order and turns \[tap\]\[channel\] into \[channel\]\[tap\].
    fn collect(&self, workspace: &mut Workspace, images: usize, dw1: &mut [f32], db1: &mut [f32]) {
        dw1.fill(0.0);
        db1.fill(0.0);
        if images == 0 {
            return;
        }
        let (sum, rest) = workspace.chunks.split_at_mut(1);
        let sum = &mut sum[0];
        for chunk in rest {
            add(sum.w1.as_mut_slice(), chunk.w1.as_slice());
            add(&mut sum.b1, &chunk.b1);
        }
        db1.copy_from_slice(&sum.b1);
        transpose(sum.w1.as_slice(), db1.len(), dw1);
    }

    /// Feature k of an image: its gradient and the window of its maximum, unless nothing flows there.
    #[inline(always)]
    fn source(
        &self,
        saved: &Activations,
        dfeatures: &[f32],
        image: usize,
        channel: usize,
    ) -> Option<(f32, usize)> {
        let at = image * self.features() + channel;
        let (gradient, pixel) = (dfeatures[at], saved.at[at]);
        (pixel != NOWHERE && gradient != 0.0).then(|| (gradient, self.shape.second.pixels[pixel as usize]))
    }
}

/// Turns rows of `columns` floats into columns.
pub(super) fn transpose(from: &[f32], columns: usize, to: &mut [f32]) {
    let rows = from.len() / columns;
    for (column, to) in to.chunks_exact_mut(rows).enumerate() {
        for (to, from) in to.iter_mut().zip(from[column..].iter().step_by(columns)) {
            *to = *from;
        }
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// dW2\[k\] += G win(hidden, p) for a group of channels and all images.
struct SecondWeights<'a> {
    encoder: &'a Encoder,
    saved: &'a Activations,
    dfeatures: &'a [f32],
    first: usize,
    w2: &'a mut [f32],
    b2: &'a mut [f32],
}

impl Kernel for SecondWeights<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let shape = &self.encoder.shape;
        let (run, size) = (shape.second.run, shape.hidden());
        let depth = shape.second.depth();
        for (image, hidden) in self.saved.hidden.chunks_exact(size).enumerate() {
            for (j, db2) in self.b2.iter_mut().enumerate() {
                let channel = self.first + j;
                let source = self.encoder.source(self.saved, self.dfeatures, image, channel);
                let Some((gradient, window)) = source else {
                    continue;
                };
                *db2 += gradient;
                let row = &mut self.w2[j * depth..][..depth];
                for (to, &start) in row.chunks_exact_mut(run).zip(&shape.second.runs) {
                    // SAFETY: the CPU has the instructions by the caller's promise.
                    unsafe { axpy::<S>(gradient, &hidden[window + start..][..run], to) };
                }
            }
        }
    }
}

/// dhidden of one image, masked by its ReLU, and its column sums added to db1.
struct HiddenGradient<'a> {
    encoder: &'a Encoder,
    saved: &'a Activations,
    dfeatures: &'a [f32],
    image: usize,
    w2: &'a [f32],
    out: &'a mut [f32],
    b1: &'a mut [f32],
}

impl Kernel for HiddenGradient<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let shape = &self.encoder.shape;
        let run = shape.second.run;
        self.out.fill(0.0);
        for (channel, row) in self.w2.chunks_exact(shape.second.depth()).enumerate() {
            let source = self.encoder.source(self.saved, self.dfeatures, self.image, channel);
            let Some((gradient, window)) = source else {
                continue;
            };
            for (from, &start) in row.chunks_exact(run).zip(&shape.second.runs) {
                // SAFETY: the CPU has the instructions by the caller's promise.
                unsafe { axpy::<S>(gradient, from, &mut self.out[window + start..][..run]) };
            }
        }
        let hidden = &self.saved.hidden[self.image * shape.hidden()..][..shape.hidden()];
        let channels = self.b1.len();
        let pixels = self.out.chunks_exact_mut(channels);
        for (gradients, values) in pixels.zip(hidden.chunks_exact(channels)) {
            for ((gradient, &value), db1) in gradients.iter_mut().zip(values).zip(&mut *self.b1) {
                *gradient = if value > 0.0 { *gradient } else { 0.0 };
                *db1 += *gradient;
            }
        }
    }
}

/// to += a from
///
/// # Safety
/// The CPU has the instructions of `S`.
#[inline(always)]
unsafe fn axpy<S: Simd>(a: f32, from: &[f32], to: &mut [f32]) {
    assert_eq!(from.len(), to.len());
    let whole = to.len() / S::LANES * S::LANES;
    let (from, to, len) = (from.as_ptr(), to.as_mut_ptr(), to.len());
    // SAFETY: all lanes lie within the two equally long slices, the last few are masked; the instructions are the
    // caller's promise.
    unsafe {
        let a = S::splat(a);
        let mut i = 0;
        while i < whole {
            S::store(to.add(i), S::fma(a, S::load(from.add(i)), S::load(to.add(i))));
            i += S::LANES;
        }
        if i < len {
            let edge = S::first(len - i);
            let sum = S::fma(a, S::load_first(from.add(i), edge), S::load_first(to.add(i), edge));
            S::store_first(to.add(i), sum, edge);
        }
    }
}
