//! Patches up to turns: patch = g . rep(d).
//!
//! rep is the turned patch whose pixel bits are smallest in lexicographic order, and g the smallest element that does it
//! (g is free up to the turns that leave rep as it is). Both depend on content only, not on what was seen before.

use super::Intern;
use crate::dictionary::{Pixel, Turns};
use std::cmp::Ordering;

#[derive(Debug, Clone)]
pub(super) struct Patches {
    /// Bits of the representatives.
    reps: Intern,
    hashes: Vec<u64>,
    /// Four bits per element g: the smallest one with the same effect on the representative.
    reduced: Vec<u64>,
    /// Pixels other than zero, patch after patch.
    pixels: Vec<Pixel>,
    ends: Vec<usize>,
    patch: usize,
    turned: Vec<u32>,
    least: Vec<u32>,
}

impl Patches {
    pub(super) fn new(patch: usize) -> Self {
        let reps = Intern::new(patch);
        let row = vec![0; reps.width()];
        Self {
            reps,
            hashes: Vec::new(),
            reduced: Vec::new(),
            pixels: Vec::new(),
            ends: Vec::new(),
            patch,
            turned: row.clone(),
            least: row,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The code d << 4 | g of a patch, given its bits.
    pub(super) fn code(&mut self, turns: &Turns, bits: &[u32]) -> u32 {
        let (order, area) = (turns.order(), turns.send(0, 0).len());
        // g with g . rep = patch, as a set of bits
        let mut with = 1u32;
        self.least[..self.patch].copy_from_slice(&bits[..self.patch]);
        for h in 1..order {
            let back = turns.send(0, turns.inverse(h));
            let planes = self.turned[..self.patch].chunks_exact_mut(area).zip(bits.chunks_exact(area));
            for (turned, bits) in planes {
                for (turned, &from) in turned.iter_mut().zip(back) {
                    *turned = bits[from as usize];
                }
            }
            match self.turned.cmp(&self.least) {
                Ordering::Less => {
                    std::mem::swap(&mut self.turned, &mut self.least);
                    with = 1 << turns.inverse(h);
                }
                Ordering::Equal => with |= 1 << turns.inverse(h),
                Ordering::Greater => {}
            }
        }
        let g = with.trailing_zeros();
        let (d, new) = self.reps.intern(&self.least);
        if new {
            self.hashes.push(self.reps.hash(&self.least));
            let elements = |set: u32| (0..order).filter(move |g| set >> g & 1 == 1);
            let back = turns.inverse(g as usize);
            let fixing = elements(with).fold(0u32, |all, other| all | 1 << turns.times(back, other));
            let smallest = |k| elements(fixing).map(|s| turns.times(k, s)).min().unwrap_or(k);
            self.reduced.push((0..order).fold(0, |all, k| all | (smallest(k) as u64) << (4 * k)));
            let pixels = self.least[..self.patch].iter().enumerate().filter(|(_, bits)| **bits != 0);
            self.pixels
                .extend(pixels.map(|(at, &bits)| Pixel { at: at as u32, value: f32::from_bits(bits) }));
            self.ends.push(self.pixels.len());
        }
        d << 4 | g
    }

    /// The code of h . patch, given the patch's code.
    pub(super) fn turn(&self, turns: &Turns, h: usize, code: u32) -> u32 {
        let d = code >> 4;
        let g = turns.times(h, (code & 15) as usize);
        d << 4 | (self.reduced[d as usize] >> (4 * g) & 15) as u32
    }

    /// An order of patches that depends on their content only.
    pub(super) fn compare(&self, a: u32, b: u32) -> Ordering {
        let ((da, ga), (db, gb)) = ((a >> 4, a & 15), (b >> 4, b & 15));
        if da == db {
            return ga.cmp(&gb);
        }
        let hashes = self.hashes[da as usize].cmp(&self.hashes[db as usize]);
        hashes.then_with(|| self.reps.row(da).cmp(self.reps.row(db)))
    }

    /// The pixels of representative d that are not zero.
    pub(super) fn pixels(&self, d: u32) -> &[Pixel] {
        let from = d.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.pixels[from..self.ends[d as usize]]
    }

    pub(super) fn clear(&mut self) {
        self.reps.clear();
        self.hashes.clear();
        self.reduced.clear();
        self.pixels.clear();
        self.ends.clear();
    }

    #[cfg(test)]
    pub(super) fn collide(&mut self) {
        self.reps.collide();
    }
}
