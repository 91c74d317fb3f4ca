//! `equimarl bench train`: environment steps per second of training, paper preset, evaluation off.

use super::{Line, shares};
use crate::registry;
use anyhow::{Result, ensure};
use equimarl_learn::{Method, Times, TrainConfig, Trainer};
use equimarl_worlds::WorldConfig;
use std::time::{Duration, Instant};

/// Larger teams are left out: they would take the rest of the day.
const MOST_AGENTS: usize = 16;

pub fn run(seconds: f64, threads: Option<usize>) -> Result<Vec<Line>> {
    ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds must be above 0 and at most 3600");
    // One thread unless asked otherwise: that is what the numbers are compared with.
    let threads = threads.or_else(|| std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
    let mut lines = vec![];
    for world in registry().iter() {
        for settings in world.benchmarks() {
            let world = WorldConfig { name: world.name().into(), settings };
            if registry().describe(&world)?.spec.agents > MOST_AGENTS {
                continue;
            }
            for method in [Method::Equivariant, Method::Plain] {
                lines.push(pool.install(|| line(&world, method, seconds))?);
            }
        }
    }
    Ok(lines)
}

fn line(world: &WorldConfig, method: Method, seconds: f64) -> Result<Line> {
    let preset = TrainConfig::preset(registry(), "paper", world.clone(), method)?;
    let config = TrainConfig { steps: i64::MAX as u64, ..preset };
    let (value, times) = rate(&config, Duration::from_secs_f64(seconds))?;
    let shares = shares(&[
        ("encoder", times.encoder),
        ("rounds", times.rounds),
        ("loss", times.loss),
        ("optimiser", times.optimiser),
        ("world", times.world),
        ("collation", times.collation),
    ]);
    let name = format!("{}-{method}", registry().label(world));
    Ok(Line { name, value, unit: "steps/s", note: String::new(), shares })
}

fn rate(config: &TrainConfig, time: Duration) -> Result<(f64, Times)> {
    let mut trainer = Trainer::new(registry(), config)?;
    let mut run = |time: Duration| -> Result<f64> {
        let (start, before) = (Instant::now(), trainer.steps());
        while start.elapsed() < time {
            trainer.iterate()?;
        }
        Ok((trainer.steps() - before) as f64 / start.elapsed().as_secs_f64())
    };
    run(time / 10)?;
    let value = run(time)?;
    Ok((value, trainer.times()))
}
