//! What a batch of pictures needs, in an order of its own.
//!
//! picture\[p\] = g . window w; window w\[place\] = L_shift of row r of tap t's table; row r of tap t is for patch d.
//!
//! A window's patch at place t is g . rep(d), and W2\[t\] L_g = L_g W2\[g^-1 t\]: so the part is tap g^-1 t with shift g.
//! Everything is numbered in the order of first use, so sums run in the same order whatever the atlas has seen before.

use super::geometry::Geometry;
use super::{Atlas, Pixel, Plan, generation};
use crate::error::{Error, Result, length};
use std::sync::Arc;

/// Rows of a tap's table take 22 bits of a part, windows 28 bits of a code.
const MOST_ROWS: usize = 1 << 22;
const MOST_WINDOWS: usize = 1 << 28;

const NONE: u32 = u32::MAX;

/// One term of a window's sum: a row of a tap's table, its blocks permuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part(
    /// row << 10 | tap << 4 | shift
    u32,
);

impl Part {
    #[inline(always)]
    pub(super) fn shift(self) -> usize {
        (self.0 & 15) as usize
    }

    #[inline(always)]
    pub(super) fn tap(self) -> usize {
        (self.0 >> 4 & 63) as usize
    }

    #[inline(always)]
    pub(super) fn row(self) -> usize {
        (self.0 >> 10) as usize
    }
}

/// A growing list of pictures with the patches and windows they are made of. Holds copies of what it needs, so that the
/// atlas is free to go on.
#[derive(Debug)]
pub struct Book {
    geometry: Arc<Geometry>,
    /// Unique to this content since the last [`Book::clear`].
    generation: u64,
    /// Whose numbers the two maps hold; 0 before the first picture.
    atlas: u64,
    /// The atlas's patch and window -> here, and back.
    patch_of: Vec<u32>,
    window_of: Vec<u32>,
    patch_ids: Vec<u32>,
    window_ids: Vec<u32>,
    /// The atlas's pair of a patch and a tap -> row of the tap's table << 6 | tap, and back.
    row_of: Vec<u32>,
    pair_ids: Vec<u32>,
    /// Nonzero pixels, patch after patch.
    pixels: Vec<Pixel>,
    ends: Vec<usize>,
    /// \[tap\]\[row\] -> patch
    rows: Vec<Vec<u32>>,
    /// \[window\]\[place\]
    parts: Vec<Part>,
    /// \[picture\]\[position\] -> window << 4 | g
    pictures: Vec<u32>,
}

impl Book {
    /// An empty book for pictures, filters and turns as in `plan`.
    pub fn new(plan: &Plan) -> Self {
        Self {
            geometry: plan.geometry.clone(),
            generation: generation(),
            atlas: 0,
            patch_of: Vec::new(),
            window_of: Vec::new(),
            patch_ids: Vec::new(),
            window_ids: Vec::new(),
            row_of: Vec::new(),
            pair_ids: Vec::new(),
            pixels: Vec::new(),
            ends: Vec::new(),
            rows: vec![Vec::new(); plan.taps()],
            parts: Vec::new(),
            pictures: Vec::new(),
        }
    }

    /// Starts over, keeps the memory.
    pub fn clear(&mut self) {
        self.generation = generation();
        self.atlas = 0;
        for &d in &self.patch_ids {
            self.patch_of[d as usize] = NONE;
        }
        for &w in &self.window_ids {
            self.window_of[w as usize] = NONE;
        }
        for &pair in &self.pair_ids {
            self.row_of[pair as usize] = NONE;
        }
        self.patch_ids.clear();
        self.window_ids.clear();
        self.pair_ids.clear();
        self.pixels.clear();
        self.ends.clear();
        self.rows.iter_mut().for_each(Vec::clear);
        self.parts.clear();
        self.pictures.clear();
    }

