//! Scenes one after another as an animated GIF.
//!
//! A frame holds only what changed since the frame before, so a film of an episode stays small.

use crate::error::{Error, Result};
use crate::raster::{Pixels, pixels};
use equimarl_files::{Draft, MARK};
use equimarl_worlds::scene::{Colour, Scene};
use gif::{DisposalMethod, Encoder, EncodingError, Extension, Frame, Repeat};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The longer side of a film, in pixels.
const SIDE: f32 = 640.0;
/// A cell of a small world, in pixels.
const CELL: f32 = 64.0;
/// How long a frame is shown, in hundredths of a second.
const PACE: u16 = 20;
/// How long the last frame is shown before the film starts again.
const LAST: u16 = 200;
/// The index of the colour that lets the frame before shine through.
const UNCHANGED: u8 = 0;

/// Writes an animated GIF frame by frame. The file appears when the film is finished; a writer that is dropped before
/// leaves nothing behind.
///
/// ```
/// use equimarl_render::GifWriter;
/// use equimarl_worlds::{Wildlife, World};
/// # let folder = std::env::temp_dir().join(format!("equimarl-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let mut world = Wildlife::new(2, 5)?;
/// let mut film = GifWriter::create(folder.join("film.gif"))?;
/// for col in 0..3 {
///     world.place(&[[0, col], [4, 4]], [2, 2], col)?;
///     film.frame(&world.scene()?.caption(format!("step {col}")))?;
/// }
/// film.finish()?;
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), equimarl_render::Error>(())
/// ```
pub struct GifWriter {
    draft: Draft,
    film: Option<Film>,
    pace: u16,
}

impl GifWriter {
    /// Starts a film that will be at `path`.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn create(path: impl AsRef<Path>) -> Result<GifWriter> {
        let path = path.as_ref();
        let draft = Draft::create(path).map_err(|why| Error::Write { path: path.into(), why })?;
        Ok(GifWriter { draft, film: None, pace: PACE })
    }

    /// The same film with frames shown for this many milliseconds instead of 200, in steps of 10 and at least 20,
    /// which is the least that viewers respect.
    pub fn pace(mut self, milliseconds: u16) -> GifWriter {
        self.pace = (milliseconds / 10).max(2);
        self
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// If it has another size than the first one, or cannot be written.
    pub fn frame(&mut self, scene: &Scene) -> Result<()> {
        let next = pixels(scene, [scene.scale(SIDE, CELL); 2])?;
        match &mut self.film {
            None => self.film = Some(Film::new(next).map_err(|e| refused(&self.draft, e))?),
            Some(film) => {
                let (held, size) = (&film.held, [next.width, next.height]);
                if [held.width, held.height] != size {
                    return Err(Error::Draw(format!(
                        "a frame of {} x {} pixels does not fit a film of {} x {}",
                        next.width, next.height, held.width, held.height
                    )));
                }
                film.show(self.pace).map_err(|e| refused(&self.draft, e))?;
                film.held = next;
                let written = self.draft.write_all(film.encoder.get_ref());
                film.encoder.get_mut().clear();
                written.map_err(|e| refused(&self.draft, e.into()))?;
            }
        }
        Ok(())
    }

    /// Writes the last frame, which is shown for longer, and gives the file its name.
    ///
    /// # Errors
    /// If there was no frame, or the file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let Some(mut film) = self.film.take() else {
            return Err(Error::Draw("a film needs at least one frame".into()));
        };
        let rest = film.show(LAST.max(self.pace)).and_then(|()| film.encoder.into_inner());
        let rest = rest.map_err(|e| refused(&self.draft, e))?;
        let written = self.draft.write_all(&rest);
        let path = self.draft.path().to_path_buf();
        self.draft.finish(written).map_err(|why| Error::Write { path, why })
    }
}

fn refused(draft: &Draft, error: EncodingError) -> Error {
    let why = match error {
        EncodingError::Io(error) => error,
        other => io::Error::other(other),
    };
    Error::Write { path: draft.path().into(), why }
}

