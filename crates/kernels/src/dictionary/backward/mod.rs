//! Gradients of features to gradients of coefficients: maxima merged per window, then A2 and hidden vectors, then A1.

mod first;
mod second;

use super::forward::NOWHERE;
use super::plan::PADDING;
use super::{Book, Cache, Packed, Plan};
use crate::error::{Error, Result, length};
use crate::panels::Aligned;
use crate::parallel;
use first::First;
use second::{Second, Source};

/// Sums run in at most this many chunks, whatever the number of threads: a chunk per so many windows or patches.
const CHUNKS: usize = 8;
const WINDOWS: usize = 512;
const PATCHES: usize = 256;

/// Where the gradients go; overwritten, not added to. Layouts as in [`super::Coefficients`].
#[derive(Debug)]
pub struct Gradients<'a> {
    /// Gradient of the first filter's coefficients.
    pub a1: &'a mut [f32],
    /// Gradient of the first bias.
    pub b1: &'a mut [f32],
    /// Gradient of the second filter's coefficients.
    pub a2: &'a mut [f32],
    /// Gradient of the second bias.
    pub b2: &'a mut [f32],
}

/// Working memory of [`Plan::backward`]. Reuse it to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    maxima: Maxima,
    /// Windows with a gradient, in the book's order.
    active: Vec<u32>,
    chunks: Vec<Chunk>,
    firsts: Vec<FirstChunk>,
}

/// Gradients of windows' sums.
#[derive(Debug, Clone, Default)]
struct Maxima {
    /// \[window\]\[out\], valid where the mask has a bit.
    gradients: Aligned,
    /// \[window\]\[word\]
    masks: Vec<u64>,
    width: usize,
    words: usize,
}

impl Maxima {
    fn start(&mut self, windows: usize, width: usize) {
        (self.width, self.words) = (width, width.div_ceil(64));
        self.gradients.grow(windows * width);
        self.masks.clear();
        self.masks.resize(windows * self.words, 0);
    }

    #[inline(always)]
    fn add(&mut self, window: usize, lane: usize, gradient: f32) {
        let (word, bit) = (&mut self.masks[window * self.words + lane / 64], 1u64 << (lane % 64));
        let sum = &mut self.gradients.as_mut_slice()[window * self.width + lane];
        *sum = if *word & bit == 0 { gradient } else { *sum + gradient };
        *word |= bit;
    }

    #[inline(always)]
    fn mask(&self, window: usize) -> &[u64] {
        &self.masks[window * self.words..][..self.words]
    }

    #[inline(always)]
    fn gradients(&self, window: usize) -> &[f32] {
        &self.gradients.as_slice()[window * self.width..][..self.width]
    }
}

/// What some windows add.
#[derive(Debug, Clone, Default)]
struct Chunk {
    /// \[patch\]\[hidden\]
    hidden: Aligned,
    /// \[tap\]\[feature\]\[hidden\]
    a2: Aligned,
    sources: Vec<Source>,
}

/// What some patches add.
#[derive(Debug, Clone, Default)]
struct FirstChunk {
    /// \[pixel\]\[hidden\]
    w1: Aligned,
    b1: Aligned,
}

impl Plan {
    /// Gradients of the coefficients, given those of the features of all pictures of the book.
    ///
    /// # Errors
    /// A slice has the wrong length, `packed` or `book` belongs to another plan, or `cache` is not what
    /// [`Plan::forward`] made of both.
    pub fn backward(
        &self,
        packed: &Packed,
        book: &Book,
        cache: &Cache,
        dfeatures: &[f32],
        workspace: &mut Workspace,
        gradients: Gradients<'_>,
    ) -> Result<()> {
        self.check_packed(packed)?;
        self.check_book(book)?;
        if !cache.complete(packed, book) {
            return Err(Error::Foreign { name: "cache" });
        }
        length("dfeatures", dfeatures.len(), book.images() * self.features())?;
        let lens = self.coefficient_lens();
        length("gradients.a1", gradients.a1.len(), lens[0])?;
        length("gradients.b1", gradients.b1.len(), lens[1])?;
        length("gradients.a2", gradients.a2.len(), lens[2])?;
        length("gradients.b2", gradients.b2.len(), lens[3])?;
        self.merge(book, cache, dfeatures, workspace, gradients.b2);
        self.second(packed, book, cache, workspace, gradients.a2);
        self.first(book, cache, workspace, gradients.a1, gradients.b1);
        Ok(())
    }

