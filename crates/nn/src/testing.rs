//! The two ways in which every layer is tested, and settings for networks.

#[path = "../tests/common/worlds.rs"]
pub(crate) mod worlds;

use crate::config::Interface;
use equimarl_group::Rep;

/// A small deterministic stream of standard normal numbers.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as f64 + 0.5) / f64::from(1u32 << 31) / 2.0
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn normals(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.normal() as f32).collect()
    }
}

/// Compares a layer with `equation`, the same in f64 and straight from its definition: its output `out`, and its gradients
/// of sum(weights * out) with finite differences of the equation. Steps are small enough for f64 and for most to stay on
/// one side of every ReLU; where one does not, both sides differ, and the slope is asked for again with a smaller step.
pub(crate) fn check_gradients<const N: usize>(
    inputs: &[&[f32]; N],
    gradients: &[&[f32]; N],
    equation: impl Fn([&[f64]; N]) -> Vec<f64>,
    (out, weights): (&[f32], &[f32]),
) {
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let mut at: [Vec<f64>; N] = inputs.map(wide);
    let expected = equation(at.each_ref().map(Vec::as_slice));
    let size = expected.iter().fold(1.0f64, |m, y| m.max(y.abs()));
    for (k, (&y, &exact)) in out.iter().zip(&expected).enumerate() {
        assert!((f64::from(y) - exact).abs() < 1e-5 * size, "output {k}: {y} instead of {exact}");
    }
    let loss = |at: &[Vec<f64>; N]| -> f64 {
        let out = equation(at.each_ref().map(Vec::as_slice));
        out.iter().zip(weights).map(|(y, &w)| y * f64::from(w)).sum()
    };
    for n in 0..N {
        let size = gradients[n].iter().fold(1.0f64, |m, g| m.max(f64::from(g.abs())));
        for k in 0..at[n].len() {
            let found = f64::from(gradients[n][k]);
            let slope = |step: f64, at: &mut [Vec<f64>; N]| {
                let here = at[n][k];
                at[n][k] = here + step;
                let up = loss(at);
                at[n][k] = here - step;
                let down = loss(at);
                at[n][k] = here;
                (up - down) / (2.0 * step)
            };
            let close = |slope: f64| (found - slope).abs() < 1e-5 * size;
            let (coarse, fine) = (slope(1e-5, &mut at), slope(1e-8, &mut at));
            assert!(close(coarse) || close(fine), "input {n}, {k}: {found} instead of {coarse} or {fine}");
        }
    }
}

/// f(rho_in(g) x) = rho_out(g) f(x) for a random x and every generator g, to rounding.
pub(crate) fn check_equivariance(input: &Rep, output: &Rep, f: impl Fn(&[f32]) -> Vec<f32>) {
    let turn = |rep: &Rep, g, x: &[f32]| -> Vec<f32> {
        let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        rep.apply(g, &wide).into_iter().map(|y| y as f32).collect()
    };
    let x = Noise::new(11).normals(input.dim());
    for &g in input.group().generators() {
        let (turned, expected) = (f(&turn(input, g, &x)), turn(output, g, &f(&x)));
        let size = expected.iter().fold(1.0f32, |m, y| m.max(y.abs()));
        for (k, (a, b)) in turned.iter().zip(&expected).enumerate() {
            assert!((a - b).abs() < 1e-5 * size, "element {g}, output {k}: {a} instead of {b}");
        }
    }
}
