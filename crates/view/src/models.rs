//! Teams that can be played: those of runs, one of a file, and untrained ones that are always there.

use crate::beside::Beside;
use crate::error::{Answer, Error, Refusal, Result};
use crate::runs::{Row, Runs};
use crate::settings::{as_json, describe};
use equimarl_group::Group;
use equimarl_learn::checkpoint::Snapshot;
use equimarl_learn::{RunFolder, interface, world_of};
use equimarl_nn::{Network, NetworkConfig, NetworkKind, Policy};
use equimarl_worlds::{Purpose, Registry, Stream, WorldConfig};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Teams that stay in memory.
const KEPT: usize = 12;
/// The kinds of networks of untrained teams.
const FRESH: [NetworkKind; 2] = [NetworkKind::Equivariant, NetworkKind::Plain];
/// A fresh policy head is close to zero, and every action about as likely. Larger, it has opinions that one can see.
const OPINION: f32 = 25.0;

/// A team and the world that it was made for.
pub(crate) struct Model {
    pub policy: Policy,
    pub world: WorldConfig,
    /// What had to be assumed of its world.
    pub assumed: Option<String>,
    /// Of a relaxed network: how far each layer's weights are from equivariant ones.
    pub asymmetry: Vec<(String, f64)>,
    /// Where files are kept that the world is made from.
    pub files: Option<PathBuf>,
}

/// A file and when it was last written; no file for untrained teams.
type Stamp = Option<(PathBuf, Option<SystemTime>)>;

/// All teams.
pub(crate) struct Models {
    registry: Registry,
    /// A model file that is not part of a run.
    file: Option<PathBuf>,
    kept: Mutex<Vec<(String, Stamp, Arc<Model>)>>,
}

impl Models {
    /// With a model file of its own, which must be readable.
    pub fn new(registry: &Registry, file: Option<PathBuf>) -> Result<Models> {
        if let Some(file) = &file {
            of_file(registry, file)?;
        }
        Ok(Models { registry: registry.clone(), file, kept: Mutex::new(vec![]) })
    }

    /// The worlds, and what can be set in each.
    pub fn worlds(&self) -> Value {
        self.registry.iter().map(describe).collect()
    }

    /// The teams that can be asked for, the trained ones first: each with what it is, and which team of another kind it can
    /// be compared with.
    pub fn list(&self, rows: &[Row]) -> Value {
        let mut list = vec![];
        if let Some(file) = &self.file {
            let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            if let Ok(model) = self.read("file", file) {
                let kind = model.policy.config().kind;
                list.push(self.entry("file", &name, &model.world, kind.name(), false));
            }
        }
        let beside = Beside::new(rows);
        for row in rows {
            let (Some(world), Some(trained)) = (&row.config, row.trained) else { continue };
            let so_far = if row.state == "finished" { "" } else { " (so far)" };
            let name = format!("{}{so_far}", row.id);
            let mut entry = self.entry(&format!("run:{}", row.id), &name, world, &row.method, false);
            entry["run"] = json!({
                "id": row.id, "sweep": row.sweep, "for_choosing": row.for_choosing, "seed": row.seed, "group": row.group,
                "trained": trained, "steps": row.steps, "finished": row.state == "finished", "return": row.mean_return,
                "written": row.written,
            });
            entry["beside"] = beside.of(row);
            list.push(entry);
        }
        for name in self.registry.names() {
            let Ok(world) = self.registry.usual(name) else { continue };
            for kind in FRESH {
                let id = format!("fresh:{name}:{kind}");
                let mut entry = self.entry(&id, &format!("untrained {kind}"), &world, kind.name(), true);
                for other in FRESH.into_iter().filter(|other| *other != kind) {
                    entry["beside"][other.name()] = json!({ "team": format!("fresh:{name}:{other}") });
                }
                list.push(entry);
            }
        }
        json!(list)
    }

    fn entry(&self, id: &str, name: &str, world: &WorldConfig, method: &str, fresh: bool) -> Value {
        json!({
            "id": id, "name": name, "world": world.name, "label": self.registry.label(world),
            "settings": as_json(&world.settings), "method": method, "fresh": fresh,
        })
    }

