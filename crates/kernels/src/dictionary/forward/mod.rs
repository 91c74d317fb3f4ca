//! Books to features, one step per thing that repeats: hidden vectors, tables, sums, maxima.

mod hidden;
mod pool;
mod sums;
mod table;

use super::geometry::Geometry;
use super::{Book, Packed, Plan};
use crate::error::{Error, Result};
use crate::panels::Aligned;
use crate::parallel;
use hidden::{Entry, Hidden};
use pool::Pool;
use sums::Sums;
use table::Table;

/// Marks a feature that is nowhere positive.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Patches and windows of one task.
const PATCHES: usize = 64;
const WINDOWS: usize = 64;

/// What is known for a book and some weights. Reuse it to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    /// Generations of the weights and of the book.
    packed: u64,
    book: u64,
    /// \[patch\]\[hidden\]
    pub(super) hidden: Aligned,
    /// \[patch\]\[hidden\], of which the first `counts[patch]` count.
    entries: Vec<Entry>,
    counts: Vec<u32>,
    patches: usize,
    /// One table per tap.
    tables: Vec<Rows>,
    /// \[window\]\[out\]
    sums: Aligned,
    windows: usize,
    /// \[picture\]\[feature\], and the position of each maximum.
    features: Vec<f32>,
    pub(super) at: Vec<u32>,
    pictures: usize,
    /// Features of a picture.
    each: usize,
}

/// Rows of a tap's table.
#[derive(Debug, Clone, Default)]
struct Rows {
    values: Aligned,
    done: usize,
}

impl Cache {
    /// Features of all pictures of the book, \[picture\]\[channel * order + group element\].
    pub fn features(&self) -> &[f32] {
        &self.features[..self.pictures * self.each]
    }

    /// For each picture and feature the row-major position of the maximum, `None` where the feature is nowhere positive.
    #[cfg(test)]
    pub(crate) fn maxima(&self) -> impl Iterator<Item = Option<usize>> {
        self.at[..self.pictures * self.each].iter().map(|&at| (at != NOWHERE).then_some(at as usize))
    }

    /// Whether it holds everything for these weights and this book.
    pub(super) fn complete(&self, packed: &Packed, book: &Book) -> bool {
        (self.packed, self.book, self.pictures) == (packed.generation, book.generation(), book.images())
    }

    fn start_over(&mut self, plan: &Plan, packed: &Packed, book: &Book) {
        (self.packed, self.book) = (packed.generation, book.generation());
        (self.patches, self.windows, self.pictures) = (0, 0, 0);
        self.tables.resize_with(plan.taps(), Rows::default);
        self.tables.iter_mut().for_each(|table| table.done = 0);
        self.each = plan.features();
    }
}

impl Plan {
    /// Computes the features of all pictures of the book that `cache` does not have yet: see [`Cache::features`].
    ///
    /// # Errors
    /// `packed` or `book` belongs to another plan.
    pub fn forward(&self, packed: &Packed, book: &Book, cache: &mut Cache) -> Result<()> {
        self.check_packed(packed)?;
        self.check_book(book)?;
        if (cache.packed, cache.book) != (packed.generation, book.generation()) {
            cache.start_over(self, packed, book);
        }
        self.hidden(packed, book, cache);
        self.tables(packed, book, cache);
        self.sums(packed, book, cache);
        self.pool(book, cache);
        Ok(())
    }

    pub(super) fn check_book(&self, book: &Book) -> Result<()> {
        if Geometry::same(&self.geometry, book.geometry()) {
            Ok(())
        } else {
            Err(Error::Foreign { name: "book" })
        }
    }

    fn hidden(&self, packed: &Packed, book: &Book, cache: &mut Cache) {
        let width = self.hidden.width;
        let (from, to) = (cache.patches, book.patches());
        cache.hidden.grow(to * width);
        grow(&mut cache.entries, to * width);
        grow(&mut cache.counts, to);
        parallel::triples(
            (to - from) * self.geometry.patch() * width,
            (&mut cache.hidden.as_mut_slice()[from * width..to * width], PATCHES * width),
            (&mut cache.entries[from * width..to * width], PATCHES * width),
            (&mut cache.counts[from..to], PATCHES),
            |i, out, entries, counts| {
                let first = from + i * PATCHES;
                self.level.run_narrow(Hidden { book, packed, first, width, out, entries, counts });
            },
        );
        cache.patches = to;
    }

    fn tables(&self, packed: &Packed, book: &Book, cache: &mut Cache) {
        let (hidden, width) = (self.hidden.width, self.out.width);
        let (entries, counts) = (&cache.entries, &cache.counts);
        let new: usize = book.rows() - cache.tables.iter().map(|table| table.done).sum::<usize>();
        parallel::chunks_if_worth(new * hidden * width, &mut cache.tables, 1, |tap, table| {
            let table = &mut table[0];
            let patches = book.tap(tap);
            table.values.grow(patches.len() * width);
            self.level.run_narrow(Table {
                patches: &patches[table.done..],
                entries,
                counts,
                hidden,
                w2: &packed.w2.as_slice()[tap * hidden * width..][..hidden * width],
                width,
                out: &mut table.values.as_mut_slice()[table.done * width..patches.len() * width],
            });
            table.done = patches.len();
        });
    }

    fn sums(&self, packed: &Packed, book: &Book, cache: &mut Cache) {
        let (width, taps) = (self.out.width, self.taps());
        let (from, to) = (cache.windows, book.windows());
        cache.sums.grow(to * width);
        let new = &mut cache.sums.as_mut_slice()[from * width..to * width];
        let (tables, bias, blocks) = (&cache.tables, packed.b2.as_slice(), &self.out);
        parallel::chunks_if_worth((to - from) * taps * width, new, WINDOWS * width, |i, out| {
            let first = (from + i * WINDOWS) * taps;
            let parts = &book.parts()[first..][..out.len() / width * taps];
            self.level.run_narrow(Sums { tables, parts, bias, blocks, out });
        });
        cache.windows = to;
    }

    fn pool(&self, book: &Book, cache: &mut Cache) {
        let (count, positions, order) = (self.features(), self.positions(), self.order());
        let (from, to) = (cache.pictures, book.images());
        grow(&mut cache.features, to * count);
        grow(&mut cache.at, to * count);
        let (sums, blocks) = (cache.sums.as_slice(), &self.out);
        parallel::pairs(
            (to - from) * positions * blocks.width,
            (&mut cache.features[from * count..to * count], count),
            (&mut cache.at[from * count..to * count], count),
            |i, features, at| {
                let codes = &book.codes()[(from + i) * positions..][..positions];
                self.level.run_narrow(Pool { sums, codes, order, blocks, features, at });
            },
        );
        cache.pictures = to;
    }
}

/// Makes room for at least `len` elements.
fn grow<T: Clone + Default>(list: &mut Vec<T>, len: usize) {
    if len > list.len() {
        list.resize(len, T::default());
    }
}
