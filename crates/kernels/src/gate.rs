//! What a gate does to every row besides its MLP, eight rows at a time. A row y has numbers s and t, and pairs z and w, which are
//! complex numbers; `layers/gate.rs` of equimarl-nn says what for.
//!
//! ```text
//! |z| = sqrt(Re^2 + Im^2 + 1),   n = z/|z|,  m = w/|w|,  u = t/|t|
//! i = [s; |t|; |z|; |w|; Re z_k conj n_(k+1); Re w_k conj m_(k+1)]          without mirrors each Re is followed by its Im
//! s'_k = relu(o_k)
//! t'_k = o u_k + o Im(n_k conj n_(k+1))
//! z'_k = o n_k + o m_k conj(n_k)
//! w'_k = o m_k + o n_k n_(k+1)
//! ```
//!
//! Every o is the next number of its row; those of channels that do not go in are left out, and indices go around where there are
//! fewer.

use crate::error::{Error, Result, length, positive, rows};
use crate::lanes::{LANES, Lanes, one_by_one, side_by_side};
use crate::simd::{Eight, EightKernel, Level};

mod row;
#[cfg(test)]
mod tests;

/// Numbers of a row that go in or come out: s, t, z and w.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Numbers that nothing changes.
    pub zero: usize,
    /// Numbers that mirrors negate.
    pub sign: usize,
    /// Pairs that turn as the plane does.
    pub one: usize,
    /// Pairs that turn twice as fast.
    pub two: usize,
}

impl Counts {
    /// Numbers of a row.
    pub fn dim(&self) -> usize {
        self.zero + self.sign + 2 * (self.one + self.two)
    }

    fn lengths(&self) -> usize {
        self.sign + self.one + self.two
    }

    fn directions(&self) -> usize {
        self.sign + 2 * (self.one + self.two)
    }
}

/// A plan: what goes in and comes out, and whether there are mirrors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    from: Counts,
    to: Counts,
    mirrors: bool,
    level: Level,
}

/// What is kept of all rows for the other passes. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    y: Vec<Lanes>,
    directions: Vec<Lanes>,
    lengths: Vec<Lanes>,
    scales: Vec<Lanes>,
    ddirections: Vec<Lanes>,
    /// One row of whatever comes in or goes out.
    rows: [Vec<Lanes>; 2],
    count: usize,
}

impl Gate {
    /// Plans for this CPU.
    pub fn new(from: Counts, to: Counts, mirrors: bool) -> Self {
        Self::with_level(from, to, mirrors, Level::best())
    }

    /// As [`Gate::new`], with a chosen instruction set.
    pub fn with_level(from: Counts, to: Counts, mirrors: bool, level: Level) -> Self {
        Self { from, to, mirrors, level }
    }

    /// That there is something to make the output from; and signed numbers do not go around.
    fn check_counts(&self) -> Result<()> {
        let (from, to) = (self.from, self.to);
        if to.one > 0 {
            positive("the number of vectors that go into a gate", from.one)?;
        }
        if to.two > 0 {
            positive("the number of vectors that go into a gate", from.one + from.two)?;
        }
        match from.sign > 0 && from.sign < to.sign {
            true => Err(Error::Index { name: "signs", at: from.sign, index: from.sign, limit: from.sign }),
            false => Ok(()),
        }
    }

    /// How many numbers i of a row there are.
    pub fn invariants(&self) -> usize {
        let from = self.from;
        let pairs = from.one.saturating_sub(1) + from.two.saturating_sub(1);
        from.zero + from.lengths() + if self.mirrors { pairs } else { 2 * pairs }
    }

    /// How many numbers o of a row there are.
    pub fn scales(&self) -> usize {
        let counts = [self.to.sign, self.to.one, self.to.two];
        let parts = self.parts().map(|both| both.iter().filter(|has| **has).count());
        self.to.zero + counts.iter().zip(parts).map(|(n, parts)| n * parts).sum::<usize>()
    }

    /// Whether t, z and w have a part of their own, and one from products.
    fn parts(&self) -> [[bool; 2]; 3] {
        let (from, to) = (self.from, self.to);
        [
            [from.sign > 0, to.sign > 0 && from.one > 1],
            [from.one > 0, from.one > 0 && from.two > 0],
            [from.two > 0, from.one > 0],
        ]
    }

