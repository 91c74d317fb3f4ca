//! A layer that turns with every angle: channels of frequencies 0, 1 and 2.
//!
//! A channel of frequency k is a complex number z that a turn by t multiplies by e^(ikt) and the mirror conjugates; one of
//! frequency 0 is a real number that stays as it is. For a row of channels s (frequency 0), z (1) and w (2):
//!
//! ```text
//! a = A z,  b = B z,  c = C w,  d = D z                      linear between equal frequencies
//! p = a b  (frequency 2),   q = c conj(d)  (frequency 1)      products: without them nothing reaches another frequency
//! Z = [z; q],  W = [w; p]                                     all vectors there are
//! u = E Z,  v = F W                                           candidates for what comes out
//! i = [s; |u|; |v|; Re u_j conj u_(j+1); Re v_j conj v_(j+1)] invariants; |u| = sqrt(Re^2 + Im^2 + eps) is smooth at 0
//! h = relu(G i + g),   o = H h + k                            an ordinary MLP
//! s' = relu(o_0),   z' = o_1 u,   w' = o_2 v                  its outputs scale the vectors
//! ```
//!
//! Real weights keep O(2), the mirror included; biases are on frequency 0 only. At z = w = 0 all vectors that come out are 0.

/// |u| = sqrt(Re^2 + Im^2 + EPS^2).
const EPS: f32 = 1e-3;

/// Numbers of channels of frequencies 0, 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Of frequency 0.
    pub zero: usize,
    /// Of frequency 1.
    pub one: usize,
    /// Of frequency 2.
    pub two: usize,
}

impl Channels {
    /// Real numbers of a row: frequency 0, then (down, right) of each of frequency 1, then of frequency 2.
    pub fn dim(self) -> usize {
        self.zero + 2 * self.one + 2 * self.two
    }
}

/// The layer: shapes alone; weights are a flat list.
#[derive(Clone, Copy, Debug)]
pub struct FrequencyLayer {
    /// What goes in.
    pub input: Channels,
    /// What comes out.
    pub output: Channels,
    /// Products of each kind.
    pub products: usize,
    /// Hidden numbers of the MLP.
    pub hidden: usize,
}

/// What a forward pass keeps for the backward pass, row by row.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    rows: Vec<f32>,
}

/// Offsets of the parts of the saved numbers of a row.
struct Parts {
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    zz: usize,
    ww: usize,
    u: usize,
    v: usize,
    i: usize,
    h: usize,
    o: usize,
    end: usize,
}

impl FrequencyLayer {
    /// The layer with these shapes.
    ///
    /// # Errors
    /// If a channel could never be anything but zero, saying which.
    pub fn new(
        input: Channels,
        output: Channels,
        products: usize,
        hidden: usize,
    ) -> Result<FrequencyLayer, String> {
        let layer = FrequencyLayer { input, output, products, hidden };
        if output.one > 0 && input.one == 0 {
            return Err(
                "frequency 1 comes out and does not go in: products of frequency 2 with itself have 0 and 4"
                    .into(),
            );
        }
        if output.two > 0 && input.two == 0 && (products == 0 || input.one == 0) {
            return Err("frequency 2 comes out, and neither goes in nor is a product of frequency 1".into());
        }
        if hidden == 0 {
            return Err("the MLP has no hidden numbers, so nothing comes out".into());
        }
        Ok(layer)
    }

    fn q(&self) -> usize {
        if self.input.two > 0 && self.input.one > 0 { self.products } else { 0 }
    }

    fn p(&self) -> usize {
        if self.input.one > 0 { self.products } else { 0 }
    }

    fn invariants(&self) -> usize {
        let pairs = |n: usize| n.saturating_sub(1);
        self.input.zero + self.output.one + self.output.two + pairs(self.output.one) + pairs(self.output.two)
    }

    fn outputs(&self) -> usize {
        self.output.zero + self.output.one + self.output.two
    }

    /// Sizes of A, B, C, D, E, F, G, g, H, k.
    fn sizes(&self) -> [usize; 10] {
        let (i, o) = (self.input, self.output);
        [
            self.p() * i.one,
            self.p() * i.one,
            self.q() * i.two,
            self.q() * i.one,
            o.one * (i.one + self.q()),
            o.two * (i.two + self.p()),
            self.hidden * self.invariants(),
            self.hidden,
            self.outputs() * self.hidden,
            self.outputs(),
        ]
    }

