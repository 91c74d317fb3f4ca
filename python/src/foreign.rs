//! A world that lives in Python: any environment with the methods of PettingZoo's `ParallelEnv`.
//!
//! Python's `Adapter` (in `python/equimarl/_foreign.py`) talks to the environment and checks what it says; here its numbers
//! are copied, so that nothing is ever written to, or read from, memory that belongs to somebody else.

use crate::error::value;
use crate::options::from_python;
use equimarl_group::Group;
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{
    Actions, Definition, Edges, End, Envs, Error, Home, Loose, Opt, Outcome, Registry, Result, Settings,
    Spec, Stream, Symmetries, Value, World, WorldConfig, builtin,
};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A declaration, and a function that makes environments.
#[pyclass(frozen, module = "equimarl._core")]
pub(crate) struct ForeignWorld {
    definition: Foreign,
}

#[pymethods]
impl ForeignWorld {
    /// `spec` is the declaration as JSON, `note` what Python wants to know when it meets the world again, as JSON; `make` gives
    /// an adapter of a new environment.
    #[new]
    fn new(spec: &str, note: &str, options: &Bound<'_, PyDict>, make: Py<PyAny>) -> PyResult<ForeignWorld> {
        let spec: Spec = serde_json::from_str(spec).map_err(value)?;
        let home = Home { program: "Python".into(), note: serde_json::from_str(note).map_err(value)? };
        let mut list = vec![];
        for (key, given) in options.iter() {
            let key: String = key.extract()?;
            let given = from_python(&key, &given)?;
            list.push(
                Opt::new(leaked(&key), given, "VALUE", "An option of an environment in Python.")
                    .without_flag(),
            );
        }
        let name = leaked(&spec.world);
        let python = Arc::new(InPython { make, idle: Mutex::default(), raised: Mutex::default() });
        let definition = Foreign { name, spec: Arc::new(spec), home, options: list, python };
        // What cannot be is refused now.
        numbers(&definition.spec).map_err(value)?;
        builtin().with(definition.clone()).map_err(value)?;
        Ok(ForeignWorld { definition })
    }

    /// The world's name.
    #[getter]
    fn name(&self) -> &str {
        self.definition.name
    }
}

impl ForeignWorld {
    /// All worlds, and this one.
    pub fn registry(&self) -> Result<Registry> {
        builtin().with(self.definition.clone())
    }

    /// What an environment raised, if one did: it is to be raised once more, as it was.
    pub fn raised(&self) -> Option<PyErr> {
        held(&self.definition.python.raised).take()
    }
}

