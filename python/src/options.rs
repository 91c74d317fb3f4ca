//! Worlds by name, with options as keyword arguments.

use crate::error::value;
use equimarl_worlds::{Definition, Registry, Value, WorldConfig, builtin};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The worlds that there are: per world a name, a line about it, the version of its rules, and its options (name, a line
/// about it, the usual value).
#[pyfunction]
pub(crate) fn worlds(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    builtin().iter().map(|world| described(py, world)).collect()
}

fn described<'py>(py: Python<'py>, world: &dyn Definition) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", world.name())?;
    entry.set_item("about", world.about())?;
    entry.set_item("version", world.version())?;
    let mut options = vec![];
    for option in world.options() {
        options.push((option.key, option.help, to_python(py, &option.usual)?));
    }
    entry.set_item("options", options)?;
    Ok(entry)
}

/// A world with these options, the others as they usually are.
pub(crate) fn configured(
    registry: &Registry,
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<WorldConfig> {
    let mut world = registry.usual(name).map_err(value)?;
    for (key, given) in options.iter() {
        let key: String = key.extract()?;
        let given = from_python(&key, &given)?;
        world.settings.set(&key, given);
    }
    registry.complete(&world).map_err(value)
}

pub(crate) fn to_python<'py>(py: Python<'py>, option: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match option {
        Value::Flag(x) => x.into_pyobject(py)?.to_owned().into_any(),
        Value::Whole(x) => x.into_pyobject(py)?.into_any(),
        Value::Number(x) => x.into_pyobject(py)?.into_any(),
        Value::Text(x) => x.into_pyobject(py)?.into_any(),
    })
}

pub(crate) fn from_python(key: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    // True is a whole number to Python, so it is asked for first; whole numbers below zero are left to be refused as numbers.
    if let Ok(flag) = given.extract::<bool>() {
        Ok(Value::Flag(flag))
    } else if let Ok(whole) = given.extract::<u64>() {
        Ok(Value::Whole(whole))
    } else if let Ok(number) = given.extract::<f64>() {
        Ok(Value::Number(number))
    } else if let Ok(text) = given.extract::<String>() {
        Ok(Value::Text(text))
    } else {
        let kind = given.get_type().name()?;
        Err(PyTypeError::new_err(format!("the option `{key}` must be a number, a bool or a str, not {kind}")))
    }
}
