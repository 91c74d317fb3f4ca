//! The exact audit of our own worlds, and what they declare, for whoever compares it with something else.

use crate::envs::Envs;
use crate::error::value;
use crate::group::Group;
use crate::sight::Sight;
use crate::surroundings::Surroundings;
use equimarl_worlds::{AuditReport, Edges, GroupAction, Spec, builtin};
use numpy::{PyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Python hears its signals after so many steps.
const AT_ONCE: usize = 2000;

/// Tries random steps of the world of `envs` under a group, every one with every element, all comparisons exact: the
/// report of `equimarl check world`, as JSON. Of more than [`AT_ONCE`] steps, every so many begin a new episode with a
/// seed of their own.
#[pyfunction]
pub(crate) fn audit(py: Python<'_>, envs: &Envs, group: &Group, steps: usize, seed: u64) -> PyResult<String> {
    py.detach(|| {
        let made = builtin().make(&envs.world, &group.0, 1).map_err(value)?;
        let exact = made.exact().ok_or_else(|| {
            let name = &envs.world.name;
            value(format!(
                "the world `{name}` does not say how its states transform, so this audit cannot be exact"
            ))
        })?;
        let mut whole: Option<AuditReport> = None;
        for done in (0..steps).step_by(AT_ONCE) {
            Python::attach(|py| py.check_signals())?;
            let part = exact.audit(AT_ONCE.min(steps - done), seed ^ (((done / AT_ONCE) as u64) << 32));
            whole = Some(match whole {
                None => part,
                Some(whole) => joined(whole, part),
            });
        }
        let whole = whole.ok_or_else(|| value("`steps` is 0; it must be at least 1"))?;
        serde_json::to_string(&whole).map_err(value)
    })
}

/// Two reports one after the other: what an element fails in first counts.
fn joined(mut whole: AuditReport, part: AuditReport) -> AuditReport {
    for (element, mut later) in whole.elements.iter_mut().zip(part.elements) {
        if element.holds && !later.holds {
            later.counterexample.iter_mut().for_each(|found| found.step += whole.steps);
            *element = later;
        }
    }
    whole.steps += part.steps;
    whole.holds &= part.holds;
    whole
}

/// How a world says that a group acts on it: `group` (the largest that it has), `image` and `features` (one of them), and
/// for every element where it sends `agents` (None if it acts on what one agent sees only) and `actions`.
#[pyfunction]
pub(crate) fn declared<'py>(py: Python<'py>, envs: &Envs, group: &Group) -> PyResult<Bound<'py, PyDict>> {
    let registry = builtin();
    let made = registry.make(&envs.world, &group.0, 1).map_err(value)?;
    let spec: &Spec = made.spec();
    let acts = GroupAction::new(spec).map_err(value)?;
    if spec.actions.vectors().is_some() {
        let why = "act by vectors; give the group alone, for the exact audit";
        return Err(value(format!("agents of {} {why}", spec.world)));
    }
    let all = |count: usize, to: &dyn Fn(usize, usize) -> usize| -> Vec<Vec<usize>> {
        group.0.elements().map(|g| (0..count).map(|k| to(g, k)).collect()).collect()
    };
    let entry = PyDict::new(py);
    let symmetries = registry.get(&envs.world.name).map_err(value)?.symmetries(&envs.world.settings);
    entry.set_item("group", symmetries.largest)?;
    entry.set_item("image", spec.image.map(|[c, h, w]| (c, h, w)))?;
    let features = match envs.sight {
        Sight::Surroundings => Surroundings::rep(spec, &group.0),
        _ => spec.features.clone(),
    };
    entry.set_item("features", features)?;
    let agents = acts.is_global().then(|| all(spec.agents, &|g, i| acts.agent(g, i)));
    entry.set_item("agents", agents)?;
    entry.set_item("actions", all(spec.actions.count(), &|g, a| acts.action(g, a)))?;
    Ok(entry)
}

/// Who hears whom now in an environment: receivers, senders, and one edge vector each.
type Heard<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f32>>);

/// Who hears whom now in an environment, agent by agent, with the edge vectors.
#[pyfunction]
pub(crate) fn neighbours<'py>(py: Python<'py>, envs: &Envs, environment: usize) -> PyResult<Heard<'py>> {
    let (mut receivers, mut senders, mut vectors) = (vec![], vec![], vec![]);
    envs.with_world(environment, |world| {
        let mut edges = Edges::default();
        for agent in 0..world.agents() {
            world.neighbours(agent, &mut edges);
            for (from, vector) in edges.iter() {
                receivers.push(agent as i64);
                senders.push(from as i64);
                vectors.extend_from_slice(vector);
            }
        }
        Ok(())
    })?;
    // Without edges nobody can tell how long they are; vectors of the plane are what our worlds have.
    let dim = vectors.len().checked_div(receivers.len()).unwrap_or(2);
    let vectors = PyArray::from_vec(py, vectors).reshape([receivers.len(), dim])?;
    Ok((PyArray::from_vec(py, receivers), PyArray::from_vec(py, senders), vectors))
}
