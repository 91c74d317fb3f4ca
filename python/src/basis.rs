//! Bases of equivariant maps as arrays.

use crate::error::value;
use crate::group::Rep;
use equimarl_group::Basis;
use numpy::{PyArray, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;

/// Numbers in one array: 2 GB.
const MOST: usize = 1 << 28;

/// An orthonormal basis of the maps W with W rho_in(g) = rho_out(g) W, as an array [rank, out, in]; of filters with `kernel`
/// x `kernel` pixels, [rank, out, in, kernel, kernel].
#[pyfunction]
#[pyo3(signature = (rep_in, rep_out, kernel = None))]
pub(crate) fn basis<'py>(
    py: Python<'py>,
    rep_in: &Rep,
    rep_out: &Rep,
    kernel: Option<usize>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let solve = || match kernel {
        None => Basis::linear(&rep_in.0, &rep_out.0),
        Some(k) => Basis::filter(&rep_in.0, &rep_out.0, k),
    };
    let found = py.detach(solve).map_err(value)?;
    let mut shape = vec![rep_out.0.dim(), rep_in.0.dim()];
    shape.extend(kernel.iter().flat_map(|k| [*k, *k]));
    written(py, &found, &shape)
}

/// An orthonormal basis of the vectors b with rho(g) b = b, as an array [rank, dim]: the biases that keep equivariance. There
/// may be none.
#[pyfunction]
pub(crate) fn bias_basis<'py>(py: Python<'py>, rep: &Rep) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let found = py.detach(|| Basis::invariant(&rep.0)).map_err(value)?;
    written(py, &found, &[rep.0.dim()])
}

/// Every basis element written out.
fn written<'py>(py: Python<'py>, basis: &Basis, shape: &[usize]) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let (rank, size) = (basis.rank(), basis.size());
    let entries = rank.checked_mul(size).filter(|n| *n <= MOST).ok_or_else(|| {
        value(format!("{rank} maps of {size} numbers are too many to write out; the limit is {MOST} numbers"))
    })?;
    let numbers = py.detach(|| {
        let mut numbers = vec![0.0; entries];
        let mut one = vec![0.0; rank];
        for (k, map) in numbers.chunks_exact_mut(size.max(1)).enumerate() {
            one[k] = 1.0;
            basis.realise(&one, map);
            one[k] = 0.0;
        }
        numbers
    });
    let shape: Vec<usize> = std::iter::once(rank).chain(shape.iter().copied()).collect();
    PyArray::from_vec(py, numbers).reshape(shape)
}
