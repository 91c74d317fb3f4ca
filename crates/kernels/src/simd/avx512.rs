//! Sixteen lanes, thirty-two registers.

use super::{Kernel, Simd};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Avx512;

/// # Safety
/// The CPU must have AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn run<K: Kernel>(kernel: K) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { kernel.run::<Avx512>() }
}

// SAFETY of every block below: the trait's contract is that the CPU has AVX-512F and that the lanes a pointer leads to
// are valid.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Simd for Avx512 {
    const LANES: usize = 16;
    const ROWS: usize = 8;
    type V = __m512;
    type Mask = __mmask16;

    #[inline(always)]
    unsafe fn splat(x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, v: __m512) {
        unsafe { _mm512_storeu_ps(to, v) }
    }

    #[inline(always)]
    unsafe fn first(lanes: usize) -> __mmask16 {
        ((1u32 << lanes.min(16)) - 1) as __mmask16
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, mask: __mmask16) -> __m512 {
        unsafe { _mm512_maskz_loadu_ps(mask, from) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut f32, v: __m512, mask: __mmask16) {
        unsafe { _mm512_mask_storeu_ps(to, mask, v) }
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn relu(v: __m512) -> __m512 {
        // The instruction returns its second operand when either is NaN.
        unsafe { _mm512_max_ps(_mm512_setzero_ps(), v) }
    }

    #[inline(always)]
    unsafe fn keep_greater(best: __m512, at: __m512, v: __m512, index: __m512) -> (__m512, __m512) {
        unsafe {
            let greater = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(v, best);
            (_mm512_mask_blend_ps(greater, best, v), _mm512_mask_blend_ps(greater, at, index))
        }
    }
}
