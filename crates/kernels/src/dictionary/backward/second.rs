//! dA2 and dh of some windows. For the part (tap t, patch d, shift s) of a window, a block u' of dz and u = s^-1 u':
//!
//! dA2\[u^-1 t\]\[o\]\[(j, i)\] += dz\[(u', o)\] h(d)\[(u j, i)\],   dh(d)\[(u j, i)\] += dz\[(u', o)\] A2\[u^-1 t\]\[o\]\[(j, i)\]

use super::Maxima;
use crate::dictionary::strips::{Strip, strips};
use crate::dictionary::{Book, LANES, Plan};
use crate::simd::{Kernel, Simd};

/// A feature channel of a window with a gradient.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Source {
    /// Where its row starts in a tap of A2.
    row: u32,
    gradient: f32,
}

pub(super) struct Second<'a> {
    pub(super) plan: &'a Plan,
    pub(super) book: &'a Book,
    pub(super) maxima: &'a Maxima,
    /// The windows, in the book's order.
    pub(super) windows: &'a [u32],
    /// \[patch\]\[hidden\]
    pub(super) hidden: &'a [f32],
    /// \[tap\]\[feature\]\[hidden\]
    pub(super) a2: &'a [f32],
    /// As `hidden` and `a2`; added to.
    pub(super) dhidden: &'a mut [f32],
    pub(super) da2: &'a mut [f32],
    /// Room for the sources of one window.
    pub(super) sources: &'a mut [Source],
}

impl Kernel for Second<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let vectors = self.plan.hidden.vectors;
        // SAFETY: the CPU has the instructions by the caller's promise, and rows have so many vectors.
        unsafe { strips::<S, 4>(&mut self, vectors) }
    }
}

/// The sources of one block of a window, `sources[from..to]`.
#[derive(Clone, Copy, Default)]
struct Group {
    block: usize,
    from: usize,
    to: usize,
}

impl Second<'_> {
    /// Lists the gradients of a window, and which blocks have any; returns how many do.
    #[inline(always)]
    fn list(&mut self, window: usize, groups: &mut [Group; 16]) -> usize {
        let (padded, width) = (self.plan.out.padded, self.plan.hidden.width);
        let (mut n, mut count) = (0, 0);
        let gradients = self.maxima.gradients(window);
        for (word, &bits) in self.maxima.mask(window).iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let lane = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let block = lane / padded;
                let row = ((lane - block * padded) * width) as u32;
                self.sources[n] = Source { row, gradient: gradients[lane] };
                if count == 0 || groups[count - 1].block != block {
                    groups[count] = Group { block, from: n, to: n };
                    count += 1;
                }
                n += 1;
                groups[count - 1].to = n;
            }
        }
        count
    }
}

impl Strip for Second<'_> {
    #[inline(always)]
    unsafe fn strip<S: Simd, const N: usize>(&mut self, first: usize) {
        let (plan, book) = (self.plan, self.book);
        let (width, vectors) = (plan.hidden.width, plan.hidden.vectors);
        let (taps, order) = (plan.taps(), plan.order());
        assert!(first + N <= vectors);
        assert!(self.hidden.len() >= book.patches() * width);
        assert_eq!(self.dhidden.len(), book.patches() * width);
        assert_eq!(self.a2.len(), taps * plan.out.channels * width);
        assert_eq!(self.da2.len(), self.a2.len());
        let (h, dh) = (self.hidden.as_ptr(), self.dhidden.as_mut_ptr());
        let (a, da) = (self.a2.as_ptr(), self.da2.as_mut_ptr());
        let (mut groups, mut places) = ([Group::default(); 16], [(0, 0); 64]);
        for &window in self.windows {
            let count = self.list(window as usize, &mut groups);
            // All at once, so that the look-ups do not wait for the sums.
            let parts = &book.parts()[window as usize * taps..][..taps];
            for (place, part) in places.iter_mut().zip(parts) {
                let patch = book.tap(part.tap())[part.row()] as usize;
                *place = (patch * width, (part.tap() * order + part.shift()) * order);
            }
            for &(patch, jumps) in &places[..taps] {
                for group in &groups[..count] {
                    // SAFETY: rows of a tap hold patches of the book; a book only makes parts with taps of its geometry
                    // and shifts below the order; jumps lead to taps of the filter and to lists of a hidden vector's
                    // vectors, sources to features of a tap. The assertions above are about just these sizes. The
                    // instructions are the caller's promise.
                    unsafe {
                        let jump = *plan.jumps.get_unchecked(jumps + group.block);
                        let turned = plan.hidden.turned.as_ptr().add(jump.turned as usize + first);
                        let start = jump.filter as usize + first * LANES;
                        let (mut value, mut sum) = ([S::splat(0.0); N], [S::splat(0.0); N]);
                        for (n, value) in value.iter_mut().enumerate() {
                            *value = S::load(h.add(patch + *turned.add(n) as usize));
                        }
                        for source in self.sources.get_unchecked(group.from..group.to) {
                            let gradient = S::splat(source.gradient);
                            let at = start + source.row as usize;
                            for (n, sum) in sum.iter_mut().enumerate() {
                                *sum = S::fma(gradient, S::load(a.add(at + n * LANES)), *sum);
                            }
                            for (n, &value) in value.iter().enumerate() {
                                let to = da.add(at + n * LANES);
                                S::store(to, S::fma(gradient, value, S::load(to)));
                            }
                        }
                        // Added at the end: windows often have one patch many times, and the next sum need not wait.
                        for (n, &sum) in sum.iter().enumerate() {
                            let to = dh.add(patch + *turned.add(n) as usize);
                            S::store(to, S::add(S::load(to), sum));
                        }
                    }
                }
            }
        }
    }
}