/// The encoder and its two newest pictures: how long a frame is shown is known only when the next one comes.
struct Film {
    encoder: Encoder<Vec<u8>>,
    shown: Option<Pixels>,
    held: Pixels,
}

impl Film {
    fn new(first: Pixels) -> std::result::Result<Film, EncodingError> {
        // Pictures are at most SIDE pixels long, so their sides fit.
        let mut encoder = Encoder::new(Vec::new(), first.width as u16, first.height as u16, &[])?;
        encoder.set_repeat(Repeat::Infinite)?;
        encoder.write_raw_extension(Extension::Comment.into(), &[MARK.as_bytes()])?;
        Ok(Film { encoder, shown: None, held: first })
    }

    /// Writes the held picture, for `delay` hundredths of a second.
    fn show(&mut self, delay: u16) -> std::result::Result<(), EncodingError> {
        let held = &self.held;
        let changed = |at: usize| self.shown.as_ref().is_none_or(|old| old.colours[at] != held.colours[at]);
        let [left, top, right, bottom] = changed_box(held.width, held.height, &changed);
        let inside = (top..bottom).flat_map(|y| (left..right).map(move |x| y * held.width + x));
        let (palette, buffer) = indexed(inside.map(|at| changed(at).then_some(held.colours[at])));
        let frame = Frame {
            delay,
            dispose: DisposalMethod::Keep,
            transparent: Some(UNCHANGED),
            left: left as u16,
            top: top as u16,
            width: (right - left) as u16,
            height: (bottom - top) as u16,
            palette: Some(palette),
            buffer: buffer.into(),
            ..Frame::default()
        };
        self.encoder.write_frame(&frame)?;
        self.shown = Some(self.held.clone());
        Ok(())
    }
}

/// [left, top, right, bottom] of what changed; one pixel if nothing did, because viewers skip empty frames.
fn changed_box(width: usize, height: usize, changed: &impl Fn(usize) -> bool) -> [usize; 4] {
    let [mut left, mut top, mut right, mut bottom] = [width, height, 0, 0];
    for y in 0..height {
        for x in (0..width).filter(|x| changed(y * width + x)) {
            (left, right) = (left.min(x), right.max(x + 1));
            (top, bottom) = (top.min(y), y + 1);
        }
    }
    if right == 0 { [0, 0, 1, 1] } else { [left, top, right, bottom] }
}

/// A palette of at most 256 colours and the index of each pixel in it; pixels without a colour are [`UNCHANGED`].
///
/// All colours are kept if they fit. Otherwise the most frequent ones are, which are those of surfaces, and the shades
/// at their edges go to the nearest of these.
fn indexed(pixels: impl Iterator<Item = Option<Colour>> + Clone) -> (Vec<u8>, Vec<u8>) {
    let mut counts: BTreeMap<Colour, usize> = BTreeMap::new();
    for colour in pixels.clone().flatten() {
        *counts.entry(colour).or_default() += 1;
    }
    let mut kept: Vec<Colour> = counts.keys().copied().collect();
    kept.sort_by_key(|colour| std::cmp::Reverse(counts[colour]));
    kept.truncate(255);
    let nearest: BTreeMap<Colour, u8> = counts
        .keys()
        .map(|&colour| {
            let best = (0..kept.len()).min_by_key(|&k| distance(kept[k], colour)).unwrap_or(0);
            (colour, best as u8 + 1)
        })
        .collect();
    let indices = pixels.map(|colour| colour.map_or(UNCHANGED, |c| nearest[&c])).collect();
    let palette = [Colour(0, 0, 0)].into_iter().chain(kept).flat_map(|Colour(r, g, b)| [r, g, b]);
    (palette.collect(), indices)
}

fn distance(a: Colour, b: Colour) -> u32 {
    [(a.0, b.0), (a.1, b.1), (a.2, b.2)].map(|(x, y)| u32::from(x.abs_diff(y)).pow(2)).iter().sum()
}
