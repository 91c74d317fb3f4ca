//! Which vector instructions to use, found once at run time.
//!
//! A kernel is written once, generic over [`Simd`], and [`Level::run`] compiles it for every instruction set. Each
//! element of a result is a chain of fused multiply-adds in the order of the sum, whatever the vector width: AVX2 and
//! AVX-512 give the same bits. The portable level rounds products separately unless the target always has FMA.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use crate::error::{Error, Result};
use portable::Portable;
use std::sync::OnceLock;

/// Holds kernels to an instruction set.
const VARIABLE: &str = "EQUIMARL_SIMD";

/// Vectors of `LANES` floats and the operations the kernels need.
///
/// Every method is unsafe because it may only run on a CPU that has the instructions, and, where it takes a pointer,
/// because the lanes it touches must be valid.
pub(crate) trait Simd: Copy {
    /// Floats in a vector.
    const LANES: usize;
    /// Rows of a register tile: with two vectors a row, the accumulators just fill the register file.
    const ROWS: usize;
    /// A vector.
    type V: Copy;
    /// The first few lanes of a vector.
    type Mask: Copy;

    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(to: *mut f32, v: Self::V);
    /// The mask of the first `lanes` lanes (all of them when `lanes >= LANES`).
    unsafe fn first(lanes: usize) -> Self::Mask;
    /// Lanes outside the mask read as zero and touch no memory.
    unsafe fn load_first(from: *const f32, mask: Self::Mask) -> Self::V;
    unsafe fn store_first(to: *mut f32, v: Self::V, mask: Self::Mask);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// a * b + c
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// max(v, 0); NaN stays NaN.
    unsafe fn relu(v: Self::V) -> Self::V;
    /// (v, index) where v > best, (best, at) elsewhere.
    unsafe fn keep_greater(best: Self::V, at: Self::V, v: Self::V, index: Self::V) -> (Self::V, Self::V);
}

/// Vectors of eight floats.
pub(crate) trait Eight: Simd {
    /// Number j of vector i becomes number i of vector j.
    unsafe fn transpose(rows: [Self::V; 8]) -> [Self::V; 8];
}

/// A [`Kernel`] whose layouts have eight lanes; the same bits on every level that has fused multiply-adds.
pub(crate) trait EightKernel {
    /// Does the work. Mark it `#[inline(always)]`, or the instructions of `S` are not available in it.
    ///
    /// # Safety
    /// The CPU must have the instructions of `S`.
    unsafe fn run<S: Eight>(self);
}

/// A piece of work that can be compiled for every instruction set.
pub(crate) trait Kernel {
    /// Does the work. Mark it `#[inline(always)]`, or the instructions of `S` are not available in it.
    ///
    /// # Safety
    /// The CPU must have the instructions of `S`.
    unsafe fn run<S: Simd>(self);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// An instruction set that this CPU has.
///
/// There is no way to name one that it has not, so running a kernel is safe.
///
/// ```
/// use equimarl_kernels::Level;
/// println!("using {}", Level::best());
/// assert!(Level::available().contains(&Level::portable()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Kind);

impl Level {
    /// The level that kernels use (looked up once): the fastest of this CPU, unless the variable `EQUIMARL_SIMD` asks for
    /// another one that it has.
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            let fastest = *Self::available().last().unwrap_or(&Self::portable());
            Self::asked_for().ok().flatten().unwrap_or(fastest)
        })
    }

    /// The level that the variable `EQUIMARL_SIMD` asks for: `portable`, `avx2` or `avx512`. For comparisons between
    /// machines, and for tests.
    ///
    /// # Errors
    /// There is no such level, or this CPU does not have it; [`Level::best`] then takes the fastest.
    pub fn asked_for() -> Result<Option<Self>> {
        match std::env::var_os(VARIABLE).map(|name| name.to_string_lossy().into_owned()) {
            None => Ok(None),
            Some(name) => match Self::available().into_iter().find(|level| level.name() == name) {
                Some(level) => Ok(Some(level)),
                None => Err(Error::Level {
                    asked: name,
                    available: Self::available().iter().map(|l| l.name()).collect::<Vec<_>>().join(", "),
                }),
            },
        }
    }

    /// The name that `EQUIMARL_SIMD` takes.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// Plain Rust, on every CPU.
    pub fn portable() -> Self {
        Self(Kind::Portable)
    }

    /// All levels of this CPU, slowest first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Self::portable()];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                levels.push(Self(Kind::Avx2));
                if is_x86_feature_detected!("avx512f") {
                    levels.push(Self(Kind::Avx512));
                }
            }
        }
        levels
    }

    /// Floats in one vector.
    pub(crate) fn lanes(self) -> usize {
        match self.0 {
            Kind::Portable => Portable::LANES,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::Avx2::LANES,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => avx512::Avx512::LANES,
        }
    }

    /// This level with vectors of at most eight lanes: AVX-512 becomes AVX2.
    pub(crate) fn narrow(self) -> Self {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => Self(Kind::Avx2),
            _ => self,
        }
    }

    /// As [`Level::run`] at the [`Level::narrow`] level, for kernels whose layouts have eight lanes.
    pub(crate) fn run_narrow<K: Kernel>(self, kernel: K) {
        match self.0 {
            // SAFETY: the portable level needs no special instructions.
            Kind::Portable => unsafe { kernel.run::<Portable>() },
            // SAFETY: these levels only exist when the CPU has AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => unsafe { avx2::run(kernel) },
        }
    }

    /// Runs a kernel of eight lanes with this level's instructions, or AVX2's where vectors are wider.
    pub(crate) fn run_eight<K: EightKernel>(self, kernel: K) {
        match self.0 {
            // SAFETY: the portable level needs no special instructions.
            Kind::Portable => unsafe { kernel.run::<Portable>() },
            // SAFETY: these levels only exist when the CPU has AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => unsafe { avx2::run_eight(kernel) },
        }
    }

    /// Runs a kernel with this level's instructions.
    pub(crate) fn run<K: Kernel>(self, kernel: K) {
        match self.0 {
            // SAFETY: the portable level needs no special instructions.
            Kind::Portable => unsafe { kernel.run::<Portable>() },
            // SAFETY: this level only exists when the CPU has AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2::run(kernel) },
            // SAFETY: this level only exists when the CPU has AVX-512F.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { avx512::run(kernel) },
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "AVX2 + FMA",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "AVX-512",
        })
    }
}
