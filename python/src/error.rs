//! Our errors as Python's.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use std::fmt::Display;

// The raster, which is another crate's file, says what went wrong in these.
pub(crate) use equimarl_render::{Error, Result};

/// What was asked for cannot be; the text says why.
pub(crate) fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
