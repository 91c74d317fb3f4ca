//! How weights follow from free coefficients: what `equimarl.torch` gathers them by.

use crate::error::value;
use crate::group::Rep;
use equimarl_nn::{Initial, Space as Ours};
use numpy::{PyArray, PyArray1};
use pyo3::prelude::*;

/// Terms of a realised weight: entry, coefficient, and factor of each.
type Terms<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>);

/// All weights and biases between two representations, as sums of coefficients with factors, scaled as in our networks:
/// where the group permutes coordinates, every entry is plus or minus one coefficient.
#[pyclass(frozen, module = "equimarl._core")]
pub(crate) struct Space(Ours);

#[pymethods]
impl Space {
    #[new]
    #[pyo3(signature = (rep_in, rep_out, kernel = None))]
    fn new(py: Python<'_>, rep_in: &Rep, rep_out: &Rep, kernel: Option<usize>) -> PyResult<Space> {
        py.detach(|| Ours::new(&rep_in.0, &rep_out.0, kernel)).map(Space).map_err(value)
    }

    /// Free coefficients of the weight and of the bias.
    #[getter]
    fn ranks(&self) -> (usize, usize) {
        let [weight, bias] = self.0.ranks();
        (weight, bias)
    }

    /// The terms of the weight, row-major: [out, in], or [out, in, k, k].
    fn weight<'py>(&self, py: Python<'py>) -> Terms<'py> {
        let weight = self.0.weight();
        terms(py, weight.entries(), |entry| weight.terms(entry))
    }

    /// The terms of the bias.
    fn bias<'py>(&self, py: Python<'py>) -> Terms<'py> {
        let bias = self.0.bias();
        terms(py, bias.entries(), |entry| bias.terms(entry))
    }

    /// The standard deviation of initial coefficients that keeps squares in the mean: before a ReLU or without.
    fn deviation(&self, relu: bool) -> f64 {
        let initial = if relu { Initial::BeforeRelu } else { Initial::Linear };
        let drawn = self.0.init(initial, &mut || 1.0);
        drawn.first().map_or(0.0, |x| f64::from(*x))
    }
}

fn terms<'py, I: Iterator<Item = (usize, f32)>>(
    py: Python<'py>,
    count: usize,
    of: impl Fn(usize) -> I,
) -> Terms<'py> {
    let (mut entries, mut coefficients, mut factors) = (vec![], vec![], vec![]);
    for entry in 0..count {
        for (coefficient, factor) in of(entry) {
            entries.push(entry as i64);
            coefficients.push(coefficient as i64);
            factors.push(factor);
        }
    }
    (PyArray::from_vec(py, entries), PyArray::from_vec(py, coefficients), PyArray::from_vec(py, factors))
}
