//! Worlds of which a picture would show nothing.

use crate::error::{Error, Result};

/// The most cells along one side of a picture: below one pixel a cell there is nothing to see.
const MAX_SIDE: usize = 1200;
/// The most drones or vehicles in a picture.
const MAX_GLYPHS: usize = 200_000;

/// Refuses a world of which a picture would show nothing.
///
/// # Errors
/// If it has too many cells or too many things in it.
pub fn visible(world: &str, [rows, cols]: [usize; 2], glyphs: usize) -> Result<()> {
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
