//! Numbers for tests.

/// A small deterministic stream of numbers.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }

    /// Between -1 and 1.
    pub(crate) fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| (self.next() >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
    }

    /// Whole numbers from -size to size: sums and products of few of them are exact in f32, so kernels must agree with
    /// their oracles exactly, ties included.
    pub(crate) fn whole(&mut self, len: usize, size: usize) -> Vec<f32> {
        (0..len).map(|_| self.below(2 * size + 1) as f32 - size as f32).collect()
    }
}

/// Runs `work` in a pool of so many threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Largest difference, relative to the largest expected value (at least one).
pub(crate) fn deviation(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    // `max` below would pass over what is not a number: a float that was never written, for example.
    assert!(found.iter().all(|x| x.is_finite()), "not all of what was found is finite");
    let size = expected.iter().fold(1.0f64, |a, b| a.max(b.abs()));
    let differences = found.iter().zip(expected);
    differences.fold(0.0, |worst: f64, (a, b)| worst.max((f64::from(*a) - b).abs())) / size
}
