//! Eight lanes, sixteen registers.

use super::{Eight, EightKernel, Kernel, Simd};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// # Safety
/// The CPU must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run<K: Kernel>(kernel: K) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { kernel.run::<Avx2>() }
}

/// # Safety
/// The CPU must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run_eight<K: EightKernel>(kernel: K) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { kernel.run::<Avx2>() }
}

impl Eight for Avx2 {
    #[inline(always)]
    unsafe fn transpose(r: [__m256; 8]) -> [__m256; 8] {
        // SAFETY: the trait's contract is that the CPU has AVX2.
        unsafe {
            // Pairs, then fours within each half, then halves.
            let lo = |i: usize| _mm256_unpacklo_ps(r[i], r[i + 1]);
            let hi = |i: usize| _mm256_unpackhi_ps(r[i], r[i + 1]);
            let four =
                |a: __m256, b: __m256| [_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b)];
            let [a0, a1] = four(lo(0), lo(2));
            let [a2, a3] = four(hi(0), hi(2));
            let [b0, b1] = four(lo(4), lo(6));
            let [b2, b3] = four(hi(4), hi(6));
            let (a, b) = ([a0, a1, a2, a3], [b0, b1, b2, b3]);
            let low = |i: usize| _mm256_permute2f128_ps::<0x20>(a[i], b[i]);
            let high = |i: usize| _mm256_permute2f128_ps::<0x31>(a[i], b[i]);
            [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)]
        }
    }
}

// SAFETY of every block below: the trait's contract is that the CPU has AVX2 and FMA and that the lanes a pointer
// leads to are valid.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Simd for Avx2 {
    const LANES: usize = 8;
    const ROWS: usize = 6;
    type V = __m256;
    type Mask = __m256i;

    #[inline(always)]
    unsafe fn splat(x: f32) -> __m256 {
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, v: __m256) {
        unsafe { _mm256_storeu_ps(to, v) }
    }

    #[inline(always)]
    unsafe fn first(lanes: usize) -> __m256i {
        unsafe {
            let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes.min(8) as i32), lane)
        }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, mask: __m256i) -> __m256 {
        unsafe { _mm256_maskload_ps(from, mask) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut f32, v: __m256, mask: __m256i) {
        unsafe { _mm256_maskstore_ps(to, mask, v) }
    }

    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn relu(v: __m256) -> __m256 {
        // The instruction returns its second operand when either is NaN.
        unsafe { _mm256_max_ps(_mm256_setzero_ps(), v) }
    }

    #[inline(always)]
    unsafe fn keep_greater(best: __m256, at: __m256, v: __m256, index: __m256) -> (__m256, __m256) {
        unsafe {
            let greater = _mm256_cmp_ps::<_CMP_GT_OQ>(v, best);
            (_mm256_blendv_ps(best, v, greater), _mm256_blendv_ps(at, index, greater))
        }
    }
}
