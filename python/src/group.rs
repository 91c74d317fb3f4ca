//! Finite groups and their representations.

use crate::error::value;
use equimarl_group as ours;
use numpy::{PyArray, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A finite group: `C4`, `D4`, `S3`, products such as `C4 x C2`, or generators such as `perm[1 2 0; 1 0 2]`.
///
/// Elements are numbered from 0, the identity first, and have names.
///
/// >>> from equimarl import group
/// >>> d4 = group("D4")
/// >>> d4.order, d4.names
/// (8, ['e', 'r', 'r2', 'r3', 'm', 'rm', 'r2m', 'r3m'])
/// >>> int(d4.table[1, 4]), d4.element("rm")  # a mirror, then a quarter turn
/// (5, 5)
#[pyclass(frozen, from_py_object, module = "equimarl._core")]
#[derive(Clone)]
pub(crate) struct Group(pub ours::Group);

#[pymethods]
impl Group {
    #[new]
    fn new(text: &str) -> PyResult<Group> {
        text.parse().map(Group).map_err(value)
    }

    /// Its name, which makes the same group again.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The number of elements.
    #[getter]
    fn order(&self) -> usize {
        self.0.order()
    }

    /// All elements: their numbers.
    #[getter]
    fn elements(&self) -> Vec<usize> {
        self.0.elements().collect()
    }

    /// The names of all elements.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.elements().map(|g| self.0.element_name(g)).collect()
    }

    /// Elements that make all others.
    #[getter]
    fn generators(&self) -> Vec<usize> {
        self.0.generators().to_vec()
    }

    /// The multiplication table: row g, column h has the number of gh.
    #[getter]
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let n = self.0.order();
        let products = (0..n * n).map(|k| self.0.mul(k / n, k % n) as i64).collect::<Vec<_>>();
        PyArray::from_vec(py, products).reshape([n, n])
    }

    /// The inverse of every element.
    #[getter]
    fn inverses<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<i64>> {
        PyArray::from_vec(py, self.0.elements().map(|g| self.0.inverse(g) as i64).collect())
    }

    /// Whether gh = hg for all elements.
    #[getter]
    fn abelian(&self) -> bool {
        self.0.is_abelian()
    }

    /// Conjugacy classes, each sorted.
    #[getter]
    fn classes(&self) -> Vec<Vec<usize>> {
        self.0.conjugacy_classes()
    }

    /// The number of the element with this name.
    fn element(&self, name: &str) -> PyResult<usize> {
        self.0.element(name).ok_or_else(|| {
            let some = self.0.elements().take(8).map(|g| self.0.element_name(g));
            let dots = if self.0.order() > 8 { ", ..." } else { "" };
            let list = some.collect::<Vec<_>>().join(", ");
            value(format!("{} has no element `{name}`; it has {list}{dots}", self.0))
        })
    }

    fn __len__(&self) -> usize {
        self.0.order()
    }

    fn __eq__(&self, other: &Group) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        hashed(self.0.name())
    }

    fn __repr__(&self) -> String {
        format!("Group('{}')", self.0.name())
    }

    /// For pickle.
    fn __getnewargs__(&self) -> (String,) {
        (self.0.name().into(),)
    }
}

/// A representation: a matrix per group element, such that products are products. Sums and multiples of `trivial`, `sign`,
/// `regular`, `rotation`, `quotient(C2)`, `pixels(5)`, `perm[...]`, `matrix[...]` and others.
///
/// >>> from equimarl import rep
/// >>> plane = rep("C4", "rotation")
/// >>> plane.dim
/// 2
/// >>> plane.matrices("r")
/// array([[ 0., -1.],
///        [ 1.,  0.]])
/// >>> rep("D4", "8*regular + rotation").matrices().shape
/// (8, 66, 66)
#[pyclass(frozen, from_py_object, module = "equimarl._core")]
#[derive(Clone)]
pub(crate) struct Rep(pub ours::Rep);

/// A group element, by its number or its name.
#[derive(FromPyObject)]
enum Which {
    #[pyo3(annotation = "int")]
    Number(usize),
    #[pyo3(annotation = "str")]
    Name(String),
}

#[pymethods]
impl Rep {
    #[new]
    fn new(group: &Group, text: &str) -> PyResult<Rep> {
        ours::Rep::parse(&group.0, text).map(Rep).map_err(value)
    }

    /// The group.
    #[getter]
    fn group(&self) -> Group {
        Group(self.0.group().clone())
    }

    /// Rows of a matrix.
    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    /// Whether every matrix permutes coordinates.
    #[getter]
    fn is_permutation(&self) -> bool {
        self.0.is_permutation()
    }

    /// The matrix of element `g`, by number or name; without it the matrices of all elements, one after the other.
    #[pyo3(signature = (g = None))]
    fn matrices<'py>(&self, py: Python<'py>, g: Option<Which>) -> PyResult<Bound<'py, PyAny>> {
        let (group, n) = (self.group(), self.0.dim());
        let one = match g {
            None => None,
            Some(Which::Name(name)) => Some(group.element(&name)?),
            Some(Which::Number(g)) if g < group.order() => Some(g),
            Some(Which::Number(g)) => {
                return Err(value(format!(
                    "{} has the elements 0 to {}, not {g}",
                    group.0,
                    group.order() - 1
                )));
            }
        };
        // nalgebra goes down columns, NumPy along rows.
        let rows = |g: usize| self.0.matrix(g).transpose().as_slice().to_vec();
        Ok(match one {
            Some(g) => {
                let array: Bound<'py, PyArray2<f64>> = PyArray::from_vec(py, rows(g)).reshape([n, n])?;
                array.into_any()
            }
            None => {
                let all = self.0.group().elements().flat_map(rows).collect();
                let array: Bound<'py, PyArray3<f64>> =
                    PyArray::from_vec(py, all).reshape([group.order(), n, n])?;
                array.into_any()
            }
        })
    }

    fn __eq__(&self, other: &Rep) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        hashed(&self.0.to_string())
    }

    fn __repr__(&self) -> String {
        format!("Rep('{}', '{}')", self.0.group().name(), self.0)
    }

    /// For pickle.
    fn __getnewargs__(&self) -> (Group, String) {
        (self.group(), self.0.to_string())
    }
}

fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
