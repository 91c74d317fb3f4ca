//! `equimarl bench worlds`: environment steps per second on one core, random actions, resets included.

use super::Line;
use anyhow::{Result, ensure};
use equimarl_worlds::{
    Batch, Canvas, Controller, End, Outcome, Purpose, Stream, Traffic, TrafficOptions, Uniform, Wildlife,
    World,
};
use std::time::{Duration, Instant};

/// The authors' environments with pictures, steps per second (docs/benchmarks.md).
const AUTHORS_WILDLIFE: f64 = 1700.0;
const AUTHORS_TRAFFIC: f64 = 1500.0;
/// Worlds stepped together.
const TOGETHER: usize = 16;

pub fn run(seconds: f64) -> Result<Vec<Line>> {
    ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds must be above 0 and at most 3600");
    let time = Duration::from_secs_f64(seconds);
    let wildlife = Wildlife::new(3, 7)?;
    let city = |n: usize| Traffic::new(TrafficOptions { rows: n, cols: n, ..TrafficOptions::default() });
    let small = city(2)?;
    let line = |name: &str, value: f64, authors: f64| {
        let note = format!("the authors' environments on another machine: {authors:.0}");
        Line { name: name.into(), value, unit: "steps/s", note, shares: vec![] }
    };
    let mut lines = vec![
        line("wildlife-pictures", pictures(&wildlife, time)?, AUTHORS_WILDLIFE),
        line("wildlife-keys", keys(&wildlife, TOGETHER, time), AUTHORS_WILDLIFE),
        line("traffic-2x2-pictures", pictures(&small, time)?, AUTHORS_TRAFFIC),
        line("traffic-2x2-keys", keys(&small, TOGETHER, time), AUTHORS_TRAFFIC),
    ];
    let base = lines[3].value;
    for (name, n, together) in [("traffic-10x10-keys", 10, 4), ("traffic-100x100-keys", 100, 1)] {
        let value = keys(&city(n)?, together, time);
        let per_junction = base * 4.0 / (value * (n * n) as f64);
        let note = format!("{per_junction:.2} x the cost per junction at 2x2");
        lines.push(Line { name: name.into(), value, unit: "steps/s", note, shares: vec![] });
    }
    Ok(lines)
}

/// A batch that is driven by random actions.
struct Driven<W: World> {
    batch: Batch<W>,
    choice: Stream,
    actions: Vec<usize>,
    outcomes: Vec<Outcome>,
}

impl<W: World> Driven<W> {
    fn new(world: &W, together: usize) -> Driven<W> {
        Driven {
            batch: Batch::new(world, together, 1, Purpose::World),
            choice: Stream::new(1, Purpose::Action, 0),
            actions: vec![0; together * world.agents()],
            outcomes: vec![Outcome { reward: 0.0, end: End::Running }; together],
        }
    }

    fn step(&mut self) {
        let agents = self.batch.agents();
        for (world, actions) in self.batch.worlds().iter().zip(self.actions.chunks_exact_mut(agents)) {
            Uniform.act(world, &mut self.choice, actions);
        }
        self.batch.step(&self.actions, &mut self.outcomes, |_, _| {});
    }
}

/// After every step every agent's picture is complete in one buffer.
fn pictures<W: World>(world: &W, time: Duration) -> Result<f64> {
    let mut driven = Driven::new(world, TOGETHER);
    let mut buffer = vec![0.0; Canvas::len_for(driven.batch.worlds())];
    let mut canvas = Canvas::paint(driven.batch.worlds(), &mut buffer);
    let rate = measure(TOGETHER, time, || {
        driven.step();
        canvas.update(driven.batch.worlds(), &mut buffer);
    });
    // The pictures kept by repainting are the pictures that rendering makes.
    let pixels = world.picture_shape().len();
    let mut fresh = vec![0.0; pixels];
    for _ in 0..100 {
        driven.step();
        canvas.update(driven.batch.worlds(), &mut buffer);
        let sample = driven.choice.below((TOGETHER * world.agents()) as u32) as usize;
        let (index, agent) = (sample / world.agents(), sample % world.agents());
        let state = &driven.batch.worlds()[index];
        state.render(&state.observation_key(agent), &mut fresh);
        ensure!(
            fresh == buffer[sample * pixels..][..pixels],
            "a repainted picture differs from a rendered one"
        );
    }
    Ok(rate)
}

/// After every step every agent's observation key is known.
fn keys<W: World>(world: &W, together: usize, time: Duration) -> f64 {
    let mut driven = Driven::new(world, together);
    let mut keys: Vec<W::Key> = Vec::with_capacity(together * world.agents());
    for state in driven.batch.worlds() {
        keys.extend((0..world.agents()).map(|agent| state.observation_key(agent)));
    }
    measure(together, time, || {
        driven.step();
        driven.batch.keys(&mut keys);
        std::hint::black_box(&keys);
    })
}

/// World steps per second. A tenth of the time warms up, so that episodes are in their middle and caches are full.
fn measure(together: usize, time: Duration, mut step: impl FnMut()) -> f64 {
    let mut run = |time: Duration| {
        let (start, mut steps) = (Instant::now(), 0u64);
        loop {
            // Looking at the clock costs as much as a small step.
            for _ in 0..8 {
                step();
            }
            steps += 8;
            let passed = start.elapsed();
            if passed >= time {
                return (steps * together as u64) as f64 / passed.as_secs_f64();
            }
        }
    };
    run(time / 10);
    run(time)
}
