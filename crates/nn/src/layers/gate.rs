//! What stands in place of a ReLU where everything turns by any angle. A row y has numbers s (frequency 0) and t (signs), and
//! pairs z (frequency 1) and w (frequency 2), which are complex numbers: a turn by a multiplies z by e^(ia) and w by e^(2ia), a
//! mirror conjugates them and negates t.
//!
//! ```text
//! |z| = sqrt(Re^2 + Im^2 + eps^2),   n = z/|z|,  m = w/|w|,  u = t/|t|      lengths, smooth at 0, and directions
//! i = [s; |t|; |z|; |w|; Re z_k conj n_(k+1); Re w_k conj m_(k+1)]          invariants; for SO(2) also the Im
//! o = H relu(G i + g) + h                                                   an ordinary MLP
//! s'_k = relu(o_k)
//! t'_k = o u_k + o Im(n_k conj n_(k+1))
//! z'_k = o n_k + o m_k conj(n_k)                                            its outputs are lengths
//! w'_k = o m_k + o n_k n_(k+1)
//! ```
//!
//! Every o has its own place in the MLP's output, and indices go around where there are fewer. The products bring frequency 2 out
//! of frequency 1 and back: linear maps between equal types never reach another one. All of it grows in proportion to y,
//! as a ReLU does, and is 0 for pairs that are 0. A channel that nothing reaches is refused when the layer is made.

use super::channels::Channels;
use super::{Linear, LinearWork, Space};
use crate::error::{Error, Result};
use equimarl_group::{Rep, Symmetry};
use equimarl_kernels::linear::Packed;
use std::slice::from_ref;

/// Lengths far below this are not told apart. Rounding of a direction grows as this falls: with 0.2, policies with random
/// weights turned to 1e-5 only for the most part.
const EPS: f32 = 1.0;

/// The shapes of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateShape {
    symmetry: Symmetry,
    /// What goes in.
    pub from: Channels,
    /// What comes out.
    pub to: Channels,
    /// Hidden numbers of the MLP.
    pub hidden: usize,
}

impl GateShape {
    /// A gate that gives `to` after a linear map from a row that has `input`; the map then gives [`GateShape::from`].
    ///
    /// # Errors
    /// If a channel could never be anything but 0, saying which.
    pub fn new(symmetry: &Symmetry, input: Channels, to: Channels, hidden: usize) -> Result<GateShape> {
        let some = |reached: bool, wanted: usize| if reached { wanted } else { 0 };
        let from = Channels {
            zero: some(input.zero > 0, to.zero),
            sign: some(input.sign > 0, to.sign),
            one: some(input.one > 0, to.one.max(to.two.min(1)).max(2 * to.sign.min(1))),
            two: some(input.two > 0, to.two),
        };
        let bad = |why: &str| Err(Error::BadNetwork(format!("under {symmetry} {why}")));
        if to.one > 0 && from.one == 0 {
            return bad("channels of frequency 1 come out and none go in, so they would always be 0");
        }
        if to.two > 0 && from.two == 0 && from.one == 0 {
            return bad(
                "channels of frequency 2 come out and neither those nor frequency 1 go in, so they would always be 0",
            );
        }
        if to.sign > 0 && from.sign == 0 && from.one < 2 {
            return bad(
                "signs come out and neither signs nor two channels of frequency 1 go in, so they would always be 0",
            );
        }
        if to.dim() == 0 || hidden == 0 || from.dim() == 0 {
            return bad("a layer has at least one channel and one hidden number");
        }
        Ok(GateShape { symmetry: symmetry.clone(), from, to, hidden })
    }

    /// How many numbers of the MLP go in.
    pub fn invariants(&self) -> usize {
        let from = self.from;
        let pairs = from.one.saturating_sub(1) + from.two.saturating_sub(1);
        let each = if self.symmetry.has_mirrors() { 1 } else { 2 };
        from.zero + from.sign + from.one + from.two + each * pairs
    }

