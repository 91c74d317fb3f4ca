//! A state as pixels, and as text.

use crate::error::Result;
use crate::raster::pixels;
use equimarl_render::terminal;
use equimarl_worlds::World;
use equimarl_worlds::scene::Colour;

/// As large as frames of our films.
const SIDE: f32 = 480.0;
const CELL: f32 = 48.0;

/// Height, width, and three bytes a pixel.
pub(crate) fn rgb(world: &dyn World) -> Result<(usize, usize, Vec<u8>)> {
    let scene = world.scene()?;
    let picture = pixels(&scene, [scene.scale(SIDE, CELL); 2])?;
    let bytes = picture.colours.iter().flat_map(|Colour(r, g, b)| [*r, *g, *b]).collect();
    Ok((picture.height, picture.width, bytes))
}

/// Lines of text without colours.
pub(crate) fn text(world: &dyn World) -> Result<String> {
    match world.terminal(false) {
        Some(text) => Ok(text),
        None => terminal(&world.scene()?, false),
    }
}
