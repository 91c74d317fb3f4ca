//! `equimarl bench network`: one training minibatch of 20 states from distinct random rollouts, one decision, and how much
//! of what a core could do a dense layer does.

use super::{Line, shares};
use crate::network::{fresh, paper_config};
use crate::world::{AnyWorld, WorldArgs, WorldName};
use anyhow::{Result, ensure};
use equimarl_group::Group;
use equimarl_kernels::linear::{Linear, Packed};
use equimarl_kernels::{Level, peak};
use equimarl_learn::{LossConfig, Observer, Optimiser, Samples, States, random_states};
use equimarl_nn::{Batch, Cache, Kind, Network, Scratch, Sharing};
use equimarl_worlds::{Edge, Purpose, Stream, Symmetric, World};
use std::time::{Duration, Instant};

const STATES: usize = 20;
/// At least this many repetitions, however slow they are.
const LEAST: usize = 10;

/// Which pictures are encoded, and how.
#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    /// What they are made of, once: what training does.
    Dictionary,
    /// Each distinct one up to turns, pixel by pixel.
    Distinct,
    /// All of them.
    Every,
}

pub fn run(seconds: f64) -> Result<Vec<Line>> {
    ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds must be above 0 and at most 3600");
    let time = Duration::from_secs_f64(seconds);
    let mut lines = vec![];
    for (world, name) in [(WorldName::Wildlife, "wildlife"), (WorldName::Traffic, "traffic")] {
        for kind in [Kind::Equivariant, Kind::Plain] {
            for threads in [1, 2] {
                for encoding in [Encoding::Dictionary, Encoding::Distinct, Encoding::Every] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
                    let tail = match encoding {
                        Encoding::Dictionary => "",
                        Encoding::Distinct => "-dense",
                        Encoding::Every => "-every-image",
                    };
                    let thread = if threads == 1 { "1-thread" } else { "2-threads" };
                    let name = format!("{name}-{kind}-{thread}{tail}");
                    lines.push(pool.install(|| minibatch(name, (world, kind), encoding, time))?);
                }
            }
        }
    }
    let line = |name: &str, value, unit, note: &str| Line {
        name: name.into(),
        value,
        unit,
        note: note.into(),
        shares: vec![],
    };
    let note = "encode, two rounds, decide; no communication";
    lines.push(line("wildlife-equivariant-decision", decision(time)?, "us", note));
    let note =
        "of the multiply-adds that one core can do; below half, accumulators have left their registers";
    lines.push(line("dense-layer-share-of-peak", share_of_peak(time)?, "%", note));
    Ok(lines)
}

/// The median time of weights, collation, forward, backward and Adam, in milliseconds.
fn minibatch(
    name: String,
    (world, kind): (WorldName, Kind),
    encoding: Encoding,
    time: Duration,
) -> Result<Line> {
    let size = WorldArgs::default();
    let group: Group = if kind.is_plain() { Group::cyclic(1)? } else { "C4".parse()? };
    let config = paper_config(world, &size, kind, &group)?;
    let network = fresh(&config, 1)?;
    match size.build(world, Some(group.name()))? {
        AnyWorld::Wildlife(w) => minibatch_in(name, &w, network, encoding, time),
        AnyWorld::Traffic(w) => minibatch_in(name, &w, network, encoding, time),
    }
}

fn minibatch_in<W: Symmetric>(
    name: String,
    world: &W,
    mut network: Network,
    encoding: Encoding,
    time: Duration,
) -> Result<Line> {
    let sharing = if encoding == Encoding::Every { Sharing::None } else { network.sharing() };
    let dictionary = network.dictionary().filter(|_| encoding == Encoding::Dictionary);
    let mut observer = Observer::new(world, network.config(), &sharing)?.with_dictionary(dictionary);
    let (mut states, mut batch) = (States::default(), Batch::default());
    random_states(world, STATES, 1).iter().try_for_each(|state| observer.see(state, &mut states))?;
    let mut collate = |batch: &mut Batch| {
        batch.clear();
        observer.collate(&states, (0..STATES).map(|s| (s, 0)), batch)
    };
    collate(&mut batch)?;
    let samples = samples(&batch, network.actions());
    let mut optimiser = Optimiser::new(&network, 1e-4, 1.0);
    let weights = LossConfig::default();
    let (mut cache, mut gradients) = (Cache::default(), vec![0.0; network.values().len()]);
    let (mut collation, mut loss, mut adam) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut step = || -> Result<()> {
        let start = Instant::now();
        collate(&mut batch)?;
        collation += start.elapsed();
        network.forward(&batch, &mut cache)?;
        let start = Instant::now();
        let (said, gradient) = cache.output_gradient();
        weights.loss(said, &batch.starts, &samples, gradient)?;
        loss += start.elapsed();
        network.backward(&batch, &mut cache, &mut gradients)?;
        let start = Instant::now();
        optimiser.update(&mut network, &mut gradients)?;
        adam += start.elapsed();
        Ok(())
    };
    let value = median(time, &mut step)? * 1e3;
    let passes = cache.times();
    let shares = shares(&[
        ("encoder", passes.encoder),
        ("rounds", passes.trunk),
        ("loss", loss),
        ("optimiser", adam),
        ("collation", collation),
    ]);
    let images = batch.pictures.count(world.picture_shape().len());
    let what = if batch.pictures.pixels().is_some() { "pixels" } else { "parts" };
    Ok(Line { name, value, unit: "ms", note: format!("{images} pictures, {what}"), shares })
}

/// A dense layer of the size of a message round, as a share of what the same core does on registers alone.
fn share_of_peak(time: Duration) -> Result<f64> {
    let (rows, inputs, outputs) = (60, 130, 64);
    let layer = Linear::new(inputs, outputs)?;
    let mut packed = Packed::default();
    layer.pack(&vec![0.01; inputs * outputs], &vec![0.0; outputs], &mut packed)?;
    let (x, mut out) = (vec![0.5; rows * inputs], vec![0.0; rows * outputs]);
    let mut step = || -> Result<()> { Ok(layer.forward(&packed, &x, true, &mut out)?) };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let seconds = one.install(|| median(time, &mut step))?;
    Ok(100.0 * (rows * inputs * outputs) as f64 / seconds / peak::multiply_adds_per_second(Level::best()))
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
    let policy = fresh(&config, 1)?.policy()?;
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
