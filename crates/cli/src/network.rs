//! Networks by name, shared by all verbs.

use crate::world::{WorldArgs, WorldName};
use anyhow::{Context, Result, bail};
use burn::tensor::Device;
use equimarl_group::Group;
use equimarl_learn::checkpoint::Snapshot;
use equimarl_nn::{Kind, Network, NetworkConfig, Setting};
use equimarl_worlds::{Purpose, Stream};
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
pub fn fresh(config: &NetworkConfig, seed: u64, device: &Device) -> Result<Network> {
    let mut stream = Stream::new(seed, Purpose::Weights, 0);
    Ok(Network::init(config, &mut || stream.normal(), device)?)
}

/// A trained network, the world it was made for, and that world's size where flags do not say otherwise. A run that is not
/// finished, and the file of a checkpoint, give the network as it was then.
pub fn load(path: &Path, size: &WorldArgs) -> Result<(Network, WorldName, WorldArgs)> {
    let (network, file) = read(path)?;
    let setting = &network.config().setting;
    let mut size = size.clone();
    let world = match setting.world.as_str() {
        "wildlife" => {
            size.drones = size.drones.or(Some(setting.agents));
            size.grid = size.grid.or(Some(setting.picture[1] / 3));
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

fn read(path: &Path) -> Result<(Network, PathBuf)> {
    let cannot = |file: &Path| format!("cannot use {}", file.display());
    if path.is_dir() && !path.join(MODEL).exists() {
        if let Some(snapshot) = Snapshot::latest(path).with_context(|| cannot(path))? {
            let (done, all) = (snapshot.steps, snapshot.config.steps);
            eprintln!("{} is not finished: this is its team after {done} of {all} steps", path.display());
            return Ok((snapshot.network, path.into()));
        }
    }
    let file = model_file(path)?;
    match Network::load(&file, &Device::flex()) {
        Ok((network, _)) => Ok((network, file)),
        Err(error) => match Snapshot::load(&file) {
            Ok(snapshot) => Ok((snapshot.network, file)),
            Err(_) => Err(error).with_context(|| cannot(&file)),
        },
    }
}

/// A model file, given as itself or as the run directory that holds it.
pub fn model_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join(MODEL);
    if !file.exists() {
        bail!("{} holds no {MODEL}; is the run finished?", path.display());
    }
    Ok(file)
}
