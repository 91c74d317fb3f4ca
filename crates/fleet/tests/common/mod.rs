//! What the tests of fleets share: untrained teams, and fleets in one process.

#![allow(dead_code)]

use equimarl_fleet::{Agent, Faults, Habits, Host, Moment, Plan, Seal, pool};
use equimarl_nn::{Kind, Network, NetworkConfig, Policy, Setting, Sharing};
use equimarl_worlds::traffic::TrafficMeasures;
use equimarl_worlds::wildlife::Captures;
use equimarl_worlds::{Purpose, Stream, Symmetric, Traffic, TrafficOptions, Wildlife, World};
use std::sync::Arc;

/// A team with random weights that are large enough for its decisions to differ.
pub fn team(setting: Setting, group: &str, seed: u64) -> (Arc<Policy>, Sharing) {
    let group = group.parse().unwrap();
    let config = NetworkConfig::paper(setting, Kind::Equivariant, &group);
    let mut stream = Stream::new(seed, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || stream.normal()).unwrap();
    // The last layer starts small, so that all actions are alike; here they should not be.
    let parameters = network.parameters();
    let scaled = parameters.into_iter().map(|(name, values)| match name.starts_with("policy") {
        true => values.iter().map(|v| v * 200.0).collect(),
        false => values,
    });
    network.set_parameters(scaled.collect::<Vec<Vec<f32>>>()).unwrap();
    (Arc::new(network.policy().unwrap()), network.sharing())
}

pub fn drones(count: usize) -> (Arc<Policy>, Sharing, Wildlife) {
    let group = "C4".parse().unwrap();
    let (policy, sharing) = team(Setting::wildlife(count, 7, &group).unwrap(), "C4", 1);
    (policy, sharing, Wildlife::new(count, 7).unwrap().under(&group).unwrap())
}

pub fn junctions(rows: usize, cols: usize) -> (Arc<Policy>, Sharing, Traffic) {
    let group = "C4".parse().unwrap();
    let (policy, sharing) = team(Setting::traffic(rows, cols, &group).unwrap(), "C4", 2);
    let options = TrafficOptions { rows, cols, step_limit: 60, ..TrafficOptions::default() };
    (policy, sharing, Traffic::new(options).unwrap().under(&group).unwrap())
}

pub fn agents(policy: &Arc<Policy>, count: usize) -> Vec<Agent> {
    (0..count).map(|i| Agent::new(i, policy.clone(), 5, Seal::Open).unwrap()).collect()
}

pub fn drone_host(policy: &Policy, world: &Wildlife, plan: Plan) -> Host<Wildlife, Captures> {
    let (captures, habits) = (Captures::default(), Habits::wildlife());
    Host::new(world.clone(), captures, habits, plan, (policy, 5), Seal::Open).unwrap()
}

pub fn junction_host(policy: &Policy, world: &Traffic, plan: Plan) -> Host<Traffic, TrafficMeasures> {
    let (measures, habits) = (TrafficMeasures::default(), Habits::traffic());
    Host::new(world.clone(), measures, habits, plan, (policy, 5), Seal::Open).unwrap()
}

/// Runs a traffic fleet and keeps every step.
pub fn traffic_moments(
    policy: &Arc<Policy>,
    world: &Traffic,
    plan: Plan,
    faults: &Faults,
    threads: usize,
) -> (Host<Traffic, TrafficMeasures>, Vec<Moment>) {
    let mut host = junction_host(policy, world, plan);
    let mut moments = vec![];
    let team = agents(policy, world.agents());
    pool::run(&mut host, team, faults, None, threads, &mut |_, moment| {
        moments.extend(moment);
        Ok(true)
    })
    .unwrap();
    (host, moments)
}

/// A fresh folder for a test.
pub fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("equimarl-fleet-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The group of a world.
pub fn group_of<W: Symmetric>(world: &W) -> String {
    world.symmetry().group.to_string()
}
