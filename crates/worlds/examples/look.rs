//! Draws both worlds into a folder: a film of one episode each, pictures from its middle, and a city from far away.
//!
//! ```text
//! cargo run --release -p equimarl-worlds --example look -- pictures
//! ```
//!
//! The folder must exist. Open the files in a browser; the terminal shows the same moments as text.

use equimarl_worlds::look::{GifWriter, Look, save_svg};
use equimarl_worlds::traffic::{LongestQueue, Traffic, TrafficOptions};
use equimarl_worlds::wildlife::{Greedy, Wildlife};
use equimarl_worlds::{Controller, End, Purpose, Result, Stream, World};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    show(Wildlife::new(4, 7)?, &mut Greedy, 2, &folder.join("wildlife"))?;
    show(Traffic::new(TrafficOptions::default())?, &mut LongestQueue, 40, &folder.join("traffic"))?;

    let city = TrafficOptions { rows: 100, cols: 100, arrival_steps: 400, ..TrafficOptions::default() };
    let mut city = Traffic::new(city)?;
    city.reset(&mut Stream::new(1, Purpose::World, 0));
    let (mut stream, mut actions) = (Stream::new(1, Purpose::Action, 0), vec![0; city.agents()]);
    for _ in 0..400 {
        LongestQueue.act(&city, &mut stream, &mut actions);
        city.step(&actions, &());
    }
    save_svg(&city.scene()?.caption("100 x 100 junctions after 400 steps"), folder.join("city.svg"))
}

/// Plays one episode; `moment` is the step whose picture is kept.
fn show<W: World + Look>(
    mut world: W,
    controller: &mut dyn Controller<W>,
    moment: usize,
    path: &Path,
) -> Result<()> {
    let mut chance = Stream::new(1, Purpose::World, 0);
    let mut choice = Stream::new(1, Purpose::Action, 0);
    world.reset(&mut chance);
    controller.start(&world);
    let mut film = GifWriter::create(path.with_extension("gif"))?;
    film.frame(&world.scene()?.caption("step 0   return 0.00"))?;
    let mut actions = vec![0; world.agents()];
    let (mut step, mut total) = (0, 0.0);
    loop {
        controller.act(&world, &mut choice, &mut actions);
        let draw = world.draw(&mut chance);
        let outcome = world.step(&actions, &draw);
        step += 1;
        total += outcome.reward;
        let scene = world.scene_after(&actions)?.caption(format!("step {step}   return {total:.2}"));
        film.frame(&scene)?;
        if step == moment {
            save_svg(&scene, path.with_extension("svg"))?;
            println!("{}", world.terminal(std::io::stdout().is_terminal()));
        }
        if outcome.end != End::Running {
            return film.finish();
        }
    }
}
