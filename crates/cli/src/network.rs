//! Networks by name, shared by all verbs.

use crate::world::{WorldArgs, WorldName};
use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use equimarl_group::Group;
use equimarl_learn::checkpoint::{self, Snapshot};
use equimarl_nn::{Kind, Metadata, Network, NetworkConfig, Setting};
use equimarl_worlds::{Purpose, Stream};
use serde_json::json;
use std::path::{Path, PathBuf};

const MODEL: &str = "model.safetensors";

/// The paper's network for a world of this size.
pub fn paper_config(world: WorldName, size: &WorldArgs, kind: Kind, group: &Group) -> Result<NetworkConfig> {
    let setting = match world {
        WorldName::Wildlife => Setting::wildlife(size.drones.unwrap_or(3), size.grid.unwrap_or(7), group)?,
        WorldName::Traffic => {
            let (rows, cols) = size.junctions()?;
            Setting::traffic(rows, cols, group)?
        }
    };
    Ok(NetworkConfig::paper(setting, kind, group))
}

/// A network with fresh weights from `seed`.
pub fn fresh(config: &NetworkConfig, seed: u64) -> Result<Network> {
    let mut stream = Stream::new(seed, Purpose::Weights, 0);
    Ok(Network::init(config, &mut || stream.normal())?)
}

/// A trained network, the world it was made for, and that world's size where flags do not say otherwise. A run that is not
/// finished, and the file of a checkpoint, give the network as it was then.
pub fn load(path: &Path, size: &WorldArgs) -> Result<(Network, WorldName, WorldArgs)> {
    let (network, _, file) = read(path)?;
    let setting = &network.config().setting;
    let mut size = size.clone();
    let world = match setting.world.as_str() {
        "wildlife" => {
            size.drones = size.drones.or(Some(setting.agents));
            // A drone sees the whole grid, so its network has the grid built in.
            let grid = setting.picture[1] / 3;
            ensure!(
                size.grid.is_none_or(|asked| asked == grid),
                "this team was trained on {grid} x {grid} cells, and --grid cannot change that; --drones can be changed"
            );
            size.grid = Some(grid);
            WorldName::Wildlife
        }
        "traffic" => {
            // The whole city's picture is 5 (8R - 1) x 5 (8C - 1) pixels.
            let junctions = |pixels: usize| (pixels / 5 + 1) / 8;
            let [_, height, width] = setting.central_picture;
            let own = format!("{}x{}", junctions(height), junctions(width));
            size.junctions = size.junctions.or(Some(own));
            WorldName::Traffic
        }
        other => {
            bail!("{} was made for the world `{other}`, which this program does not have", file.display())
        }
    };
    Ok((network, world, size))
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
        Err(error) => match Snapshot::load(&file) {
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
        Err(error) => match Snapshot::load(&file) {
            Ok(snapshot) => metadata_of(&snapshot),
            Err(_) => Err(error.into()),
        },
    }
}

/// The latest checkpoint of a run that is not finished; nothing if it is, or if this is a file.
fn latest(path: &Path) -> Result<Option<Snapshot>> {
    if !path.is_dir() || path.join(MODEL).exists() {
        return Ok(None);
    }
    let found = Snapshot::latest(path).with_context(|| format!("cannot use {}", path.display()))?;
    let Some(snapshot) = found else { return Err(no_model(path)) };
    let (done, all) = (snapshot.steps, snapshot.config.steps);
    eprintln!("{} is not finished: this is its team after {done} of {all} steps", path.display());
    Ok(Some(snapshot))
}

/// What the model file would say if the run had ended here.
fn metadata_of(snapshot: &Snapshot) -> Result<Metadata> {
    let config = &snapshot.config;
    Ok(snapshot.network.metadata(&json!({
        "seed": config.seed,
        "steps": snapshot.steps,
        "method": config.method,
        "config_hash": config.hash(),
    }))?)
}

/// A model file, given as itself or as the directory of the finished run that holds it.
pub fn model_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join(MODEL);
    if file.exists() { Ok(file) } else { Err(no_model(path)) }
}

/// Why a folder holds no model, and what to do about it.
fn no_model(folder: &Path) -> Error {
    let name = folder.display();
    if !folder.join("config.toml").exists() {
        return anyhow!("{name} is not a run: it holds neither {MODEL} nor config.toml");
    }
    match checkpoint::list(&folder.join("checkpoint")) {
        Ok(found) if found.is_empty() => anyhow!(
            "the run in {name} has no checkpoint yet; wait for one, or continue it with `equimarl train --resume {name}`"
        ),
        _ => anyhow!(
            "the run in {name} is not finished; wait for its end, or finish it with `equimarl train --resume {name}`"
        ),
    }
}