    /// Whether signs, frequency 1 and frequency 2 have a part of their own, and one from products.
    fn parts(&self) -> [[bool; 2]; 3] {
        let (from, to) = (self.from, self.to);
        [
            [from.sign > 0, to.sign > 0 && from.one > 1],
            [from.one > 0, from.one > 0 && from.two > 0],
            [from.two > 0, from.one > 0],
        ]
    }

    /// How many come out.
    pub fn scales(&self) -> usize {
        let counts = [self.to.sign, self.to.one, self.to.two];
        let parts = self.parts().map(|both| both.iter().filter(|has| **has).count());
        self.to.zero + counts.iter().zip(parts).map(|(n, parts)| n * parts).sum::<usize>()
    }

    /// What the linear map before it gives.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn candidates(&self) -> Result<Rep> {
        self.from.rep(&self.symmetry)
    }

    /// What comes out.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn output(&self) -> Result<Rep> {
        self.to.rep(&self.symmetry)
    }

    /// The representations of the MLP: what goes in, its hidden numbers, and what comes out.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn numbers(&self) -> Result<[Rep; 3]> {
        let one = Rep::trivial(&self.symmetry.carrier()?);
        let [i, h, o] = [self.invariants(), self.hidden, self.scales()].map(|n| one.copies(n));
        Ok([i?, h?, o?])
    }
}

/// A gate.
#[derive(Clone, Debug)]
pub struct Gate {
    shape: GateShape,
    hidden: Linear,
    scales: Linear,
}

/// Weights in the orders that the passes read them.
#[derive(Clone, Debug, Default)]
pub struct GateWeights {
    hidden: Packed,
    scales: Packed,
}

/// What a gate keeps for its backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct GateWork {
    /// Rows of directions: u, n and m.
    directions: Vec<f32>,
    /// Rows of their lengths.
    lengths: Vec<f32>,
    invariants: Vec<f32>,
    hidden: Vec<f32>,
    scales: Vec<f32>,
    dinvariants: Vec<f32>,
    dhidden: Vec<f32>,
    dscales: Vec<f32>,
    ddirections: Vec<f32>,
    dense: LinearWork,
}

impl Gate {
    /// The gate of this shape.
    ///
    /// # Errors
    /// Never for a shape that was made.
    pub fn new(shape: &GateShape) -> Result<Gate> {
        let [i, h, o] = shape.numbers()?;
        Ok(Gate {
            shape: shape.clone(),
            hidden: Linear::new(&i, from_ref(&h), true)?,
            scales: Linear::new(&h, from_ref(&o), false)?,
        })
    }

    /// Its shape.
    pub fn shape(&self) -> &GateShape {
        &self.shape
    }

