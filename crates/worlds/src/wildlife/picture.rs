//! What a drone sees: itself in the middle as a plus, the poacher as an x, 3 x 3 pixels a cell.
//!
//! ```text
//! plus   . 1 .    x   1 . 1
//!        1 1 1        . 1 .
//!        . 1 .        1 . 1
//! ```

use super::board::{Board, PIXELS};

/// Paints the whole picture of a poacher at `cell`, the drone being in the middle cell.
pub(super) fn render(board: &Board, cell: u32, picture: &mut [f32]) {
    let width = PIXELS * board.grid;
    assert_eq!(picture.len(), width * width, "a picture of {width} x {width} pixels");
    picture.fill(0.0);
    let plus = cell_of(board, board.middle(), picture);
    paint_plus(plus, width);
    paint_x(board, cell, picture);
}

/// Moves the poacher in a complete picture from one cell to another, touching at most 18 pixels.
#[inline]
pub(super) fn repaint(board: &Board, old: u32, new: u32, picture: &mut [f32]) {
    if old == new {
        return;
    }
    let width = PIXELS * board.grid;
    let was = cell_of(board, old, picture);
    if old == board.middle() {
        paint_plus(was, width);
    } else {
        paint_diagonals(was, width, 0.0);
    }
    paint_x(board, new, picture);
}

/// The pixels of a cell: its first one and what follows up to its last one.
#[inline]
fn cell_of<'a>(board: &Board, cell: u32, picture: &'a mut [f32]) -> &'a mut [f32] {
    let corner = board.corner[cell as usize] as usize;
    &mut picture[corner..][..2 * PIXELS * board.grid + PIXELS]
}

#[inline]
fn paint_x(board: &Board, cell: u32, picture: &mut [f32]) {
    let width = PIXELS * board.grid;
    let pixels = cell_of(board, cell, picture);
    if cell == board.middle() {
        paint_edges(pixels, width, 0.0);
    }
    paint_diagonals(pixels, width, 1.0);
}

#[inline]
fn paint_plus(pixels: &mut [f32], width: usize) {
    paint_diagonals(pixels, width, 0.0);
    paint_edges(pixels, width, 1.0);
    pixels[width + 1] = 1.0;
}

/// Four corners and the centre.
#[inline]
fn paint_diagonals(pixels: &mut [f32], width: usize, value: f32) {
    // The last pixel first: one bounds check then covers the rest.
    pixels[2 * width + 2] = value;
    pixels[2 * width] = value;
    pixels[width + 1] = value;
    pixels[2] = value;
    pixels[0] = value;
}

/// The middles of the four edges.
#[inline]
fn paint_edges(pixels: &mut [f32], width: usize, value: f32) {
    pixels[2 * width + 1] = value;
    pixels[width + 2] = value;
    pixels[width] = value;
    pixels[1] = value;
}
