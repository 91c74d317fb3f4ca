//! The orbit basis: for (signed) permutation representations, one coefficient per orbit of entries.
//!
//! W = T(g) W says W\[e\] = sign W\[source\]: entries of one orbit are equal up to sign. If a way around the orbit comes
//! back with the sign flipped, the entries are zero.

use super::action::Action;

/// Marks an entry that every equivariant map has zero.
pub const ZERO: u32 = u32::MAX;

/// W\[e\] = coefficients\[index\[e\]\] scale\[e\]; zero where the index is [`ZERO`].
#[derive(Clone, Debug, PartialEq)]
pub struct OrbitBasis {
    /// The coefficient of each entry.
    pub index: Vec<u32>,
    /// Its factor: plus or minus 1 / sqrt(size of the orbit), so that the basis is orthonormal.
    pub scale: Vec<f64>,
    /// The number of coefficients.
    pub rank: usize,
}

pub(super) fn solve(action: &Action) -> OrbitBasis {
    let size = action.size();
    let mut index = vec![ZERO; size];
    let mut scale = vec![0.0; size];
    let mut seen = vec![false; size];
    let mut rank = 0;
    let mut orbit: Vec<(usize, i8)> = Vec::new();
    let mut sign_of = vec![0i8; size];
    for start in 0..size {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        sign_of[start] = 1;
        orbit.clear();
        orbit.push((start, 1));
        let (mut next, mut alive) = (0, true);
        while next < orbit.len() {
            let (e, sign) = orbit[next];
            next += 1;
            for &g in action.group.generators() {
                let (from, flip) = action.source(g, e);
                if !seen[from] {
                    seen[from] = true;
                    sign_of[from] = sign * flip;
                    orbit.push((from, sign * flip));
                } else if sign_of[from] != sign * flip {
                    alive = false;
                }
            }
        }
        if alive {
            let length = 1.0 / (orbit.len() as f64).sqrt();
            for &(e, sign) in &orbit {
                index[e] = rank as u32;
                scale[e] = f64::from(sign) * length;
            }
            rank += 1;
        }
    }
    OrbitBasis { index, scale, rank }
}

impl OrbitBasis {
    /// The largest entry of T(g) W - W over basis elements W and group elements g.
    pub(super) fn residual(&self, action: &Action) -> f64 {
        let mut worst = 0.0f64;
        for g in action.group.elements() {
            for e in 0..self.index.len() {
                let (from, flip) = action.source(g, e);
                let moved = f64::from(flip) * self.scale[from];
                worst = worst.max(if self.index[e] == self.index[from] {
                    (self.scale[e] - moved).abs()
                } else {
                    self.scale[e].abs().max(moved.abs())
                });
            }
        }
        worst
    }
}