    /// Adds a picture by the codes that [`Atlas::look`] wrote, and returns its index.
    ///
    /// # Errors
    /// `codes` has the wrong length or a code that the atlas did not give; the atlas is for other sizes, or not the one (or
    /// cleared since) that gave the codes of the pictures before; or the book is full.
    pub fn add(&mut self, atlas: &Atlas, codes: &[u32]) -> Result<u32> {
        if !Geometry::same(&self.geometry, atlas.geometry())
            || (self.atlas != 0 && self.atlas != atlas.generation())
        {
            return Err(Error::Foreign { name: "atlas" });
        }
        length("codes", codes.len(), self.geometry.positions())?;
        let (windows, order) = (atlas.windows(), self.geometry.turns.order());
        if let Some(at) =
            codes.iter().position(|&code| (code >> 4) as usize >= windows || (code & 15) as usize >= order)
        {
            return Err(Error::Index { name: "codes", at, index: (codes[at] >> 4) as usize, limit: windows });
        }
        // Before anything changes: even if every part were new and of one tap, it would fit. A tap has a row per patch at most.
        let most = (codes.len() * self.rows.len()).min(atlas.patches());
        let longest = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if longest + most > MOST_ROWS
            || self.window_ids.len() + codes.len() > MOST_WINDOWS
            || self.images() as u64 >= u64::from(u32::MAX)
        {
            return Err(Error::TooLarge { name: "the book", limit: MOST_ROWS });
        }
        self.atlas = atlas.generation();
        self.window_of.resize(windows.max(self.window_of.len()), NONE);
        self.patch_of.resize(atlas.patches().max(self.patch_of.len()), NONE);
        self.row_of.resize((atlas.patches() * self.rows.len()).max(self.row_of.len()), NONE);
        let picture = self.images() as u32;
        for &code in codes {
            let known = self.window_of[(code >> 4) as usize];
            let window = if known == NONE { self.add_window(atlas, code >> 4) } else { known };
            self.pictures.push(window << 4 | code & 15);
        }
        Ok(picture)
    }

    fn add_window(&mut self, atlas: &Atlas, w: u32) -> u32 {
        let window = self.window_ids.len() as u32;
        self.window_of[w as usize] = window;
        self.window_ids.push(w);
        for &part in atlas.parts(w) {
            let known = self.row_of[(part >> 4) as usize];
            let row = if known == NONE { self.add_row(atlas, part >> 4) } else { known };
            self.parts.push(Part(row << 4 | part & 15));
        }
        window
    }

    fn add_row(&mut self, atlas: &Atlas, pair: u32) -> u32 {
        let taps = self.rows.len() as u32;
        let (d, tap) = (pair / taps, pair % taps);
        let known = self.patch_of[d as usize];
        let patch = if known == NONE { self.add_patch(atlas, d) } else { known };
        let rows = &mut self.rows[tap as usize];
        let row = (rows.len() as u32) << 6 | tap;
        rows.push(patch);
        self.row_of[pair as usize] = row;
        self.pair_ids.push(pair);
        row
    }

    fn add_patch(&mut self, atlas: &Atlas, d: u32) -> u32 {
        let patch = self.patch_ids.len() as u32;
        self.patch_of[d as usize] = patch;
        self.patch_ids.push(d);
        self.pixels.extend_from_slice(atlas.pixels(d));
        self.ends.push(self.pixels.len());
        patch
    }

    /// Pictures since the last [`Book::clear`].
    pub fn images(&self) -> usize {
        self.pictures.len() / self.geometry.positions()
    }

    /// Distinct patches among them.
    pub fn patches(&self) -> usize {
        self.ends.len()
    }

    /// Distinct windows among them.
    pub fn windows(&self) -> usize {
        self.window_ids.len()
    }

    /// Distinct pairs of a patch and a tap: rows of all tables.
    pub fn rows(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    pub(super) fn geometry(&self) -> &Arc<Geometry> {
        &self.geometry
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// The nonzero pixels of a patch.
    #[inline(always)]
    pub(super) fn pixels(&self, patch: usize) -> &[Pixel] {
        let from = if patch == 0 { 0 } else { self.ends[patch - 1] };
        &self.pixels[from..self.ends[patch]]
    }

    /// The patches of a tap's rows.
    pub(super) fn tap(&self, tap: usize) -> &[u32] {
        &self.rows[tap]
    }

    /// \[window\]\[place\]
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// \[picture\]\[position\] -> window << 4 | g
    pub(super) fn codes(&self) -> &[u32] {
        &self.pictures
    }
}
