//! Training: the trainer of the program, in the same run folders.

use crate::error::value;
use crate::foreign::ForeignWorld;
use crate::options::from_python;
use equimarl_learn::run::{self, Ended, Event};
use equimarl_learn::{Error, Method, RunFolder, TrainConfig};
use equimarl_worlds::{Registry, Value, builtin, nearest};
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether somebody wants training to stop. Python's signal handler asks it.
#[pyclass(frozen, module = "equimarl._core")]
#[derive(Default)]
pub(crate) struct Stop {
    asked: AtomicBool,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// Asks for it.
    fn ask(&self) {
        self.asked.store(true, Relaxed);
    }

    /// Whether somebody did.
    #[getter]
    fn asked(&self) -> bool {
        self.asked.load(Relaxed)
    }
}

/// All computing happens in the thread that calls us. So no thread of ours is there when a process forks, and none is missed
/// by a child; and an environment is called from where its owner is.
///
/// This comes first, when Python imports us: whoever computes before it would start threads.
pub(crate) fn alone() -> PyResult<()> {
    let made = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    match made {
        Err(error) if rayon::current_num_threads() != 1 => {
            Err(PyRuntimeError::new_err(format!("equimarl cannot compute in one thread: {error}")))
        }
        _ => Ok(()),
    }
}

/// The worlds of the program, and one that lives in Python.
fn registry(foreign: Option<&ForeignWorld>) -> PyResult<Registry> {
    match foreign {
        Some(world) => world.registry().map_err(value),
        None => Ok(builtin()),
    }
}

/// Makes a run folder for settings: those of the preset, and over them `settings`, which are the trainer's or options of the
/// world, by their names. Without a folder it has the program's usual name. Gives the folder.
#[pyfunction]
#[pyo3(signature = (folder, world, foreign, method, preset, settings))]
pub(crate) fn begin(
    py: Python<'_>,
    folder: Option<PathBuf>,
    world: &str,
    foreign: Option<&ForeignWorld>,
    method: &str,
    preset: &str,
    settings: &Bound<'_, PyDict>,
) -> PyResult<PathBuf> {
    let registry = registry(foreign)?;
    let config = resolved(&registry, world, foreign.is_some(), method, preset, settings)?;
    if foreign.is_some() && config.method.kind().is_central() {
        return Err(value(format!(
            "{method} decides for a whole team by a picture of the whole state, which a Spec does not have; use equivariant, \
             plain or an augment method"
        )));
    }
    let usual = || format!("runs/{}-{}-{}", config.world.name, config.method, config.seed).into();
    let folder = folder.unwrap_or_else(usual);
    RunFolder::at(&folder).check_empty().map_err(|error| occupied(&folder, &error))?;
    py.detach(|| run::create(&registry, &folder, &config)).map_err(|error| raise(error, foreign))?;
    Ok(folder)
}

/// That something is in the way, in Python's words.
fn occupied(folder: &Path, error: &Error) -> PyErr {
    if RunFolder::at(folder).is_run() {
        let folder = folder.display();
        return PyFileExistsError::new_err(format!(
            "{folder} holds a run already; go on with it by equimarl.resume, or choose another `out`"
        ));
    }
    PyFileExistsError::new_err(error.to_string().replace("--out", "`out`"))
}

