//! Vehicles as the outside sees them.

use serde::{Deserialize, Serialize};

/// A vehicle in the system. In JSON: `[row, col, dr, dc, waiting, marked]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "(usize, usize, i32, i32, u32, bool)", from = "(usize, usize, i32, i32, u32, bool)")]
pub struct Vehicle {
    /// Its cell's row.
    pub row: usize,
    /// Its cell's column.
    pub col: usize,
    /// Its lane's direction: rows per move.
    pub dr: i32,
    /// Its lane's direction: columns per move.
    pub dc: i32,
    /// The steps in the system in which it did not move.
    pub waiting: u32,
    /// Whether it stands, and needs a step to restart.
    pub marked: bool,
}

impl From<Vehicle> for (usize, usize, i32, i32, u32, bool) {
    fn from(v: Vehicle) -> Self {
        (v.row, v.col, v.dr, v.dc, v.waiting, v.marked)
    }
}

impl From<(usize, usize, i32, i32, u32, bool)> for Vehicle {
    fn from((row, col, dr, dc, waiting, marked): (usize, usize, i32, i32, u32, bool)) -> Self {
        Vehicle { row, col, dr, dc, waiting, marked }
    }
}

/// A vehicle that has left the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Left {
    /// The steps in which it did not move.
    pub waiting: u64,
    /// The steps from the one in which it entered to the one in which it left, both counted.
    pub travel: u64,
}

/// All vehicles that have left, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finished {
    /// How many.
    pub vehicles: u64,
    /// Their waiting times, summed.
    pub waiting: u64,
    /// Their travel times, summed.
    pub travel: u64,
}

impl Finished {
    pub(super) fn add(&mut self, left: Left) {
        self.vehicles += 1;
        self.waiting += left.waiting;
        self.travel += left.travel;
    }
}
