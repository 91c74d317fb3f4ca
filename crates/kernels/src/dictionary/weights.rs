//! Coefficients in, packed weights out.
//!
//! W1\[(c, h)\]\[x\]\[tap\] = A1\[c\]\[x\]\[h^-1 tap\] is kept as \[pixel\]\[hidden\]; W2\[t\]\[(o, u)\]\[(i, j)\] =
//! A2\[u^-1 t\]\[o\]\[(i, u^-1 j)\] as \[tap\]\[hidden\]\[out\], and A2 itself as \[tap\]\[o\]\[hidden\] for the backward pass.

use super::plan::{PADDING, Stamp};
use super::{Plan, generation};
use crate::error::{Error, Result, length};
use crate::panels::Aligned;

/// The free numbers of the two layers: the filters of the identity element. Row-major.
#[derive(Debug, Clone, Copy)]
pub struct Coefficients<'a> {
    /// First filter, \[c1\]\[picture's channel\]\[row\]\[column\].
    pub a1: &'a [f32],
    /// First bias, \[c1\].
    pub b1: &'a [f32],
    /// Second filter, \[c2\]\[c1\]\[group element\]\[row\]\[column\].
    pub a2: &'a [f32],
    /// Second bias, \[c2\].
    pub b2: &'a [f32],
}

/// Weights in the order the inner loops read them. Fill with [`Plan::pack`] once per change of weights; reuse to avoid
/// allocation.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// \[pixel\]\[hidden\]
    pub(super) w1: Aligned,
    pub(super) b1: Aligned,
    /// \[tap\]\[hidden\]\[out\]
    pub(super) w2: Aligned,
    pub(super) b2: Aligned,
    /// \[tap\]\[feature\]\[hidden\]
    pub(super) a2: Aligned,
    /// \[tap\]\[hidden\]\[feature, filled up\]
    columns: Aligned,
    stamp: Option<Stamp>,
    /// Unique to these weights; 0 if there are none.
    pub(super) generation: u64,
}

impl Plan {
    /// Puts coefficients in the order the kernels read them.
    ///
    /// If any of them is not finite, all features become NaN: a zero that is skipped must not hide it.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn pack(&self, coefficients: Coefficients<'_>, packed: &mut Packed) -> Result<()> {
        let Coefficients { a1, b1, a2, b2 } = coefficients;
        let lens = self.coefficient_lens();
        length("a1", a1.len(), lens[0])?;
        length("b1", b1.len(), lens[1])?;
        length("a2", a2.len(), lens[2])?;
        length("b2", b2.len(), lens[3])?;
        gather(a1, &self.first, &mut packed.w1);
        gather(a2, &self.second, &mut packed.a2);
        gather(a2, &self.columns, &mut packed.columns);
        packed.w2.resize(self.taps() * self.hidden.width * self.out.width);
        self.realise(packed.columns.as_slice(), packed.w2.as_mut_slice());
        repeat(b1, self.hidden.padded, self.hidden.width, &mut packed.b1);
        repeat(b2, self.out.padded, self.out.width, &mut packed.b2);
        if ![a1, b1, a2, b2].into_iter().all(finite) {
            packed.b2.as_mut_slice().fill(f32::NAN);
        }
        if !packed.stamp.as_ref().is_some_and(|stamp| stamp.fits(self)) {
            packed.stamp = Some(self.stamp());
        }
        packed.generation = generation();
        Ok(())
    }

    /// W2 from A2: feature block u of row (j, i) of tap t is row (u^-1 j, i) of tap u^-1 t.
    fn realise(&self, columns: &[f32], w2: &mut [f32]) {
        let (order, turns) = (self.order(), &self.geometry.turns);
        let (inputs, outputs) = (self.hidden.padded, self.out.padded);
        let blocks = w2.chunks_exact_mut(inputs * self.out.width);
        for (block, out) in blocks.enumerate() {
            let (t, j) = (block / order, block % order);
            for u in 0..order {
                let tap = self.back[u * self.taps() + t] as usize;
                let from = (tap * order + turns.times(turns.inverse(u), j)) * inputs * outputs;
                let from = columns[from..][..inputs * outputs].chunks_exact(outputs);
                for (out, from) in out.chunks_exact_mut(self.out.width).zip(from) {
                    out[u * outputs..][..outputs].copy_from_slice(from);
                }
            }
        }
    }

    pub(super) fn check_packed(&self, packed: &Packed) -> Result<()> {
        match &packed.stamp {
            Some(stamp) if stamp.fits(self) => Ok(()),
            _ => Err(Error::Foreign { name: "packed" }),
        }
    }
}

fn gather(from: &[f32], index: &[u32], to: &mut Aligned) {
    to.resize(index.len());
    for (to, &i) in to.as_mut_slice().iter_mut().zip(index) {
        // `PADDING` lies beyond every slice.
        *to = from.get(i as usize).copied().unwrap_or(0.0);
    }
    debug_assert!(from.len() < PADDING as usize);
}

/// One block of biases, filled up, for every group element.
fn repeat(from: &[f32], padded: usize, width: usize, to: &mut Aligned) {
    to.zeros(width);
    for block in to.as_mut_slice().chunks_exact_mut(padded) {
        block[..from.len()].copy_from_slice(from);
    }
}

fn finite(numbers: &[f32]) -> bool {
    numbers.iter().fold(true, |all, x| all & x.is_finite())
}
