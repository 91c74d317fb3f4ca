//! The class that Python's `Batch` and `parallel_env` are made of.

use crate::arrays::{choices, vectors, writable};
use crate::error::value;
use crate::options::{configured, to_python};
use crate::part::Results;
use crate::picture;
use crate::sight::{Seen, Sight};
use crate::together::Together;
use equimarl_worlds::{End, GroupAction, Joint, Region, Spec, World, WorldConfig, builtin};
use numpy::{PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Far more than fit into memory with any world, and few enough to be counted without overflow.
const MOST: usize = 1 << 20;
const MOST_THREADS: usize = 256;
/// Bytes of a state per agent, roughly.
const STATE: usize = 64;
/// Environments that would take more memory than this are refused before they are made.
const MOST_BYTES: usize = 1 << 35;

/// The environments whose episodes ended, the episodes' returns and their lengths.
type Episodes<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>);

/// Environments of one world. All arrays belong to the caller.
#[pyclass(frozen, module = "equimarl._core")]
pub(crate) struct Envs {
    together: Mutex<Together>,
    /// The process in which a call last began: after a fork, a lock that is held is held by nobody.
    caller: AtomicU32,
    spec: Arc<Spec>,
    pub(crate) world: WorldConfig,
    count: usize,
    threads: usize,
    pub(crate) sight: Sight,
    /// Of what one agent sees.
    shape: Vec<usize>,
    /// Numbers that say what breaks the symmetry.
    cause: usize,
}

#[pymethods]
impl Envs {
    #[new]
    #[pyo3(signature = (world, num_envs, threads, observe, options))]
    fn new(
        world: &str,
        num_envs: usize,
        threads: usize,
        observe: Option<&str>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Envs> {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(value(format!("`threads` is {threads}; it must be from 1 to {MOST_THREADS}")));
        }
        if !(1..=MOST).contains(&num_envs) {
            return Err(value(format!("`num_envs` is {num_envs}; it must be from 1 to {MOST}")));
        }
        let registry = builtin();
        let world = configured(&registry, world, options)?;
        let make = || {
            let one = |group: &equimarl_group::Group| -> equimarl_worlds::Result<()> {
                let one = registry.make(&world, group, 1)?;
                let sight = Sight::new(observe, &*one)?;
                let numbers: usize = sight.shape(&*one)?.iter().product::<usize>().max(1);
                // Observations twice, and what a state takes, roughly.
                let each = one.spec().agents.saturating_mul(numbers.saturating_mul(8).saturating_add(STATE));
                let all = each.saturating_mul(num_envs);
                if all > MOST_BYTES {
                    return Err(equimarl_worlds::Error::BadWorld(format!(
                        "{num_envs} environments of {} would take about {} GB; at most {} are made: use fewer, or fewer agents",
                        world.name,
                        all >> 30,
                        MOST_BYTES >> 30
                    )));
                }
                Ok(())
            };
            let group = registry.get(&world.name)?.symmetries(&world.settings).usual.parse()?;
            one(&group)?;
            let some = |count: usize| registry.make(&world, &group, count);
            let mut together = Together::new(num_envs, threads, some)?;
            let sight = Sight::new(observe, together.any())?;
            if sight == Sight::Surroundings
                && let Some(all) = Sight::surroundings(together.any())?
            {
                together.surround(&all);
            }
            let shape = sight.shape(together.any())?;
            Ok::<_, equimarl_worlds::Error>((together, sight, shape))
        };
        let (together, sight, shape) = make().map_err(value)?;
        let (spec, threads) = (together.any().spec().clone(), together.threads);
        let cause = GroupAction::new(&spec).map_err(value)?.cause_dim();
        let (together, caller) = (Mutex::new(together), AtomicU32::new(std::process::id()));
        Ok(Envs { together, caller, spec, world, count: num_envs, threads, sight, shape, cause })
    }

    /// How many environments.
    #[getter]
    fn num_envs(&self) -> usize {
        self.count
    }

    /// How many threads a step uses.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    /// The number of agents in each.
    #[getter]
    fn agents(&self) -> usize {
        self.spec.agents
    }

