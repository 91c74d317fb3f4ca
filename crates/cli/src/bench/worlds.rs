//! `equimarl bench worlds`: environment steps per second on one core, random actions, resets included.

use super::Line;
use crate::registry;
use anyhow::{Result, ensure};
use equimarl_worlds::{
    Canvas, Edges, End, Envs, GroupAction, Outcome, Purpose, Stream, WorldConfig, uniform,
};
use std::time::{Duration, Instant};

/// Agents stepped together, in at most so many environments.
const AGENTS: usize = 400;
const TOGETHER: usize = 16;
/// Images of larger teams are left out: what they cost per agent is known from small ones.
const MOST_PAINTED: usize = 16;

pub fn run(seconds: f64) -> Result<Vec<Line>> {
    ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds must be above 0 and at most 3600");
    let time = Duration::from_secs_f64(seconds);
    let mut lines = vec![];
    for definition in registry().iter() {
        let mut first = None;
        for settings in definition.benchmarks() {
            let world = WorldConfig { name: definition.name().into(), settings };
            let label = registry().label(&world);
            let mut driven = Driven::new(&world)?;
            let agents = driven.envs.spec().agents;
            let line = |tail: &str, value: f64, note: String| Line {
                name: format!("{label}-{tail}"),
                value,
                unit: "steps/s",
                note,
                shares: vec![],
            };
            if driven.envs.spec().image.is_some() && agents <= MOST_PAINTED && driven.envs.exact().is_some() {
                lines.push(line("images", images(&mut driven, time)?, String::new()));
            }
            let (tail, value) = match driven.envs.spec().image {
                Some(_) => ("ids", ids(&mut driven, time)?),
                None => ("features", features(&mut driven, time)?),
            };
            let base = *first.get_or_insert(value * agents as f64);
            let note = format!("{:.2} x the cost per agent of the first", base / (value * agents as f64));
            lines.push(line(tail, value, note));
        }
    }
    Ok(lines)
}

/// Environments that are driven by random actions.
struct Driven {
    envs: Box<dyn Envs>,
    choice: Stream,
    actions: Vec<usize>,
    outcomes: Vec<Outcome>,
}

impl Driven {
    fn new(world: &WorldConfig) -> Result<Driven> {
        let described = registry().describe(world)?;
        let (agents, group) = (described.spec.agents, described.usual_group.parse()?);
        let together = (AGENTS / agents).clamp(1, TOGETHER);
        let mut envs = registry().make(world, &group, together)?;
        envs.start_all(1, Purpose::World)?;
        Ok(Driven {
            envs,
            choice: Stream::new(1, Purpose::Action, 0),
            actions: vec![0; together * agents],
            outcomes: vec![Outcome { reward: 0.0, end: End::Running }; together],
        })
    }

    fn step(&mut self) -> Result<()> {
        let agents = self.envs.spec().agents;
        for (e, actions) in self.actions.chunks_exact_mut(agents).enumerate() {
            uniform(self.envs.world(e), &mut self.choice, actions);
        }
        self.envs.step(&self.actions, &mut self.outcomes)?;
        for (e, outcome) in self.outcomes.iter().enumerate() {
            if outcome.end != End::Running {
                self.envs.restart(e)?;
            }
        }
        Ok(())
    }
}

/// After every step every agent's image is complete in one buffer.
fn images(driven: &mut Driven, time: Duration) -> Result<f64> {
    let spec = driven.envs.spec().clone();
    let pixels: usize = spec.image.unwrap_or_default().iter().product();
    let (together, agents) = (driven.envs.len(), spec.agents);
    let mut buffer = vec![0.0; together * agents * pixels];
    let mut canvas: Option<Canvas> = None;
    let mut look = |driven: &mut Driven, buffer: &mut [f32]| -> Result<()> {
        driven.step()?;
        if let Some(exact) = driven.envs.exact() {
            exact.look(&mut canvas, buffer);
        }
        Ok(())
    };
    let rate = measure(together, time, || look(driven, &mut buffer))?;
    // The images kept by repainting are the images that agents see.
    let mut fresh = vec![0.0; pixels];
    for _ in 0..100 {
        look(driven, &mut buffer)?;
        let sample = driven.choice.below((together * agents) as u32) as usize;
        driven.envs.world(sample / agents).observe(sample % agents, &mut fresh);
        ensure!(fresh == buffer[sample * pixels..][..pixels], "a repainted image differs from what is seen");
    }
    Ok(rate)
}

/// After every step every agent's observation id is known.
fn ids(driven: &mut Driven, time: Duration) -> Result<f64> {
    let mut ids = vec![0; driven.actions.len()];
    measure(driven.envs.len(), time, || {
        driven.step()?;
        if let Some(exact) = driven.envs.exact() {
            exact.ids(&mut ids);
        }
        std::hint::black_box(&ids);
        Ok(())
    })
}

/// After every step every agent's features are in one buffer, and whom it hears across which vectors is known.
fn features(driven: &mut Driven, time: Duration) -> Result<f64> {
    let spec = driven.envs.spec().clone();
    let numbers = GroupAction::new(&spec)?.features_dim();
    let (mut seen, mut heard) = (vec![0.0; spec.agents * numbers], Edges::default());
    measure(driven.envs.len(), time, || {
        driven.step()?;
        for e in 0..driven.envs.len() {
            let world = driven.envs.world(e);
            for (agent, row) in seen.chunks_exact_mut(numbers).enumerate() {
                world.observe(agent, row);
                world.neighbours(agent, &mut heard);
                std::hint::black_box(&heard);
            }
        }
        std::hint::black_box(&seen);
        Ok(())
    })
}

/// World steps per second. A tenth of the time warms up, so that episodes are in their middle and caches are full.
fn measure(together: usize, time: Duration, mut step: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut run = |time: Duration| -> Result<f64> {
        let (start, mut steps) = (Instant::now(), 0u64);
        loop {
            // Looking at the clock costs as much as a small step.
            for _ in 0..8 {
                step()?;
            }
            steps += 8;
            let passed = start.elapsed();
            if passed >= time {
                return Ok((steps * together as u64) as f64 / passed.as_secs_f64());
            }
        }
    };
    run(time / 10)?;
    run(time)
}
