//! `equimarl bench network`: one training minibatch of 20 states from distinct random rollouts, one decision, and how much
//! of what a core could do a dense layer does.

use super::{Line, shares};
use crate::network::{fresh, usual_config};
use crate::registry;
use anyhow::{Result, ensure};
use equimarl_group::{Group, Symmetry};
use equimarl_kernels::linear::{Linear, Packed};
use equimarl_kernels::{Level, peak};
use equimarl_learn::{LossConfig, Observer, Optimiser, Samples, States, random_states};
use equimarl_nn::{Batch, Cache, NetworkKind, Scratch, Sharing};
use equimarl_worlds::{Edges, Purpose, Stream, WorldConfig};
use std::time::{Duration, Instant};

const STATES: usize = 20;
/// At least this many repetitions, however slow they are.
const LEAST: usize = 10;

/// Which images are encoded, and how.
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
    let with_images = |name: &&'static str| -> bool {
        let described = registry().usual(name).and_then(|world| registry().describe(&world));
        described.is_ok_and(|d| d.spec.image.is_some())
    };
    for name in registry().names().into_iter().filter(with_images) {
        for kind in [NetworkKind::Equivariant, NetworkKind::Plain] {
            for threads in [1, 2] {
                for encoding in [Encoding::Dictionary, Encoding::Distinct, Encoding::Every] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
                    let tail = match encoding {
                        Encoding::Dictionary => "",
                        Encoding::Distinct => "-dense",
                        Encoding::Every => "-every-image",
                    };
                    let thread = if threads == 1 { "1-thread" } else { "2-threads" };
                    let title = format!("{name}-{kind}-{thread}{tail}");
                    lines.push(pool.install(|| minibatch(title, (name, kind), encoding, time))?);
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
    let note = "encode, all rounds, decide; no communication";
    if let Some(name) = registry().names().iter().find(|name| with_images(name)) {
        lines.push(line(&format!("{name}-equivariant-decision"), decision(name, time)?, "us", note));
    }
    let note =
        "of the multiply-adds that one core can do; below half, accumulators have left their registers";
    lines.push(line("dense-layer-share-of-peak", share_of_peak(time)?, "%", note));
    Ok(lines)
}

/// The median time of weights, collation, forward, backward and Adam, in milliseconds.
fn minibatch(
    name: String,
    (world, kind): (&str, NetworkKind),
    encoding: Encoding,
    time: Duration,
) -> Result<Line> {
    let (world, group) = usual(world, kind)?;
    let mut network = fresh(&usual_config(&world, kind, &Symmetry::Finite(group.clone()))?, 1)?;
    let seen = random_states(&*registry().make(&world, &group, 1)?, STATES, 1)?;
    let sharing = if encoding == Encoding::Every { Sharing::None } else { network.sharing() };
    let dictionary = network.dictionary().filter(|_| encoding == Encoding::Dictionary);
    let mut observer = Observer::new(&*seen, network.config(), &sharing)?.with_dictionary(&*seen, dictionary);
    let (mut states, mut batch) = (States::default(), observer.batch());
    (0..STATES).try_for_each(|e| observer.see(seen.world(e), &mut states))?;
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
    let images = batch.images.count(seen.spec().image.unwrap_or_default().iter().product());
    let what = if batch.images.pixels().is_some() { "pixels" } else { "parts" };
    Ok(Line { name, value, unit: "ms", note: format!("{images} images, {what}"), shares })
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
        vectors: vec![],
        log_probabilities: vec![-team * (actions as f32).ln(); batch.states()],
        actions: (0..batch.agents()).map(|i| i % actions).collect(),
    }
}

/// A world as it usually is, and the group of its networks of a kind.
fn usual(world: &str, kind: NetworkKind) -> Result<(WorldConfig, Group)> {
    let world = registry().usual(world)?;
    let group = if kind.is_plain() { None } else { registry().usual_group(&world) };
    let group = group.map_or(Group::cyclic(1), |name| name.parse())?;
    Ok((world, group))
}

/// The median time of one agent's decision, in microseconds: of the agent with the most neighbours in some random states.
fn decision(world: &str, time: Duration) -> Result<f64> {
    let (world, group) = usual(world, NetworkKind::Equivariant)?;
    let policy =
        fresh(&usual_config(&world, NetworkKind::Equivariant, &Symmetry::Finite(group.clone()))?, 1)?
            .policy()?;
    let states = random_states(&*registry().make(&world, &group, 1)?, STATES, 1)?;
    let mut image = vec![0.0; states.spec().image.unwrap_or_default().iter().product()];
    let (mut heard, mut most, mut at) = (Edges::default(), Edges::default(), (0, 0));
    for e in 0..states.len() {
        for agent in 0..states.spec().agents {
            states.world(e).neighbours(agent, &mut heard);
            if heard.from.len() > most.from.len() {
                (most, at) = (heard.clone(), (e, agent));
            }
        }
    }
    let (heard, edges, state) = (most.from, most.vectors, states.world(at.0));
    let received: Vec<Vec<f32>> =
        (0..policy.rounds()).map(|l| vec![0.5; policy.message_len(l) * heard.len()]).collect();
    let (mut scratch, mut own, mut mixed) = (Scratch::default(), vec![], vec![]);
    let mut step = || -> Result<()> {
        state.observe(at.1, &mut image);
        policy.encode(&image, &mut scratch, &mut own)?;
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
