//! How much memory a run will take, before it starts.

use crate::arena::side_by_side;
use crate::config::{Augmentation, TrainConfig};
use crate::error::{Error, Result};
use equimarl_nn::Network;
use equimarl_worlds::{Edges, Purpose, Registry, Stream};
use std::fs;

/// What every run takes: tables, what images are made of, the program.
const BASE: f64 = 60e6;
/// What a rollout keeps of one agent in one state, without whom it hears.
const KEPT: f64 = 200.0;
/// What it keeps of one edge.
const EDGE: f64 = 24.0;
/// What a world and its observer have for one agent.
const PLACE: f64 = 300.0;
/// A pass back keeps this much more than a pass forward. Measured, as the numbers above, with plain teams in cities of 4 x 4 to
/// 60 x 60 junctions; `tests/memory.rs` asks for 0.5 to 2.5 of what is taken.
const BACK: f64 = 2.4;
/// A run may take this much of what is free.
const MOST: f64 = 0.9;

/// What a run is expected to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes of memory.
    pub bytes: f64,
    /// Agents of its world.
    pub agents: usize,
}

impl Estimate {
    /// For these settings.
    ///
    /// # Errors
    /// If they make no world or no network.
    pub fn of(registry: &Registry, config: &TrainConfig) -> Result<Estimate> {
        let mut envs = config.make(registry, 1)?;
        let agents = envs.spec().agents;
        envs.start(0, Stream::new(config.seed, Purpose::Audit, 0))?;
        let (mut heard, mut edges) = (Edges::default(), 0);
        for agent in 0..agents {
            envs.world(0).neighbours(agent, &mut heard);
            edges += heard.from.len();
        }
        let network = Network::init(&config.network(registry)?, &mut || 0.0)?;
        let records = network.metadata(&serde_json::Value::Null, &serde_json::Value::Null)?.representations;
        // Numbers that go into and come out of all layers for one row; images are encoded once for many.
        let width: usize = records.iter().filter(|r| r.shape.len() == 2).flat_map(|r| &r.shape).sum();
        let forward = 4.0 * width as f64;
        let rows = if network.is_central() { 1 } else { agents } as f64;
        let copies = match config.method.augmentation() {
            Augmentation::Full => config.group()?.order(),
            _ => 1,
        };
        let states = config.batch() as f64;
        let rollout = states * (agents as f64 * KEPT + edges as f64 * EDGE);
        let update = states / config.minibatches as f64 * copies as f64 * rows * forward * BACK;
        let side_by_side = config.environments.max(side_by_side(config, agents)) as f64;
        let acting = side_by_side * (rows * forward + agents as f64 * PLACE);
        Ok(Estimate { bytes: BASE + rollout + update + acting, agents })
    }

    /// Refuses what does not fit into this much memory, saying what would.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn check(&self, free: f64, config: &TrainConfig) -> Result<()> {
        if self.bytes <= MOST * free {
            return Ok(());
        }
        let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
        let share = (MOST * free - BASE).max(0.0) / (self.bytes - BASE);
        Err(Error::BadConfig(format!(
            "this run would take about {} of memory, and may take {} (nine tenths of what is free): {} agents, {} environments with {} steps each. About {} \
             agents would fit; or lower `environments` or `rollout`",
            gigabytes(self.bytes),
            gigabytes(MOST * free),
            self.agents,
            config.environments,
            config.rollout,
            (self.agents as f64 * share) as usize,
        )))
    }
}

/// Bytes of memory that this process could still get; nothing where the system does not say.
pub fn free_memory() -> Option<f64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let free = line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0;
    // A container may have less.
    let number =
        |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<f64>().ok();
    let left = number("memory.max").zip(number("memory.current")).map(|(most, now)| (most - now).max(0.0));
    Some(left.map_or(free, |left| left.min(free)))
}

/// Refuses a run that would not fit into memory.
pub(crate) fn check_memory(registry: &Registry, config: &TrainConfig) -> Result<()> {
    match free_memory() {
        Some(free) => Estimate::of(registry, config)?.check(free, config),
        None => Ok(()),
    }
}
