//! `equimarl bench train`: environment steps per second of training, paper preset, evaluation off.

use super::{Line, shares};
use anyhow::{Result, ensure};
use equimarl_learn::{AnyWorld, Method, Times, TrainConfig, Trainer, WorldConfig};
use equimarl_worlds::Symmetric;
use std::time::{Duration, Instant};

/// The authors' code on one thread, steps per second (docs/benchmarks.md).
const AUTHORS: [(&str, f64); 6] = [
    ("wildlife-3-equivariant", 97.0),
    ("wildlife-3-plain", 300.0),
    ("wildlife-4-equivariant", 75.0),
    ("wildlife-4-plain", 225.0),
    ("traffic-equivariant", 40.0),
    ("traffic-plain", 145.0),
];

pub fn run(seconds: f64, threads: Option<usize>) -> Result<Vec<Line>> {
    ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds must be above 0 and at most 3600");
    // One thread unless asked otherwise: that is what the numbers are compared with.
    let threads = threads.or_else(|| std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
    AUTHORS.iter().map(|&(name, authors)| pool.install(|| line(name, authors, seconds))).collect()
}

fn line(name: &str, authors: f64, seconds: f64) -> Result<Line> {
    let method = if name.ends_with("plain") { Method::Plain } else { Method::Equivariant };
    let world = match name.split('-').nth(1) {
        Some("3") => WorldConfig::Wildlife { drones: 3, grid: 7 },
        Some("4") => WorldConfig::Wildlife { drones: 4, grid: 7 },
        _ => WorldConfig::traffic(),
    };
    let config = TrainConfig { steps: i64::MAX as u64, ..TrainConfig::preset("paper", world, method)? };
    let time = Duration::from_secs_f64(seconds);
    let (value, times) = match config.world.build(&config.group()?)? {
        AnyWorld::Wildlife(world) => rate(&config, &world, time)?,
        AnyWorld::Traffic(world) => rate(&config, &world, time)?,
    };
    let note = format!("the authors' code on another machine: {authors:.0}");
    let shares = shares(&[
        ("encoder", times.encoder),
        ("rounds", times.rounds),
        ("loss", times.loss),
        ("optimiser", times.optimiser),
        ("world", times.world),
        ("collation", times.collation),
    ]);
    Ok(Line { name: name.into(), value, unit: "steps/s", note, shares })
}

fn rate<W: Symmetric>(config: &TrainConfig, world: &W, time: Duration) -> Result<(f64, Times)> {
    let mut trainer = Trainer::new(config, world, |_| 0.0)?;
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
