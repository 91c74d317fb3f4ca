//! How fast a core multiplies and adds when nothing else is in the way: what kernels are measured against.

use crate::simd::{Kernel, Level, Simd};
use std::time::Instant;

/// Independent chains: enough to keep two units busy whose results take four or five cycles.
const CHAINS: usize = 12;

/// Multiply-adds per second of one core at this level, from registers only: the best of a few short measurements.
pub fn multiply_adds_per_second(level: Level) -> f64 {
    const ROUNDS: usize = 200_000;
    let mut out = [0.0; 16];
    let mut once = || {
        let start = Instant::now();
        level.run(Chains { rounds: ROUNDS, out: &mut out });
        (ROUNDS * CHAINS * level.lanes()) as f64 / start.elapsed().as_secs_f64()
    };
    let best = (0..20).map(|_| once()).fold(0.0, f64::max);
    std::hint::black_box(out);
    best
}

struct Chains<'a> {
    rounds: usize,
    out: &'a mut [f32; 16],
}

impl Kernel for Chains<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        assert!(S::LANES <= self.out.len());
        // SAFETY: the CPU has the instructions by the caller's promise, and the vector fits.
        unsafe {
            // Different and unknown, so that no two chains are one.
            let mut chains = [S::splat(0.5); CHAINS];
            for (i, x) in chains.iter_mut().enumerate() {
                *x = S::splat(std::hint::black_box(i as f32));
            }
            let (a, b) = (S::splat(0.999), S::splat(0.001));
            for _ in 0..self.rounds {
                for x in &mut chains {
                    *x = S::fma(*x, a, b);
                }
            }
            let mut sum = S::splat(0.0);
            for x in chains {
                sum = S::fma(x, a, sum);
            }
            S::store(self.out.as_mut_ptr(), sum);
        }
    }
}
