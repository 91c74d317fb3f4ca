//! Trained teams that play.

use crate::envs::Envs;
use crate::error::value;
use crate::foreign::{declared, numbers};
use crate::sight::Sight;
use equimarl_learn::checkpoint::Snapshot;
use equimarl_learn::{Learned, RunFolder, world_of};
use equimarl_nn::{Choice, Metadata, Network};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{
    Controller, Described, Edges, Error, Joint, Loose, Outcome, Purpose, Result, Senders, Spec, Stream,
    World, builtin,
};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Whom every agent hears: numbers of agents, with edge vectors.
type Heard = Vec<Vec<(u32, Vec<f32>)>>;

/// What all agents of a state do.
#[derive(IntoPyObject)]
pub(crate) enum Acts {
    /// One choice each.
    Choices(Vec<usize>),
    /// One vector each.
    Vectors(Vec<Vec<f64>>),
}

/// A trained team: a network, the declaration of its world, and random numbers for those who want actions drawn.
#[pyclass(frozen, module = "equimarl._core")]
pub(crate) struct Team {
    spec: Arc<Spec>,
    /// Numbers that one agent sees.
    numbers: usize,
    described: Option<Described>,
    metadata: Metadata,
    network: Network,
    playing: Mutex<Playing>,
}

struct Playing {
    greedy: Learned,
    sampled: Learned,
    stream: Stream,
    /// The senders that both were made for.
    senders: Vec<Senders>,
}

/// A policy that looks at states with these senders.
fn playing(network: &Network, spec: &Spec, senders: &[Senders]) -> equimarl_learn::Result<Playing> {
    let spec = Arc::new(Spec { senders: senders.to_vec(), ..spec.clone() });
    let shown = Loose::new(vec![Shown::nothing(&spec)])?;
    let policy = network.policy()?;
    let learned = |choice| Learned::new(policy.clone(), &network.sharing(), choice, &shown);
    Ok(Playing {
        greedy: learned(Choice::Greedy)?,
        sampled: learned(Choice::Sampled)?,
        stream: Stream::new(0, Purpose::Action, 0),
        senders: senders.to_vec(),
    })
}

#[pymethods]
impl Team {
    /// Of a run folder or a model file. A run that is not finished gives its latest checkpoint.
    #[new]
    fn new(path: PathBuf) -> PyResult<Team> {
        let (network, metadata, described) = read(&path)?;
        let own = |error: equimarl_learn::Error| value(format!("cannot use {}: {error}", path.display()));
        let spec = match &described {
            Some(described) => Arc::new(described.spec.clone()),
            None => {
                let registry = builtin();
                let world = world_of(&registry, &metadata).map_err(own)?.world;
                let envs = registry.make(&world, network.group(), 1).map_err(value)?;
                envs.spec().clone()
            }
        };
        let playing = Mutex::new(playing(&network, &spec, &spec.senders).map_err(own)?);
        let numbers = numbers(&spec).map_err(value)?;
        Ok(Team { spec, numbers, described, metadata, network, playing })
    }

    /// The declaration of its world, as JSON.
    #[getter]
    fn spec(&self) -> PyResult<String> {
        serde_json::to_string(&*self.spec).map_err(value)
    }

    /// What Python noted of a world of its own, as JSON; nothing for a world of the program.
    #[getter]
    fn note(&self) -> Option<String> {
        self.described.as_ref()?.home.as_ref().map(|home| home.note.to_string())
    }

    /// What the file says of where it was made, as JSON.
    #[getter]
    fn extra(&self) -> String {
        self.metadata.extra.to_string()
    }