    /// The spaces of G and H.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.hidden.parts().iter().chain(self.scales.parts())
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.hidden.parameters() + self.scales.parameters()
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.shape.to.dim()
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], weights: &mut GateWeights) -> Result<()> {
        let (hidden, scales) = parameters.split_at(self.hidden.parameters().min(parameters.len()));
        self.hidden.realise(hidden, &mut weights.hidden)?;
        self.scales.realise(scales, &mut weights.scales)
    }

    /// Rows y to rows of the output.
    ///
    /// # Errors
    /// If a length does not fit, or `weights` are another layer's.
    pub fn forward(
        &self,
        weights: &GateWeights,
        y: &[f32],
        work: &mut GateWork,
        out: &mut [f32],
    ) -> Result<()> {
        let at = Places::of(&self.shape);
        let rows = self.rows(y.len(), out.len())?;
        work.directions.resize(rows * at.directions, 0.0);
        work.lengths.resize(rows * at.lengths, 0.0);
        work.invariants.resize(rows * at.invariants, 0.0);
        work.hidden.resize(rows * self.shape.hidden, 0.0);
        work.scales.resize(rows * at.scales, 0.0);
        for r in 0..rows {
            self.look(
                &at,
                &y[r * at.from..][..at.from],
                &mut work.directions[r * at.directions..][..at.directions],
                &mut work.lengths[r * at.lengths..][..at.lengths],
                &mut work.invariants[r * at.invariants..][..at.invariants],
            );
        }
        self.hidden.forward(&weights.hidden, &work.invariants, &mut work.hidden)?;
        self.scales.forward(&weights.scales, &work.hidden, &mut work.scales)?;
        for r in 0..rows {
            let directions = &work.directions[r * at.directions..][..at.directions];
            let scales = &work.scales[r * at.scales..][..at.scales];
            self.scale(&at, directions, scales, &mut out[r * at.to..][..at.to]);
        }
        Ok(())
    }

    /// Given the rows of the last forward pass and the gradient of its output: writes the gradient of the rows, and adds to those
    /// of the coefficients.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        weights: &GateWeights,
        y: &[f32],
        work: &mut GateWork,
        dout: &[f32],
        dy: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<()> {
        let at = Places::of(&self.shape);
        let rows = self.rows(y.len(), dout.len())?;
        if work.scales.len() != rows * at.scales
            || dy.len() != y.len()
            || gradients.len() != self.parameters()
        {
            return Err(Error::BadBatch("the gradients do not belong to the last forward pass".into()));
        }
        work.ddirections.clear();
        work.ddirections.resize(work.directions.len(), 0.0);
        work.dscales.resize(work.scales.len(), 0.0);
        work.dhidden.resize(work.hidden.len(), 0.0);
        work.dinvariants.resize(work.invariants.len(), 0.0);
        for r in 0..rows {
            self.scale_back(
                &at,
                &work.directions[r * at.directions..][..at.directions],
                &work.scales[r * at.scales..][..at.scales],
                &dout[r * at.to..][..at.to],
                &mut work.ddirections[r * at.directions..][..at.directions],
                &mut work.dscales[r * at.scales..][..at.scales],
            );
        }
        let (first, second) = gradients.split_at_mut(self.hidden.parameters());
        let GateWork { hidden, scales, invariants, dinvariants, dhidden, dscales, dense, .. } = work;
        self.scales.backward(&weights.scales, (hidden, scales), dscales, dense, dhidden, second)?;
        self.hidden.backward(&weights.hidden, (invariants, hidden), dhidden, dense, dinvariants, first)?;
        for r in 0..rows {
            self.look_back(
                &at,
                &y[r * at.from..][..at.from],
                &work.directions[r * at.directions..][..at.directions],
                &work.lengths[r * at.lengths..][..at.lengths],
                &work.dinvariants[r * at.invariants..][..at.invariants],
                &mut work.ddirections[r * at.directions..][..at.directions],
                &mut dy[r * at.from..][..at.from],
            );
        }
        Ok(())
    }

    fn rows(&self, from: usize, to: usize) -> Result<usize> {
        let (row, out) = (self.shape.from.dim(), self.shape.to.dim());
        let rows = from / row;
        if rows * row == from && rows * out == to {
            return Ok(rows);
        }
        Err(Error::BadBatch(format!(
            "rows of {row} numbers become rows of {out}; {from} and {to} were given"
        )))
    }

    /// Directions, lengths and invariants of a row.
    fn look(&self, at: &Places, y: &[f32], directions: &mut [f32], lengths: &mut [f32], i: &mut [f32]) {
        let from = self.shape.from;
        for k in 0..from.sign {
            let t = y[from.zero + k];
            lengths[k] = (t * t + EPS * EPS).sqrt();
            directions[k] = t / lengths[k];
        }
        for k in 0..from.one + from.two {
            let z = pair(y, at.pairs + 2 * k);
            let length = (dot(z, z) + EPS * EPS).sqrt();
            lengths[from.sign + k] = length;
            put(directions, from.sign + 2 * k, scaled(1.0 / length, z));
        }
        i[..from.zero].copy_from_slice(&y[..from.zero]);
        i[from.zero..][..at.lengths].copy_from_slice(lengths);
        let mut next = from.zero + at.lengths;
        self.neighbours(|k, l| {
            let (z, n) = (pair(y, at.pairs + 2 * k), pair(directions, from.sign + 2 * l));
            i[next] = dot(z, n);
            next += 1;
            if !self.shape.symmetry.has_mirrors() {
                i[next] = cross(z, n);
                next += 1;
            }
        });
    }

    /// The pairs that are compared: neighbours of equal frequency.
    fn neighbours(&self, mut each: impl FnMut(usize, usize)) {
        let from = self.shape.from;
        for (first, count) in [(0, from.one), (from.one, from.two)] {
            (first + 1..first + count).for_each(|k| each(k - 1, k));
        }
    }

    #[allow(clippy::too_many_arguments)] // what went in, what was found, and where gradients go
    fn look_back(
        &self,
        at: &Places,
        y: &[f32],
        directions: &[f32],
        lengths: &[f32],
        di: &[f32],
        ddirections: &mut [f32],
        dy: &mut [f32],
    ) {
        let from = self.shape.from;
        dy.fill(0.0);
        dy[..from.zero].copy_from_slice(&di[..from.zero]);
        let mut next = from.zero + at.lengths;
        self.neighbours(|k, l| {
            let (zk, nl) = (at.pairs + 2 * k, from.sign + 2 * l);
            let (z, n) = (pair(y, zk), pair(directions, nl));
            add(dy, zk, scaled(di[next], n));
            add(ddirections, nl, scaled(di[next], z));
            next += 1;
            if !self.shape.symmetry.has_mirrors() {
                // Im z conj n = z_im n_re - z_re n_im.
                add(dy, zk, scaled(di[next], [-n[1], n[0]]));
                add(ddirections, nl, scaled(di[next], [z[1], -z[0]]));
                next += 1;
            }
        });
        let dlengths = &di[from.zero..][..at.lengths];
        for k in 0..from.sign {
            let (u, length) = (directions[k], lengths[k]);
            dy[from.zero + k] += dlengths[k] * u + ddirections[k] * (1.0 - u * u) / length;
        }
        for k in 0..from.one + from.two {
            let (n, length) = (pair(directions, from.sign + 2 * k), lengths[from.sign + k]);
            let d = pair(ddirections, from.sign + 2 * k);
            // Along n a direction does not change, but for the smoothing; a length does.
            let along = dlengths[from.sign + k] - dot(d, n) / length;
            let zk = at.pairs + 2 * k;
            add(dy, zk, scaled(1.0 / length, d));
            add(dy, zk, scaled(along, n));
        }
    }

    /// The output row.
    fn scale(&self, at: &Places, directions: &[f32], o: &[f32], out: &mut [f32]) {
        let (from, to) = (self.shape.from, self.shape.to);
        for k in 0..to.zero {
            out[k] = o[k].max(0.0);
        }
        let [sign, one, two] = self.shape.parts();
        let mut next = to.zero;
        let mut take = |has: bool| {
            next += usize::from(has);
            if has { o[next - 1] } else { 0.0 }
        };
        for k in 0..to.sign {
            let (own, product) = (take(sign[0]), take(sign[1]));
            let u = if sign[0] { directions[k] } else { 0.0 };
            let turn = if sign[1] { cross(at.n(directions, k), at.n(directions, k + 1)) } else { 0.0 };
            out[to.zero + k] = own * u + product * turn;
        }
        for k in 0..to.one {
            let (own, product, n) = (take(one[0]), take(one[1]), at.n(directions, k));
            let mut z = scaled(own, n);
            if one[1] {
                z = plus(z, scaled(product, times(at.m(directions, k), conj(n))));
            }
            put(out, to.zero + to.sign + 2 * k, z);
        }
        for k in 0..to.two {
            let (own, product) = (take(two[0]), take(two[1]));
            let mut w = if two[0] { scaled(own, at.m(directions, k)) } else { [0.0; 2] };
            if two[1] {
                w = plus(w, scaled(product, times(at.n(directions, k), at.n(directions, k + 1))));
            }
            put(out, to.zero + to.sign + 2 * (to.one + k), w);
        }
        debug_assert_eq!(from.dim(), at.from);
    }

    fn scale_back(
        &self,
        at: &Places,
        directions: &[f32],
        o: &[f32],
        dout: &[f32],
        ddirections: &mut [f32],
        d_o: &mut [f32],
    ) {
        let to = self.shape.to;
        for k in 0..to.zero {
            d_o[k] = if o[k] > 0.0 { dout[k] } else { 0.0 };
        }
        let [sign, one, two] = self.shape.parts();
        let mut next = to.zero;
        for k in 0..to.sign {
            let d = dout[to.zero + k];
            if sign[0] {
                d_o[next] = d * directions[k];
                ddirections[k] += d * o[next];
                next += 1;
            }
            if sign[1] {
                let (a, b) = (at.n(directions, k), at.n(directions, k + 1));
                d_o[next] = d * cross(a, b);
                let d = d * o[next];
                add(ddirections, at.n_at(k), scaled(d, [-b[1], b[0]]));
                add(ddirections, at.n_at(k + 1), scaled(d, [a[1], -a[0]]));
                next += 1;
            }
        }
        for k in 0..to.one {
            let (d, n) = (pair(dout, to.zero + to.sign + 2 * k), at.n(directions, k));
            d_o[next] = dot(d, n);
            add(ddirections, at.n_at(k), scaled(o[next], d));
            next += 1;
            if one[1] {
                let m = at.m(directions, k);
                d_o[next] = dot(d, times(m, conj(n)));
                let d = scaled(o[next], d);
                // q = m conj(n): along m it is d n, along n it is conj(d) m.
                add(ddirections, at.m_at(k), times(d, n));
                add(ddirections, at.n_at(k), times(conj(d), m));
                next += 1;
            }
        }
        for k in 0..to.two {
            let d = pair(dout, to.zero + to.sign + 2 * (to.one + k));
            if two[0] {
                d_o[next] = dot(d, at.m(directions, k));
                add(ddirections, at.m_at(k), scaled(o[next], d));
                next += 1;
            }
            if two[1] {
                let (a, b) = (at.n(directions, k), at.n(directions, k + 1));
                d_o[next] = dot(d, times(a, b));
                let d = scaled(o[next], d);
                add(ddirections, at.n_at(k), times(d, conj(b)));
                add(ddirections, at.n_at(k + 1), times(d, conj(a)));
                next += 1;
            }
        }
    }
}