    /// Rows y to rows i.
    ///
    /// # Errors
    /// The slices are not as many whole rows, or there is nothing that the output could be made from.
    pub fn look(&self, y: &[f32], saved: &mut Saved, invariants: &mut [f32]) -> Result<()> {
        self.check_counts()?;
        let count = rows("y", y.len(), self.from.dim())?;
        length("invariants", invariants.len(), count * self.invariants())?;
        saved.count = count;
        let pieces = count.div_ceil(LANES);
        saved.y.resize(pieces * self.from.dim(), Lanes::default());
        saved.directions.resize(pieces * self.from.directions(), Lanes::default());
        saved.lengths.resize(pieces * self.from.lengths(), Lanes::default());
        self.level.run_eight(Look { gate: self, y, saved, invariants });
        Ok(())
    }

    /// Rows o to rows of the output, for the rows y that were looked at last.
    ///
    /// # Errors
    /// The slices are not as many whole rows.
    pub fn scale(&self, scales: &[f32], saved: &mut Saved, out: &mut [f32]) -> Result<()> {
        length("scales", scales.len(), saved.count * self.scales())?;
        length("out", out.len(), saved.count * self.to.dim())?;
        self.check(saved)?;
        saved.scales.resize(saved.count.div_ceil(LANES) * self.scales(), Lanes::default());
        self.level.run_eight(Scale { gate: self, scales, saved, out });
        Ok(())
    }

    /// The gradient of the rows o, given that of the output; comes before [`Gate::look_back`].
    ///
    /// # Errors
    /// The slices are not as many whole rows.
    pub fn scale_back(&self, dout: &[f32], saved: &mut Saved, dscales: &mut [f32]) -> Result<()> {
        length("dscales", dscales.len(), saved.count * self.scales())?;
        length("dout", dout.len(), saved.count * self.to.dim())?;
        self.check(saved)?;
        length("saved scales", saved.scales.len(), saved.count.div_ceil(LANES) * self.scales())?;
        saved.ddirections.clear();
        saved.ddirections.resize(saved.directions.len(), Lanes::default());
        self.level.run_eight(ScaleBack { gate: self, dout, saved, dscales });
        Ok(())
    }

    /// The gradient of the rows y, given that of the rows i and what [`Gate::scale_back`] found.
    ///
    /// # Errors
    /// The slices are not as many whole rows.
    pub fn look_back(&self, dinvariants: &[f32], saved: &mut Saved, dy: &mut [f32]) -> Result<()> {
        length("dinvariants", dinvariants.len(), saved.count * self.invariants())?;
        length("dy", dy.len(), saved.count * self.from.dim())?;
        self.check(saved)?;
        length("saved gradients", saved.ddirections.len(), saved.directions.len())?;
        self.level.run_eight(LookBack { gate: self, dinvariants, saved, dy });
        Ok(())
    }

    /// That the rows that were looked at are of this plan.
    fn check(&self, saved: &Saved) -> Result<()> {
        let pieces = saved.count.div_ceil(LANES);
        length("saved rows", saved.y.len(), pieces * self.from.dim())?;
        length("saved directions", saved.directions.len(), pieces * self.from.directions())?;
        length("saved lengths", saved.lengths.len(), pieces * self.from.lengths())
    }
}

/// Piece p of rows of `width` numbers: at most eight of them.
#[inline(always)]
fn piece(all: &[f32], width: usize, p: usize) -> &[f32] {
    &all[p * LANES * width..((p + 1) * LANES * width).min(all.len())]
}

#[inline(always)]
fn piece_mut(all: &mut [f32], width: usize, p: usize) -> &mut [f32] {
    let end = ((p + 1) * LANES * width).min(all.len());
    &mut all[p * LANES * width..end]
}

#[inline(always)]
fn lanes(all: &[Lanes], width: usize, p: usize) -> &[Lanes] {
    &all[p * width..][..width]
}

#[inline(always)]
fn lanes_mut(all: &mut [Lanes], width: usize, p: usize) -> &mut [Lanes] {
    &mut all[p * width..][..width]
}

struct Look<'a> {
    gate: &'a Gate,
    y: &'a [f32],
    saved: &'a mut Saved,
    invariants: &'a mut [f32],
}

