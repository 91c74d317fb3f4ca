//! Films, images and live views of an episode.

use crate::number::whole;
use crate::outputs::{self, Force, Product};
use crate::waiting::Waiting;
use anyhow::Result;
use clap::Args;
use equimarl_render::{GifWriter, save_svg};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{Controller, Envs, Moment, watched_episode};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a live view shows each step.
const PAUSE: Duration = Duration::from_millis(150);

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Looking at the first episode")]
pub struct ShowArgs {
    /// Write the episode as an animated GIF.
    #[arg(long, value_name = "FILE")]
    gif: Option<PathBuf>,
    /// Write one step as an SVG image.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The step of the SVG image [default: the middle of the episode].
    #[arg(long, value_name = "STEP", requires = "svg", allow_negative_numbers = true, value_parser = whole::<usize>)]
    at: Option<usize>,
    /// Show the episode in the terminal, step by step.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    force: Force,
}

impl ShowArgs {
    /// Refuses to write over what is read, or what is somebody else's.
    pub fn check(&self, inputs: &[&Path]) -> Result<()> {
        let gif = self.gif.as_deref().map(|path| ("--gif", path, Product::Gif));
        let svg = self.svg.as_deref().map(|path| ("--svg", path, Product::Svg));
        outputs::check(inputs, &gif.into_iter().chain(svg).collect::<Vec<_>>(), &self.force)
    }

    /// Plays episode 0 of `seed` once more, with somebody watching. Says on standard error what was written.
    pub fn show(&self, envs: &mut dyn Envs, controller: &mut dyn Controller, seed: u64) -> Result<()> {
        if self.gif.is_none() && self.svg.is_none() && !self.watch {
            return Ok(());
        }
        // Made first: an unwritable folder should not cost a whole episode.
        let mut film = self.gif.as_ref().map(GifWriter::create).transpose()?;
        let mut scenes: Vec<Scene> = vec![];
        let waiting = (!self.watch).then(|| Waiting::for_("drawing an episode", None));
        watched_episode(envs, controller, seed, 0, |moment| -> Result<()> {
            if film.is_some() || self.svg.is_some() {
                let scene = scene(&moment)?.caption(caption(&moment));
                if let Some(film) = &mut film {
                    film.frame(&scene)?;
                }
                if self.svg.is_some() {
                    scenes.push(scene);
                }
            }
            if self.watch {
                terminal(&moment)?;
            }
            Ok(())
        })?;
        drop(waiting);
        if let (Some(film), Some(path)) = (film, &self.gif) {
            film.finish()?;
            eprintln!("wrote {}", path.display());
        }
        if let Some(path) = &self.svg {
            let at = self.at.unwrap_or(scenes.len() / 2);
            let last = scenes.len() - 1;
            anyhow::ensure!(at <= last, "--at {at} is after the end: the episode has {last} steps");
            save_svg(&scenes[at], path)?;
            eprintln!("wrote {}", path.display());
        }
        Ok(())
    }
}

fn caption(moment: &Moment<'_>) -> String {
    format!("step {}   return {:.2}", moment.step, moment.total)
}

fn scene(moment: &Moment<'_>) -> Result<Scene> {
    Ok(if moment.step == 0 { moment.world.scene()? } else { moment.actions.scene(moment.world)? })
}

/// In a terminal each step is drawn over the last; elsewhere they follow each other. The view goes to standard error,
/// because standard output holds the result.
fn terminal(moment: &Moment<'_>) -> Result<()> {
    let mut out = std::io::stderr();
    let live = out.is_terminal();
    let clear = if live { "\x1b[H\x1b[2J" } else { "" };
    let view = match moment.world.terminal(live) {
        Some(view) => view,
        // A world without a view of its own is shown as any scene is.
        None => equimarl_render::terminal(&scene(moment)?, live)?,
    };
    write!(out, "{clear}{view}\n{}\n", caption(moment))?;
    if live {
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
