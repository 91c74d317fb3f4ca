//! The basis in which maps that commute with a group are block-diagonal.
//!
//! A row has channels c of |G| numbers x\[c\]\[h\], and F is an orthogonal matrix of that size:
//!
//! forward: y\[f\]\[c\] = sum_h F\[f\]\[h\] x\[c\]\[h\]      inverse: x\[c\]\[h\] = sum_f F\[f\]\[h\] y\[f\]\[c\], with or without ReLU
//!
//! Rows y have room for whole vectors of channels, [`padded`]: what is behind the channels is written as zero, and changes nothing.
//!
//! Sums are chains of multiply-adds in rising order; since F is orthogonal, each is the backward pass of the other.

use crate::error::{Error, Result, length, positive, rows};
use crate::lanes::{LANES, Lanes, one_by_one, side_by_side};
use crate::simd::{Eight, EightKernel, Level, Simd};

/// The largest group.
const LARGEST: usize = 256;

/// So many channels, and up to a whole vector more.
pub fn padded(channels: usize) -> usize {
    channels.next_multiple_of(LANES)
}

/// A plan of the transform.
///
/// ```
/// use equimarl_kernels::fourier::Fourier;
/// let half = 0.5f32.sqrt();
/// let plan = Fourier::new(2, vec![half, half, half, -half])?;
/// let (mut y, mut x) = ([0.0; 16], [0.0; 4]);
/// plan.forward(2, &[1.0, 1.0, 2.0, 0.0], &mut y)?;
/// assert_eq!((&y[..2], &y[8..10]), (&[2.0 * half; 2][..], &[0.0, 2.0 * half][..]));
/// plan.inverse(2, &y, false, &mut x)?;
/// assert!((x[0] - 1.0).abs() < 1e-6 && x[3].abs() < 1e-6);
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Fourier {
    order: usize,
    /// F, row-major.
    matrix: Vec<f32>,
    /// Its transpose.
    turned: Vec<f32>,
    level: Level,
}

impl Fourier {
    /// From the rows of F.
    ///
    /// # Errors
    /// `order` is zero or more than 256, or there are not its square numbers.
    pub fn new(order: usize, matrix: Vec<f32>) -> Result<Self> {
        Self::with_level(order, matrix, Level::best())
    }

    /// As [`Fourier::new`], with a chosen instruction set.
    ///
    /// # Errors
    /// As [`Fourier::new`].
    pub fn with_level(order: usize, matrix: Vec<f32>, level: Level) -> Result<Self> {
        positive("the order of the group", order)?;
        if order > LARGEST {
            return Err(Error::TooLarge { name: "a group to transform by", limit: LARGEST });
        }
        length("matrix", matrix.len(), order * order)?;
        let turned = (0..order * order).map(|at| matrix[at % order * order + at / order]).collect();
        Ok(Self { order, matrix, turned, level })
    }

    /// Rows x\[c\]\[h\] to rows y\[f\]\[c\].
    ///
    /// # Errors
    /// The slices are not as many whole rows.
    pub fn forward(&self, channels: usize, x: &[f32], out: &mut [f32]) -> Result<()> {
        self.check(channels, x.len(), out.len())?;
        self.level.run_eight(Forward { plan: self, channels, x, out });
        Ok(())
    }

    /// Rows y\[f\]\[c\] to rows x\[c\]\[h\], after a ReLU if `relu`.
    ///
    /// # Errors
    /// The slices are not as many whole rows.
    pub fn inverse(&self, channels: usize, y: &[f32], relu: bool, out: &mut [f32]) -> Result<()> {
        self.check(channels, out.len(), y.len())?;
        self.level.run_eight(Inverse { plan: self, channels, y, relu, out });
        Ok(())
    }

    fn check(&self, channels: usize, x: usize, y: usize) -> Result<()> {
        positive("the number of channels", channels)?;
        let count = rows("rows of channels", x, channels.saturating_mul(self.order))?;
        length("transformed rows", y, count * padded(channels) * self.order)
    }
}

struct Forward<'a> {
    plan: &'a Fourier,
    channels: usize,
    x: &'a [f32],
    out: &'a mut [f32],
}

impl EightKernel for Forward<'_> {
    #[inline(always)]
    unsafe fn run<S: Eight>(self) {
        let (order, channels, all) = (self.plan.order, self.channels, padded(self.channels));
        assert!(S::LANES == LANES && order <= LARGEST && self.plan.turned.len() == order * order);
        let mut piece = [Lanes::default(); LARGEST];
        let rows = self.x.chunks_exact(channels * order).zip(self.out.chunks_exact_mut(all * order));
        for (x, out) in rows {
            for first in (0..channels).step_by(LANES) {
                let count = (channels - first).min(LANES);
                let x = &x[first * order..][..count * order];
                // SAFETY: the caller's promise, passed on.
                unsafe { side_by_side::<S>(x, &mut piece[..order]) };
                let mut f = 0;
                while f < order {
                    // SAFETY: f..f + M are rows of F, and the piece holds all h; a row of y has room for a vector from
                    // `first` on. The CPU has the instructions by the caller's promise.
                    unsafe {
                        let by = self.plan.turned.as_ptr().add(f);
                        let to = (out.as_mut_ptr().add(f * all + first), all);
                        f += mix::<S>(order, order - f, by, (piece.as_ptr().cast(), LANES), to, false);
                    }
                }
            }
        }
    }
}

