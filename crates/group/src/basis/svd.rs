//! Singular values and right singular vectors by one-sided Jacobi rotations.
//!
//! nalgebra's own decomposition gives wrong values and vectors for rank-deficient matrices (its issue 1172, seen here
//! as bases that were 1% off), and rank-deficient is what we have. Jacobi is slower and exact to rounding.

use nalgebra::DMatrix;

/// Rows are turned until their cosine is below this.
const ORTHOGONAL: f64 = 1e-15;
const MAX_SWEEPS: usize = 60;

/// The singular values of `matrix`, largest first, and the right singular vectors as rows (zero rows where the value
/// is zero).
pub(super) fn right_svd(matrix: &DMatrix<f64>) -> (Vec<f64>, DMatrix<f64>) {
    // A = U S V^T: turning rows against each other multiplies from the left by an orthogonal matrix, which keeps S and
    // V. When all rows are orthogonal they are S V^T. Rows are kept as columns of the transpose, to be contiguous.
    let mut rows = matrix.transpose();
    let width = rows.nrows();
    for _ in 0..MAX_SWEEPS {
        // Norms are updated by each turn; starting each sweep from exact ones keeps rounding from piling up.
        let mut squares: Vec<f64> = rows.column_iter().map(|c| c.norm_squared()).collect();
        let mut turned = false;
        for p in 0..rows.ncols() {
            let (head, tail) = rows.as_mut_slice().split_at_mut((p + 1) * width);
            let a = &mut head[p * width..];
            for (i, b) in tail.chunks_exact_mut(width).enumerate() {
                let q = p + 1 + i;
                if let Some(along) = orthogonalise(a, b, squares[p], squares[q]) {
                    squares[p] -= along;
                    squares[q] += along;
                    turned = true;
                }
            }
        }
        if !turned {
            break;
        }
    }
    let norms: Vec<f64> = rows.column_iter().map(|c| c.norm()).collect();
    let mut order: Vec<usize> = (0..norms.len()).collect();
    order.sort_by(|&a, &b| norms[b].total_cmp(&norms[a]));
    let values = order.iter().map(|&i| norms[i]).collect();
    let vectors = DMatrix::from_fn(norms.len(), rows.nrows(), |r, e| {
        let norm = norms[order[r]];
        if norm > 0.0 { rows[(e, order[r])] / norm } else { 0.0 }
    });
    (values, vectors)
}

/// Turns two rows in their plane so that they become orthogonal, and gives what the square of the second gains.
/// Nothing if they already were orthogonal.
fn orthogonalise(a: &mut [f64], b: &mut [f64], aa: f64, bb: f64) -> Option<f64> {
    let ab = dot(a, b);
    if ab.abs() <= ORTHOGONAL * (aa * bb).abs().sqrt() || ab.abs() < f64::MIN_POSITIVE {
        return None;
    }
    let zeta = (bb - aa) / (2.0 * ab);
    let t = 1.0_f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let cos = 1.0 / (1.0 + t * t).sqrt();
    let sin = cos * t;
    for (x, y) in a.iter_mut().zip(b) {
        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    }
    Some(t * ab)
}

/// Four sums side by side, so that the compiler can use vector instructions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (x, y) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in x.zip(y) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_one_matrices_have_one_value() {
        for (rows, columns) in [(3, 5), (6, 21), (5, 3)] {
            let (values, vectors) = right_svd(&DMatrix::from_element(rows, columns, 1.0));
            let exact = ((rows * columns) as f64).sqrt();
            assert!((values[0] - exact).abs() < 1e-13 && values[1] < 1e-13, "{values:?}");
            let along = 1.0 / (columns as f64).sqrt();
            assert!(vectors.row(0).iter().all(|v| (v.abs() - along).abs() < 1e-13));
        }
    }

    #[test]
    fn values_and_vectors_rebuild_the_gram_matrix() {
        let a = DMatrix::from_fn(7, 5, |i, j| ((i * 5 + j) as f64 * 0.7).sin());
        let (values, v) = right_svd(&a);
        // A^T A = V S^2 V^T
        let s = DMatrix::from_fn(7, 7, |i, j| if i == j { values[i] * values[i] } else { 0.0 });
        assert!((a.transpose() * &a - v.transpose() * s * &v).amax() < 1e-13);
        assert!(values.windows(2).all(|w| w[0] >= w[1]));
    }
}
