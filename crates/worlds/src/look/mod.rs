//! Looking at a world: pictures for the page, films for the browser, text for the terminal.
//!
//! A world describes itself once, as a [`Scene`] of simple shapes; [`svg`] and [`GifWriter`] turn any scene into a file.
//! Nothing here is random: the same state gives the same bytes.
//!
//! ```
//! use equimarl_worlds::{Wildlife, look::{Look, svg}};
//! let world = Wildlife::new(3, 7)?;
//! let scene = world.scene()?.caption("step 0");
//! assert!(svg(&scene).starts_with("<svg"));
//! println!("{}", world.terminal(false));
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod draft;
mod gif;
mod letters;
mod raster;
mod scene;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;
mod traffic;
mod wildlife;

pub use gif::GifWriter;
pub use scene::{Colour, Item, Scene, Shape};
pub use svg::{save_svg, svg};

use crate::error::{Error, Result};

/// The most cells along one side of a picture: below one pixel a cell there is nothing to see.
const MAX_SIDE: usize = 1200;
/// The most drones or vehicles in a picture.
const MAX_GLYPHS: usize = 200_000;

/// A world that can be looked at. Your own world becomes one by describing itself with a few shapes.
pub trait Look {
    /// The state as a picture.
    ///
    /// # Errors
    /// If the world is too large to make out anything.
    fn scene(&self) -> Result<Scene>;

    /// The state as a picture, with what each agent just did where that shows.
    ///
    /// # Errors
    /// As [`Look::scene`].
    fn scene_after(&self, _actions: &[usize]) -> Result<Scene> {
        self.scene()
    }

    /// The state as lines of text, with terminal colours or without. Large worlds show a part or an overview.
    fn terminal(&self, colour: bool) -> String;
}

/// Refuses a world of which a picture would show nothing.
fn visible(world: &str, [rows, cols]: [usize; 2], glyphs: usize) -> Result<()> {
    if rows.max(cols) > MAX_SIDE {
        return Err(Error::Draw(format!(
            "this {world} world is {rows} x {cols} cells, and a picture shows at most {MAX_SIDE} along a side"
        )));
    }
    if glyphs > MAX_GLYPHS {
        return Err(Error::Draw(format!(
            "{glyphs} things move in this {world} world, and a picture shows at most {MAX_GLYPHS}"
        )));
    }
    Ok(())
}