    /// The team with this name.
    pub fn get(&self, id: &str, runs: &Runs) -> Answer<Arc<Model>> {
        match id.split_once(':') {
            None if id == "file" => self.read(id, self.file.as_ref().ok_or_else(no_model)?),
            Some(("run", run)) => self.read(id, &runs.model(run).ok_or_else(no_model)?),
            Some(("fresh", what)) => {
                let (world, kind) = what.rsplit_once(':').ok_or_else(no_model)?;
                let kind = FRESH.into_iter().find(|k| k.name() == kind).ok_or_else(no_model)?;
                let world = self.registry.usual(world).map_err(|_| no_model())?;
                self.kept(id, None, || fresh(&self.registry, &world, kind))
            }
            // An untrained team for the world of another one, in the size that it has there.
            Some(("new", what)) => {
                let (kind, other) = what.split_once(':').ok_or_else(no_model)?;
                let kind: NetworkKind = kind.parse().map_err(|_| no_model())?;
                // One of a new one would be one of the same, and could go on without an end.
                if other.starts_with("new:") {
                    return Err(no_model());
                }
                let world = self.get(other, runs)?.world.clone();
                // The other one may be replaced by one of another world.
                let name = format!("{id} {world:?}");
                self.kept(&name, None, || fresh(&self.registry, &world, kind))
            }
            _ => Err(no_model()),
        }
    }

    fn read(&self, id: &str, file: &Path) -> Answer<Arc<Model>> {
        // It may have gone between the last look and this one.
        let about = std::fs::metadata(file).map_err(|_| no_model())?;
        let stamp = Some((file.to_path_buf(), about.modified().ok()));
        self.kept(id, stamp, || Ok(of_file(&self.registry, file)?))
    }

    /// A team that is in memory as it is now, or is made.
    fn kept(&self, id: &str, stamp: Stamp, make: impl FnOnce() -> Answer<Model>) -> Answer<Arc<Model>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(name, found, _)| name == id && *found == stamp) {
            // The ones used last stay.
            let entry = kept.remove(at);
            let model = entry.2.clone();
            kept.push(entry);
            return Ok(model);
        }
        let model = Arc::new(make()?);
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

/// A model file or a checkpoint. A model of the first format does not know its world, but a run beside it may.
fn of_file(registry: &Registry, file: &Path) -> Result<Model> {
    let unusable =
        |error: &dyn std::fmt::Display| Error::Nothing(format!("cannot use {}: {error}", file.display()));
    let (network, metadata) = match Network::load(file) {
        Ok(found) => found,
        Err(error) => {
            let Ok(snapshot) = Snapshot::load(registry, file) else { return Err(unusable(&error)) };
            let (policy, asymmetry) = (snapshot.network.policy()?, snapshot.network.asymmetry());
            let (world, files) = (snapshot.config.world, RunFolder::world_of(file));
            return Ok(Model { policy, world, assumed: None, asymmetry, files });
        }
    };
    let known = world_of(registry, &metadata).map_err(|e| unusable(&e))?;
    let beside = || RunFolder::at(file.parent()?).read_config(registry).ok().map(|config| config.world);
    let of_run = known.assumed.as_ref().and_then(|_| beside()).filter(|w| w.name == known.world.name);
    let (policy, asymmetry, files) = (network.policy()?, network.asymmetry(), RunFolder::world_of(file));
    Ok(match of_run {
        Some(world) => Model { policy, world, assumed: None, asymmetry, files },
        None => Model { policy, world: known.world, assumed: known.assumed, asymmetry, files },
    })
}

/// A network with random weights.
fn fresh(registry: &Registry, world: &WorldConfig, kind: NetworkKind) -> Answer<Model> {
    let usual = registry.get(&world.name)?.symmetries(&world.settings).usual;
    let group: Group = if kind.is_plain() { Group::cyclic(1)? } else { usual.parse()? };
    let envs = registry.make(world, &group, 1)?;
    let config = NetworkConfig::usual(interface(envs.spec(), kind)?, kind, &group);
    let mut stream = Stream::new(1, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || stream.normal())?;
    for (name, range) in network.named() {
        if name == "policy.weight" {
            network.values_mut()[range].iter_mut().for_each(|v| *v *= OPINION);
        }
    }
    // Teams that act by vectors begin without any opinion.
    if config.interface.vectors.is_some() {
        network.enliven(2.0, &mut || stream.normal());
    }
    let asymmetry = network.asymmetry();
    Ok(Model { policy: network.policy()?, world: world.clone(), assumed: None, asymmetry, files: None })
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::impossible(error)
    }
}
