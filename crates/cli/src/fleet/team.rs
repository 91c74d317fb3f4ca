//! A trained team, ready for a fleet.

use crate::network::{self, model_file};
use crate::world::WorldArgs;
use anyhow::{Context, Result};
use equimarl_fleet::record::fingerprint;
use equimarl_fleet::{Habits, Host, Plan, Seal};
use equimarl_learn::{AnyWorld, WorldConfig};
use equimarl_nn::model::read_file;
use equimarl_nn::{Network, Policy};
use equimarl_worlds::traffic::TrafficMeasures;
use equimarl_worlds::wildlife::Captures;
use equimarl_worlds::{Traffic, Wildlife, World};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A trained team and its world.
pub struct Team {
    pub network: Network,
    pub policy: Arc<Policy>,
    pub file: PathBuf,
    pub fingerprint: u64,
    pub config: WorldConfig,
    pub world: AnyWorld,
}

impl Team {
    /// The team of a run directory or model file, in a world of the asked size.
    pub fn load(model: &Path, size: &WorldArgs) -> Result<Team> {
        // Every member opens the file itself, so it must be one.
        let file = model_file(model)?;
        let (network, name, size) = network::load(&file, size)?;
        let config = WorldConfig::named(match name {
            crate::world::WorldName::Wildlife => "wildlife",
            crate::world::WorldName::Traffic => "traffic",
        })?;
        Team::new(network, file, crate::train::sized(config, &size)?)
    }

    /// The team of a model file, in a world that a fleet file describes.
    #[cfg(feature = "zenoh")]
    pub fn of(fleet: &equimarl_fleet::Fleet) -> Result<Team> {
        let file = fleet.model();
        let (network, world, _) = network::load(&file, &WorldArgs::default())?;
        let config = fleet.config.world.clone();
        let same = matches!(
            (world, &config),
            (crate::world::WorldName::Wildlife, WorldConfig::Wildlife { .. })
                | (crate::world::WorldName::Traffic, WorldConfig::Traffic { .. })
        );
        anyhow::ensure!(same, "{} was made for another world than {}", file.display(), config.name());
        let team = Team::new(network, file, config)?;
        anyhow::ensure!(
            team.agents() == fleet.agents(),
            "the fleet has {} agents and its world {}",
            fleet.agents(),
            team.agents()
        );
        Ok(team)
    }

    fn new(network: Network, file: PathBuf, config: WorldConfig) -> Result<Team> {
        let bytes = read_file(&file).with_context(|| format!("cannot use {}", file.display()))?;
        let world = config.build(network.group())?;
        let policy = Arc::new(network.policy()?);
        Ok(Team { network, policy, file, fingerprint: fingerprint(&bytes), config, world })
    }

    pub fn agents(&self) -> usize {
        match &self.world {
            AnyWorld::Wildlife(world) => world.agents(),
            AnyWorld::Traffic(world) => world.agents(),
        }
    }

    /// A host for drones.
    pub fn wildlife(&self, world: &Wildlife, plan: Plan, seal: Seal) -> Result<Host<Wildlife, Captures>> {
        let brain = (&*self.policy, self.fingerprint);
        Ok(Host::new(world.clone(), Captures::default(), Habits::wildlife(), plan, brain, seal)?)
    }

    /// A host for junctions.
    pub fn traffic(&self, world: &Traffic, plan: Plan, seal: Seal) -> Result<Host<Traffic, TrafficMeasures>> {
        let brain = (&*self.policy, self.fingerprint);
        Ok(Host::new(world.clone(), TrafficMeasures::default(), Habits::traffic(), plan, brain, seal)?)
    }

    /// The agents that an agent may ever talk to.
    #[cfg(feature = "zenoh")]
    pub fn may_meet(&self, agent: usize) -> Vec<usize> {
        (0..self.agents())
            .filter(|&other| {
                other != agent
                    && match &self.world {
                        AnyWorld::Wildlife(world) => (Habits::wildlife().may_meet)(world, agent, other),
                        AnyWorld::Traffic(world) => (Habits::traffic().may_meet)(world, agent, other),
                    }
            })
            .collect()
    }
}