    /// The number of weights and biases.
    pub fn parameters(&self) -> usize {
        self.sizes().iter().sum()
    }

    fn starts(&self) -> [usize; 11] {
        let mut starts = [0; 11];
        for (k, size) in self.sizes().iter().enumerate() {
            starts[k + 1] = starts[k] + size;
        }
        starts
    }

    fn parts(&self) -> Parts {
        let mut at = 0;
        let mut take = |n: usize| {
            at += n;
            at - n
        };
        let (p, q, i, o) = (self.p(), self.q(), self.input, self.output);
        let (a, b, c, d) = (take(2 * p), take(2 * p), take(2 * q), take(2 * q));
        let (zz, ww) = (take(2 * (i.one + q)), take(2 * (i.two + p)));
        let (u, v) = (take(2 * o.one), take(2 * o.two));
        let (inv, h, out) = (take(self.invariants()), take(self.hidden), take(self.outputs()));
        Parts { a, b, c, d, zz, ww, u, v, i: inv, h, o: out, end: take(0) }
    }

    /// Rows of the input to rows of the output.
    pub fn forward(&self, weights: &[f32], x: &[f32], saved: &mut Saved, out: &mut [f32]) {
        let (parts, w) = (self.parts(), self.starts());
        let of = |k: usize| &weights[w[k]..w[k + 1]];
        let (din, dout) = (self.input.dim(), self.output.dim());
        let rows = x.len() / din;
        saved.rows.resize(rows * parts.end, 0.0);
        for r in 0..rows {
            let row = &x[r * din..][..din];
            let keep = &mut saved.rows[r * parts.end..][..parts.end];
            self.forward_row(&of, row, &parts, keep, &mut out[r * dout..][..dout]);
        }
    }

