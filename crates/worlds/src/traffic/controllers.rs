//! Traffic lights without learning.

use super::Traffic;
use super::lanes::in_all_lanes;
use super::planner;
use crate::error::{Error, Result};
use std::num::IntErrorKind;

/// Cells before the stop line, in the lane's own block.
const APPROACH: u32 = in_all_lanes(0b0000_0011);
/// Cells after the second crossing cell: the rest of the block and the gap.
const EXIT: u32 = in_all_lanes(0b1110_0000);
/// The two row lanes.
const ROWS: u32 = 0x00ff_00ff;

/// The period under which vehicles wait least in the paper's world; 5 and 6 are close.
pub(super) const USUAL_PERIOD: usize = 4;

/// Lets the controller with this name act: `fixed-cycle` (its period may follow, as in `fixed-cycle:6`), `longest-queue`,
/// `max-pressure` or `planner` (its width may follow).
///
/// # Errors
/// If there is none, its number is not one, or it cannot plan for so many junctions.
pub(super) fn act(world: &Traffic, name: &str, actions: &mut [usize]) -> Result<()> {
    match name.split_once(':') {
        None if name == "fixed-cycle" => fixed_cycle(world, USUAL_PERIOD, actions),
        Some(("fixed-cycle", text)) => {
            fixed_cycle(world, number(text, "period of a fixed cycle", "steps", "fixed-cycle:6")?, actions)
        }
        None if name == "planner" => return planner::act(world, planner::USUAL_WIDTH, actions),
        Some(("planner", text)) => {
            let width = number(text, "width of a planner", "plans", "planner:100")?;
            return planner::act(world, width, actions);
        }
        None if name == "longest-queue" => longest_queue(world, actions),
        None if name == "max-pressure" => max_pressure(world, actions),
        _ => return Err(Error::BadWorld(format!("traffic has no controller `{name}`"))),
    }
    Ok(())
}

/// The number that stands after the colon.
fn number(text: &str, what: &str, unit: &str, example: &str) -> Result<usize> {
    let wrong =
        |why: &str| Err(Error::BadWorld(format!("the {what} {why}, and `{text}` is not; write {example}")));
    let one = unit.trim_end_matches('s');
    match text.parse::<usize>() {
        Ok(0) => wrong(&format!("must be at least 1 {one}")),
        Ok(number) => Ok(number),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => {
            wrong(&format!("must be at most {} {unit}", usize::MAX))
        }
        Err(_) => wrong(&format!("must be a whole number of at least 1 {one}")),
    }
}

/// All junctions alike: phase (t div period) mod 2.
///
/// A period of 1 serves nobody who has stopped: restarting takes two green steps in a row.
fn fixed_cycle(world: &Traffic, period: usize, actions: &mut [usize]) {
    actions.fill(world.steps() / period % 2);
}

/// Green to the lane pair with more vehicles on its approach cells; ties keep the current phase.
fn longest_queue(world: &Traffic, actions: &mut [usize]) {
    for (junction, action) in actions.iter_mut().enumerate() {
        let (columns, rows) = pairs(world.approaching(junction));
        *action = choose(columns, rows, world.phase(junction));
    }
}

/// Green to the lane pair with more vehicles on its approach cells minus its exit cells; ties keep the current phase.
///
/// Two vehicles that face each other between two junctions are approach to one and exit to the other: the pair has
/// pressure 0 at both, and if nothing else comes along the tie keeps both lights red for good. About 1 episode in 40
/// of the paper's world ends like this, at the step limit.
fn max_pressure(world: &Traffic, actions: &mut [usize]) {
    for (junction, action) in actions.iter_mut().enumerate() {
        let (columns, rows) = pairs(world.approaching(junction));
        let (columns_out, rows_out) = pairs(world.departing(junction));
        // a - b > c - d without negative numbers.
        *action = choose(columns + rows_out, rows + columns_out, world.phase(junction));
    }
}

/// The numbers of vehicles on column lanes and on row lanes.
fn pairs(word: [u32; 2]) -> (u32, u32) {
    let count = |mask: u32| word.iter().map(|w| (w & mask).count_ones()).sum();
    (count(!ROWS), count(ROWS))
}

fn choose(columns: u32, rows: u32, phase: usize) -> usize {
    match columns.cmp(&rows) {
        std::cmp::Ordering::Greater => 0,
        std::cmp::Ordering::Less => 1,
        std::cmp::Ordering::Equal => phase,
    }
}

impl Traffic {
    /// The vehicles on each lane's approach cells of a junction: before the stop line, back to but not including the
    /// previous junction's second crossing cell. Lanes in the order right, up, left, down.
    pub fn queues(&self, junction: usize) -> [u32; 4] {
        per_lane(self.approaching(junction))
    }

    /// The vehicles on each lane's exit cells of a junction: after the second crossing cell, up to but not including
    /// the next junction's stop line. Lanes in the order right, up, left, down.
    pub fn exits(&self, junction: usize) -> [u32; 4] {
        per_lane(self.departing(junction))
    }

    /// The vehicles on approach cells: in this junction's block, and before it.
    pub(super) fn approaching(&self, junction: usize) -> [u32; 2] {
        let behind = self.around(junction, [2, 3, 0, 1]);
        [self.own[junction] & APPROACH, behind & EXIT]
    }

    /// The vehicles on exit cells: in this junction's block and gap, and before the next stop line.
    pub(super) fn departing(&self, junction: usize) -> [u32; 2] {
        let ahead = self.around(junction, [0, 1, 2, 3]);
        [self.own[junction] & EXIT, ahead & APPROACH]
    }

    /// For each lane the byte it has in the neighbour on side `sides[lane]`: 0 right, 1 above, 2 left, 3 below.
    fn around(&self, junction: usize, sides: [usize; 4]) -> u32 {
        let (rows, cols) = (self.map.rows, self.map.cols);
        let (row, col) = (junction / cols, junction % cols);
        let mut word = 0;
        for (lane, side) in sides.into_iter().enumerate() {
            let neighbour = match side {
                0 if col + 1 < cols => junction + 1,
                1 if row > 0 => junction - cols,
                2 if col > 0 => junction - 1,
                3 if row + 1 < rows => junction + cols,
                _ => continue,
            };
            word |= self.own[neighbour] & (0xff << (8 * lane));
        }
        word
    }
}

fn per_lane(words: [u32; 2]) -> [u32; 4] {
    std::array::from_fn(|lane| {
        let mask = 0xff << (8 * lane);
        words.iter().map(|word| (word & mask).count_ones()).sum()
    })
}
