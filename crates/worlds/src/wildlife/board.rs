//! The torus: cells by number, and where each move leads.
//!
//! Cell (row, col) has the number row * G + col.

use crate::error::{Error, Result};

/// The number of moves: stay and the four compass moves.
pub const MOVES: usize = 5;

/// What each move adds to (row, col). Drones and the poacher share the list.
pub const STEPS: [[i32; 2]; MOVES] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];

/// The largest grid: an agent's picture then has 2043 x 2043 pixels, and networks look at no more than 2^22 of them.
pub const MAX_GRID: usize = 681;

/// Pixels per cell and direction.
pub(super) const PIXELS: usize = 3;

/// Everything about a G x G torus that never changes, computed once.
#[derive(Debug)]
pub(super) struct Board {
    /// G, odd.
    pub grid: usize,
    /// `moved[cell][move]` is the cell that the move leads to.
    pub moved: Vec<[u32; MOVES]>,
    /// (row, col) of each cell.
    pub place: Vec<[i32; 2]>,
    /// The first pixel of each cell in a picture of 3G x 3G pixels.
    pub corner: Vec<u32>,
}

impl Board {
    pub fn new(grid: usize) -> Result<Board> {
        let wrong = |why: &str| {
            Err(Error::BadWorld(format!("the wildlife grid {why}; got {grid} (7 is the usual one)")))
        };
        if grid < 3 {
            return wrong("must have at least 3 cells a side");
        }
        if grid.is_multiple_of(2) {
            return wrong("must be odd, so that a drone has a middle cell to stand in");
        }
        if grid > MAX_GRID {
            return wrong(&format!(
                "can have at most {MAX_GRID} cells a side, or its pictures are too large"
            ));
        }
        let side = grid as i32;
        let place: Vec<[i32; 2]> = (0..side).flat_map(|row| (0..side).map(move |col| [row, col])).collect();
        let number = |row: i32, col: i32| (row.rem_euclid(side) * side + col.rem_euclid(side)) as u32;
        let moved =
            place.iter().map(|&[row, col]| STEPS.map(|[dr, dc]| number(row + dr, col + dc))).collect();
        let corner = place
            .iter()
            .map(|&[row, col]| (row as usize * PIXELS * PIXELS * grid + col as usize * PIXELS) as u32)
            .collect();
        Ok(Board { grid, moved, place, corner })
    }

    pub fn cells(&self) -> usize {
        self.place.len()
    }

    /// The middle cell.
    pub fn middle(&self) -> u32 {
        (self.cells() / 2) as u32
    }

    /// The number of `cell` seen from `centre` on the torus, `centre` being moved to the middle cell.
    #[inline]
    pub fn seen_from(&self, centre: u32, cell: u32) -> u32 {
        let side = self.grid as i32;
        let (from, to) = (self.place[centre as usize], self.place[cell as usize]);
        // One wrap is enough: the sum lies in -G/2 .. 3G/2.
        let wrap = |v: i32| {
            if v < 0 {
                v + side
            } else if v >= side {
                v - side
            } else {
                v
            }
        };
        let [row, col] = [0, 1].map(|k| wrap(to[k] - from[k] + side / 2));
        (row * side + col) as u32
    }

    /// Steps from the middle cell, over the shorter way around.
    pub fn distance_to_middle(&self, cell: u32) -> u32 {
        let half = self.grid as i32 / 2;
        let [row, col] = self.place[cell as usize];
        (row - half).unsigned_abs() + (col - half).unsigned_abs()
    }
}
