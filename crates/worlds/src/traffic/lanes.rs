//! Where the lanes are, in the world's cells and in the bits of a junction.
//!
//! Along its own direction every lane looks the same: with s = 0 at the entry, junction k of the lane has its stop
//! line at s = 8k + 2, its second crossing cell at 8k + 4, and the gap cell after its block at 8k + 7. So a junction's
//! part of a lane is one byte, bit s mod 8, and a junction's four lanes are one `u32`:
//!
//! ```text
//! byte 0: right (row 2)   byte 1: up (column 2)   byte 2: left (row 4)   byte 3: down (column 4)
//! ```
//!
//! In this order a quarter turn moves every byte one place up, so turning a junction is a rotation of its word; and
//! the second crossing cell of lane b (bit 4) is the stop line of lane b - 1 (bit 2), ten bits further down.

/// Cells from one junction to the next.
pub(super) const PITCH: usize = 8;
/// Cells along one side of a junction's block.
pub(super) const BLOCK: usize = 7;
/// The cell of a lane, in its junction, that the light governs.
pub(super) const STOP: usize = 2;

/// The directions of lanes; one quarter turn leads from each to the next.
pub(super) const DIRECTIONS: [[i32; 2]; 4] = [[0, 1], [-1, 0], [0, -1], [1, 0]];
/// The directions in words.
pub(super) const RUNS: [&str; 4] = ["growing columns", "falling rows", "falling columns", "growing rows"];

/// A bit in every lane's byte.
pub(super) const fn in_all_lanes(byte: u8) -> u32 {
    byte as u32 * 0x0101_0101
}

/// A lane: the direction it runs (an index of [`DIRECTIONS`]) and the row or column of junctions it runs through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    pub direction: usize,
    pub line: usize,
}

impl Lane {
    /// Whether it runs along a row.
    pub fn is_row(self) -> bool {
        self.direction.is_multiple_of(2)
    }
}

/// A map of `rows` x `cols` junctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Map {
    pub rows: usize,
    pub cols: usize,
}

impl Map {
    /// The number of junctions.
    pub fn junctions(self) -> usize {
        self.rows * self.cols
    }

    /// The height of the world in cells.
    pub fn height(self) -> usize {
        PITCH * self.rows - 1
    }

    /// The width of the world in cells.
    pub fn width(self) -> usize {
        PITCH * self.cols - 1
    }

    /// The number of lanes.
    pub fn lanes(self) -> usize {
        2 * (self.rows + self.cols)
    }

    /// Lane number `index`: right, up, left, down, each by line.
    pub fn lane(self, index: usize) -> Lane {
        let pair = self.rows + self.cols;
        let (half, rest) = (index / pair * 2, index % pair);
        if rest < self.rows {
            Lane { direction: half, line: rest }
        } else {
            Lane { direction: half + 1, line: rest - self.rows }
        }
    }

    /// The number of a lane, the inverse of [`Map::lane`].
    pub fn lane_index(self, lane: Lane) -> usize {
        let first = lane.direction / 2 * (self.rows + self.cols);
        first + lane.line + if lane.is_row() { 0 } else { self.rows }
    }

    /// The number of junctions along a lane.
    pub fn blocks(self, lane: Lane) -> usize {
        if lane.is_row() { self.cols } else { self.rows }
    }

    /// The number of cells of a lane.
    pub fn length(self, lane: Lane) -> usize {
        PITCH * self.blocks(lane) - 1
    }

    /// The index of the k-th junction that a lane meets.
    pub fn junction(self, lane: Lane, k: usize) -> usize {
        let (row, col) = match lane.direction {
            0 => (lane.line, k),
            1 => (self.rows - 1 - k, lane.line),
            2 => (lane.line, self.cols - 1 - k),
            _ => (k, lane.line),
        };
        row * self.cols + col
    }

    /// Where cell s of a lane is kept: the junction, and the bit in its word.
    pub fn bit(self, lane: Lane, s: usize) -> (usize, u32) {
        let bit = 1 << (PITCH * lane.direction + s % PITCH);
        (self.junction(lane, s / PITCH), bit)
    }

    /// The place (row, col) of cell s of a lane.
    pub fn cell(self, lane: Lane, s: usize) -> (usize, usize) {
        let line = PITCH * lane.line;
        match lane.direction {
            0 => (line + 2, s),
            1 => (self.height() - 1 - s, line + 2),
            2 => (line + 4, self.width() - 1 - s),
            _ => (s, line + 4),
        }
    }

    /// The lane that runs through (row, col) in direction (dr, dc), and how far along it the cell is.
    pub fn find(self, (row, col): (usize, usize), step: [i32; 2]) -> Option<(Lane, usize)> {
        if row >= self.height() || col >= self.width() {
            return None;
        }
        let direction = DIRECTIONS.iter().position(|&d| d == step)?;
        let (across, s) = match direction {
            0 => (row, col),
            1 => (col, self.height() - 1 - row),
            2 => (row, self.width() - 1 - col),
            _ => (col, row),
        };
        let offset = if direction < 2 { 2 } else { 4 };
        (across % PITCH == offset).then_some((Lane { direction, line: across / PITCH }, s))
    }

    /// The lane whose first cell is (row, col).
    pub fn entry(self, cell: (usize, usize)) -> Option<Lane> {
        (0..4).find_map(|direction| match self.find(cell, DIRECTIONS[direction]) {
            Some((lane, 0)) => Some(lane),
            _ => None,
        })
    }

    /// A lane in words, for messages.
    pub fn describe(self, lane: Lane) -> String {
        let (row, col) = self.cell(lane, 0);
        let runs = RUNS[lane.direction];
        if lane.is_row() {
            format!("row {row} running to {runs}")
        } else {
            format!("column {col} running to {runs}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_cells_and_numbers_are_one_to_one() {
        for (rows, cols) in [(1, 1), (2, 2), (2, 3), (3, 1)] {
            let map = Map { rows, cols };
            for index in 0..map.lanes() {
                let lane = map.lane(index);
                assert_eq!(map.lane_index(lane), index);
                for s in 0..map.length(lane) {
                    let cell = map.cell(lane, s);
                    assert_eq!(map.find(cell, DIRECTIONS[lane.direction]), Some((lane, s)));
                    assert_eq!(map.entry(cell), (s == 0).then_some(lane));
                }
            }
        }
    }

    #[test]
    fn the_papers_world_has_eight_entries() {
        let map = Map { rows: 2, cols: 2 };
        assert_eq!((map.height(), map.width(), map.lanes()), (15, 15, 8));
        let entries: Vec<_> = (0..8).map(|l| map.cell(map.lane(l), 0)).collect();
        assert_eq!(entries, [(2, 0), (10, 0), (14, 2), (14, 10), (4, 14), (12, 14), (0, 4), (0, 12)]);
    }

    #[test]
    fn a_second_crossing_is_the_stop_line_of_the_lane_before() {
        let map = Map { rows: 2, cols: 3 };
        for index in 0..map.lanes() {
            let lane = map.lane(index);
            for k in 0..map.blocks(lane) {
                let crossing = map.cell(lane, PITCH * k + 4);
                let other = DIRECTIONS[(lane.direction + 3) % 4];
                let (_, s) = map.find(crossing, other).expect("a crossing has two lanes");
                assert_eq!(s % PITCH, STOP);
            }
        }
    }
}
