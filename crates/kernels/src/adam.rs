//! Adam and clipping by the global norm.
//!
//! m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
//! p = p - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
//!
//! as in PyTorch. Step numbers t start at 1.
//!
//! A parameter without gradients (of a pixel that is never lit) has moments that shrink until f32 has no normal number for them. There
//! 0.9 m rounds to m again, for ever, and many CPUs take over a hundred cycles for a product of such numbers. So tiny moments are zero:
//! what they would change is far below the last bit of a parameter.

use crate::error::{Result, length};
use crate::simd::{Kernel, Level, Simd};

/// Below this m is zero: with the usual epsilon a step of it is below 1e-22 of the rate.
const TINY_MEAN: f32 = 1e-30;
/// Below this v is zero: its root is far below the last bit of epsilon, which is added to it.
const TINY_SQUARE: f32 = 1e-36;

/// Constants of Adam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of squares.
    pub beta2: f64,
    /// Keeps the step finite where gradients vanish.
    pub epsilon: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl Adam {
    /// One step on one parameter slice, in place; `step` is 1 at the first call.
    ///
    /// ```
    /// use equimarl_kernels::adam::Adam;
    /// let (mut p, mut m, mut v) = ([1.0], [0.0], [0.0]);
    /// Adam::default().step(1, 0.1, &[5.0], &mut p, &mut m, &mut v)?;
    /// assert!((p[0] - 0.9f32).abs() < 1e-6); // the first step has the size of the rate
    /// # Ok::<(), equimarl_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    /// The slices differ in length.
    pub fn step(
        &self,
        step: u64,
        rate: f64,
        gradient: &[f32],
        parameter: &mut [f32],
        m: &mut [f32],
        v: &mut [f32],
    ) -> Result<()> {
        length("gradient", gradient.len(), parameter.len())?;
        length("m", m.len(), parameter.len())?;
        length("v", v.len(), parameter.len())?;
        // A step number beyond i32 has long left powers of the betas at zero.
        let power = i32::try_from(step.max(1)).unwrap_or(i32::MAX);
        Level::best().run(Step {
            beta1: self.beta1 as f32,
            beta2: self.beta2 as f32,
            rest1: (1.0 - self.beta1) as f32,
            rest2: (1.0 - self.beta2) as f32,
            size: (rate / (1.0 - self.beta1.powi(power))) as f32,
            correction: (1.0 / (1.0 - self.beta2.powi(power))).sqrt() as f32,
            epsilon: self.epsilon as f32,
            gradient,
            parameter,
            m,
            v,
        });
        Ok(())
    }
}

/// The loop of one step; a kernel only to get wider vectors, as every operation in it rounds the same everywhere.
struct Step<'a> {
    beta1: f32,
    beta2: f32,
    rest1: f32,
    rest2: f32,
    size: f32,
    correction: f32,
    epsilon: f32,
    gradient: &'a [f32],
    parameter: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
}

impl Kernel for Step<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let moments = self.m.iter_mut().zip(self.v);
        for ((p, &g), (m, v)) in self.parameter.iter_mut().zip(self.gradient).zip(moments) {
            *m = zero_below(TINY_MEAN, self.beta1 * *m + self.rest1 * g);
            *v = zero_below(TINY_SQUARE, self.beta2 * *v + self.rest2 * g * g);
            *p -= self.size * *m / (v.sqrt() * self.correction + self.epsilon);
        }
    }
}

/// x, or zero if it is smaller than the limit. What is not a number stays so.
#[inline(always)]
fn zero_below(limit: f32, x: f32) -> f32 {
    if x.abs() < limit { 0.0 } else { x }
}

/// The Euclidean norm of all slices together, summed in f64 in an order fixed by the lengths.
pub fn global_norm<'a>(slices: impl IntoIterator<Item = &'a [f32]>) -> f64 {
    let mut total = 0.0;
    for slice in slices {
        // Eight sums side by side, because one would wait for each addition.
        let mut sums = [0.0f64; 8];
        let blocks = slice.chunks_exact(8);
        let rest = blocks.remainder();
        for block in blocks {
            for (sum, &x) in sums.iter_mut().zip(block) {
                *sum += f64::from(x) * f64::from(x);
            }
        }
        for (sum, &x) in sums.iter_mut().zip(rest) {
            *sum += f64::from(x) * f64::from(x);
        }
        total += sums.iter().sum::<f64>();
    }
    total.sqrt()
}