/// The same text for as long as the program runs. There are as few of them as somebody declares worlds and options, and each
/// is kept once.
fn leaked(text: &str) -> &'static str {
    static ALL: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = held(&ALL);
    match all.get(text) {
        Some(known) => known,
        None => {
            let text: &'static str = String::leak(text.into());
            all.insert(text);
            text
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is kept in one is ever half written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all environments of a world share.
struct InPython {
    make: Py<PyAny>,
    /// Adapters of environments that nobody uses now: making one may take long.
    idle: Mutex<Vec<Py<PyAny>>>,
    /// The first exception, with its traceback.
    raised: Mutex<Option<PyErr>>,
}

/// A world in Python as one of the registry.
#[derive(Clone)]
struct Foreign {
    name: &'static str,
    spec: Arc<Spec>,
    home: Home,
    options: Vec<Opt>,
    python: Arc<InPython>,
}

impl Foreign {
    /// The declaration under a group: its own, or none for plain networks.
    fn under(&self, group: &Group) -> Result<Arc<Spec>> {
        if group.name() == self.spec.group {
            return Ok(self.spec.clone());
        }
        if group.order() > 1 {
            return Err(Error::BadWorld(format!(
                "the Spec of `{}` declares how {} acts, not {group}: declare one for {group}",
                self.name, self.spec.group
            )));
        }
        without_symmetry(&self.spec, group).map(Arc::new)
    }
}

/// The same declaration, of which every number is a number by itself.
fn without_symmetry(spec: &Spec, group: &Group) -> Result<Spec> {
    let own: Group = spec.group.parse()?;
    let still = |text: &str| -> Result<String> {
        if text.is_empty() {
            return Ok(String::new());
        }
        Ok(format!("{}*trivial", equimarl_group::Rep::parse(&own, text)?.dim()))
    };
    let names = spec.actions.names().to_vec();
    if spec.actions.vectors().is_some() {
        return Err(Error::BadWorld(
            "agents of your own worlds choose; they cannot act by vectors yet".into(),
        ));
    }
    let actions =
        Actions::Choice { rep: still(spec.actions.rep())?, names, marks: spec.actions.marks().to_vec() };
    let (features, edge) = (still(&spec.features)?, still(&spec.edge)?);
    let Spec { agent_moves, .. } = Spec::new(&spec.world, spec.agents, group, actions.clone());
    let (group, plane) = (group.name().into(), String::new());
    Ok(Spec { group, plane, agent_moves, features, edge, actions, ..spec.clone() })
}

impl Definition for Foreign {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        "An environment in Python."
    }

    fn options(&self) -> Vec<Opt> {
        self.options.clone()
    }

    fn symmetries(&self, _: &Settings) -> Symmetries {
        Symmetries { largest: self.spec.group.clone(), usual: self.spec.group.clone() }
    }

    fn make(&self, _: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        let spec = self.under(group)?;
        let numbers = numbers(&spec)?;
        let one = |_| Environment {
            heard: vec![Edges::default(); spec.agents],
            seen: vec![0.0; spec.agents * numbers],
            spec: spec.clone(),
            python: self.python.clone(),
            adapter: None,
        };
        Ok(Box::new(Loose::new((0..count).map(one).collect())?))
    }

    fn home(&self) -> Option<Home> {
        Some(self.home.clone())
    }

    fn label(&self, settings: &Settings) -> String {
        settings.iter().fold(self.name.into(), |all, (_, value)| format!("{all}-{value}"))
    }

    fn title(&self, settings: &Settings) -> String {
        let part = |(key, value): (&str, &Value)| format!(", {} {value}", key.replace('_', " "));
        self.name.to_string() + &settings.iter().map(part).collect::<String>()
    }
}

/// More numbers than this are a mistake, and not what a team sees.
const MOST: usize = 1 << 24;

/// How many numbers one agent sees.
pub(crate) fn numbers(spec: &Spec) -> Result<usize> {
    let one = match spec.image {
        Some(image) => image.iter().try_fold(1, |all: usize, side| all.checked_mul(*side)),
        None => Some(equimarl_group::Rep::parse(&spec.group.parse()?, &spec.features)?.dim()),
    };
    let all = one.and_then(|one| one.checked_mul(spec.agents.max(1)));
    match (one, all) {
        (Some(one), Some(all)) if all <= MOST => Ok(one),
        _ => Err(Error::BadWorld(format!(
            "{} agents cannot see so much: together at most {MOST} numbers",
            spec.agents
        ))),
    }
}

/// One environment. It is made in Python when its first episode begins, and given back when nobody needs it any more.
struct Environment {
    spec: Arc<Spec>,
    python: Arc<InPython>,
    adapter: Option<Py<PyAny>>,
    /// What all agents see now, and whom they hear: copies.
    seen: Vec<f32>,
    heard: Vec<Edges>,
}

impl Drop for Environment {
    fn drop(&mut self) {
        held(&self.python.idle).extend(self.adapter.take());
    }
}

impl Environment {
    /// Asks the adapter for something, and copies what everybody sees and hears afterwards.
    fn ask<'py, A>(&mut self, py: Python<'py>, method: &str, arguments: A) -> PyResult<Bound<'py, PyTuple>>
    where
        A: pyo3::call::PyCallArgs<'py>,
    {
        if self.adapter.is_none() {
            let idle = held(&self.python.idle).pop();
            self.adapter = Some(match idle {
                Some(adapter) => adapter,
                None => self.python.make.call0(py)?,
            });
        }
        let Some(adapter) = &self.adapter else { return Err(value("there is no environment")) };
        let answer = adapter.bind(py).call_method1(method, arguments)?.cast_into::<PyTuple>()?;
        let seen = answer.get_item(0)?.cast_into::<PyArrayDyn<f32>>()?;
        let seen = seen.try_readonly()?;
        let seen = seen.as_slice()?;
        if seen.len() != self.seen.len() {
            return Err(value(format!(
                "there are {} numbers to see, and not {}",
                seen.len(),
                self.seen.len()
            )));
        }
        let numbers = self.seen.len() / self.spec.agents.max(1);
        if let Some(at) = seen.iter().position(|x| !x.is_finite()) {
            let (agent, place, found) = (at / numbers.max(1), at % numbers.max(1), seen[at]);
            let name: String = adapter.bind(py).call_method1("name", (agent,))?.extract()?;
            return Err(value(format!(
                "after {method}(), number {place} of what {name} sees is {found}; a network needs finite numbers"
            )));
        }
        self.seen.copy_from_slice(seen);
        let heard = answer.get_item(1)?;
        if !heard.is_none() {
            let heard: Vec<Vec<(u32, Vec<f32>)>> = heard.extract()?;
            for (edges, heard) in self.heard.iter_mut().zip(heard) {
                edges.clear();
                heard.iter().for_each(|(from, vector)| edges.hear(*from as usize, vector));
            }
        }
        Ok(answer)
    }

    /// Keeps what Python raised for those who called us, and says that it did.
    fn kept<T>(&self, py: Python<'_>, answer: PyResult<T>) -> Result<T> {
        answer.map_err(|error| {
            let text = format!("the environment in Python raised {}", error.value(py));
            held(&self.python.raised).get_or_insert(error);
            Error::BadWorld(text)
        })
    }
}

