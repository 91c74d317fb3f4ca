//! Learning curves of runs as a picture: the laboratory's own figure.

use crate::error::value;
use equimarl_lab::figure::{Chart, Measure, learning_curves};
use equimarl_lab::{Record, gather};
use equimarl_worlds::builtin;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// The learning curves of all runs at these places, as `svg`, `pdf` or `png`: a curve per method, the median of its seeds with
/// a band from the first to the third quartile.
#[pyfunction]
pub(crate) fn curves<'py>(
    py: Python<'py>,
    places: Vec<PathBuf>,
    kind: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let chart = py.detach(|| chart(&places)).map_err(value)?;
    let drawing = chart.drawing();
    let bytes = match kind {
        "svg" => drawing.svg().into_bytes(),
        "pdf" => drawing.pdf(),
        "png" => drawing.png(),
        _ => return Err(value(format!("a figure is svg, pdf or png, not `{kind}`"))),
    };
    Ok(PyBytes::new(py, &bytes))
}

fn chart(places: &[PathBuf]) -> Result<Chart, String> {
    let found = gather(&builtin(), places).map_err(|error| error.to_string())?;
    let records: Vec<&Record> = found.runs.iter().map(|run| &run.record).collect();
    let Some(first) = records.first() else { return Err("there is no run".into()) };
    let other = records.iter().find(|record| record.world.title != first.world.title);
    if let Some(other) = other {
        return Err(format!(
            "these runs are of {} and of {}: curves of different worlds do not fit one figure",
            first.world.title, other.world.title
        ));
    }
    if records.iter().all(|record| record.curve.steps.is_empty()) {
        return Err("no episode has ended yet, so there is no curve".into());
    }
    let chart = learning_curves(&records, &Measure::of(&first.world), vec![]);
    let description = format!("Learning curves in {}.", first.world.title);
    Ok(Chart { title: first.world.title.clone(), description, ..chart })
}
