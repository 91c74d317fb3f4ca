//! What a junction sees: lanes, red lights and vehicles, at 5 x 5 pixels a cell.
//!
//! Channel 0 is 0.5 on lane cells. Channel 1 has an arrow on every red stop line. Channel 2 has a tile per vehicle, 1
//! inside a border of 0.1, and 1 in the middle of its leading edge, so the picture shows where it drives.

use super::Traffic;
use super::lanes::{BLOCK, DIRECTIONS, PITCH, STOP, in_all_lanes};

/// Pixels along one side of a cell.
const TILE: usize = 5;
/// Pixels along one side of a junction's picture.
const SIDE: usize = TILE * BLOCK;
/// Pixels of one channel of a junction's picture.
const AREA: usize = SIDE * SIDE;

/// The bits of a key that are vehicles; the others are red lights.
const VEHICLES: u32 = in_all_lanes(0x7f);

/// A vehicle per direction.
const VEHICLE: [[[f32; TILE]; TILE]; 4] = vehicles();
/// The top left pixel of each vehicle bit's cell in a junction's picture.
const CORNER: [usize; 32] = corners();
/// The pixels of each lane's arrow in a junction's picture.
const ARROW: [[usize; 4]; 4] = arrows();

/// The red lights of a phase: bit 7 of each lane that has to wait. Phase 0 is red for rows, phase 1 for columns.
#[inline]
pub(super) fn red(phase: usize) -> u32 {
    0x0080_0080 << (8 * phase)
}

/// Whether a cell belongs to a lane, if the world is large enough to have it.
pub(super) fn is_lane(row: usize, col: usize) -> bool {
    let line = |x: usize| x % PITCH == 2 || x % PITCH == 4;
    line(row) || line(col)
}

/// The shape of a picture of `rows` x `cols` junctions, gaps included.
pub(super) fn shape(rows: usize, cols: usize) -> [usize; 3] {
    [3, TILE * (PITCH * rows - 1), TILE * (PITCH * cols - 1)]
}

/// All that a junction sees, in 32 bits: one byte per lane, for right (row 2), up (column 2), left (row 4) and down
/// (column 4) from the lowest byte on. Bits 0 to 6 of a byte say where the lane's own vehicles are, counted along its
/// direction (2 is its stop line, 4 its second crossing cell), bit 7 that its light is red.
///
/// One quarter turn of the picture moves every byte to the next: `rotate_left(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JunctionKey(pub u32);

impl JunctionKey {
    #[inline]
    pub(super) fn new(own: u32, red: u32) -> JunctionKey {
        JunctionKey(own & VEHICLES | red)
    }

    /// The phase it shows.
    pub fn phase(self) -> usize {
        usize::from(self.0 & red(0) == 0)
    }

    /// The key of the picture after `quarters` quarter turns.
    pub fn turned(self, quarters: u32) -> JunctionKey {
        JunctionKey(self.0.rotate_left(8 * (quarters % 4)))
    }

    /// Paints the whole picture.
    ///
    /// # Panics
    /// If the picture does not have 3 x 35 x 35 pixels.
    pub fn paint(self, picture: &mut [f32]) {
        assert_eq!(picture.len(), 3 * AREA, "a picture has 3 x 35 x 35 pixels");
        let (lanes, rest) = picture.split_at_mut(AREA);
        for (i, row) in lanes.chunks_exact_mut(SIDE).enumerate() {
            for (j, cell) in row.chunks_exact_mut(TILE).enumerate() {
                cell.fill(if is_lane(i / TILE, j) { 0.5 } else { 0.0 });
            }
        }
        rest.fill(0.0);
        let (lights, tiles) = rest.split_at_mut(AREA);
        light(lights, self.0, 1.0);
        park(tiles, self.0);
    }

    /// Turns this key's picture into that of `new`, touching only the cells that differ.
    ///
    /// # Panics
    /// If the picture does not have 3 x 35 x 35 pixels.
    pub fn repaint(self, new: JunctionKey, picture: &mut [f32]) {
        assert_eq!(picture.len(), 3 * AREA, "a picture has 3 x 35 x 35 pixels");
        let (lights, tiles) = picture[AREA..].split_at_mut(AREA);
        light(lights, self.0 & !new.0, 0.0);
        light(lights, new.0 & !self.0, 1.0);
        // Clear before painting: a crossing cell may change hands.
        let mut gone = self.0 & !new.0 & VEHICLES;
        while gone != 0 {
            let corner = CORNER[gone.trailing_zeros() as usize];
            gone &= gone - 1;
            let cell = &mut tiles[corner..corner + 4 * SIDE + TILE];
            for i in 0..TILE {
                cell[i * SIDE..i * SIDE + TILE].fill(0.0);
            }
        }
        park(tiles, new.0 & !self.0);
    }
}