    fn forward_row<'w>(
        &self,
        of: &impl Fn(usize) -> &'w [f32],
        x: &[f32],
        at: &Parts,
        keep: &mut [f32],
        out: &mut [f32],
    ) {
        let (i, o) = (self.input, self.output);
        let (s, z) = (&x[..i.zero], &x[i.zero..i.zero + 2 * i.one]);
        let w = &x[i.zero + 2 * i.one..];
        let (p, q) = (self.p(), self.q());
        complex(of(0), z, &mut keep[at.a..][..2 * p]);
        complex(of(1), z, &mut keep[at.b..][..2 * p]);
        complex(of(2), w, &mut keep[at.c..][..2 * q]);
        complex(of(3), z, &mut keep[at.d..][..2 * q]);
        keep[at.zz..][..2 * i.one].copy_from_slice(z);
        keep[at.ww..][..2 * i.two].copy_from_slice(w);
        for k in 0..q {
            let (c, d) = (pair(keep, at.c + 2 * k), pair(keep, at.d + 2 * k));
            put(keep, at.zz + 2 * (i.one + k), times(c, conj(d)));
        }
        for k in 0..p {
            let (a, b) = (pair(keep, at.a + 2 * k), pair(keep, at.b + 2 * k));
            put(keep, at.ww + 2 * (i.two + k), times(a, b));
        }
        let (head, tail) = keep.split_at_mut(at.u);
        complex(of(4), &head[at.zz..at.ww], &mut tail[..2 * o.one]);
        complex(of(5), &head[at.ww..at.u], &mut tail[2 * o.one..2 * (o.one + o.two)]);
        keep[at.i..][..i.zero].copy_from_slice(s);
        let mut n = at.i + i.zero;
        for (from, count) in [(at.u, o.one), (at.v, o.two)] {
            for k in 0..count {
                keep[n] = norm(pair(keep, from + 2 * k));
                n += 1;
            }
        }
        for (from, count) in [(at.u, o.one), (at.v, o.two)] {
            for k in 1..count {
                keep[n] = dot(pair(keep, from + 2 * k - 2), pair(keep, from + 2 * k));
                n += 1;
            }
        }
        let (head, tail) = keep.split_at_mut(at.h);
        real(of(6), of(7), &head[at.i..], &mut tail[..self.hidden]);
        tail[..self.hidden].iter_mut().for_each(|h| *h = h.max(0.0));
        let (h, o_row) = tail.split_at_mut(self.hidden);
        real(of(8), of(9), h, o_row);
        for k in 0..o.zero {
            out[k] = keep[at.o + k].max(0.0);
        }
        for k in 0..o.one {
            put(out, o.zero + 2 * k, scaled(keep[at.o + o.zero + k], pair(keep, at.u + 2 * k)));
        }
        for k in 0..o.two {
            let gate = keep[at.o + o.zero + o.one + k];
            put(out, o.zero + 2 * (o.one + k), scaled(gate, pair(keep, at.v + 2 * k)));
        }
    }

    /// Adds the gradients of the weights, and writes those of the input.
    pub fn backward(
        &self,
        weights: &[f32],
        x: &[f32],
        saved: &Saved,
        dout: &[f32],
        dx: &mut [f32],
        gradients: &mut [f32],
    ) {
        let (at, w) = (self.parts(), self.starts());
        let (din, wide) = (self.input.dim(), self.output.dim());
        let mut back = vec![0.0; at.end];
        for r in 0..x.len() / din {
            back.fill(0.0);
            let keep = &saved.rows[r * at.end..][..at.end];
            let (x, dout) = (&x[r * din..][..din], &dout[r * wide..][..wide]);
            self.backward_row(
                weights,
                &w,
                x,
                &at,
                keep,
                dout,
                &mut back,
                &mut dx[r * din..][..din],
                gradients,
            );
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn backward_row(
        &self,
        weights: &[f32],
        w: &[usize; 11],
        x: &[f32],
        at: &Parts,
        keep: &[f32],
        dout: &[f32],
        back: &mut [f32],
        dx: &mut [f32],
        gradients: &mut [f32],
    ) {
        let (i, o) = (self.input, self.output);
        let part = |k: usize| w[k]..w[k + 1];
        let (p, q) = (self.p(), self.q());
        // The outputs.
        for k in 0..o.zero {
            back[at.o + k] = if keep[at.o + k] > 0.0 { dout[k] } else { 0.0 };
        }
        for (base, from, count) in [(o.zero, at.u, o.one), (o.zero + o.one, at.v, o.two)] {
            for k in 0..count {
                let d = pair(dout, o.zero + 2 * (base - o.zero + k));
                let (vector, gate) = (pair(keep, from + 2 * k), keep[at.o + base + k]);
                back[at.o + base + k] = dot(d, vector);
                add(back, from + 2 * k, scaled(gate, d));
            }
        }
        // The MLP.
        let (head, o_back) = back.split_at_mut(at.o);
        let h = &keep[at.h..at.o];
        real_back(
            &weights[part(8)],
            h,
            &o_back[..self.outputs()],
            &mut head[at.h..],
            &mut gradients[w[8]..w[10]],
        );
        for (d, h) in head[at.h..].iter_mut().zip(h) {
            *d = if *h > 0.0 { *d } else { 0.0 };
        }
        let (head, h_back) = back.split_at_mut(at.h);
        real_back(
            &weights[part(6)],
            &keep[at.i..at.h],
            &h_back[..self.hidden],
            &mut head[at.i..],
            &mut gradients[w[6]..w[8]],
        );
        // The invariants.
        dx[..i.zero].copy_from_slice(&back[at.i..at.i + i.zero]);
        let mut n = at.i + i.zero;
        for (from, count) in [(at.u, o.one), (at.v, o.two)] {
            for k in 0..count {
                add(back, from + 2 * k, scaled(back[n] / keep[n], pair(keep, from + 2 * k)));
                n += 1;
            }
        }
        for (from, count) in [(at.u, o.one), (at.v, o.two)] {
            for k in 1..count {
                let (one, two) = (from + 2 * k - 2, from + 2 * k);
                add(back, one, scaled(back[n], pair(keep, two)));
                add(back, two, scaled(back[n], pair(keep, one)));
                n += 1;
            }
        }
        // The vectors.
        let (head, tail) = back.split_at_mut(at.u);
        complex_back(
            &weights[part(4)],
            &keep[at.zz..at.ww],
            &tail[..2 * o.one],
            &mut head[at.zz..at.ww],
            &mut gradients[part(4)],
        );
        let v = &tail[2 * o.one..2 * (o.one + o.two)];
        complex_back(
            &weights[part(5)],
            &keep[at.ww..at.u],
            v,
            &mut head[at.ww..at.u],
            &mut gradients[part(5)],
        );
        for k in 0..q {
            let d = pair(back, at.zz + 2 * (i.one + k));
            let (c, e) = (pair(keep, at.c + 2 * k), pair(keep, at.d + 2 * k));
            // q = c conj(e): along c it is d e, along e it is conj(d) c.
            put(back, at.c + 2 * k, times(d, e));
            put(back, at.d + 2 * k, times(conj(d), c));
        }
        for k in 0..p {
            let d = pair(back, at.ww + 2 * (i.two + k));
            let (a, b) = (pair(keep, at.a + 2 * k), pair(keep, at.b + 2 * k));
            put(back, at.a + 2 * k, times(d, conj(b)));
            put(back, at.b + 2 * k, times(d, conj(a)));
        }
        let (z, wx) = (&x[i.zero..i.zero + 2 * i.one], &x[i.zero + 2 * i.one..]);
        let (dz, dw) = dx[i.zero..].split_at_mut(2 * i.one);
        dz.copy_from_slice(&back[at.zz..][..2 * i.one]);
        dw.copy_from_slice(&back[at.ww..][..2 * i.two]);
        complex_back(&weights[part(0)], z, &back[at.a..][..2 * p], dz, &mut gradients[part(0)]);
        complex_back(&weights[part(1)], z, &back[at.b..][..2 * p], dz, &mut gradients[part(1)]);
        complex_back(&weights[part(2)], wx, &back[at.c..][..2 * q], dw, &mut gradients[part(2)]);
        complex_back(&weights[part(3)], z, &back[at.d..][..2 * q], dz, &mut gradients[part(3)]);
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

fn norm(a: Pair) -> f32 {
    (dot(a, a) + EPS * EPS).sqrt()
}

/// out = W x for pairs: one real weight per pair of channels.
fn complex(weights: &[f32], x: &[f32], out: &mut [f32]) {
    let n = x.len() / 2;
    for (k, out) in out.chunks_exact_mut(2).enumerate() {
        let row = &weights[k * n..][..n];
        out.fill(0.0);
        for (w, x) in row.iter().zip(x.chunks_exact(2)) {
            out[0] += w * x[0];
            out[1] += w * x[1];
        }
    }
}

fn complex_back(weights: &[f32], x: &[f32], dout: &[f32], dx: &mut [f32], dweights: &mut [f32]) {
    let n = x.len() / 2;
    for (k, d) in dout.chunks_exact(2).enumerate() {
        let d = [d[0], d[1]];
        for j in 0..n {
            dweights[k * n + j] += dot(d, pair(x, 2 * j));
            add(dx, 2 * j, scaled(weights[k * n + j], d));
        }
    }
}

/// out = W x + b.
fn real(weights: &[f32], bias: &[f32], x: &[f32], out: &mut [f32]) {
    for (k, out) in out.iter_mut().enumerate() {
        *out = bias[k] + weights[k * x.len()..][..x.len()].iter().zip(x).map(|(w, x)| w * x).sum::<f32>();
    }
}

/// The gradients of the weights and then of the bias stand one after the other.
fn real_back(weights: &[f32], x: &[f32], dout: &[f32], dx: &mut [f32], gradients: &mut [f32]) {
    let (n, bias) = (x.len(), weights.len());
    for (k, &d) in dout.iter().enumerate() {
        gradients[bias + k] += d;
        for j in 0..n {
            gradients[k * n + j] += d * x[j];
            dx[j] += d * weights[k * n + j];
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: &mut u64) -> f32 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn all(n: usize, seed: &mut u64) -> Vec<f32> {
        (0..n).map(|_| noise(seed)).collect()
    }

    fn turned(channels: Channels, x: &[f32], t: f64, mirror: bool) -> Vec<f32> {
        let mut out = x.to_vec();
        let mut at = channels.zero;
        for (k, count) in [(1.0, channels.one), (2.0, channels.two)] {
            for _ in 0..count {
                let (re, im) = (f64::from(x[at]), f64::from(if mirror { -x[at + 1] } else { x[at + 1] }));
                let (c, s) = ((k * t).cos(), (k * t).sin());
                out[at] = (c * re - s * im) as f32;
                out[at + 1] = (s * re + c * im) as f32;
                at += 2;
            }
        }
        out
    }

    #[test]
    fn it_turns_with_every_angle_and_mirror() {
        let (input, output) = (Channels { zero: 2, one: 3, two: 2 }, Channels { zero: 4, one: 3, two: 2 });
        let layer = FrequencyLayer::new(input, output, 3, 8).unwrap();
        let mut seed = 7;
        let (weights, x) = (all(layer.parameters(), &mut seed), all(input.dim(), &mut seed));
        let run = |x: &[f32]| {
            let mut out = vec![0.0; output.dim()];
            layer.forward(&weights, x, &mut Saved::default(), &mut out);
            out
        };
        let here = run(&x);
        let size = here.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        assert!(size > 0.3, "{size}");
        for k in 0..100 {
            let (t, mirror) = (f64::from(k) * 0.7351, k % 2 == 1);
            let there = run(&turned(input, &x, t, mirror));
            for (a, b) in turned(output, &here, t, mirror).iter().zip(&there) {
                assert!((a - b).abs() < 1e-5 * size.max(1.0), "{t} {mirror}: {a} {b}");
            }
        }
        // Frequency 2 comes out although only frequency 1 went in.
        let first = FrequencyLayer::new(Channels { zero: 0, one: 2, two: 0 }, output, 3, 8).unwrap();
        let (weights, x) = (all(first.parameters(), &mut seed), all(4, &mut seed));
        let mut out = vec![0.0; output.dim()];
        first.forward(&weights, &x, &mut Saved::default(), &mut out);
        assert!(out[output.zero + 2 * output.one..].iter().any(|v| v.abs() > 1e-3), "{out:?}");
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (input, output) = (Channels { zero: 2, one: 3, two: 2 }, Channels { zero: 3, one: 2, two: 2 });
        let layer = FrequencyLayer::new(input, output, 2, 6).unwrap();
        let mut seed = 11;
        let weights = all(layer.parameters(), &mut seed);
        let x = all(2 * input.dim(), &mut seed);
        let dout = all(2 * output.dim(), &mut seed);
        let loss = |weights: &[f32], x: &[f32]| -> f64 {
            let mut out = vec![0.0; 2 * output.dim()];
            layer.forward(weights, x, &mut Saved::default(), &mut out);
            out.iter().zip(&dout).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let (mut saved, mut out) = (Saved::default(), vec![0.0; 2 * output.dim()]);
        layer.forward(&weights, &x, &mut saved, &mut out);
        let (mut dx, mut dw) = (vec![0.0; x.len()], vec![0.0; weights.len()]);
        layer.backward(&weights, &x, &saved, &dout, &mut dx, &mut dw);
        let step = 2e-3f32;
        for (k, &found) in dw.iter().enumerate() {
            let moved = |by: f32| {
                let mut moved = weights.clone();
                moved[k] += by;
                loss(&moved, &x)
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
            assert!(
                (slope - f64::from(found)).abs() < 2e-2 * (1.0 + slope.abs()),
                "weight {k}: {found} {slope}"
            );
        }
        for (k, &found) in dx.iter().enumerate() {
            let moved = |by: f32| {
                let mut moved = x.clone();
                moved[k] += by;
                loss(&weights, &moved)
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
            assert!(
                (slope - f64::from(found)).abs() < 2e-2 * (1.0 + slope.abs()),
                "input {k}: {found} {slope}"
            );
        }
    }

    #[test]
    fn channels_that_nothing_reaches_are_refused() {
        let c = |zero, one, two| Channels { zero, one, two };
        assert!(FrequencyLayer::new(c(2, 0, 0), c(1, 1, 0), 2, 4).unwrap_err().contains("frequency 1"));
        assert!(FrequencyLayer::new(c(2, 1, 0), c(1, 1, 1), 0, 4).unwrap_err().contains("frequency 2"));
        assert!(FrequencyLayer::new(c(2, 1, 0), c(1, 1, 1), 1, 4).is_ok());
    }
}
