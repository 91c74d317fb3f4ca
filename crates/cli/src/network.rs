//! Networks by name, shared by all verbs.

use crate::registry;
use crate::world::{WorldArgs, changes};
use anyhow::{Context, Error, Result, anyhow, bail};
use equimarl_group::Symmetry;
use equimarl_learn::checkpoint::{self, Snapshot};
use equimarl_learn::folder::{CONFIG, MODEL, RunFolder};
use equimarl_learn::{check_fit, interface_under, world_note, world_of};
use equimarl_nn::{Metadata, Network, NetworkConfig, NetworkKind};
use equimarl_worlds::{Envs, Purpose, Stream, WorldConfig};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The usual network for a world.
pub fn usual_config(world: &WorldConfig, kind: NetworkKind, symmetry: &Symmetry) -> Result<NetworkConfig> {
    let envs = registry().make(world, &symmetry.finite()?, 1)?;
    Ok(NetworkConfig::under(interface_under(envs.spec(), kind, symmetry)?, kind, symmetry))
}

/// A network with fresh weights from `seed`.
pub fn fresh(config: &NetworkConfig, seed: u64) -> Result<Network> {
    let mut stream = Stream::new(seed, Purpose::Weights, 0);
    Ok(Network::init(config, &mut || stream.normal())?)
}

/// A trained network and its world.
pub struct Trained {
    pub network: Network,
    pub world: WorldConfig,
    /// Where files are kept that the world is made from.
    pub files: Option<PathBuf>,
}

impl Trained {
    /// Environments of its world for this network, which need not be a symmetry of the whole world: a local network
    /// transforms what one agent sees.
    pub fn make(&self, count: usize) -> Result<Box<dyn Envs>> {
        let registry = match &self.files {
            Some(folder) => &registry().beside(folder),
            None => registry(),
        };
        let envs = registry.make(&self.world, self.network.group(), count)?;
        check_fit(envs.spec(), self.network.config())?;
        Ok(envs)
    }
}

/// A trained network and the world that it was made for, or what flags make of that. A run that is not finished, and the file
/// of a checkpoint, give the network as it was then. What had to be assumed and what was changed is said.
pub fn load(path: &Path, asked: Option<&str>, options: &WorldArgs) -> Result<Trained> {
    let (network, metadata, file) = read(path)?;
    let known = world_of(registry(), &metadata).with_context(|| format!("cannot use {}", file.display()))?;
    if asked.is_some_and(|asked| asked != known.world.name) {
        bail!("{} was made for the world `{}`, not for that of --world", path.display(), known.world.name);
    }
    let world = options.over(&known.world)?;
    // Files that flags name are what is meant, whatever they are called.
    let files = RunFolder::world_of(&file).filter(|_| registry().same_files(&world, &known.world));
    let trained = Trained { world, network, files };
    // What does not fit is refused before anything is said about it.
    trained.make(1)?;
    if let Some(assumed) = &known.assumed {
        eprintln!("{}: {assumed}", file.display());
    }
    if let Some(changes) = changes(&known.world, &trained.world) {
        eprintln!("another world than the model's: {changes}");
    }
    Ok(trained)
}

/// A trained network, what is known of it, and where it was found.
pub fn read(path: &Path) -> Result<(Network, Metadata, PathBuf)> {
    let of = |snapshot: Snapshot, from: &Path| {
        let metadata = metadata_of(&snapshot)?;
        Ok((snapshot.network, metadata, from.into()))
    };
    if let Some(snapshot) = latest(path)? {
        return of(snapshot, path);
    }
    let file = model_file(path)?;
    match Network::load(&file) {
        Ok((network, metadata)) => Ok((network, metadata, file)),
        Err(error) => match Snapshot::load(registry(), &file) {
            Ok(snapshot) => of(snapshot, &file),
            Err(_) => Err(error.into()),
        },
    }
}

/// What is known of a model, which may be a dense export, too. The network is not built.
pub fn describe(path: &Path) -> Result<Metadata> {
    if let Some(snapshot) = latest(path)? {
        return metadata_of(&snapshot);
    }
    let file = model_file(path)?;
    match Metadata::load(&file) {
        Ok(metadata) => Ok(metadata),
        Err(error) => match Snapshot::load(registry(), &file) {
            Ok(snapshot) => metadata_of(&snapshot),
            Err(_) => Err(error.into()),
        },
    }
}

/// The latest checkpoint of a run that is not finished; nothing if it is, or if this is a file.
fn latest(path: &Path) -> Result<Option<Snapshot>> {
    if !path.is_dir() || RunFolder::at(path).model().exists() {
        return Ok(None);
    }
    if RunFolder::at(path).is_run() {
        RunFolder::at(path).check_world(registry())?;
    }
    let found =
        Snapshot::latest(registry(), path).with_context(|| format!("cannot use {}", path.display()))?;
    let Some(snapshot) = found else { return Err(no_model(path)) };
    let (done, all) = (snapshot.steps, snapshot.config.steps);
    eprintln!("{} is not finished: this is its team after {done} of {all} steps", path.display());
    Ok(Some(snapshot))
}

/// What the model file would say if the run had ended here.
fn metadata_of(snapshot: &Snapshot) -> Result<Metadata> {
    let config = &snapshot.config;
    let world = world_note(registry(), &config.world)?;
    Ok(snapshot.network.metadata(
        &world,
        &json!({
            "seed": config.seed,
            "steps": snapshot.steps,
            "method": config.method,
            "config_hash": config.hash(registry()),
        }),
    )?)
}

/// A model file, given as itself or as the directory of the finished run that holds it.
pub fn model_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = RunFolder::at(path).model();
    if file.exists() { Ok(file) } else { Err(no_model(path)) }
}

/// Why a folder holds no model, and what to do about it.
fn no_model(folder: &Path) -> Error {
    let name = folder.display();
    let run = RunFolder::at(folder);
    if !run.is_run() {
        return anyhow!("{name} is not a run: it holds neither {MODEL} nor {CONFIG}");
    }
    match checkpoint::list(&run.checkpoints()) {
        Ok(found) if found.is_empty() => anyhow!(
            "the run in {name} has no checkpoint yet; wait for one, or continue it with `equimarl train --resume {name}`"
        ),
        _ => anyhow!(
            "the run in {name} is not finished; wait for its end, or finish it with `equimarl train --resume {name}`"
        ),
    }
}