/// Settings as the command line would make them. Options of a world in Python are what its Spec says, and nothing else.
fn resolved(
    registry: &Registry,
    world: &str,
    foreign: bool,
    method: &str,
    preset: &str,
    settings: &Bound<'_, PyDict>,
) -> PyResult<TrainConfig> {
    let method: Method = method.parse().map_err(value)?;
    let options = registry.get(world).map_err(value)?.options();
    let (mut own, mut rest) = (registry.usual(world).map_err(value)?, String::new());
    let mut group_given = false;
    for (key, given) in settings.iter() {
        let key: String = key.extract()?;
        let given = from_python(&key, &given)?;
        if options.iter().any(|o| o.key == key) {
            if foreign {
                return Err(value(format!(
                    "`{key}` is an option of the Spec, so it is given there: the environment would not hear of it here"
                )));
            }
            own.settings.set(&key, given);
            continue;
        }
        group_given |= key == "group";
        let text = match given {
            Value::Text(text) => json!(text).to_string(),
            // TOML writes a whole number that is meant as a fraction with its point, and no number in small letters.
            Value::Number(x) => format!("{x:?}").to_lowercase(),
            other => other.to_string(),
        };
        rest += &format!("{key} = {text}\n");
    }
    let own = registry.complete(&own).map_err(value)?;
    let base = TrainConfig::preset(registry, preset, own, method).map_err(|error| in_words(&error))?;
    if foreign {
        for option in &options {
            let tried = TrainConfig::overlay(registry, &base, &format!("{} = 0\n", option.key));
            if !tried.is_err_and(|error| error.to_string().starts_with("there is no setting")) {
                return Err(value(format!(
                    "the Spec has an option `{0}`, and so has the trainer a setting; give the option another name",
                    option.key
                )));
            }
        }
    }
    let config = TrainConfig::overlay(registry, &base, &rest).map_err(|error| {
        let (text, keys) = (error.to_string(), options.iter().map(|o| o.key).collect::<Vec<_>>());
        if !text.starts_with("there is no setting") {
            return value(text);
        }
        // What is neither the trainer's nor the world's may be meant as either.
        let wrong = text.split('`').nth(1).unwrap_or_default();
        match nearest(wrong, keys.iter().copied()) {
            Some(near) => {
                value(format!("there is no setting `{wrong}`; did you mean `{near}`, an option of {world}?"))
            }
            None if keys.is_empty() || text.contains("did you mean") => value(text),
            None => value(format!("{text}; options of {world}: {}", keys.join(", "))),
        }
    })?;
    // A group that nobody gave follows the world's size.
    let group = match group_given {
        true => config.group.clone(),
        false => {
            equimarl_learn::usual_group(registry, &config.world, method).map_err(|error| in_words(&error))?
        }
    };
    let config = TrainConfig { group, ..config };
    config.check().map_err(value)?;
    Ok(config)
}

/// Lets a run go on to more steps.
#[pyfunction]
pub(crate) fn extend(
    py: Python<'_>,
    folder: PathBuf,
    foreign: Option<&ForeignWorld>,
    steps: u64,
) -> PyResult<()> {
    let registry = registry(foreign)?;
    check_run(&registry, foreign, &folder)?;
    py.detach(|| run::extend(&registry, &folder, steps)).map_err(|error| raise(error, foreign))
}

/// Trains in a run folder until all steps are done, `stop` was asked, or `hear` says False or raises. It hears
/// ("update", ...), ("warning", text) and ("resumed", steps). Whether the run is finished.
#[pyfunction]
pub(crate) fn train(
    py: Python<'_>,
    folder: PathBuf,
    foreign: Option<&ForeignWorld>,
    stop: &Stop,
    hear: Py<PyAny>,
) -> PyResult<bool> {
    let registry = registry(foreign)?;
    check_run(&registry, foreign, &folder)?;
    let origin = origin();
    let (mut raised, ended) = py.detach(|| {
        let raised = std::sync::Mutex::new(None);
        let fail = |error: PyErr| {
            if let Ok(mut raised) = raised.lock() {
                raised.get_or_insert(error);
            }
            stop.ask();
        };
        // Between two steps Python hears its signals; without this, nothing would until the end.
        let asked = || {
            Python::attach(|py| py.check_signals()).unwrap_or_else(&fail);
            stop.asked()
        };
        let ended = run::train(&registry, &folder, &origin, &asked, &mut |event| {
            let told = Python::attach(|py| tell(py, &hear, event));
            match told {
                Ok(true) => {}
                Ok(false) => stop.ask(),
                Err(error) => fail(error),
            }
        });
        (raised.into_inner().unwrap_or_default(), ended)
    });
    if let Some(error) = raised.take() {
        return Err(error);
    }
    let finished = ended.map_err(|error| raise(error, foreign))?;
    // What was raised and did no harm, in a checkpoint that was left out, is forgotten.
    drop(foreign.and_then(ForeignWorld::raised));
    Ok(matches!(finished, Ended::Finished(_)))
}