    /// What is observed: `images`, `surroundings`, `features` or `ids`.
    #[getter]
    fn sight(&self) -> &'static str {
        self.sight.name()
    }

    /// The shape of what one agent sees.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The shape of the picture of a whole state, if there is one.
    #[getter]
    fn team_shape(&self) -> Option<(usize, usize, usize)> {
        self.spec.team_image.map(|[c, h, w]| (c, h, w))
    }

    /// What an agent can do, by name.
    #[getter]
    fn action_names(&self) -> Vec<String> {
        self.spec.actions.names().to_vec()
    }

    /// How large a vector may be by which an agent acts, and whether that is its length (or each of its numbers); None if
    /// agents choose.
    #[getter]
    fn action_bound(&self) -> Option<(f64, bool)> {
        self.spec.actions.vectors().map(|(bound, region)| (bound, region == Region::Ball))
    }

    /// What is measured besides return and length, by name.
    #[getter]
    fn measure_names(&self) -> Vec<&str> {
        self.spec.measures.iter().map(|m| m.name.as_str()).collect()
    }

    /// All options of the world, as they are.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = PyDict::new(py);
        for (key, value) in self.world.settings.iter() {
            options.set_item(key, to_python(py, value)?)?;
        }
        Ok(options)
    }

    /// Begins an episode everywhere, and writes what everybody sees.
    #[pyo3(signature = (seed, observations))]
    fn reset(&self, py: Python<'_>, seed: Option<u64>, observations: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut together = self.lock()?;
        let together = &mut *together;
        self.seen("observations", observations, |seen| {
            py.detach(|| together.reset(seed, seen)).map_err(failed)
        })
    }

    /// Writes what everybody sees.
    fn observe(&self, py: Python<'_>, observations: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut together = self.started()?;
        let together = &mut *together;
        self.seen("observations", observations, |seen| {
            py.detach(|| together.observe(seen));
            Ok(())
        })
    }

    /// One step of every environment; where an episode ends, the next one begins. `observations` must hold what the last
    /// call wrote.
    #[expect(clippy::too_many_arguments, reason = "one per buffer")]
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: &Bound<'py, PyAny>,
        observations: &Bound<'py, PyAny>,
        final_observations: &Bound<'py, PyAny>,
        rewards: &Bound<'py, PyAny>,
        terminals: &Bound<'py, PyAny>,
        truncations: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Episodes<'py>>> {
        let mut together = self.started()?;
        let together = &mut *together;
        let (count, agents) = (self.count, self.spec.agents);
        let options = self.spec.actions.count();
        match self.spec.actions.vectors() {
            None => choices("actions", actions, &[count, agents], options, &mut together.actions)?,
            Some(_) => {
                vectors("actions", actions, &[count, agents, options], &mut together.vectors)?;
                self.spec.actions.check_vectors(&together.vectors).map_err(value)?;
            }
        }
        let mut rewards = writable::<f32>("rewards", rewards, &[count])?;
        let mut terminals = writable::<bool>("terminals", terminals, &[count])?;
        let mut truncations = writable::<bool>("truncations", truncations, &[count])?;
        let (rewards, terminals) = (rewards.as_slice_mut()?, terminals.as_slice_mut()?);
        let truncations = truncations.as_slice_mut()?;
        self.seen("observations", observations, |seen| {
            self.seen("final_observations", final_observations, |last_seen| {
                let results = Results { seen, last_seen, rewards, terminals, truncations };
                py.detach(|| together.step(results)).map_err(failed)
            })
        })?;
        if together.ended().next().is_none() {
            return Ok(None);
        }
        Ok(Some((
            PyArray::from_iter(py, together.ended().map(|e| e.environment as i64)),
            PyArray::from_iter(py, together.ended().map(|e| e.total)),
            PyArray::from_iter(py, together.ended().map(|e| e.length as i64)),
        )))
    }

    /// Refuses arrays that cannot be used in `step`.
    fn check_buffers(
        &self,
        actions: &Bound<'_, PyAny>,
        observations: &Bound<'_, PyAny>,
        final_observations: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        terminals: &Bound<'_, PyAny>,
        truncations: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        // Held until all are seen, so that arrays that overlap are noticed.
        let shape = [self.count, self.spec.agents, self.spec.actions.count()];
        let (_choices, _vectors) = match self.spec.actions.vectors() {
            None => (Some(writable::<i32>("actions", actions, &shape[..2])?), None),
            Some(_) => (None, Some(writable::<f32>("actions", actions, &shape)?)),
        };
        let _rewards = writable::<f32>("rewards", rewards, &[self.count])?;
        let _terminals = writable::<bool>("terminals", terminals, &[self.count])?;
        let _truncations = writable::<bool>("truncations", truncations, &[self.count])?;
        self.seen("observations", observations, |_| {
            self.seen("final_observations", final_observations, |_| Ok(()))
        })
    }

    /// One step of one environment, which stays in its last state when its episode ends: reward, terminated, truncated.
    fn step_one(&self, environment: usize, actions: &Bound<'_, PyAny>) -> PyResult<(f64, bool, bool)> {
        let mut together = self.started()?;
        self.check(environment)?;
        let (mut chosen, agents, options) =
            (Joint::of(&self.spec), self.spec.agents, self.spec.actions.count());
        match self.spec.actions.vectors() {
            None => choices("actions", actions, &[agents], options, &mut chosen.choices)?,
            Some(_) => {
                vectors("actions", actions, &[agents, options], &mut chosen.vectors)?;
                self.spec.actions.check_vectors(&chosen.vectors).map_err(value)?;
            }
        }
        let outcome = together.step_one(environment, &chosen).map_err(failed)?;
        Ok((outcome.reward, outcome.end == End::Terminated, outcome.end == End::Truncated))
    }

    /// What is measured now, one number or None per name. The flags say how the last step ended.
    fn measures(&self, environment: usize, terminated: bool, truncated: bool) -> PyResult<Vec<Option<f64>>> {
        let together = self.started()?;
        self.check(environment)?;
        let end = match (terminated, truncated) {
            (true, _) => End::Terminated,
            (_, true) => End::Truncated,
            _ => End::Running,
        };
        let world = together.world(environment);
        Ok((0..self.spec.measures.len()).map(|which| world.measure(which, end)).collect())
    }

    /// The picture of a whole state, for those who see everything.
    fn team_image<'py>(&self, py: Python<'py>, environment: usize) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let together = self.started()?;
        self.check(environment)?;
        let Some(shape) = self.spec.team_image else {
            return Err(value(format!("{} has no picture of its whole state", self.spec.world)));
        };
        let mut pixels = vec![0.0; shape.iter().product()];
        together.world(environment).team_image(&mut pixels);
        PyArray::from_vec(py, pixels).reshape(shape)
    }

    /// What breaks the symmetry in every environment's present episode, as numbers; none where the world declares nothing.
    fn causes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let together = self.started()?;
        let mut all = vec![0.0; self.count * self.cause];
        if self.cause > 0 {
            all.chunks_exact_mut(self.cause).enumerate().for_each(|(e, out)| together.world(e).cause(out));
        }
        PyArray::from_vec(py, all).reshape([self.count, self.cause])
    }

    /// A state as a picture for people: height, width and three bytes a pixel.
    fn rgb<'py>(&self, py: Python<'py>, environment: usize) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let together = self.started()?;
        self.check(environment)?;
        let (height, width, bytes) = picture::rgb(together.world(environment)).map_err(value)?;
        PyArray::from_vec(py, bytes).reshape([height, width, 3])
    }

    /// A state as lines of text.
    fn text(&self, environment: usize) -> PyResult<String> {
        let together = self.started()?;
        self.check(environment)?;
        picture::text(together.world(environment)).map_err(value)
    }

    /// All states and random streams, as JSON.
    fn save(&self) -> PyResult<String> {
        Ok(self.started()?.save().to_string())
    }

    /// Goes on from what `save` gave.
    fn load(&self, saved: &str) -> PyResult<()> {
        let mut together = self.lock()?;
        let saved = serde_json::from_str(saved).map_err(value)?;
        together.load(&saved).map_err(value)
    }
}

