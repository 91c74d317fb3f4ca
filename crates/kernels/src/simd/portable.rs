//! Vectors as arrays, for any CPU; the compiler turns them into what the target always has.

use super::{Eight, Simd};

#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// Fused where the target always fuses in hardware; elsewhere `mul_add` would be a slow library call.
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

impl Eight for Portable {
    #[inline(always)]
    unsafe fn transpose(rows: [[f32; 8]; 8]) -> [[f32; 8]; 8] {
        std::array::from_fn(|j| std::array::from_fn(|i| rows[i][j]))
    }
}

impl Simd for Portable {
    const LANES: usize = 8;
    const ROWS: usize = 2;
    type V = [f32; 8];
    type Mask = usize;

    #[inline(always)]
    unsafe fn splat(x: f32) -> [f32; 8] {
        [x; 8]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> [f32; 8] {
        // SAFETY: the caller vouches for eight readable floats; an array of floats needs no more than their alignment.
        unsafe { *from.cast() }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, v: [f32; 8]) {
        // SAFETY: as in `load`, for writing.
        unsafe { *to.cast() = v }
    }

    #[inline(always)]
    unsafe fn first(lanes: usize) -> usize {
        lanes.min(8)
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, mask: usize) -> [f32; 8] {
        if mask == 8 {
            // SAFETY: all eight lanes are in the mask, so all are readable.
            return unsafe { Self::load(from) };
        }
        // SAFETY: lanes in the mask are readable, and only those are read.
        std::array::from_fn(|i| if i < mask { unsafe { *from.add(i) } } else { 0.0 })
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut f32, v: [f32; 8], mask: usize) {
        if mask == 8 {
            // SAFETY: all eight lanes are in the mask, so all are writable.
            return unsafe { Self::store(to, v) };
        }
        for (i, x) in v.into_iter().enumerate().take(mask) {
            // SAFETY: lanes in the mask are writable, and only those are written.
            unsafe { *to.add(i) = x };
        }
    }

    #[inline(always)]
    unsafe fn add(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    unsafe fn fma(a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| multiply_add(a[i], b[i], c[i]))
    }

    #[inline(always)]
    unsafe fn relu(v: [f32; 8]) -> [f32; 8] {
        v.map(|x| if x < 0.0 { 0.0 } else { x })
    }

    #[inline(always)]
    unsafe fn keep_greater(
        best: [f32; 8],
        at: [f32; 8],
        v: [f32; 8],
        index: [f32; 8],
    ) -> ([f32; 8], [f32; 8]) {
        (
            std::array::from_fn(|i| if v[i] > best[i] { v[i] } else { best[i] }),
            std::array::from_fn(|i| if v[i] > best[i] { index[i] } else { at[i] }),
        )
    }
}