struct Inverse<'a> {
    plan: &'a Fourier,
    channels: usize,
    y: &'a [f32],
    relu: bool,
    out: &'a mut [f32],
}

impl EightKernel for Inverse<'_> {
    #[inline(always)]
    unsafe fn run<S: Eight>(self) {
        let (order, channels, all) = (self.plan.order, self.channels, padded(self.channels));
        assert!(S::LANES == LANES && order <= LARGEST && self.plan.matrix.len() == order * order);
        let mut piece = [Lanes::default(); LARGEST];
        let rows = self.y.chunks_exact(all * order).zip(self.out.chunks_exact_mut(channels * order));
        for (y, out) in rows {
            for first in (0..channels).step_by(LANES) {
                let count = (channels - first).min(LANES);
                let mut h = 0;
                while h < order {
                    // SAFETY: h..h + M are columns of F, and the piece has room for all h; a row of y holds a vector from
                    // `first` on. The CPU has the instructions by the caller's promise.
                    unsafe {
                        let by = self.plan.matrix.as_ptr().add(h);
                        let to = (piece.as_mut_ptr().add(h).cast(), LANES);
                        h += mix::<S>(order, order - h, by, (y.as_ptr().add(first), all), to, self.relu);
                    }
                }
                let out = &mut out[first * order..][..count * order];
                // SAFETY: the caller's promise, passed on.
                unsafe { one_by_one::<S>(&piece[..order], out) };
            }
        }
    }
}

/// to\[m\] = sum_k by\[k order + m\] from\[k\] for the next few of the `left` m; how many. Vectors come with how far apart they are.
///
/// # Safety
/// The CPU has the instructions of `S`; there are `order` vectors to read and as many numbers in each of as many rows of `by`, of
/// which `left` stand at and after the pointer, and `left` vectors to write.
#[inline(always)]
unsafe fn mix<S: Simd>(
    order: usize,
    left: usize,
    by: *const f32,
    from: (*const f32, usize),
    to: (*mut f32, usize),
    relu: bool,
) -> usize {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        match left {
            8.. => mix_some::<S, 8>(order, by, from, to, relu),
            4.. => mix_some::<S, 4>(order, by, from, to, relu),
            2.. => mix_some::<S, 2>(order, by, from, to, relu),
            _ => mix_some::<S, 1>(order, by, from, to, relu),
        }
    }
}

/// # Safety
/// As [`mix`], with at least M left.
#[inline(always)]
unsafe fn mix_some<S: Simd, const M: usize>(
    order: usize,
    by: *const f32,
    (from, apart): (*const f32, usize),
    (to, stride): (*mut f32, usize),
    relu: bool,
) -> usize {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        let mut sums = [S::splat(0.0); M];
        for k in 0..order {
            let v = S::load(from.add(k * apart));
            for (m, sum) in sums.iter_mut().enumerate() {
                *sum = S::fma(S::splat(*by.add(k * order + m)), v, *sum);
            }
        }
        for (m, &sum) in sums.iter().enumerate() {
            S::store(to.add(m * stride), if relu { S::relu(sum) } else { sum });
        }
        M
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Noise, deviation};

    #[test]
    fn both_ways_follow_the_equation_on_every_level() {
        let mut noise = Noise::new(8);
        for (order, channels, count) in [(8, 23, 5), (4, 32, 2), (16, 8, 1), (5, 3, 4), (1, 9, 2), (3, 1, 1)]
        {
            let matrix = noise.floats(order * order);
            let (all, x) = (padded(channels), noise.floats(count * channels * order));
            let z = noise.floats(count * all * order);
            let (mut there, mut back) = (vec![0.0f64; z.len()], vec![0.0f64; x.len()]);
            for r in 0..count {
                for (c, h, f) in
                    (0..channels * order * order).map(|i| (i / order / order, i / order % order, i % order))
                {
                    let by_channel = (r * channels + c) * order + h;
                    let by_row = (r * order + f) * all + c;
                    let weight = f64::from(matrix[f * order + h]);
                    there[by_row] += weight * f64::from(x[by_channel]);
                    back[by_channel] += weight * f64::from(z[by_row]);
                }
            }
            for level in Level::available() {
                let plan = Fourier::with_level(order, matrix.clone(), level).unwrap();
                let [mut back_again, mut positive] = [(); 2].map(|()| vec![f32::NAN; x.len()]);
                let mut y = vec![f32::NAN; z.len()];
                plan.forward(channels, &x, &mut y).unwrap();
                plan.inverse(channels, &z, false, &mut back_again).unwrap();
                plan.inverse(channels, &z, true, &mut positive).unwrap();
                assert!(deviation(&y, &there) < 1e-5 && deviation(&back_again, &back) < 1e-5);
                assert!(positive.iter().zip(&back_again).all(|(p, x)| *p == x.max(0.0)));
            }
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        assert!(Fourier::new(0, vec![]).is_err());
        assert!(Fourier::new(2, vec![0.0; 3]).is_err());
        assert!(Fourier::new(LARGEST + 1, vec![]).is_err());
        let plan = Fourier::new(2, vec![0.0; 4]).unwrap();
        assert!(plan.forward(1, &[0.0; 3], &mut [0.0; 3]).is_err());
        assert!(plan.forward(0, &[], &mut []).is_err());
        assert!(plan.inverse(1, &[0.0; 2], false, &mut [0.0; 2]).is_err());
        assert!(plan.inverse(1, &[0.0; 16], false, &mut [0.0; 2]).is_ok());
    }
}
