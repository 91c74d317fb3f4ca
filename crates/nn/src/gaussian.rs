//! What an agent does that acts by vectors: a Gaussian with one deviation, squashed along the radius into a ball or a box.
//!
//! A network says of each agent a mean m and the logarithm s of a deviation. With u drawn from N(m, e^2s 1) in d dimensions
//! the agent acts by
//!
//! ```text
//! a = u tanh(r)/r,  r = |u|, or the largest |u_k| for a box
//! log p(u) = - |u - m|^2 / (2 e^2s) - d s - (d/2) ln 2 pi
//! log p(a) = log p(u) - ln(1 - tanh(r)^2) - (d - 1) ln(tanh(r)/r)
//! H(u)     = (d/2)(1 + ln 2 pi) + d s                              before the squash
//! d log p(u) / d m = (u - m) / e^2s,   d log p(u) / d s = |u - m|^2 / e^2s - d
//! ```
//!
//! If m turns with the world and s does not change, the whole distribution turns: by every angle in a ball, and by quarter turns
//! and mirrors in a box. A deviation or a tanh per axis would break that off the axes. The determinant of the squash depends on u
//! alone, so it cancels in ratios of probabilities: learners keep u.

use serde::{Deserialize, Serialize};
use std::f32::consts::TAU;

/// Deviations are between e^-4 and e^1: beyond, there is nothing to learn from.
const LOGS: (f32, f32) = (-4.0, 1.0);

/// Into what vectors are squashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Squash {
    /// The unit ball, which every turn maps to itself.
    Ball,
    /// The box of numbers from -1 to 1.
    Box,
}

impl Squash {
    /// What the squash brings below 1.
    fn radius(self, u: impl Iterator<Item = f64>) -> f64 {
        match self {
            Squash::Ball => u.map(|x| x * x).sum::<f64>().sqrt(),
            // Written so that what is not a number stays one.
            Squash::Box => u.fold(0.0, |m: f64, x| if m.is_nan() || x.abs() <= m { m } else { x.abs() }),
        }
    }

    /// u tanh(r)/r.
    pub fn apply(self, u: &[f32], out: &mut [f64]) {
        let wide = |x: &f32| f64::from(*x);
        let r = self.radius(u.iter().map(wide));
        let scale = if r == 0.0 { 1.0 } else { r.tanh() / r };
        out.iter_mut().zip(u).for_each(|(a, u)| *a = wide(u) * scale);
    }
}

/// The distribution of one agent's vector before the squash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian<'a> {
    /// The mean.
    pub mean: &'a [f32],
    /// The logarithm of the deviation.
    pub log_deviation: f32,
    /// Whether the network said a logarithm that was cut.
    cut: bool,
}