impl EightKernel for Look<'_> {
    #[inline(always)]
    unsafe fn run<S: Eight>(self) {
        let (gate, Saved { y, directions, lengths, rows: [row, _], count, .. }) = (self.gate, self.saved);
        let from = gate.from;
        row.resize(gate.invariants(), Lanes::default());
        for p in 0..count.div_ceil(LANES) {
            let y = lanes_mut(y, from.dim(), p);
            let directions = lanes_mut(directions, from.directions(), p);
            // SAFETY: the caller's promise, passed on.
            unsafe { side_by_side::<S>(piece(self.y, from.dim(), p), y) };
            gate.look_row(y, directions, lanes_mut(lengths, from.lengths(), p), row);
            // SAFETY: the caller's promise, passed on.
            unsafe { one_by_one::<S>(row, piece_mut(self.invariants, gate.invariants(), p)) };
        }
    }
}

struct Scale<'a> {
    gate: &'a Gate,
    scales: &'a [f32],
    saved: &'a mut Saved,
    out: &'a mut [f32],
}

impl EightKernel for Scale<'_> {
    #[inline(always)]
    unsafe fn run<S: Eight>(self) {
        let (gate, Saved { directions, scales, rows: [row, _], count, .. }) = (self.gate, self.saved);
        row.resize(gate.to.dim(), Lanes::default());
        for p in 0..count.div_ceil(LANES) {
            let o = lanes_mut(scales, gate.scales(), p);
            // SAFETY: the caller's promise, passed on.
            unsafe { side_by_side::<S>(piece(self.scales, gate.scales(), p), o) };
            gate.scale_row(lanes(directions, gate.from.directions(), p), o, row);
            // SAFETY: the caller's promise, passed on.
            unsafe { one_by_one::<S>(row, piece_mut(self.out, gate.to.dim(), p)) };
        }
    }
}

struct ScaleBack<'a> {
    gate: &'a Gate,
    dout: &'a [f32],
    saved: &'a mut Saved,
    dscales: &'a mut [f32],
}

impl EightKernel for ScaleBack<'_> {
    #[inline(always)]
    unsafe fn run<S: Eight>(self) {
        let Saved { directions, scales, ddirections, rows: [row, other], count, .. } = self.saved;
        let gate = self.gate;
        row.resize(gate.to.dim(), Lanes::default());
        other.resize(gate.scales(), Lanes::default());
        for p in 0..count.div_ceil(LANES) {
            // SAFETY: the caller's promise, passed on.
            unsafe { side_by_side::<S>(piece(self.dout, gate.to.dim(), p), row) };
            let width = gate.from.directions();
            let into = (lanes_mut(ddirections, width, p), &mut other[..]);
            gate.scale_row_back(lanes(directions, width, p), lanes(scales, gate.scales(), p), row, into);
            // SAFETY: the caller's promise, passed on.
            unsafe { one_by_one::<S>(other, piece_mut(self.dscales, gate.scales(), p)) };
        }
    }
}

struct LookBack<'a> {
    gate: &'a Gate,
    dinvariants: &'a [f32],
    saved: &'a mut Saved,
    dy: &'a mut [f32],
}

impl EightKernel for LookBack<'_> {
    #[inline(always)]
    unsafe fn run<S: Eight>(self) {
        let Saved { y, directions, lengths, ddirections, rows: [row, other], count, .. } = self.saved;
        let (gate, from) = (self.gate, self.gate.from);
        row.resize(gate.invariants(), Lanes::default());
        other.resize(from.dim(), Lanes::default());
        for p in 0..count.div_ceil(LANES) {
            // SAFETY: the caller's promise, passed on.
            unsafe { side_by_side::<S>(piece(self.dinvariants, gate.invariants(), p), row) };
            let directions = lanes(directions, from.directions(), p);
            let found = (lanes(y, from.dim(), p), directions, lanes(lengths, from.lengths(), p));
            gate.look_row_back(found, row, lanes_mut(ddirections, from.directions(), p), other);
            // SAFETY: the caller's promise, passed on.
            unsafe { one_by_one::<S>(other, piece_mut(self.dy, from.dim(), p)) };
        }
    }
}
