//! Dense bases, for representations that are not permutations: the projector's range, and the paper's Symmetrizer.

use super::action::Action;
use super::svd::right_svd;
use crate::error::{Error, Result};
use nalgebra::DMatrix;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The largest pair of summands that dense methods solve, in entries: the projector has this many rows and columns.
pub const MAX_DENSE: usize = 1024;

/// A basis vector is kept while what is left of it is longer than this; the next is rounding error near 1e-15.
const KEEP: f64 = 1e-8;

/// An orthonormal basis, one flattened weight per row.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseBasis {
    /// rank x entries.
    pub rows: DMatrix<f64>,
}

pub(super) fn check_size(action: &Action) -> Result<()> {
    if action.size() > MAX_DENSE {
        return Err(Error::TooLarge {
            what: format!(
                "a map from `{}` to `{}` is not between signed permutations, so its basis is solved densely, and it",
                action.input.name(),
                action.output.name()
            ),
            size: format!("{} entries", action.size()),
            limit: MAX_DENSE,
        });
    }
    Ok(())
}

/// The range of P = 1/|G| sum_g T(g), orthonormalised by pivoted Gram-Schmidt: no random numbers, and the rank is
/// known from the characters, so a wrong one is an error and not a threshold.
pub(super) fn projector(action: &Action) -> Result<DenseBasis> {
    check_size(action)?;
    let projector = action.projector();
    let wanted = action.rank_by_characters();
    let mut columns = projector.clone();
    let mut basis: Vec<nalgebra::DVector<f64>> = Vec::new();
    while basis.len() <= wanted {
        let lengths = columns.column_iter().map(|c| c.norm_squared());
        let longest =
            lengths.enumerate().fold((0, 0.0), |best, (i, n)| if n > best.1 { (i, n) } else { best });
        if longest.1.sqrt() < KEEP {
            break;
        }
        // Projecting once more removes what rounding added outside the space.
        let mut v = &projector * columns.column(longest.0);
        for _ in 0..2 {
            for b in &basis {
                let along = b.dot(&v);
                v.axpy(-along, b, 1.0);
            }
        }
        v.normalize_mut();
        let along = columns.tr_mul(&v);
        columns.ger(-1.0, &v, &along, 1.0);
        basis.push(v);
    }
    if basis.len() != wanted {
        return Err(Error::Unsuitable(format!(
            "maps from `{}` to `{}` should have rank {wanted} by their characters, but the projector has rank {}; \
             the matrices are too inexact",
            action.input.name(),
            action.output.name(),
            basis.len()
        )));
    }
    Ok(rows_of(action.size(), basis.len(), |r, e| basis[r][e]))
}

/// The Symmetrizer (van der Pol et al. 2020): symmetrise random weights, keep the right singular vectors with
/// non-zero singular value. It does not know the rank: it samples until new samples add nothing.
pub(super) fn symmetrizer(action: &Action, seed: u64) -> Result<DenseBasis> {
    check_size(action)?;
    let size = action.size();
    let projector = action.projector();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut samples = 16.min(size + 1);
    loop {
        let uniform =
            DMatrix::from_fn(size, samples, |_, _| f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5);
        let symmetric = (&projector * uniform).transpose();
        let (values, vectors) = right_svd(&symmetric);
        // Samples have entries near 1, so an absolute floor tells "no invariant at all" from a small one.
        let floor = KEEP * values[0].max(1.0);
        let rank = values.iter().filter(|&&v| v > floor).count();
        // With more samples than rank, the rank cannot have been cut off by too few samples.
        if rank < samples || samples > size {
            return Ok(rows_of(size, rank, |r, e| vectors[(r, e)]));
        }
        samples = (samples * 2).min(size + 1);
    }
}

fn rows_of(size: usize, rank: usize, at: impl Fn(usize, usize) -> f64) -> DenseBasis {
    DenseBasis { rows: DMatrix::from_fn(rank, size, at) }
}

impl DenseBasis {
    /// The largest entry of T(g) W - W over basis elements W and group elements g.
    pub(super) fn residual(&self, action: &Action) -> f64 {
        let mut worst = 0.0f64;
        for row in self.rows.row_iter() {
            let w: Vec<f64> = row.iter().copied().collect();
            for g in action.group.elements() {
                let moved = action.apply(g, &w);
                worst = moved.iter().zip(&w).fold(worst, |m, (a, b)| m.max((a - b).abs()));
            }
        }
        worst
    }
}

/// The largest principal angle between the row spaces of two orthonormal bases, in radians. It is computed from the
/// sine, because near zero the cosine cannot tell 1e-8 from 0. Spaces of different dimension are a right angle apart.
pub fn principal_angle(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    if a.shape() != b.shape() {
        return std::f64::consts::FRAC_PI_2;
    }
    if a.nrows() == 0 {
        return 0.0;
    }
    let outside = b - (b * a.transpose()) * a;
    right_svd(&outside).0[0].min(1.0).asin()
}