impl<'a> Gaussian<'a> {
    /// From a row of what a network said: the mean, then the logarithm of the deviation.
    pub fn of(row: &'a [f32]) -> Gaussian<'a> {
        let (&said, mean) = row.split_last().unwrap_or((&0.0, &[]));
        // What is not a number stays one.
        let log_deviation = said.clamp(LOGS.0, LOGS.1);
        Gaussian { mean, log_deviation, cut: log_deviation != said }
    }

    /// The deviation.
    pub fn deviation(&self) -> f32 {
        self.log_deviation.exp()
    }

    /// The squared distance of u from the mean, in deviations.
    fn distance(&self, u: &[f32]) -> f32 {
        let squared: f32 = u.iter().zip(self.mean).map(|(u, m)| (u - m) * (u - m)).sum();
        squared / (2.0 * self.log_deviation).exp()
    }

    /// The logarithm of the density of u, before the squash.
    pub fn log_density(&self, u: &[f32]) -> f32 {
        let d = self.mean.len() as f32;
        -0.5 * self.distance(u) - d * self.log_deviation - 0.5 * d * TAU.ln()
    }

    /// The logarithm of the density of what u is squashed to.
    pub fn log_density_squashed(&self, squash: Squash, u: &[f32]) -> f32 {
        let r = squash.radius(u.iter().map(|x| f64::from(*x))) as f32;
        // ln(1 - tanh^2 r) without cancellation.
        let along = 2.0 * (std::f32::consts::LN_2 - r - (-2.0 * r).exp().ln_1p());
        let across = if r > 0.0 { (r.tanh() / r).ln() } else { 0.0 };
        self.log_density(u) - along - (self.mean.len() as f32 - 1.0) * across
    }

    /// The entropy before the squash.
    pub fn entropy(&self) -> f32 {
        let d = self.mean.len() as f32;
        0.5 * d * (1.0 + TAU.ln()) + d * self.log_deviation
    }

    /// Writes the gradient of `density` log p(u) + `entropy` H with respect to the row.
    pub fn gradient(&self, u: &[f32], density: f32, entropy: f32, row: &mut [f32]) {
        let (d, variance) = (self.mean.len(), (2.0 * self.log_deviation).exp());
        for (k, out) in row[..d].iter_mut().enumerate() {
            *out = density * (u[k] - self.mean[k]) / variance;
        }
        let d = d as f32;
        let slope = density * (self.distance(u) - d) + entropy * d;
        if let Some(last) = row.last_mut() {
            *last = if self.cut { 0.0 } else { slope };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Noise, check_gradients};

    /// The same in f64, straight from the definition: density, entropy.
    fn oracle(row: &[f64], u: &[f64]) -> [f64; 2] {
        let (s, m) = row.split_last().unwrap();
        let d = m.len() as f64;
        let squared: f64 = u.iter().zip(m).map(|(u, m)| (u - m).powi(2)).sum();
        let ln_tau = std::f64::consts::TAU.ln();
        [-squared / (2.0 * (2.0 * s).exp()) - d * s - d / 2.0 * ln_tau, d / 2.0 * (1.0 + ln_tau) + d * s]
    }

    #[test]
    fn gradients_are_those_of_the_density_and_the_entropy() {
        let mut noise = Noise::new(3);
        for d in [1, 2, 3] {
            let (row, u) = (noise.normals(d + 1), noise.normals(d));
            let row = [&row[..d], &[0.5 * row[d]]].concat();
            let gaussian = Gaussian::of(&row);
            let weights = [0.7, -1.3];
            let mut gradient = vec![0.0; d + 1];
            gaussian.gradient(&u, weights[0], weights[1], &mut gradient);
            let wide: Vec<f64> = u.iter().map(|&x| f64::from(x)).collect();
            let out = [gaussian.log_density(&u), gaussian.entropy()];
            check_gradients(&[&row], &[&gradient], |[row]| oracle(row, &wide).to_vec(), (&out, &weights));
        }
    }

    #[test]
    fn the_density_in_the_disc_integrates_to_one() {
        // Only this tests the determinant, which cancels in ratios. A polar grid of a = (cos t, sin t) rho, and u = artanh(rho)
        // along it.
        for row in [[0.0, 0.0, 0.0], [0.8, -0.5, -0.7], [-0.2, 1.1, 0.4]] {
            let gaussian = Gaussian::of(&row);
            let (rings, spokes) = (4000, 400);
            let mut total = 0.0f64;
            for i in 0..rings {
                let rho = (f64::from(i) + 0.5) / f64::from(rings);
                let r = rho.atanh();
                for k in 0..spokes {
                    let way = std::f64::consts::TAU * f64::from(k) / f64::from(spokes);
                    let u = [r * way.cos(), r * way.sin()].map(|x| x as f32);
                    total += f64::from(gaussian.log_density_squashed(Squash::Ball, &u)).exp() * rho;
                }
            }
            total *= std::f64::consts::TAU / f64::from(spokes) / f64::from(rings);
            assert!((total - 1.0).abs() < 2e-3, "{row:?}: {total}");
        }
    }

    #[test]
    fn the_density_in_the_box_integrates_to_one() {
        for row in [[0.0, 0.0, 0.0], [0.8, -0.5, -0.7], [-0.2, 1.1, 0.4]] {
            let (gaussian, steps) = (Gaussian::of(&row), 1500);
            let mut total = 0.0f64;
            for (i, k) in (0..steps).flat_map(|i| (0..steps).map(move |k| (i, k))) {
                let a = [i, k].map(|x| 2.0 * (f64::from(x) + 0.5) / f64::from(steps) - 1.0);
                let rho = a[0].abs().max(a[1].abs());
                let u = a.map(|x| (x * rho.atanh() / rho) as f32);
                total += f64::from(gaussian.log_density_squashed(Squash::Box, &u)).exp();
            }
            total *= 4.0 / f64::from(steps) / f64::from(steps);
            assert!((total - 1.0).abs() < 5e-3, "{row:?}: {total}");
        }
    }

    #[test]
    fn the_squash_stays_inside_and_turns() {
        let mut a = [0.0; 2];
        for squash in [Squash::Ball, Squash::Box] {
            for u in [[0.0, 0.0], [1e-30, 0.0], [0.3, -0.4], [30.0, 40.0]] {
                squash.apply(&u, &mut a);
                assert!(
                    squash.radius(a.into_iter()) <= 1.0 && a.iter().all(|x| x.is_finite()),
                    "{u:?}: {a:?}"
                );
                let mut turned = [0.0; 2];
                squash.apply(&[-u[1], u[0]], &mut turned);
                assert_eq!(turned, [-a[1], a[0]]);
            }
            squash.apply(&[f32::NAN, 1.0], &mut a);
            assert!(a[0].is_nan());
        }
        // Along the diagonal, a box is longer.
        Squash::Box.apply(&[30.0, 30.0], &mut a);
        assert_eq!(a, [1.0, 1.0]);
    }

    #[test]
    fn deviations_that_are_cut_have_no_slope_and_bad_numbers_show() {
        let mut gradient = [1.0; 3];
        Gaussian::of(&[0.0, 0.0, 9.0]).gradient(&[1.0, 1.0], 1.0, 1.0, &mut gradient);
        assert_eq!(gradient[2], 0.0);
        assert!(Gaussian::of(&[0.0, 0.0, f32::NAN]).log_density(&[0.0, 0.0]).is_nan());
        assert!(Gaussian::of(&[f32::NAN, 0.0, 0.0]).log_density(&[0.0, 0.0]).is_nan());
    }
}