impl World for Environment {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        // 31 bits: some environments hand their seed to NumPy's old generator, others to a program in C.
        let seed = stream.word() >> 1;
        Python::attach(|py| {
            let answer = self.ask(py, "reset", (seed,)).map(|_| ());
            self.kept(py, answer)
        })
    }

    fn step(&mut self, actions: &[usize], _: &mut Stream) -> Result<Outcome> {
        Python::attach(|py| {
            let mut step = || {
                let answer = self.ask(py, "step", (actions.to_vec(),))?;
                let end = match (answer.get_item(3)?.extract()?, answer.get_item(4)?.extract()?) {
                    (true, _) => End::Terminated,
                    (false, true) => End::Truncated,
                    (false, false) => End::Running,
                };
                Ok(Outcome { reward: answer.get_item(2)?.extract()?, end })
            };
            let answer = step();
            self.kept(py, answer)
        })
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.seen[who * out.len()..][..out.len()]);
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clone_from(&self.heard[agent]);
    }

    fn scene(&self) -> Result<Scene> {
        Err(Error::Draw(format!("the world `{}` lives in Python, which renders it", self.spec.world)))
    }
}

/// All worlds, and one of which only the declaration is known: networks can be made for it, and episodes cannot.
pub(crate) fn declared(described: &equimarl_worlds::Described, world: &WorldConfig) -> PyResult<Registry> {
    Python::attach(|py| {
        let options = world.settings.iter().map(|(key, value)| {
            Opt::new(leaked(key), value.clone(), "VALUE", "An option of an environment in Python.")
                .without_flag()
        });
        let python = InPython { make: py.None(), idle: Mutex::default(), raised: Mutex::default() };
        let home = described
            .home
            .clone()
            .unwrap_or(Home { program: "Python".into(), note: serde_json::Value::Null });
        let definition = Foreign {
            name: leaked(&described.spec.world),
            spec: Arc::new(described.spec.clone()),
            home,
            options: options.collect(),
            python: Arc::new(python),
        };
        builtin().with(definition).map_err(value)
    })
}
