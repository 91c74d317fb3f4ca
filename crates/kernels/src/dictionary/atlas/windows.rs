//! Windows up to turns: window = g . rep(w), where (g . window) has g . patch at place g t if the window has patch at t.
//!
//! rep is the turned window whose patches come first in [`Patches::compare`]'s order, tap by tap; g is the smallest element
//! that does it.

use super::{Intern, Patches};
use crate::dictionary::Turns;
use std::cmp::Ordering;

#[derive(Debug, Clone)]
pub(super) struct Windows {
    /// The representatives' parts.
    reps: Intern,
    turned: Vec<u32>,
    least: Vec<u32>,
    parts: Vec<u32>,
}

impl Windows {
    pub(super) fn new(taps: usize) -> Self {
        let reps = Intern::new(taps);
        let row = vec![0; reps.width()];
        Self { reps, turned: row.clone(), parts: row.clone(), least: row }
    }

    pub(super) fn len(&self) -> usize {
        self.reps.len()
    }

    /// The code w << 4 | g of a window, given its patches' codes.
    pub(super) fn code(&mut self, turns: &Turns, patches: &Patches, codes: &[u32]) -> u32 {
        let taps = turns.send(1, 0).len();
        // g with g . rep = window, as a set of bits
        let mut with = 1u32;
        self.least[..taps].copy_from_slice(&codes[..taps]);
        for h in 1..turns.order() {
            for (&to, &code) in turns.send(1, h).iter().zip(codes) {
                self.turned[to as usize] = patches.turn(turns, h, code);
            }
            let mut pairs = self.turned[..taps].iter().zip(&self.least[..taps]);
            let first = pairs.find(|(a, b)| a != b);
            match first.map_or(Ordering::Equal, |(&a, &b)| patches.compare(a, b)) {
                Ordering::Less => {
                    std::mem::swap(&mut self.turned, &mut self.least);
                    with = 1 << turns.inverse(h);
                }
                Ordering::Equal => with |= 1 << turns.inverse(h),
                Ordering::Greater => {}
            }
        }
        let patches = self.parts.iter_mut().zip(&self.least[..taps]).enumerate();
        for (place, (part, &code)) in patches {
            let (d, g) = (code >> 4, code & 15);
            let tap = turns.send(1, turns.inverse(g as usize))[place];
            *part = (d * taps as u32 + tap) << 4 | g;
        }
        self.reps.intern(&self.parts).0 << 4 | with.trailing_zeros()
    }

    /// The parts of representative w, place by place: `(d * taps + tap) << 4 | g` for the patch g . rep(d) at place g tap.
    pub(super) fn parts(&self, w: u32) -> &[u32] {
        self.reps.row(w)
    }

    pub(super) fn clear(&mut self) {
        self.reps.clear();
    }

    #[cfg(test)]
    pub(super) fn collide(&mut self) {
        self.reps.collide();
    }
}
