//! Steps per second of the Rust library with as many environments as a batch in Python has, in one thread:
//! `speed WORLD images|ids ENVIRONMENTS SECONDS [OPTION=VALUE ...]`. The rest is as in `equimarl bench worlds`.
//!
//! What a batch is slower than this, Python costs; what this is slower than `bench worlds`, memory costs.

use equimarl_worlds::{Canvas, End, Outcome, Purpose, Stream, Value, builtin, uniform};
use std::time::{Duration, Instant};

/// Every part of an episode is played before and while anything is measured: all environments begin together, and how much
/// there is to paint changes within an episode.
const EPISODE: usize = 600;

type Any<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Any<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, sight, count, seconds, options @ ..] = arguments.as_slice() else {
        return Err("usage: speed WORLD images|ids ENVIRONMENTS SECONDS [OPTION=VALUE ...]".into());
    };
    let registry = builtin();
    let mut world = registry.usual(name)?;
    for option in options {
        let (key, text) = option.split_once('=').ok_or("an option is KEY=VALUE")?;
        let usual = world.settings.get(key).cloned().ok_or("there is no such option")?;
        world = world.with(key, Value::parse(text, &usual)?);
    }
    let group = registry.usual_group(&world).unwrap_or_default().parse()?;
    let (count, time) = (count.parse()?, Duration::from_secs_f64(seconds.parse()?));
    let mut envs = registry.make(&world, &group, count)?;
    envs.start_all(1, Purpose::World)?;
    let spec = envs.spec().clone();
    let pixels: usize = spec.image.unwrap_or_default().iter().product();
    let mut actions = vec![0; count * spec.agents];
    let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; count];
    let mut ids = vec![0; actions.len()];
    let mut images = vec![0.0; actions.len() * pixels];
    let (mut canvas, mut choice): (Option<Canvas>, _) = (None, Stream::new(1, Purpose::Action, 0));
    let mut run = |time: Duration| -> Any<f64> {
        let (start, mut steps) = (Instant::now(), 0);
        while start.elapsed() < time || steps < EPISODE {
            for (e, actions) in actions.chunks_exact_mut(spec.agents).enumerate() {
                uniform(envs.world(e), &mut choice, actions);
            }
            envs.step(&actions, &mut outcomes)?;
            for (e, _) in outcomes.iter().enumerate().filter(|(_, o)| o.end != End::Running) {
                envs.restart(e)?;
            }
            let exact = envs.exact().ok_or("this world is not exact")?;
            match sight.as_str() {
                "images" => exact.look(&mut canvas, &mut images),
                _ => exact.ids(&mut ids),
            }
            std::hint::black_box((&ids, &images));
            steps += 1;
        }
        Ok((steps * count) as f64 / start.elapsed().as_secs_f64())
    };
    run(Duration::ZERO)?;
    println!("{}", run(time)?);
    Ok(())
}
