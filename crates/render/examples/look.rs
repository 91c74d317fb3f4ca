//! Draws both worlds into a folder: a film of one episode each, pictures from its middle, and a city from far away.
//!
//! ```text
//! cargo run --release -p equimarl-render --example look -- pictures
//! ```
//!
//! The folder must exist. Open the files in a browser; the terminal shows the same moments as text, first as
//! the world has it and then as any scene is shown.

use equimarl_render::{GifWriter, Result, save_svg, terminal};
use equimarl_worlds::{
    Controller, EnvBatch, Envs, Exact, Moment, Named, Purpose, Stream, Traffic, TrafficOptions, Wildlife,
    World, watched_episode,
};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    show(&mut EnvBatch::of(&Wildlife::new(4, 7)?, 1), "greedy", 2, &folder.join("wildlife"))?;
    let city = Traffic::new(TrafficOptions::default())?;
    show(&mut EnvBatch::of(&city, 1), "longest-queue", 40, &folder.join("traffic"))?;

    let city = TrafficOptions { rows: 100, cols: 100, arrival_steps: 400, ..TrafficOptions::default() };
    let mut city = Traffic::new(city)?;
    city.reset(&mut Stream::new(1, Purpose::World, 0))?;
    let mut lights = Named::new("longest-queue", &city)?;
    let (mut stream, mut actions) = (Stream::new(1, Purpose::Action, 0), vec![0; city.agents()]);
    for _ in 0..400 {
        lights.act(&city, &mut stream, &mut actions)?;
        city.apply(&actions, &());
    }
    save_svg(&city.scene()?.caption("100 x 100 junctions after 400 steps"), folder.join("city.svg"))
}

/// Plays one episode of any world; `moment` is the step whose picture is kept.
fn show(envs: &mut dyn Envs, controller: &str, moment: usize, path: &Path) -> Result<()> {
    let mut controller = Named::new(controller, envs.world(0))?;
    let mut film = GifWriter::create(path.with_extension("gif"))?;
    watched_episode(envs, &mut controller, 1, 0, |Moment { world, actions, step, total }| {
        let scene = actions.scene(world)?.caption(format!("step {step}   return {total:.2}"));
        film.frame(&scene)?;
        if step == moment {
            save_svg(&scene, path.with_extension("svg"))?;
            let colour = std::io::stdout().is_terminal();
            println!("{}", world.terminal(colour).unwrap_or_default());
            println!("{}", terminal(&scene, colour)?);
        }
        Result::Ok(())
    })?;
    film.finish()
}