/// Switches the arrows of the red lights in `word` on or off.
#[inline]
fn light(channel: &mut [f32], word: u32, value: f32) {
    for (lane, arrow) in ARROW.iter().enumerate() {
        if word & (0x80 << (8 * lane)) != 0 {
            for &pixel in arrow {
                channel[pixel] = value;
            }
        }
    }
}

/// Paints the vehicles in `word` into a junction's picture.
#[inline]
fn park(channel: &mut [f32], word: u32) {
    let mut vehicles = word & VEHICLES;
    while vehicles != 0 {
        let bit = vehicles.trailing_zeros() as usize;
        vehicles &= vehicles - 1;
        let cell = &mut channel[CORNER[bit]..CORNER[bit] + 4 * SIDE + TILE];
        for (i, row) in VEHICLE[bit / 8].iter().enumerate() {
            cell[i * SIDE..i * SIDE + TILE].copy_from_slice(row);
        }
    }
}

impl Traffic {
    /// The shape of the whole world's picture: 3 x 5(8R-1) x 5(8C-1), gap cells included.
    pub fn world_shape(&self) -> [usize; 3] {
        shape(self.map.rows, self.map.cols)
    }

    /// Paints the whole world, with the same glyphs as the junctions' own pictures.
    ///
    /// # Panics
    /// If the picture does not have the shape of [`Traffic::world_shape`].
    pub fn render_world(&self, picture: &mut [f32]) {
        let [channels, height, width] = self.world_shape();
        assert_eq!(picture.len(), channels * height * width, "wrong size for the world's picture");
        let (lanes, rest) = picture.split_at_mut(height * width);
        for (i, row) in lanes.chunks_exact_mut(width).enumerate() {
            for (j, cell) in row.chunks_exact_mut(TILE).enumerate() {
                cell.fill(if is_lane(i / TILE, j) { 0.5 } else { 0.0 });
            }
        }
        rest.fill(0.0);
        let (lights, tiles) = rest.split_at_mut(height * width);
        for index in 0..self.map.lanes() {
            let lane = self.map.lane(index);
            for s in 0..self.map.length(lane) {
                let (junction, bit) = self.map.bit(lane, s);
                let (row, col) = self.map.cell(lane, s);
                if self.own[junction] & bit != 0 {
                    for (i, line) in VEHICLE[lane.direction].iter().enumerate() {
                        let at = (TILE * row + i) * width + TILE * col;
                        tiles[at..at + TILE].copy_from_slice(line);
                    }
                }
                if s % PITCH == STOP && self.red[junction] & (0x80 << (8 * lane.direction)) != 0 {
                    for [i, j] in arrow(lane.direction) {
                        lights[(TILE * row + i) * width + TILE * col + j] = 1.0;
                    }
                }
            }
        }
    }
}

/// The pixels of an arrow in its cell: across the lane, and one where its vehicles come from.
const fn arrow(direction: usize) -> [[usize; 2]; 4] {
    let [dr, dc] = DIRECTIONS[direction];
    [
        [2, 2],
        [(2 + dc) as usize, (2 + dr) as usize],
        [(2 - dc) as usize, (2 - dr) as usize],
        [(2 - dr) as usize, (2 - dc) as usize],
    ]
}

const fn vehicles() -> [[[f32; TILE]; TILE]; 4] {
    let mut all = [[[1.0; TILE]; TILE]; 4];
    let mut d = 0;
    while d < 4 {
        let mut k = 0;
        while k < TILE {
            all[d][0][k] = 0.1;
            all[d][4][k] = 0.1;
            all[d][k][0] = 0.1;
            all[d][k][4] = 0.1;
            k += 1;
        }
        let [dr, dc] = DIRECTIONS[d];
        all[d][(2 + 2 * dr) as usize][(2 + 2 * dc) as usize] = 1.0;
        d += 1;
    }
    all
}

/// The block's cell of bit `s` of a direction's byte.
const fn block_cell(direction: usize, s: usize) -> [usize; 2] {
    match direction {
        0 => [2, s],
        1 => [6 - s, 2],
        2 => [4, 6 - s],
        _ => [s, 4],
    }
}

const fn corners() -> [usize; 32] {
    let mut all = [0; 32];
    let mut bit = 0;
    while bit < 32 {
        if bit % 8 < BLOCK {
            let [row, col] = block_cell(bit / 8, bit % 8);
            all[bit] = TILE * row * SIDE + TILE * col;
        }
        bit += 1;
    }
    all
}

const fn arrows() -> [[usize; 4]; 4] {
    let mut all = [[0; 4]; 4];
    let mut d = 0;
    while d < 4 {
        let [row, col] = block_cell(d, STOP);
        let mut k = 0;
        while k < 4 {
            let [i, j] = arrow(d)[k];
            all[d][k] = (TILE * row + i) * SIDE + TILE * col + j;
            k += 1;
        }
        d += 1;
    }
    all
}
