//! The equations of a gate for one row, or rather for eight side by side.

use super::{Counts, Gate};
use crate::lanes::Lanes;

/// eps^2: lengths far below eps are not told apart. Rounding of a direction grows as it falls: with an eps of 0.2, policies with random
/// weights turned to 1e-5 only for the most part.
const EPS2: f32 = 1.0;

type Pair = [Lanes; 2];

impl Gate {
    /// Directions, lengths and invariants of a row.
    #[inline(always)]
    pub(super) fn look_row(
        &self,
        y: &[Lanes],
        directions: &mut [Lanes],
        lengths: &mut [Lanes],
        i: &mut [Lanes],
    ) {
        let from = self.from;
        let pairs = from.zero + from.sign;
        for k in 0..from.sign {
            let t = y[from.zero + k];
            lengths[k] = root(t * t);
            directions[k] = t / lengths[k];
        }
        for k in 0..from.one + from.two {
            let z = pair(y, pairs + 2 * k);
            let length = root(dot(z, z));
            lengths[from.sign + k] = length;
            put(directions, from.sign + 2 * k, scaled(Lanes::splat(1.0) / length, z));
        }
        i[..from.zero].copy_from_slice(&y[..from.zero]);
        i[from.zero..][..from.lengths()].copy_from_slice(lengths);
        let mut next = from.zero + from.lengths();
        for (first, count) in [(0, from.one), (from.one, from.two)] {
            for l in first + 1..first + count {
                let (z, n) = (pair(y, pairs + 2 * (l - 1)), pair(directions, from.sign + 2 * l));
                i[next] = dot(z, n);
                next += 1;
                if !self.mirrors {
                    i[next] = cross(z, n);
                    next += 1;
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn look_row_back(
        &self,
        (y, directions, lengths): (&[Lanes], &[Lanes], &[Lanes]),
        di: &[Lanes],
        ddirections: &mut [Lanes],
        dy: &mut [Lanes],
    ) {
        let from = self.from;
        let pairs = from.zero + from.sign;
        dy.fill(Lanes::default());
        dy[..from.zero].copy_from_slice(&di[..from.zero]);
        let mut next = from.zero + from.lengths();
        for (first, count) in [(0, from.one), (from.one, from.two)] {
            for l in first + 1..first + count {
                let (zk, nl) = (pairs + 2 * (l - 1), from.sign + 2 * l);
                let (z, n) = (pair(y, zk), pair(directions, nl));
                add(dy, zk, scaled(di[next], n));
                add(ddirections, nl, scaled(di[next], z));
                next += 1;
                if !self.mirrors {
                    // Im z conj n = z_im n_re - z_re n_im.
                    add(dy, zk, scaled(di[next], [-n[1], n[0]]));
                    add(ddirections, nl, scaled(di[next], [z[1], -z[0]]));
                    next += 1;
                }
            }
        }
        let dlengths = &di[from.zero..][..from.lengths()];
        for k in 0..from.sign {
            let (u, length) = (directions[k], lengths[k]);
            let along = dlengths[k] * u + ddirections[k] * (Lanes::splat(1.0) - u * u) / length;
            dy[from.zero + k] = dy[from.zero + k] + along;
        }
        for k in 0..from.one + from.two {
            let (n, length) = (pair(directions, from.sign + 2 * k), lengths[from.sign + k]);
            let d = pair(ddirections, from.sign + 2 * k);
            // Along n a direction does not change, but for the smoothing; a length does.
            let along = dlengths[from.sign + k] - dot(d, n) / length;
            let zk = pairs + 2 * k;
            add(dy, zk, scaled(Lanes::splat(1.0) / length, d));
            add(dy, zk, scaled(along, n));
        }
    }

    /// The output row.
    #[inline(always)]
    pub(super) fn scale_row(&self, directions: &[Lanes], o: &[Lanes], out: &mut [Lanes]) {
        let (at, to) = (At::of(self.from), self.to);
        for k in 0..to.zero {
            // What is not a number stays that.
            out[k] = o[k].map(|x| if x < 0.0 { 0.0 } else { x });
        }
        let [sign, one, two] = self.parts();
        let mut next = to.zero;
        let mut take = |has: bool| {
            next += usize::from(has);
            if has { o[next - 1] } else { Lanes::default() }
        };
        for k in 0..to.sign {
            let (own, product) = (take(sign[0]), take(sign[1]));
            let u = if sign[0] { directions[k] } else { Lanes::default() };
            let turn = match sign[1] {
                true => cross(pair(directions, at.n(k)), pair(directions, at.n(k + 1))),
                false => Lanes::default(),
            };
            out[to.zero + k] = own * u + product * turn;
        }
        for k in 0..to.one {
            let (own, product, n) = (take(one[0]), take(one[1]), pair(directions, at.n(k)));
            let mut z = scaled(own, n);
            if one[1] {
                z = plus(z, scaled(product, times(pair(directions, at.m(k)), conj(n))));
            }
            put(out, to.zero + to.sign + 2 * k, z);
        }
        for k in 0..to.two {
            let (own, product) = (take(two[0]), take(two[1]));
            let mut w = match two[0] {
                true => scaled(own, pair(directions, at.m(k))),
                false => [Lanes::default(); 2],
            };
            if two[1] {
                let (a, b) = (pair(directions, at.n(k)), pair(directions, at.n(k + 1)));
                w = plus(w, scaled(product, times(a, b)));
            }
            put(out, to.zero + to.sign + 2 * (to.one + k), w);
        }
    }

    #[inline(always)]
    pub(super) fn scale_row_back(
        &self,
        directions: &[Lanes],
        o: &[Lanes],
        dout: &[Lanes],
        (ddirections, d_o): (&mut [Lanes], &mut [Lanes]),
    ) {
        let (at, to) = (At::of(self.from), self.to);
        for k in 0..to.zero {
            d_o[k] = o[k].zip(dout[k], |o, d| if o > 0.0 { d } else { 0.0 });
        }
        let [sign, one, two] = self.parts();
        let mut next = to.zero;
        for k in 0..to.sign {
            let d = dout[to.zero + k];
            if sign[0] {
                d_o[next] = d * directions[k];
                ddirections[k] = ddirections[k] + d * o[next];
                next += 1;
            }
            if sign[1] {
                let (a, b) = (pair(directions, at.n(k)), pair(directions, at.n(k + 1)));
                d_o[next] = d * cross(a, b);
                let d = d * o[next];
                add(ddirections, at.n(k), scaled(d, [-b[1], b[0]]));
                add(ddirections, at.n(k + 1), scaled(d, [a[1], -a[0]]));
                next += 1;
            }
        }
        for k in 0..to.one {
            let (d, n) = (pair(dout, to.zero + to.sign + 2 * k), pair(directions, at.n(k)));
            d_o[next] = dot(d, n);
            add(ddirections, at.n(k), scaled(o[next], d));
            next += 1;
            if one[1] {
                let m = pair(directions, at.m(k));
                d_o[next] = dot(d, times(m, conj(n)));
                let d = scaled(o[next], d);
                // q = m conj(n): along m it is d n, along n it is conj(d) m.
                add(ddirections, at.m(k), times(d, n));
                add(ddirections, at.n(k), times(conj(d), m));
                next += 1;
            }
        }
        for k in 0..to.two {
            let d = pair(dout, to.zero + to.sign + 2 * (to.one + k));
            if two[0] {
                d_o[next] = dot(d, pair(directions, at.m(k)));
                add(ddirections, at.m(k), scaled(o[next], d));
                next += 1;
            }
            if two[1] {
                let (a, b) = (pair(directions, at.n(k)), pair(directions, at.n(k + 1)));
                d_o[next] = dot(d, times(a, b));
                let d = scaled(o[next], d);
                add(ddirections, at.n(k), times(d, conj(b)));
                add(ddirections, at.n(k + 1), times(d, conj(a)));
                next += 1;
            }
        }
    }
}

/// Where directions stand; indices go around.
struct At {
    sign: usize,
    one: usize,
    two: usize,
}

impl At {
    #[inline(always)]
    fn of(Counts { sign, one, two, .. }: Counts) -> At {
        At { sign, one, two }
    }

    #[inline(always)]
    fn n(&self, k: usize) -> usize {
        self.sign + 2 * (k % self.one)
    }

    #[inline(always)]
    fn m(&self, k: usize) -> usize {
        self.sign + 2 * (self.one + k % self.two)
    }
}

#[inline(always)]
fn root(square: Lanes) -> Lanes {
    (square + Lanes::splat(EPS2)).map(f32::sqrt)
}

#[inline(always)]
fn pair(x: &[Lanes], at: usize) -> Pair {
    [x[at], x[at + 1]]
}

#[inline(always)]
fn put(x: &mut [Lanes], at: usize, [re, im]: Pair) {
    (x[at], x[at + 1]) = (re, im);
}

#[inline(always)]
fn add(x: &mut [Lanes], at: usize, [re, im]: Pair) {
    put(x, at, [x[at] + re, x[at + 1] + im]);
}

#[inline(always)]
fn plus(a: Pair, b: Pair) -> Pair {
    [a[0] + b[0], a[1] + b[1]]
}

#[inline(always)]
fn times(a: Pair, b: Pair) -> Pair {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

#[inline(always)]
fn conj([re, im]: Pair) -> Pair {
    [re, -im]
}

#[inline(always)]
fn scaled(by: Lanes, [re, im]: Pair) -> Pair {
    [by * re, by * im]
}

/// Re a conj(b).
#[inline(always)]
fn dot(a: Pair, b: Pair) -> Lanes {
    a[0] * b[0] + a[1] * b[1]
}

/// Im a conj(b).
#[inline(always)]
fn cross(a: Pair, b: Pair) -> Lanes {
    a[1] * b[0] - a[0] * b[1]
}