/// Scales all slices by min(1, limit / (norm + 1e-6)), as PyTorch does, and returns the norm before clipping.
///
/// Gradients with a norm that is not finite are left alone: check the returned norm before you take the step.
pub fn clip_global_norm(slices: &mut [&mut [f32]], limit: f64) -> f64 {
    let norm = global_norm(slices.iter().map(|slice| &**slice));
    let factor = limit / (norm + 1e-6);
    if norm.is_finite() && factor < 1.0 {
        for slice in slices {
            for x in slice.iter_mut() {
                *x *= factor as f32;
            }
        }
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    /// The textbook in f64.
    fn oracle(t: i32, rate: f64, g: f64, p: &mut f64, m: &mut f64, v: &mut f64) {
        *m = 0.9 * *m + 0.1 * g;
        *v = 0.999 * *v + 0.001 * g * g;
        let (mean, square) = (*m / (1.0 - 0.9f64.powi(t)), *v / (1.0 - 0.999f64.powi(t)));
        *p -= rate * mean / (square.sqrt() + 1e-8);
    }

    #[test]
    fn follows_the_textbook_for_many_steps() {
        let mut noise = Noise::new(1);
        let len = 37;
        let mut p = noise.floats(len);
        let mut wide: Vec<[f64; 3]> = p.iter().map(|&p| [f64::from(p), 0.0, 0.0]).collect();
        let (mut m, mut v) = (vec![0.0; len], vec![0.0; len]);
        for t in 1..=50 {
            let g = noise.floats(len);
            Adam::default().step(t, 0.01, &g, &mut p, &mut m, &mut v).unwrap();
            for (wide, &g) in wide.iter_mut().zip(&g) {
                let [p, m, v] = wide;
                oracle(t as i32, 0.01, f64::from(g), p, m, v);
            }
        }
        for (&p, wide) in p.iter().zip(&wide) {
            assert!((f64::from(p) - wide[0]).abs() < 1e-5, "{p} {}", wide[0]);
        }
    }

    /// The loop of a step as it would be without zeros for what is tiny.
    fn unrounded(t: i32, g: &[f32], p: &mut [f32], m: &mut [f32], v: &mut [f32]) {
        let size = (0.003 / (1.0 - 0.9f64.powi(t))) as f32;
        let correction = (1.0 / (1.0 - 0.999f64.powi(t))).sqrt() as f32;
        for (((p, &g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
            *m = 0.9 * *m + (1.0 - 0.9f64) as f32 * g;
            *v = 0.999 * *v + (1.0 - 0.999f64) as f32 * g * g;
            *p -= size * *m / (v.sqrt() * correction + 1e-8);
        }
    }

    #[test]
    fn tiny_moments_are_zero_and_change_no_bit_of_a_parameter() {
        let mut noise = Noise::new(3);
        let len = 48;
        let mut p = noise.floats(len);
        let (mut m, mut v) = (vec![0.0; len], vec![0.0; len]);
        let (mut p2, mut m2, mut v2) = (p.clone(), m.clone(), v.clone());
        // Gradients of all sizes; then a third has none any more.
        for t in 1..=90_000 {
            let mut g = noise.floats(len);
            for (i, g) in g.iter_mut().enumerate() {
                *g *= 10f32.powi(-((i % 12) as i32));
                if i % 3 == 0 && t > 20 {
                    *g = 0.0;
                }
            }
            Adam::default().step(t, 0.003, &g, &mut p, &mut m, &mut v).unwrap();
            unrounded(t as i32, &g, &mut p2, &mut m2, &mut v2);
        }
        assert_eq!(p, p2);
        assert!(m2.iter().chain(&v2).any(|x| x.is_subnormal()), "the test shows nothing");
        assert!(!m.iter().chain(&v).any(|x| x.is_subnormal()));
    }

    #[test]
    fn norm_and_clipping() {
        let (mut a, mut b) = ([3.0f32], [0.0f32, 4.0]);
        let norm = clip_global_norm(&mut [&mut a, &mut b], 1.0);
        assert_eq!(norm, 5.0);
        assert!((a[0] - 0.6).abs() < 1e-6 && (b[1] - 0.8).abs() < 1e-6);
        let before = (a, b);
        assert!(clip_global_norm(&mut [&mut a, &mut b], 2.0) < 1.0);
        assert_eq!((a, b), before);
        let mut bad = [f32::NAN, 7.0];
        assert!(clip_global_norm(&mut [&mut bad], 1.0).is_nan());
        assert_eq!(bad[1], 7.0);
    }

    #[test]
    fn norm_is_the_plain_sum_of_squares() {
        let x = Noise::new(2).floats(1003);
        let plain: f64 = x.iter().map(|&x| f64::from(x).powi(2)).sum();
        let norm = global_norm([&x[..500], &x[500..]]);
        assert!((norm - plain.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn lengths_are_checked() {
        let mut short = [0.0; 1];
        let (mut p, mut m) = ([0.0; 2], [0.0; 2]);
        let result = Adam::default().step(1, 0.1, &[0.0; 2], &mut p, &mut m, &mut short);
        assert!(result.is_err());
    }
}
