//! What the tests of fleets share: untrained teams, and fleets in one process.

#![allow(dead_code)]

use equimarl_fleet::{Agent, Faults, Host, Moment, RunPlan, Signer, pool};
use equimarl_learn::interface;
use equimarl_nn::{Network, NetworkConfig, NetworkKind, Policy, Sharing};
use equimarl_worlds::{Envs, Purpose, Stream, WorldConfig, builtin};
use std::sync::Arc;

/// A team with random weights that are large enough for its decisions to differ.
pub fn team(envs: &dyn Envs, seed: u64) -> (Arc<Policy>, Sharing) {
    let network = network(envs, seed);
    (Arc::new(network.policy().unwrap()), network.sharing())
}

/// Its network.
pub fn network(envs: &dyn Envs, seed: u64) -> Network {
    let group = envs.spec().group.parse().unwrap();
    let setting = interface(envs.spec(), NetworkKind::Equivariant).unwrap();
    let config = NetworkConfig::usual(setting, NetworkKind::Equivariant, &group);
    let mut stream = Stream::new(seed, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || stream.normal()).unwrap();
    // The last layer starts small, so that all actions are alike; here they should not be.
    let parameters = network.parameters();
    let scaled = parameters.into_iter().map(|(name, values)| match name.starts_with("policy") {
        true => values.iter().map(|v| v * 200.0).collect(),
        false => values,
    });
    network.set_parameters(scaled.collect::<Vec<Vec<f32>>>()).unwrap();
    network
}

/// A team, and its world to make environments of.
pub struct Team {
    pub policy: Arc<Policy>,
    pub sharing: Sharing,
    pub network: Network,
    world: WorldConfig,
}

impl Team {
    fn new(world: WorldConfig, seed: u64) -> Team {
        let (policy, sharing) = team(&*envs(&world), seed);
        let network = network(&*envs(&world), seed);
        Team { policy, sharing, network, world }
    }

    pub fn envs(&self) -> Box<dyn Envs> {
        envs(&self.world)
    }

    pub fn host(&self, plan: RunPlan) -> Host {
        Host::new(self.envs(), plan, (&self.policy, 5), Signer::Open).unwrap()
    }

    pub fn agents(&self) -> Vec<Agent> {
        agents(&self.policy, self.envs().spec().agents)
    }

    /// Runs a fleet and keeps every step.
    pub fn moments(&self, plan: RunPlan, faults: &Faults, threads: usize) -> (Host, Vec<Moment>) {
        let (mut host, mut moments) = (self.host(plan), vec![]);
        pool::run(&mut host, self.agents(), faults, None, threads, &mut |_, moment| {
            moments.extend(moment);
            Ok(true)
        })
        .unwrap();
        (host, moments)
    }
}

fn envs(world: &WorldConfig) -> Box<dyn Envs> {
    builtin().make(world, &"C4".parse().unwrap(), 1).unwrap()
}

pub fn drones(count: usize) -> Team {
    Team::new(builtin().usual("wildlife").unwrap().with("drones", count), 1)
}

pub fn junctions(rows: usize, cols: usize) -> Team {
    let city = builtin().usual("traffic").unwrap();
    Team::new(city.with("rows", rows).with("cols", cols).with("step_limit", 60usize), 2)
}

pub fn agents(policy: &Arc<Policy>, count: usize) -> Vec<Agent> {
    (0..count).map(|i| Agent::new(i, policy.clone(), 5, Signer::Open).unwrap()).collect()
}

/// A fresh folder for a test.
pub fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("equimarl-fleet-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
