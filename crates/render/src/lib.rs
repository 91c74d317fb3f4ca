//! Scenes as pictures for the page, films for the browser, text for the terminal.
//!
//! A world describes itself once, as a [`Scene`](equimarl_worlds::scene::Scene) of simple shapes; here any scene becomes
//! an SVG ([`svg`]), an animated GIF ([`GifWriter`]) or lines of text ([`terminal`]). Nothing here is random: the same
//! scene gives the same bytes.
//!
//! ```
//! use equimarl_render::{svg, terminal};
//! use equimarl_worlds::{Wildlife, World};
//! let scene = Wildlife::new(3, 7)?.scene()?.caption("step 0");
//! assert!(svg(&scene).starts_with("<svg"));
//! println!("{}", terminal(&scene, false)?);
//! # Ok::<(), equimarl_render::Error>(())
//! ```

mod error;
mod gif;
mod letters;
mod raster;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use gif::GifWriter;
pub use svg::{save_svg, svg};
pub use terminal::terminal;
