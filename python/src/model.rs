//! Model files: read with all their checks, changed, written, and run.

use crate::error::value;
use equimarl_nn::{Batch, Cache, Images, Network, NetworkConfig};
use numpy::{PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;

/// What an agent hears of a kind of senders that do not act: receivers, edge vectors, and features.
type Others<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f32>, PyReadonlyArray2<'py, f32>);

/// A network with its coefficients, and the world that it was made for.
#[pyclass(frozen, module = "equimarl._core")]
pub(crate) struct Model {
    network: Mutex<Network>,
    world: Value,
    extra: Value,
}

#[pymethods]
impl Model {
    /// A network of zeros, from what a file says under `network` and `world`, as JSON.
    #[new]
    fn new(network: &str, world: &str) -> PyResult<Model> {
        let config: NetworkConfig = serde_json::from_str(network)
            .map_err(|e| value(format!("the description of the network does not fit: {e}")))?;
        let world = serde_json::from_str(world).map_err(value)?;
        let network = Network::init(&config, &mut || 0.0).map_err(value)?;
        Ok(Model { network: Mutex::new(network), world, extra: Value::Null })
    }

    /// The network of a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        let (network, metadata) = py.detach(|| Network::load(&path)).map_err(|error| match error {
            equimarl_nn::Error::File { .. } => PyOSError::new_err(error.to_string()),
            other => value(other),
        })?;
        Ok(Model { network: Mutex::new(network), world: metadata.world, extra: metadata.extra })
    }

    /// What the file says of it, as JSON: `network`, `world`, `representations`, `parameters` and more.
    fn metadata(&self) -> PyResult<String> {
        let metadata = self.locked()?.metadata(&self.world, &self.extra).map_err(value)?;
        serde_json::to_string(&metadata).map_err(value)
    }

    /// All coefficients by name, in the order of the network.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, values) in self.locked()?.parameters() {
            all.set_item(name, PyArray::from_vec(py, values))?;
        }
        Ok(all)
    }

    /// Replaces all coefficients. Nothing changes if a name is missing, unknown, or of another length.
    fn set_parameters(&self, parameters: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut network = self.locked()?;
        let names: Vec<String> = network.named().into_iter().map(|(name, _)| name).collect();
        for name in parameters.keys() {
            let name: String = name.extract()?;
            if !names.contains(&name) {
                return Err(value(format!("the network has no parameter `{name}`")));
            }
        }
        let mut all = vec![];
        for name in &names {
            let Some(given) = parameters.get_item(name)? else {
                return Err(value(format!("the parameter `{name}` is missing")));
            };
            let given: PyReadonlyArray1<'_, f32> = given.extract()?;
            all.push(given.as_slice()?.to_vec());
        }
        network.set_parameters(all).map_err(value)
    }

    /// Writes the model file, whole or not at all; `extra` is JSON of whatever the writer adds.
    fn save(&self, py: Python<'_>, path: PathBuf, extra: &str) -> PyResult<()> {
        let extra = serde_json::from_str(extra).map_err(value)?;
        let network = self.locked()?;
        py.detach(|| network.save(&path, &self.world, &extra)).map_err(|error| match error {
            equimarl_nn::Error::File { .. } => PyOSError::new_err(error.to_string()),
            other => value(other),
        })
    }

    /// Logits [agents, actions] and the team's value in one state. `observations` has one row per agent, or the one of a
    /// central network; edges go from `senders` to `receivers`; `others` has one entry per kind of sender that does not act.
    fn forward<'py>(
        &self,
        py: Python<'py>,
        observations: PyReadonlyArray2<'py, f32>,
        receivers: PyReadonlyArray1<'py, i64>,
        senders: PyReadonlyArray1<'py, i64>,
        edges: PyReadonlyArray2<'py, f32>,
        others: Vec<Others<'py>>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, f32)> {
        let mut network = self.locked()?;
        let config = network.config().clone();
        let rows: Vec<&[f32]> = rows(&observations)?;
        let agents = if network.is_central() { config.interface.agents } else { rows.len() };
        let kinds = config.interface.senders.len();
        if others.len() != kinds {
            return Err(value(format!(
                "`others` has {} kinds of senders, and there are {kinds}",
                others.len()
            )));
        }
        let heard = by_agent(&receivers, agents)?;
        let (from, vectors) = (senders.as_slice()?, self::rows(&edges)?);
        if from.len() != vectors.len() || from.len() != receivers.as_slice()?.len() {
            return Err(value("`receivers`, `senders` and `edges` must have one entry per edge"));
        }
        let mut batch = Batch::with_senders(kinds);
        if config.interface.sees_features() {
            rows.iter().try_for_each(|row| batch.see(row)).map_err(value)?;
        } else {
            batch.images = Images::Pixels(rows.concat());
            batch.ids = (0..rows.len() as u32).collect();
            batch.elements = vec![0; rows.len()];
        }
        let kinds: Vec<_> = others
            .iter()
            .map(|(receivers, edges, features)| {
                Ok((by_agent(receivers, agents)?, self::rows(edges)?, self::rows(features)?))
            })
            .collect::<PyResult<_>>()?;
        for agent in 0..agents {
            for &e in &heard[agent] {
                let Some(sender) = u32::try_from(from[e]).ok().filter(|j| (*j as usize) < agents) else {
                    return Err(value(format!("the sender {} is none of {agents} agents", from[e])));
                };
                batch.hear(sender, vectors[e]);
            }
            for (k, (heard, edges, features)) in kinds.iter().enumerate() {
                for &e in &heard[agent] {
                    let (Some(edge), Some(seen)) = (edges.get(e), features.get(e)) else {
                        return Err(value(
                            "`others` must have one edge and one row of features per receiver",
                        ));
                    };
                    let id =
                        if seen.is_empty() { 0 } else { batch.senders[k].vectors.id(seen).map_err(value)? };
                    batch.senders[k].hear(id, edge);
                }
            }
            batch.end_agent();
        }
        batch.end_state();
        let mut cache = Cache::default();
        network.forward(&batch, &mut cache).map_err(value)?;
        let (output, actions) = (cache.output(), network.actions());
        let logits: Bound<'py, PyArray1<f32>> = PyArray::from_slice(py, &output.logits);
        Ok((logits.reshape([output.logits.len() / actions, actions])?, output.values[0]))
    }
}

impl Model {
    fn locked(&self) -> PyResult<std::sync::MutexGuard<'_, Network>> {
        self.network.try_lock().map_err(|_| {
            PyRuntimeError::new_err("another thread is inside a call of this model; use one per thread")
        })
    }
}

/// The rows of an array.
fn rows<'a>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<Vec<&'a [f32]>> {
    let [count, width] = [array.as_array().nrows(), array.as_array().ncols()];
    let all = array.as_slice()?;
    Ok((0..count).map(|k| &all[k * width..][..width]).collect())
}

/// The edges of every agent, in their order.
fn by_agent(receivers: &PyReadonlyArray1<'_, i64>, agents: usize) -> PyResult<Vec<Vec<usize>>> {
    let mut heard = vec![vec![]; agents];
    for (e, &receiver) in receivers.as_slice()?.iter().enumerate() {
        let agent = usize::try_from(receiver).ok().and_then(|i| heard.get_mut(i));
        agent.ok_or_else(|| value(format!("the receiver {receiver} is none of {agents} agents")))?.push(e);
    }
    Ok(heard)
}
