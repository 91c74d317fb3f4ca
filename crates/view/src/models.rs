//! Teams that can be played: those of runs, one of a file, and untrained ones that are always there.

use crate::error::{Answer, Error, Refusal, Result};
use crate::runs::{Row, Runs};
use equimarl_group::Group;
use equimarl_learn::WorldConfig;
use equimarl_learn::checkpoint::{self, Snapshot};
use equimarl_nn::{Kind, Network, NetworkConfig, Policy, Setting};
use equimarl_worlds::{Purpose, Stream};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Teams that stay in memory.
const KEPT: usize = 12;
/// The untrained ones.
const FRESH: [(&str, &str, Kind); 4] = [
    ("fresh:wildlife:equivariant", "wildlife", Kind::Equivariant),
    ("fresh:wildlife:plain", "wildlife", Kind::Plain),
    ("fresh:traffic:equivariant", "traffic", Kind::Equivariant),
    ("fresh:traffic:plain", "traffic", Kind::Plain),
];
/// A fresh policy head is close to zero, and every action about as likely. Larger, it has opinions that one can see.
const OPINION: f32 = 25.0;

/// A team and the world that it was made for.
pub(crate) struct Model {
    pub policy: Policy,
    pub world: WorldConfig,
}

/// A file and when it was last written.
type Stamp = (PathBuf, Option<SystemTime>);

/// All teams.
pub(crate) struct Models {
    /// A model file that is not part of a run.
    file: Option<PathBuf>,
    kept: Mutex<Vec<(String, Stamp, Arc<Model>)>>,
}

impl Models {
    /// With a model file of its own, which must be readable.
    pub fn new(file: Option<PathBuf>) -> Result<Models> {
        if let Some(file) = &file {
            of_file(file, None)?;
        }
        Ok(Models { file, kept: Mutex::new(vec![]) })
    }

    /// The teams that can be asked for, the trained ones first.
    pub fn list(&self, rows: &[Row]) -> Value {
        let mut list = vec![];
        if let Some(file) = &self.file {
            let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            if let Ok((model, _)) = of_file(file, None) {
                list.push(entry("file", &name, &model.world.label(), kind(&model), false));
            }
        }
        for row in rows.iter().filter(|r| r.playable && r.state != "unreadable") {
            let so_far = if row.state == "finished" { "" } else { " (so far)" };
            let name = format!("{}{so_far}", row.id);
            list.push(entry(&format!("run:{}", row.id), &name, &row.world, &row.method, false));
        }
        for (id, world, kind) in FRESH {
            let size = WorldConfig::named(world).map(|w| w.label()).unwrap_or_default();
            list.push(entry(id, &format!("untrained {kind}"), &size, kind.name(), true));
        }
        json!(list)
    }

    /// The team with this name.
    pub fn get(&self, id: &str, runs: &Runs) -> Answer<Arc<Model>> {
        let path = match id.split_once(':') {
            None if id == "file" => self.file.clone().ok_or_else(no_model)?,
            Some(("run", run)) => runs.model(run).ok_or_else(no_model)?,
            Some(("fresh", _)) if FRESH.iter().any(|f| f.0 == id) => PathBuf::new(),
            _ => return Err(no_model()),
        };
        let is_file = path != PathBuf::new();
        let written = match std::fs::metadata(&path) {
            Ok(about) => about.modified().ok(),
            // It went between the last look and this one.
            Err(_) if is_file => return Err(no_model()),
            Err(_) => None,
        };
        let stamp = (path, written);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(name, found, _)| name == id && *found == stamp) {
            // The ones used last stay.
            let entry = kept.remove(at);
            let model = entry.2.clone();
            kept.push(entry);
            return Ok(model);
        }
        let model = Arc::new(match FRESH.iter().find(|f| f.0 == id) {
            Some((_, world, kind)) => fresh(world, *kind)?,
            None => of_file(&stamp.0, stamp.0.parent())?.0,
        });
        kept.retain(|(name, _, _)| name != id);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((id.into(), stamp, model.clone()));
        Ok(model)
    }
}

fn no_model() -> Refusal {
    Refusal::unknown("there is no such model; it may have been deleted")
}

fn entry(id: &str, name: &str, world: &str, method: &str, fresh: bool) -> Value {
    json!({ "id": id, "name": name, "world": world, "method": method, "fresh": fresh })
}

fn kind(model: &Model) -> &'static str {
    model.policy.config().kind.name()
}

/// A model file or a checkpoint; a run beside it says what its world is like.
fn of_file(file: &Path, run: Option<&Path>) -> Result<(Model, NetworkConfig)> {
    let beside = || Some(checkpoint::read_config(run?).ok()?.world);
    let (network, world) = match Network::load(file) {
        Ok((network, _)) => (network, beside()),
        Err(error) => match Snapshot::load(file) {
            Ok(snapshot) => (snapshot.network, Some(snapshot.config.world)),
            Err(_) => return Err(Error::Nothing(format!("cannot use {}: {error}", file.display()))),
        },
    };
    let config = network.config().clone();
    let world = match world {
        Some(world) => world,
        None => world_of(&config.setting).ok_or_else(|| {
            Error::Nothing(format!(
                "{} was made for the world `{}`, which this page cannot show",
                file.display(),
                config.setting.world
            ))
        })?,
    };
    Ok((Model { policy: network.policy()?, world }, config))
}

/// The world that a network was made for, in the size that it was made for.
fn world_of(setting: &Setting) -> Option<WorldConfig> {
    match WorldConfig::named(&setting.world).ok()? {
        WorldConfig::Wildlife { .. } => {
            Some(WorldConfig::Wildlife { drones: setting.agents, grid: setting.picture[1] / 3 })
        }
        WorldConfig::Traffic { arrival_steps, arrival_probability, step_limit, .. } => {
            // The whole city's picture is 5 (8R - 1) x 5 (8C - 1) pixels.
            let [rows, cols] = [1, 2].map(|k| (setting.central_picture[k] / 5 + 1) / 8);
            Some(WorldConfig::Traffic { rows, cols, arrival_steps, arrival_probability, step_limit })
        }
    }
}

/// A network with random weights.
fn fresh(world: &str, kind: Kind) -> Answer<Model> {
    let world = WorldConfig::named(world)?;
    let group: Group = if kind.is_plain() { "C1" } else { "C4" }.parse()?;
    let config = NetworkConfig::paper(world.setting(&group)?, kind, &group);
    let mut stream = Stream::new(1, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || stream.normal())?;
    let parameters = network.parameters().into_iter().map(|(name, mut values)| {
        if name == "policy.weight" {
            values.iter_mut().for_each(|v| *v *= OPINION);
        }
        values
    });
    let parameters: Vec<Vec<f32>> = parameters.collect();
    network.set_parameters(parameters)?;
    Ok(Model { policy: network.policy()?, world })
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::impossible(error)
    }
}