    /// The kind of network.
    #[getter]
    fn kind(&self) -> &'static str {
        self.metadata.network.kind.name()
    }

    /// The network's group.
    #[getter]
    fn group(&self) -> &str {
        &self.metadata.network.group
    }

    /// Free numbers of the network.
    #[getter]
    fn parameters(&self) -> usize {
        self.network.values().len()
    }

    /// The actions of all agents of one state, who see `observations` [agents, numbers]. Whom they hear is given, or what
    /// environment number `place.1` of `place.0` says. Tokens, if agents have some, are those of `episode`: a seed and a number.
    #[pyo3(signature = (observations, heard, place, greedy, seed, episode))]
    fn act(
        &self,
        observations: &Bound<'_, PyArrayDyn<f32>>,
        heard: Option<Heard>,
        place: Option<(PyRef<'_, Envs>, usize)>,
        greedy: bool,
        seed: Option<u64>,
        episode: (u64, u64),
    ) -> PyResult<Acts> {
        let (envs, environment) = match &place {
            Some((envs, environment)) => (Some(&**envs), *environment),
            None => (None, 0),
        };
        let seen = observations.try_readonly().map_err(|_| value("`observations` are being written"))?;
        let seen = seen.as_slice().map_err(|_| value("`observations` are not contiguous"))?;
        // Where surroundings are observed, edges are read from the world, and the rest is what the network sees.
        let team = observations.shape().first().copied().unwrap_or(0);
        let surrounded =
            envs.filter(|envs| envs.sight == Sight::Surroundings && seen.len() == team * envs.size());
        let alone: Vec<f32>;
        let seen = match surrounded {
            None => seen,
            Some(envs) => {
                alone = seen
                    .chunks(envs.size())
                    .flat_map(|all| &all[..self.numbers.min(all.len())])
                    .copied()
                    .collect();
                &alone
            }
        };
        let (agents, numbers) = (seen.len() / self.numbers.max(1), self.numbers);
        if agents == 0 || !seen.len().is_multiple_of(numbers) {
            return Err(value(format!(
                "an agent of this team sees {numbers} numbers; {} are no team's",
                seen.len()
            )));
        }
        if let Some(at) = seen.iter().position(|x| !x.is_finite()) {
            return Err(value(format!(
                "agent {} sees {}; a network needs finite numbers",
                at / numbers,
                seen[at]
            )));
        }
        let mut all = vec![Edges::default(); agents];
        let (mut senders, mut kinds, mut cause) = (vec![], self.spec.senders.clone(), vec![]);
        match (heard, envs) {
            (Some(heard), _) => self.hear(&heard, &mut all)?,
            (None, Some(envs)) => envs.with_world(environment, |world| {
                if world.spec().world != self.spec.world || world.agents() != agents {
                    return Err(value(format!(
                        "this team plays {} with {agents} agents, and the environment is {} with {}",
                        self.spec.world,
                        world.spec().world,
                        world.agents()
                    )));
                }
                let alike = |(a, b): (&Senders, &Senders)| a.kind == b.kind && a.features == b.features;
                let there = &world.spec().senders;
                if there.len() != kinds.len() || !there.iter().zip(&kinds).all(alike) {
                    return Err(value("this team hears other kinds of senders than the environment has"));
                }
                // There may be more or fewer of each than in training.
                kinds.clone_from(there);
                (0..agents).for_each(|agent| world.neighbours(agent, &mut all[agent]));
                senders = self.senders(world)?;
                cause.resize(equimarl_worlds::GroupAction::new(&self.spec).map_err(value)?.cause_dim(), 0.0);
                // A team that is not told of it, in a world that would say.
                if !cause.is_empty() {
                    world.cause(&mut cause);
                }
                Ok(())
            })?,
            (None, None) => {}
        }
        let spec = Arc::new(Spec { agents, senders: kinds.clone(), ..(*self.spec).clone() });
        let shown = Shown { spec, numbers, seen: seen.to_vec(), heard: all, senders, cause };
        let mut playing = self.playing.lock().unwrap_or_else(PoisonError::into_inner);
        if playing.senders != kinds {
            let stream = playing.stream.clone();
            *playing = Playing { stream, ..self::playing(&self.network, &self.spec, &kinds).map_err(value)? };
        }
        let Playing { greedy: first, sampled, stream, .. } = &mut *playing;
        if let Some(seed) = seed {
            *stream = Stream::new(seed, Purpose::Action, 0);
        }
        let who = if greedy { first } else { sampled };
        // Nobody says here when an episode begins: what was seen before is forgotten, and tokens follow from the episode's number.
        who.begin(episode.0, episode.1);
        let mut actions = Joint::of(&shown.spec);
        actions.take(who, &shown, stream).map_err(value)?;
        let each = shown.spec.actions.count().max(1);
        Ok(match actions.is_vectors() {
            false => Acts::Choices(actions.choices),
            true => Acts::Vectors(actions.vectors.chunks(each).map(<[f64]>::to_vec).collect()),
        })
    }
}