/// Tells Python what happened; whether it wants to go on.
fn tell(py: Python<'_>, hear: &Py<PyAny>, event: Event<'_>) -> PyResult<bool> {
    let answer = match event {
        Event::Iteration { steps, episodes, mean_return, measure, progress } => {
            let loss = &progress.loss;
            let numbers = PyDict::new(py);
            for (key, number) in [
                ("mean_return", mean_return),
                ("measure", measure),
                ("loss", loss.total),
                ("policy_loss", loss.policy),
                ("value_loss", loss.value),
                ("entropy", loss.entropy),
                ("approx_kl", loss.approx_kl),
                ("clip_fraction", loss.clip_fraction),
                ("gradient_norm", progress.gradient_norm),
                ("explained_variance", progress.explained_variance),
            ] {
                numbers.set_item(key, number)?;
            }
            hear.bind(py).call1(("update", steps, episodes, numbers))?
        }
        Event::Warning(text) => hear.bind(py).call1(("warning", 0, 0, text))?,
        Event::Resumed { steps } => hear.bind(py).call1(("resumed", steps, 0, ()))?,
        _ => return Ok(true),
    };
    Ok(!answer.is(pyo3::types::PyBool::new(py, false).as_any()))
}

fn check_run(registry: &Registry, foreign: Option<&ForeignWorld>, folder: &Path) -> PyResult<()> {
    if !RunFolder::at(folder).is_run() {
        return Err(PyFileNotFoundError::new_err(format!("{} holds no run", folder.display())));
    }
    RunFolder::at(folder).check_world(registry).map_err(|error| {
        value(format!("{error}. Give the environment and its Spec: equimarl.resume(run, env, spec=spec)"))
    })?;
    let (Some(was), true) = (RunFolder::at(folder).described(), foreign.is_some()) else { return Ok(()) };
    let world = RunFolder::at(folder).read_config(registry).map_err(value)?.world;
    let now = registry.describe(&world).map_err(value)?;
    let (was, now) = (serde_json::to_value(&was).map_err(value)?, serde_json::to_value(&now).map_err(value)?);
    // What only says how things are called may change.
    for (key, now) in now.as_object().into_iter().flatten() {
        if was[key] != *now && !["title", "label", "thresholds"].contains(&key.as_str()) {
            return Err(value(format!(
                "this is not the Spec that {} was made with: `{key}` was {}, and is {now}",
                folder.display(),
                was[key]
            )));
        }
    }
    Ok(())
}

/// What an environment raised as it was, or our own error.
pub(crate) fn raise(error: Error, foreign: Option<&ForeignWorld>) -> PyErr {
    if let Some(raised) = foreign.and_then(ForeignWorld::raised) {
        return raised;
    }
    match error {
        Error::Diverged(_) | Error::File { .. } => PyRuntimeError::new_err(error.to_string()),
        _ => in_words(&error),
    }
}

/// What the program calls by its flag is an argument here.
fn in_words(error: &Error) -> PyErr {
    value(error.to_string().replace("--group", "`group`"))
}

/// Where a run was made: stands in its summary and its model.
fn origin() -> serde_json::Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": env!("EQUIMARL_COMMIT"),
        "cpu": cpu(),
        "simd": equimarl_kernels::Level::best().name(),
        "made_in": "Python",
    })
}

fn cpu() -> String {
    let listing = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = listing.lines().find_map(|line| line.strip_prefix("model name"));
    name.and_then(|rest| rest.split_once(':')).map_or("unknown".into(), |(_, name)| name.trim().into())
}