    /// Gradients at the maxima, merged per window; db2 on the way.
    fn merge(
        &self,
        book: &Book,
        cache: &Cache,
        dfeatures: &[f32],
        workspace: &mut Workspace,
        db2: &mut [f32],
    ) {
        let (count, positions, order) = (self.features(), self.positions(), self.order());
        let maxima = &mut workspace.maxima;
        maxima.start(book.windows(), self.out.width);
        db2.fill(0.0);
        let turns = &self.geometry.turns;
        let pictures = dfeatures.chunks_exact(count).zip(cache.at.chunks_exact(count));
        for ((gradients, at), codes) in pictures.zip(book.codes().chunks_exact(positions)) {
            let channels = gradients.chunks_exact(order).zip(at.chunks_exact(order)).zip(&mut *db2);
            for (c, ((gradients, at), db2)) in channels.enumerate() {
                for (u, (&gradient, &at)) in gradients.iter().zip(at).enumerate() {
                    if at == NOWHERE || gradient == 0.0 {
                        continue;
                    }
                    *db2 += gradient;
                    let code = codes[at as usize];
                    let block = turns.times(turns.inverse((code & 15) as usize), u);
                    maxima.add((code >> 4) as usize, block * self.out.padded + c, gradient);
                }
            }
        }
        let masks = maxima.masks.chunks_exact(maxima.words).enumerate();
        let active = masks.filter(|(_, mask)| mask.iter().any(|&word| word != 0));
        workspace.active.clear();
        workspace.active.extend(active.map(|(window, _)| window as u32));
    }

    /// Each chunk's dA2 and dh, and the sum of the former.
    fn second(
        &self,
        packed: &Packed,
        book: &Book,
        cache: &Cache,
        workspace: &mut Workspace,
        da2: &mut [f32],
    ) {
        let (active, maxima) = (&workspace.active, &workspace.maxima);
        let count = chunks(active.len(), WINDOWS);
        set_len(&mut workspace.chunks, count);
        let a2 = packed.a2.as_slice();
        parallel::chunks(&mut workspace.chunks[..count], 1, |i, chunk| {
            let chunk = &mut chunk[0];
            chunk.hidden.zeros(book.patches() * self.hidden.width);
            chunk.a2.zeros(a2.len());
            chunk.sources.resize(self.out.width, Source::default());
            self.level.run_narrow(Second {
                plan: self,
                book,
                maxima,
                windows: &active[active.len() * i / count..active.len() * (i + 1) / count],
                hidden: cache.hidden.as_slice(),
                a2,
                dhidden: chunk.hidden.as_mut_slice(),
                da2: chunk.a2.as_mut_slice(),
                sources: &mut chunk.sources,
            });
        });
        let (sum, rest) = workspace.chunks[..count].split_at_mut(1);
        let sum = sum[0].a2.as_mut_slice();
        rest.iter().for_each(|chunk| add(sum, chunk.a2.as_slice()));
        // Every coefficient occurs once.
        for (&value, &i) in sum.iter().zip(&self.second) {
            if i != PADDING {
                da2[i as usize] = value;
            }
        }
    }

    /// dA1 and db1: each chunk's dW1 and db1, added and folded.
    fn first(&self, book: &Book, cache: &Cache, workspace: &mut Workspace, da1: &mut [f32], db1: &mut [f32]) {
        let width = self.hidden.width;
        let patches = book.patches();
        let count = chunks(patches, PATCHES);
        set_len(&mut workspace.firsts, count);
        let parts = &workspace.chunks[..chunks(workspace.active.len(), WINDOWS)];
        parallel::chunks(&mut workspace.firsts[..count], 1, |i, chunk| {
            let chunk = &mut chunk[0];
            chunk.w1.zeros(self.first.len());
            chunk.b1.zeros(width);
            self.level.run_narrow(First {
                book,
                patches: patches * i / count..patches * (i + 1) / count,
                hidden: cache.hidden.as_slice(),
                width,
                parts,
                dw1: chunk.w1.as_mut_slice(),
                db1: chunk.b1.as_mut_slice(),
            });
        });
        let (sum, rest) = workspace.firsts[..count].split_at_mut(1);
        let sum = &mut sum[0];
        for chunk in rest {
            add(sum.w1.as_mut_slice(), chunk.w1.as_slice());
            add(sum.b1.as_mut_slice(), chunk.b1.as_slice());
        }
        da1.fill(0.0);
        for (&value, &i) in sum.w1.as_slice().iter().zip(&self.first) {
            if i != PADDING {
                da1[i as usize] += value;
            }
        }
        db1.fill(0.0);
        sum.b1.as_slice().chunks_exact(self.hidden.padded).for_each(|block| add(db1, block));
    }
}

/// How many chunks for so many things: depends on nothing else.
fn chunks(things: usize, each: usize) -> usize {
    (things / each).clamp(1, CHUNKS)
}

/// Makes room for at least `len` elements; those that are there keep their memory.
fn set_len<T: Clone + Default>(list: &mut Vec<T>, len: usize) {
    if list.len() < len {
        list.resize(len, T::default());
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
