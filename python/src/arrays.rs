//! Arrays that come from Python: refused with a word about what to do, or lent as slices.

use crate::error::value;
use numpy::{
    BorrowError, Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadwriteArrayDyn,
    PyUntypedArray, PyUntypedArrayMethods, dtype,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A shape as Python writes it.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        all => format!("({})", all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// An array of this kind of number and shape, to be written. What it lends is a slice of all of it.
pub(crate) fn writable<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyAny>,
    shape: &[usize],
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    let array = typed::<T>(name, array, shape)?;
    if !in_one_piece(&array) {
        return Err(value(format!(
            "`{name}` is not contiguous and aligned in memory; np.ascontiguousarray or a copy is"
        )));
    }
    array.try_readwrite().map_err(|error| match error {
        BorrowError::NotWriteable => {
            value(format!("`{name}` is read-only, and results are written into it; use a copy of it"))
        }
        _ => value(format!("`{name}` shares memory with another array in use; each needs its own")),
    })
}

/// Whole numbers of 32 or 64 bits in this shape, each below `count`, written to `out`. Nothing is left in `out` to be used
/// if one is not.
pub(crate) fn choices(
    name: &str,
    array: &Bound<'_, PyAny>,
    shape: &[usize],
    count: usize,
    out: &mut [usize],
) -> PyResult<()> {
    // NumPy's own whole numbers have 64 bits, and what argmax gives should not need a cast.
    if array.cast::<PyArrayDyn<i64>>().is_ok() {
        below(name, &typed::<i64>(name, array, shape)?, count, out)
    } else {
        below(name, &typed::<i32>(name, array, shape)?, count, out)
    }
}

/// Numbers of 32 or 64 bits in this shape, written to `out`.
pub(crate) fn vectors(
    name: &str,
    array: &Bound<'_, PyAny>,
    shape: &[usize],
    out: &mut Vec<f64>,
) -> PyResult<()> {
    // NumPy's own numbers have 64 bits.
    if array.cast::<PyArrayDyn<f64>>().is_ok() {
        numbers(name, &typed::<f64>(name, array, shape)?, out)
    } else {
        numbers(name, &typed::<f32>(name, array, shape)?, out)
    }
}

fn numbers<T: Element + Copy + Into<f64>>(
    name: &str,
    array: &Bound<'_, PyArrayDyn<T>>,
    out: &mut Vec<f64>,
) -> PyResult<()> {
    let whole = match in_one_piece(array) {
        true => array.clone(),
        false => array.call_method0("copy")?.cast_into::<PyArrayDyn<T>>()?,
    };
    let lent =
        whole.try_readonly().map_err(|_| value(format!("`{name}` is being written by somebody else")))?;
    out.clear();
    out.extend(lent.as_slice()?.iter().map(|&x| -> f64 { x.into() }));
    Ok(())
}

fn below<T: Element + Copy + Into<i64>>(
    name: &str,
    array: &Bound<'_, PyArrayDyn<T>>,
    count: usize,
    out: &mut [usize],
) -> PyResult<()> {
    let whole = match in_one_piece(array) {
        true => array.clone(),
        false => array.call_method0("copy")?.cast_into::<PyArrayDyn<T>>()?,
    };
    let lent =
        whole.try_readonly().map_err(|_| value(format!("`{name}` is being written by somebody else")))?;
    let given = lent.as_slice()?;
    // A negative number is a huge one here, and without a branch per number this is one pass of wide instructions.
    let mut worst = 0;
    for (out, &given) in out.iter_mut().zip(given) {
        let given: i64 = given.into();
        *out = given as usize;
        worst = worst.max(*out);
    }
    if worst < count {
        return Ok(());
    }
    let at = out.iter().position(|a| *a >= count).unwrap_or(0);
    let shape = array.shape();
    let mut place = vec![0; shape.len()];
    shape.iter().enumerate().rev().fold(at, |rest, (k, n)| {
        place[k] = rest % n;
        rest / n
    });
    let place = place.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let found: i64 = given[at].into();
    Err(value(format!("{name}[{place}] is {found}; actions are 0 to {}", count.saturating_sub(1))))
}

fn in_one_piece<T: Element>(array: &Bound<'_, PyArrayDyn<T>>) -> bool {
    array.is_c_contiguous() && (array.data() as usize).is_multiple_of(align_of::<T>())
}

/// An array of this kind of number and shape.
fn typed<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyAny>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let wanted = dtype::<T>(array.py());
    let plain = array.cast::<PyUntypedArray>().map_err(|_| {
        let found = array.get_type().name().map(|n| n.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("`{name}` must be a NumPy array of {wanted}, not {found}"))
    })?;
    if !plain.dtype().is_equiv_to(&wanted) {
        let found = plain.dtype();
        return Err(PyTypeError::new_err(format!(
            "`{name}` must be an array of {wanted}, not {found}; use .astype(np.{wanted})"
        )));
    }
    if plain.shape() != shape {
        return Err(value(format!(
            "`{name}` must have the shape {}, not {}",
            shape_text(shape),
            shape_text(plain.shape())
        )));
    }
    Ok(array.cast::<PyArrayDyn<T>>()?.clone())
}
