//! A trained team, ready for a fleet.

use crate::network::{self, Trained, model_file};
use crate::registry;
use crate::world::WorldArgs;
use anyhow::{Context, Result};
use equimarl_fleet::{Host, RunPlan, Signer};
use equimarl_learn::check_fit;
use equimarl_nn::model::{fnv1a, read_file};
use equimarl_nn::{Clip, Metadata, Network, Policy};
use equimarl_worlds::{Envs, Spec, WorldConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A trained team and its world.
pub struct Team {
    pub policy: Arc<Policy>,
    pub file: PathBuf,
    pub fingerprint: u64,
    pub world: WorldConfig,
    pub spec: Arc<Spec>,
    /// The ranges of messages, if the model file has them.
    pub clip: Option<Arc<Clip>>,
    trained: Trained,
}

impl Team {
    /// The team of a run directory or model file, in its own world or what flags make of it.
    pub fn load(model: &Path, asked: Option<&str>, options: &WorldArgs) -> Result<Team> {
        // Every member opens the file itself, so it must be one.
        let file = model_file(model)?;
        Team::new(network::load(&file, asked, options)?, file)
    }

    /// The team of a model file in another world than its own: that of a fleet file or a record.
    pub fn in_world(model: &Path, world: &WorldConfig) -> Result<Team> {
        let file = model_file(model)?;
        let (network, ..) = network::read(&file)?;
        Team::new(Trained { network, world: registry().complete(world)?, files: None }, file)
    }

    /// The team of a fleet file.
    #[cfg(feature = "zenoh")]
    pub fn of(fleet: &equimarl_fleet::Fleet) -> Result<Team> {
        let team = Team::in_world(&fleet.model(), &fleet.config.world)?;
        anyhow::ensure!(
            team.agents() == fleet.agents(),
            "the fleet has {} agents and its world {}",
            fleet.agents(),
            team.agents()
        );
        Ok(team)
    }

    fn new(trained: Trained, file: PathBuf) -> Result<Team> {
        let bytes = read_file(&file).with_context(|| format!("cannot use {}", file.display()))?;
        let spec = trained.make(1)?.spec().clone();
        check_fit(&spec, trained.network.config())?;
        let policy = Arc::new(trained.network.policy()?);
        let world = trained.world.clone();
        // A checkpoint is no model file, and has none.
        let ranges = Metadata::from_bytes(&bytes).ok().and_then(|metadata| metadata.messages);
        let clip = ranges.map(|ranges| Clip::new(&policy, &ranges)).transpose();
        let clip = clip.with_context(|| format!("cannot use {}", file.display()))?.map(Arc::new);
        Ok(Team { policy, file, fingerprint: fnv1a(&bytes), world, spec, clip, trained })
    }

    pub fn agents(&self) -> usize {
        self.spec.agents
    }

    /// The network itself, for studies.
    pub fn network(&self) -> &Network {
        &self.trained.network
    }

    /// One environment of the world.
    pub fn make(&self) -> Result<Box<dyn Envs>> {
        self.trained.make(1)
    }

    /// The world's host.
    pub fn host(&self, plan: RunPlan, signer: Signer) -> Result<Host> {
        Ok(Host::new(self.make()?, plan, (&*self.policy, self.fingerprint), signer)?)
    }
}
