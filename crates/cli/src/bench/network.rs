//! `equimarl bench network`: one training minibatch of 20 states from distinct random rollouts, and one decision.

use super::Line;
use crate::network::{fresh, paper_config};
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::{Result, ensure};
use burn::tensor::Device;
use equimarl_group::Group;
use equimarl_learn::{LossConfig, Optimiser, Samples, observe, random_states};
use equimarl_nn::{Batch, Kind, NetworkConfig, Policy, Scratch, Sharing};
use equimarl_worlds::{Edge, Purpose, Stream, Symmetric, World};
use std::time::{Duration, Instant};

const STATES: usize = 20;
/// At least this many repetitions, however slow they are.
const LEAST: usize = 10;

pub fn run(seconds: f64) -> Result<Vec<Line>> {
    ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds must be above 0 and at most 3600");
    let time = Duration::from_secs_f64(seconds);
    let mut lines = vec![];
    for (world, name) in [(WorldName::Wildlife, "wildlife"), (WorldName::Traffic, "traffic")] {
        for kind in [Kind::Equivariant, Kind::Plain] {
            for threads in [1, 2] {
                for shared in [true, false] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
                    let (value, images) = pool.install(|| minibatch(world, kind, shared, time))?;
                    let tail = if shared { "" } else { "-every-image" };
                    let thread = if threads == 1 { "1-thread" } else { "2-threads" };
                    let name = format!("{name}-{kind}-{thread}{tail}");
                    let note = format!("{images} pictures encoded");
                    lines.push(Line { name, value, unit: "ms", note });
                }
            }
        }
    }
    let value = decision(time)?;
    let note = "encode, two rounds, decide; no communication".into();
    lines.push(Line { name: "wildlife-equivariant-decision".into(), value, unit: "us", note });
    Ok(lines)
}

/// The median time of forward, backward and Adam, in milliseconds, and how many pictures were encoded.
fn minibatch(world: WorldName, kind: Kind, shared: bool, time: Duration) -> Result<(f64, usize)> {
    let size = WorldArgs::default();
    let group: Group = if kind.is_plain() { Group::cyclic(1)? } else { "C4".parse()? };
    let device = Device::flex().autodiff();
    let config = paper_config(world, &size, kind, &group)?;
    let mut network = fresh(&config, 1, &device)?;
    let sharing = if shared { network.sharing() } else { Sharing::None };
    let batch = match size.build(world, Some(group.name()))? {
        AnyWorld::Wildlife(w) => sample(&w, &config, &sharing)?,
        AnyWorld::Traffic(w) => sample(&w, &config, &sharing)?,
    };
    let images = batch.pictures.len() / config.setting.picture.iter().product::<usize>();
    let samples = samples(&batch, network.actions());
    let mut optimiser = Optimiser::new(&network, 1e-4, 1.0);
    let loss = LossConfig::default();
    let mut step = || -> Result<()> {
        let said = network.forward(&batch);
        let gradients = loss.loss(&said, &batch.starts, &samples).total.backward();
        let gradients = network.gradients(&gradients);
        optimiser.update(&mut network, gradients)?;
        Ok(())
    };
    Ok((median(time, &mut step)? * 1e3, images))
}

fn sample<W: Symmetric>(world: &W, config: &NetworkConfig, sharing: &Sharing) -> Result<Batch> {
    Ok(observe(&random_states(world, STATES, 1), config, sharing)?)
}

/// Random actions, advantages and returns: the time does not depend on them.
fn samples(batch: &Batch, actions: usize) -> Samples {
    let mut stream = Stream::new(1, Purpose::Shuffle, 0);
    let mut numbers = |n: usize| (0..n).map(|_| stream.normal() as f32).collect::<Vec<f32>>();
    let (advantages, returns) = (numbers(batch.states()), numbers(batch.states()));
    let team = batch.agents() as f32 / batch.states() as f32;
    Samples {
        advantages,
        returns,
        log_probabilities: vec![-team * (actions as f32).ln(); batch.states()],
        actions: (0..batch.agents()).map(|i| i % actions).collect(),
    }
}

/// The median time of one agent's decision with two neighbours, in microseconds.
fn decision(time: Duration) -> Result<f64> {
    let group: Group = "C4".parse()?;
    let size = WorldArgs::default();
    let config = paper_config(WorldName::Wildlife, &size, Kind::Equivariant, &group)?;
    let policy = Policy::new(&fresh(&config, 1, &Device::flex())?.dense())?;
    let AnyWorld::Wildlife(mut world) = size.build(WorldName::Wildlife, Some("C4"))? else {
        anyhow::bail!("wildlife is wildlife");
    };
    world.place(&[[2, 2], [3, 3], [2, 4]], [5, 5], 0)?;
    let mut picture = vec![0.0; world.picture_shape().len()];
    let mut heard: Vec<Edge> = vec![];
    world.neighbours(0, &mut heard);
    let edges: Vec<f32> = heard.iter().flat_map(|e| e.vector).collect();
    let received: Vec<Vec<f32>> =
        (0..policy.rounds()).map(|l| vec![0.5; policy.message_len(l) * heard.len()]).collect();
    let (mut scratch, mut own, mut mixed) = (Scratch::default(), vec![], vec![]);
    let mut step = || -> Result<()> {
        world.render(&world.observation_key(0), &mut picture);
        policy.encode(&picture, &mut scratch, &mut own)?;
        for (l, received) in received.iter().enumerate() {
            policy.round(l, &own, &edges, received, &mut scratch, &mut mixed)?;
            std::mem::swap(&mut own, &mut mixed);
        }
        std::hint::black_box(policy.decide(&own)?);
        Ok(())
    };
    Ok(median(time, &mut step)? * 1e6)
}

/// The median of repetitions, in seconds, after a tenth of the time to warm up.
fn median(time: Duration, step: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let mut repeat = |time: Duration| -> Result<Vec<f64>> {
        let (start, mut times) = (Instant::now(), vec![]);
        while start.elapsed() < time || times.len() < LEAST {
            let begin = Instant::now();
            step()?;
            times.push(begin.elapsed().as_secs_f64());
        }
        Ok(times)
    };
    repeat(time / 10)?;
    let mut times = repeat(time)?;
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
