//! Any scene as text, for worlds that have no terminal view of their own.
//!
//! With colours a character is two pixels, one above the other; without, it is four, each either ground or not. Labels
//! are written as text, because letters painted with so few pixels cannot be read.

use crate::error::Result;
use crate::raster::{Pixels, pixels};
use equimarl_worlds::scene::{Colour, Item, Scene, Shape};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most columns and lines of text.
const COLUMNS: f32 = 78.0;
const LINES: f32 = 36.0;
/// Columns of a cell in a small scene. A line is as high as two columns are wide.
const CELL: f32 = 6.0;
/// Colours closer to the ground than this, of 255 in any channel, are ground where there are no colours.
const FAINT: u8 = 48;
/// A cell's four quarters, as bits: upper left, upper right, lower left, lower right.
const QUARTERS: [char; 16] = [' ', '▘', '▝', '▀', '▖', '▌', '▞', '▛', '▗', '▚', '▐', '▜', '▄', '▙', '▟', '█'];

/// The scene as lines of text, with 24-bit terminal colours or without any.
///
/// # Errors
/// If it cannot be drawn.
pub fn terminal(scene: &Scene, colour: bool) -> Result<String> {
    let [width, height] = scene.size();
    let columns = (COLUMNS / width).min(2.0 * LINES / height).min(CELL);
    let (shapes, labels): (Vec<&Item>, Vec<&Item>) =
        scene.items().iter().partition(|item| !matches!(item.shape, Shape::Label { .. }));
    let mut painted = Scene::new(width, height);
    shapes.into_iter().for_each(|item| painted.push(item.clone()));
    let across = if colour { columns } else { 2.0 * columns };
    let picture = pixels(&painted, [across, columns])?;
    let mut page = if colour { blocks(&picture) } else { quarters(&picture) };
    for item in labels {
        write_label(&mut page, item, columns);
    }
    Ok(if colour { coloured(&page) } else { plain(&page) })
}

/// One character with its colours.
#[derive(Clone, Copy)]
struct Glyph {
    letter: char,
    ink: Colour,
    ground: Colour,
}

/// The colour of a pixel, or of the paper below the last one.
fn pixel(picture: &Pixels, x: usize, y: usize) -> Colour {
    if x < picture.width && y < picture.height {
        picture.colours[y * picture.width + x]
    } else {
        Colour::PAPER
    }
}

/// Upper and lower halves of characters in two colours.
fn blocks(picture: &Pixels) -> Vec<Vec<Glyph>> {
    let glyph = |x: usize, line: usize| {
        let [ink, ground] = [0, 1].map(|half| pixel(picture, x, 2 * line + half));
        Glyph { letter: '▀', ink, ground }
    };
    let lines = picture.height.div_ceil(2);
    (0..lines).map(|line| (0..picture.width).map(|x| glyph(x, line)).collect()).collect()
}

/// Quarters of characters, where the picture is not as it is mostly.
fn quarters(picture: &Pixels) -> Vec<Vec<Glyph>> {
    let mut counts: BTreeMap<Colour, usize> = BTreeMap::new();
    picture.colours.iter().for_each(|&colour| *counts.entry(colour).or_default() += 1);
    let most = counts.iter().max_by_key(|(_, count)| **count).map_or(Colour::PAPER, |(&colour, _)| colour);
    let far = |colour: Colour| distance(colour, most).min(distance(colour, Colour::PAPER)) > FAINT;
    let glyph = |column: usize, line: usize| {
        let marked = |k: usize| far(pixel(picture, 2 * column + k % 2, 2 * line + k / 2));
        let bits = (0..4).filter(|&k| marked(k)).map(|k| 1 << k).sum::<usize>();
        Glyph { letter: QUARTERS[bits], ink: Colour::INK, ground: Colour::PAPER }
    };
    let (lines, columns) = (picture.height.div_ceil(2), picture.width.div_ceil(2));
    (0..lines).map(|line| (0..columns).map(|column| glyph(column, line)).collect()).collect()
}

fn distance(a: Colour, b: Colour) -> u8 {
    a.0.abs_diff(b.0).max(a.1.abs_diff(b.1)).max(a.2.abs_diff(b.2))
}

/// Writes a label over what is painted; what does not fit the page is cut off.
fn write_label(page: &mut [Vec<Glyph>], item: &Item, columns: f32) {
    let Shape::Label { centre: [x, y], text, .. } = &item.shape else { return };
    let (middle, line) = (x * columns, y * columns / 2.0);
    if !(line >= 0.0 && middle.is_finite()) {
        return;
    }
    let Some(row) = page.get_mut(line as usize) else { return };
    let letters = text.chars().count();
    let start = (middle - letters as f32 / 2.0).round();
    for (k, letter) in text.chars().enumerate() {
        let column = start + k as f32;
        if column < 0.0 || column >= row.len() as f32 {
            continue;
        }
        let place = &mut row[column as usize];
        let ground = if place.letter == '▀' { place.ground.mix(place.ink, 0.5) } else { place.ground };
        // A control character in a label must not reach the terminal.
        let letter = if letter.is_control() { ' ' } else { letter };
        *place = Glyph { letter, ink: item.fill, ground };
    }
}

/// The page with colour codes where colours change.
fn coloured(page: &[Vec<Glyph>]) -> String {
    let mut text = String::new();
    for row in page {
        let mut last = None;
        for glyph in row {
            let Glyph { letter, ink: Colour(r, g, b), ground: Colour(x, y, z) } = *glyph;
            if last != Some((glyph.ink, glyph.ground)) {
                let _ = write!(text, "\x1b[38;2;{r};{g};{b};48;2;{x};{y};{z}m");
                last = Some((glyph.ink, glyph.ground));
            }
            text.push(letter);
        }
        text += "\x1b[0m\n";
    }
    text
}

fn plain(page: &[Vec<Glyph>]) -> String {
    let mut text = String::new();
    for row in page {
        let line: String = row.iter().map(|glyph| glyph.letter).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}