/// Where things stand in rows.
struct Places {
    from: usize,
    to: usize,
    /// The first pair of a row y.
    pairs: usize,
    sign: usize,
    one: usize,
    two: usize,
    directions: usize,
    lengths: usize,
    invariants: usize,
    scales: usize,
}

impl Places {
    fn of(shape: &GateShape) -> Places {
        let Channels { zero, sign, one, two } = shape.from;
        Places {
            from: shape.from.dim(),
            to: shape.to.dim(),
            pairs: zero + sign,
            sign,
            one,
            two,
            directions: sign + 2 * (one + two),
            lengths: sign + one + two,
            invariants: shape.invariants(),
            scales: shape.scales(),
        }
    }

    fn n_at(&self, k: usize) -> usize {
        self.sign + 2 * (k % self.one)
    }

    fn m_at(&self, k: usize) -> usize {
        self.sign + 2 * (self.one + k % self.two)
    }

    fn n(&self, directions: &[f32], k: usize) -> Pair {
        pair(directions, self.n_at(k))
    }

    fn m(&self, directions: &[f32], k: usize) -> Pair {
        pair(directions, self.m_at(k))
    }
}

type Pair = [f32; 2];

fn pair(x: &[f32], at: usize) -> Pair {
    [x[at], x[at + 1]]
}

fn put(x: &mut [f32], at: usize, [re, im]: Pair) {
    (x[at], x[at + 1]) = (re, im);
}

fn add(x: &mut [f32], at: usize, [re, im]: Pair) {
    x[at] += re;
    x[at + 1] += im;
}

fn plus(a: Pair, b: Pair) -> Pair {
    [a[0] + b[0], a[1] + b[1]]
}

fn times(a: Pair, b: Pair) -> Pair {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn conj([re, im]: Pair) -> Pair {
    [re, -im]
}

fn scaled(by: f32, [re, im]: Pair) -> Pair {
    [by * re, by * im]
}

/// Re a conj(b).
fn dot(a: Pair, b: Pair) -> f32 {
    a[0] * b[0] + a[1] * b[1]
}

/// Im a conj(b).
fn cross(a: Pair, b: Pair) -> f32 {
    a[1] * b[0] - a[0] * b[1]
}

#[cfg(test)]
pub(super) mod tests;
