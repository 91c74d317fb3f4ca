//! `train --from`: a trained team that a new run begins with.

use crate::network;
use crate::registry;
use anyhow::{Context, Result};
use equimarl_learn::folder::RunFolder;
use equimarl_learn::{Method, TrainConfig, run, world_of};
use equimarl_nn::Network;
use equimarl_worlds::WorldConfig;
use std::path::{Path, PathBuf};

/// A trained team, and what is known of how it was trained.
pub struct Team {
    network: Network,
    file: PathBuf,
    /// For how many steps it learned, if it says so.
    steps: Option<u64>,
    pub method: Option<Method>,
    pub world: WorldConfig,
}

impl Team {
    pub fn read(path: &Path) -> Result<Team> {
        let (network, metadata, file) = network::read(path)?;
        let known = world_of(registry(), &metadata)
            .with_context(|| format!("cannot start from {}", file.display()))?;
        let method = metadata.extra["method"].as_str().and_then(|name| name.parse().ok());
        // The files that it was trained with may be gone from where they were.
        let world = match RunFolder::world_of(&file) {
            Some(folder) => registry().with_kept(&known.world, &folder),
            None => known.world,
        };
        Ok(Team { network, file, steps: metadata.extra["steps"].as_u64(), method, world })
    }

    /// Makes a run directory whose run begins with this team.
    pub fn begin(&self, folder: &Path, config: &TrainConfig, quiet: bool) -> Result<()> {
        run::create_from(registry(), folder, config, &self.network)
            .with_context(|| format!("cannot start from {}", self.file.display()))?;
        if !quiet {
            let learned = self.steps.map_or(String::new(), |n| format!(", which learned for {n} steps"));
            eprintln!("starting from {}{learned}", self.file.display());
        }
        Ok(())
    }
}