impl Team {
    /// Checks and copies whom agents hear.
    fn hear(&self, heard: &Heard, all: &mut [Edges]) -> PyResult<()> {
        let dim = equimarl_worlds::GroupAction::new(&self.spec).map_err(value)?.edge_dim();
        let agents = all.len();
        if heard.len() != agents {
            return Err(value(format!("there are {agents} agents, and neighbours of {}", heard.len())));
        }
        for (edges, heard) in all.iter_mut().zip(heard) {
            for (from, vector) in heard {
                if *from as usize >= agents || vector.len() != dim || vector.iter().any(|x| !x.is_finite()) {
                    return Err(value(format!(
                        "a neighbour is one of {agents} agents with an edge vector of {dim} finite numbers, not agent {from} with \
                         {vector:?}"
                    )));
                }
                edges.hear(*from as usize, vector);
            }
        }
        Ok(())
    }

    /// What is seen of senders, one after the other.
    fn senders(&self, world: &dyn World) -> PyResult<Vec<Vec<f32>>> {
        let acts = equimarl_worlds::GroupAction::new(&self.spec).map_err(value)?;
        let (spec, agents) = (world.spec(), world.agents());
        let one = |who: usize| {
            let mut out = vec![0.0; spec.sender_kind(agents + who).map_or(0, |kind| acts.sender_dim(kind))];
            world.observe(agents + who, &mut out);
            out
        };
        Ok((0..spec.sender_count()).map(one).collect())
    }
}

/// A state of which nothing is known but what its agents see and hear.
struct Shown {
    spec: Arc<Spec>,
    numbers: usize,
    seen: Vec<f32>,
    heard: Vec<Edges>,
    senders: Vec<Vec<f32>>,
    /// What breaks the symmetry, if it is known.
    cause: Vec<f32>,
}

impl Shown {
    fn nothing(spec: &Arc<Spec>) -> Shown {
        Shown { spec: spec.clone(), numbers: 0, seen: vec![], heard: vec![], senders: vec![], cause: vec![] }
    }
}

impl World for Shown {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, _: &mut Stream) -> Result<()> {
        Err(Error::BadWorld("a state that was only shown has no episodes".into()))
    }

    fn step(&mut self, _: &[usize], _: &mut Stream) -> Result<Outcome> {
        Err(Error::BadWorld("a state that was only shown has no next one".into()))
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        let seen = match who.checked_sub(self.spec.agents) {
            None => self.seen.get(who * self.numbers..(who + 1) * self.numbers),
            Some(sender) => self.senders.get(sender).map(Vec::as_slice),
        };
        match seen.filter(|seen| seen.len() == out.len()) {
            Some(seen) => out.copy_from_slice(seen),
            None => out.fill(0.0),
        }
    }

    fn cause(&self, out: &mut [f32]) {
        if out.len() == self.cause.len() {
            out.copy_from_slice(&self.cause);
        }
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        if let Some(heard) = self.heard.get(agent) {
            edges.clone_from(heard);
        }
    }

    fn scene(&self) -> Result<Scene> {
        Err(Error::Draw("a state that was only shown has no picture".into()))
    }
}

/// A network, what its file says, and the declaration of a world that lives in Python.
fn read(path: &Path) -> PyResult<(Network, Metadata, Option<Described>)> {
    let run = RunFolder::at(path);
    let missing = |text: String| PyFileNotFoundError::new_err(text);
    if !path.exists() {
        return Err(missing(format!("there is no {}", path.display())));
    }
    let file = if path.is_dir() { run.model() } else { path.into() };
    if !file.exists() {
        if !run.is_run() {
            return Err(missing(format!("{} holds neither a run nor a model", path.display())));
        }
        return latest(path);
    }
    let (network, metadata) = Network::load(&file).map_err(value)?;
    let described = serde_json::from_value(metadata.world["spec"].clone()).ok();
    Ok((network, metadata, described))
}

/// Of a run that is not finished.
fn latest(path: &Path) -> PyResult<(Network, Metadata, Option<Described>)> {
    let described = RunFolder::at(path).described().filter(|described| described.home.is_some());
    let registry = match &described {
        None => builtin(),
        Some(described) => {
            let config = RunFolder::at(path).read_config(&builtin()).map_err(value)?;
            declared(described, &config.world)?
        }
    };
    let found = Snapshot::latest(&registry, path).map_err(value)?.ok_or_else(|| {
        PyFileNotFoundError::new_err(format!("the run in {} has no checkpoint yet", path.display()))
    })?;
    let config = &found.config;
    let world = equimarl_learn::world_note(&registry, &config.world).map_err(value)?;
    let extra = serde_json::json!({ "seed": config.seed, "steps": found.steps, "method": config.method });
    let metadata = found.network.metadata(&world, &extra).map_err(value)?;
    Ok((found.network, metadata, described))
}
