//! Eight rows side by side: number k of all of them is one vector, so that what is done to a row is done to eight at once, in
//! the same order and with the same bits.

use crate::simd::Eight;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Rows that stand side by side.
pub(crate) const LANES: usize = 8;

/// One number of eight rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

impl Lanes {
    #[inline(always)]
    pub(crate) fn splat(x: f32) -> Lanes {
        Lanes([x; LANES])
    }

    #[inline(always)]
    pub(crate) fn map(self, f: impl Fn(f32) -> f32) -> Lanes {
        Lanes(self.0.map(f))
    }

    #[inline(always)]
    pub(crate) fn zip(self, other: Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
        Lanes(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }
}

macro_rules! operator {
    ($name:ident, $method:ident, $op:tt) => {
        impl $name for Lanes {
            type Output = Lanes;
            #[inline(always)]
            fn $method(self, other: Lanes) -> Lanes {
                self.zip(other, |a, b| a $op b)
            }
        }
    };
}
operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

impl Neg for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn neg(self) -> Lanes {
        self.map(|x| -x)
    }
}

/// Where pieces of a row begin: whole vectors, the last one over the one before if need be, since masked stores are slow.
#[inline(always)]
fn pieces(width: usize) -> impl Iterator<Item = usize> {
    (0..width).step_by(LANES).map(move |first| first.min(width.saturating_sub(LANES)))
}

/// At most eight rows of `out.len()` numbers to vectors; rows that are not there are zeros. Through registers: numbers that are
/// stored one by one cannot be loaded as a vector until they have left the store buffer.
///
/// # Safety
/// The CPU must have the instructions of `S`.
#[inline(always)]
pub(crate) unsafe fn side_by_side<S: Eight>(rows: &[f32], out: &mut [Lanes]) {
    let width = out.len();
    let count = rows.len() / width.max(1);
    assert!(S::LANES == LANES && count <= LANES);
    for first in pieces(width) {
        let some = (width - first).min(LANES);
        // SAFETY: the first `some` numbers from `first` on are in every row, and so many vectors in `out`.
        unsafe {
            let mut tile = [S::splat(0.0); LANES];
            let from = rows.as_ptr().add(first);
            if some == LANES {
                for (r, v) in tile.iter_mut().enumerate().take(count) {
                    *v = S::load(from.add(r * width));
                }
            } else {
                for (r, v) in tile.iter_mut().enumerate().take(count) {
                    *v = S::load_first(from.add(r * width), S::first(some));
                }
            }
            for (v, out) in S::transpose(tile).into_iter().zip(&mut out[first..first + some]) {
                S::store(out.0.as_mut_ptr(), v);
            }
        }
    }
}

/// Vectors to at most eight rows of `from.len()` numbers.
///
/// # Safety
/// The CPU must have the instructions of `S`.
#[inline(always)]
pub(crate) unsafe fn one_by_one<S: Eight>(from: &[Lanes], rows: &mut [f32]) {
    let width = from.len();
    let count = rows.len() / width.max(1);
    assert!(S::LANES == LANES && count <= LANES);
    for first in pieces(width) {
        let some = (width - first).min(LANES);
        // SAFETY: as above, the other way.
        unsafe {
            let mut tile = [S::splat(0.0); LANES];
            for (v, from) in tile.iter_mut().zip(&from[first..first + some]) {
                *v = S::load(from.0.as_ptr());
            }
            let tile = S::transpose(tile);
            let to = rows.as_mut_ptr().add(first);
            if some == LANES {
                for (r, v) in tile.into_iter().enumerate().take(count) {
                    S::store(to.add(r * width), v);
                }
            } else {
                for (r, v) in tile.into_iter().enumerate().take(count) {
                    S::store_first(to.add(r * width), v, S::first(some));
                }
            }
        }
    }
}