impl Envs {
    /// How many numbers one agent sees.
    pub(crate) fn size(&self) -> usize {
        self.shape.iter().product::<usize>().max(1)
    }

    /// Looks at the state of an environment.
    pub(crate) fn with_world<R>(
        &self,
        environment: usize,
        look: impl FnOnce(&dyn World) -> PyResult<R>,
    ) -> PyResult<R> {
        let together = self.started()?;
        self.check(environment)?;
        look(together.world(environment))
    }

    /// The environments, for this call alone. It never waits: a thread that waits here would hold the interpreter.
    fn lock(&self) -> PyResult<MutexGuard<'_, Together>> {
        let here = std::process::id();
        match self.together.try_lock() {
            Ok(together) => {
                self.caller.store(here, Ordering::Relaxed);
                Ok(together)
            }
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err(if self.caller.load(Ordering::Relaxed) == here {
                    "another thread is inside a call of these environments; use one Batch per thread"
                } else {
                    "this process was forked while another thread was inside a call of these environments; \
                     make a new Batch after the fork, or start processes with `spawn`"
                }))
            }
            Err(TryLockError::Poisoned(_)) => Err(PyRuntimeError::new_err(
                "an earlier call of these environments broke off in the middle; make new ones",
            )),
        }
    }

    /// The same, once there are episodes.
    fn started(&self) -> PyResult<MutexGuard<'_, Together>> {
        let together = self.lock()?;
        if together.started {
            return Ok(together);
        }
        Err(PyRuntimeError::new_err("there is no episode yet; call reset() first"))
    }

    fn check(&self, environment: usize) -> PyResult<()> {
        if environment < self.count {
            return Ok(());
        }
        let last = self.count - 1;
        Err(PyIndexError::new_err(format!("there is no environment {environment}; they are 0 to {last}")))
    }

    /// Lends a buffer of observations to `write`.
    fn seen<R>(
        &self,
        name: &str,
        array: &Bound<'_, PyAny>,
        write: impl FnOnce(Seen<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        let mut shape = vec![self.count, self.spec.agents];
        shape.extend(&self.shape);
        match self.sight {
            Sight::Ids => write(Seen::Ids(writable(name, array, &shape)?.as_slice_mut()?)),
            _ => write(Seen::Numbers(writable(name, array, &shape)?.as_slice_mut()?)),
        }
    }
}

/// Something failed that was not asked wrongly.
fn failed(error: equimarl_worlds::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
