//! One step of the world: lights, leaving, entering, and all moves at once.
//!
//! Sets of cells are bits of junction words (see `lanes`). The moves are the least fixed point of
//!
//! ```text
//! stay = own \ moves                                 who keeps a cell
//! moves = { s in own, not marked : s + 1 is not red or claimed stop line, and no one stays there }
//! ```
//!
//! started from no moves at all. The right side only grows with `moves`, so every order of applying it reaches the
//! same least fixed point; a closed ring waits for itself and stays.

use super::Traffic;
use super::lanes::{Map, in_all_lanes};
use super::picture;
use super::vehicle::Left;
use crate::world::{End, Outcome};

const FIRST: u32 = in_all_lanes(1 << 0);
const BEFORE_STOP: u32 = in_all_lanes(1 << 1);
const STOP: u32 = in_all_lanes(1 << 2);
const BETWEEN: u32 = in_all_lanes(1 << 3);
const SECOND: u32 = in_all_lanes(1 << 4);
const GAP: u32 = in_all_lanes(1 << 7);

/// From a second crossing cell to the stop line that it is for the crossing lane.
const CROSS: u32 = 10;

/// Working memory of a step, with a border of one empty junction on every side so that no neighbour is missing.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    width: usize,
    stay: Vec<u32>,
    moves: Vec<u32>,
    /// Junctions with a vehicle in a gap cell that could move if the next junction made room.
    stuck: Vec<usize>,
}

impl Scratch {
    pub fn new(map: Map) -> Scratch {
        let size = (map.rows + 2) * (map.cols + 2);
        Scratch {
            width: map.cols + 2,
            stay: vec![0; size],
            moves: vec![0; size],
            stuck: Vec::with_capacity(map.junctions()),
        }
    }

    /// Gap cells from which the lane's next junction is not free: its first cell keeps its vehicle.
    #[inline]
    fn gap_blocked(&self, p: usize) -> u32 {
        let first = |at: usize, lane: u32| self.stay[at] & (FIRST & 0xff << (8 * lane));
        let ahead = first(p + 1, 0) | first(p - self.width, 1) | first(p - 1, 2) | first(p + self.width, 3);
        ahead << 7
    }

    /// First cells that are entered from the gap of the lane's previous junction.
    #[inline]
    fn incoming(&self, p: usize) -> u32 {
        let gap = |at: usize, lane: u32| self.moves[at] & (GAP & 0xff << (8 * lane));
        let behind = gap(p - 1, 0) | gap(p + self.width, 1) | gap(p + 1, 2) | gap(p - self.width, 3);
        behind >> 7
    }

    /// Lets everyone at junction `p` move who can, given who still stays in the neighbouring ones. Says whether a
    /// vehicle in a gap cell could not.
    #[inline]
    fn settle(&mut self, p: usize, own: u32, ready: u32) -> bool {
        let gap = self.gap_blocked(p);
        let mut stay = self.stay[p];
        let mut moves = ready & !(ahead(stay) | gap);
        loop {
            stay = own & !moves;
            if moves == ready {
                break;
            }
            let more = ready & !(ahead(stay) | gap);
            if more == moves {
                break;
            }
            moves = more;
        }
        self.stay[p] = stay;
        self.moves[p] = moves;
        ready & !moves & GAP != 0
    }
}

/// Cells whose next cell, in the same junction, is kept by someone of either lane.
#[inline]
fn ahead(stay: u32) -> u32 {
    let kept = stay | (stay & STOP).rotate_left(CROSS) | (stay & SECOND).rotate_right(CROSS);
    (kept >> 1) & !GAP
}

/// Cells before a stop line that is red, or that a vehicle between its crossing cells claims.
#[inline]
fn barred(own: u32, red: u32) -> u32 {
    ((red >> 6) & BEFORE_STOP) | (own & BETWEEN).rotate_right(CROSS)
}

impl Traffic {
    pub(super) fn advance(&mut self, actions: &[usize]) -> Outcome {
        assert_eq!(actions.len(), self.red.len(), "one action per junction");
        for (red, &action) in self.red.iter_mut().zip(actions) {
            assert!(action < 2, "a junction has actions 0 and 1, not {action}");
            *red = picture::red(action);
        }
        self.leave_and_enter();
        let moved = self.move_all();
        self.waiting += self.inside as i64 - i64::from(moved);
        self.now += 1;
        let end = if self.pending + self.inside == 0 {
            End::Terminated
        } else if self.now >= self.options.step_limit as i64 {
            End::Truncated
        } else {
            End::Running
        };
        Outcome {
            // Not a plain minus sign, because that would make a reward of -0.
            reward: 0.0 - self.mean_waiting() / 1000.0,
            end,
        }
    }

    /// Whoever is on a last cell leaves, whatever happens elsewhere, so its cell is simply empty for the moves. No
    /// last cell is a first cell: entering before or after makes no difference.
    fn leave_and_enter(&mut self) {
        self.left.clear();
        for road in &mut self.roads {
            let (junction, bit) = road.last;
            if self.own[junction] & bit != 0 {
                self.own[junction] &= !bit;
                self.marked[junction] &= !bit;
                let travel = self.now + 1 - self.log[road.front];
                let waiting = travel - road.length;
                road.front += 1;
                self.inside -= 1;
                self.waiting -= waiting;
                let left = Left { waiting: waiting as u64, travel: travel as u64 };
                self.finished.add(left);
                self.left.push(left);
            }
            let (junction, bit) = road.first;
            if road.due <= self.now && self.own[junction] & bit == 0 {
                self.own[junction] |= bit;
                self.log[road.next] = self.now;
                road.next += 1;
                road.look(&self.log);
                self.pending -= 1;
                self.inside += 1;
            }
        }
    }

    /// Decides and makes all moves, and counts them.
    fn move_all(&mut self) -> u32 {
        let (rows, cols) = (self.map.rows, self.map.cols);
        let scratch = &mut self.scratch;
        let ready = |own: u32, marked: u32, red: u32| own & !(marked | barred(own, red));

        for row in 0..rows {
            let p = (row + 1) * scratch.width + 1;
            let junctions = row * cols..(row + 1) * cols;
            scratch.stay[p..p + cols].copy_from_slice(&self.own[junctions]);
        }
        scratch.stuck.clear();
        for row in 0..rows {
            let p = (row + 1) * scratch.width + 1;
            for col in 0..cols {
                let j = row * cols + col;
                let (own, marked, red) = (self.own[j], self.marked[j], self.red[j]);
                if scratch.settle(p + col, own, ready(own, marked, red)) {
                    scratch.stuck.push(j);
                }
            }
        }
        // Junctions depend on each other only through vehicles in gap cells.
        let mut stuck = std::mem::take(&mut scratch.stuck);
        loop {
            let mut grew = false;
            stuck.retain(|&j| {
                let p = (j / cols + 1) * scratch.width + j % cols + 1;
                let (own, marked, red) = (self.own[j], self.marked[j], self.red[j]);
                let moves = scratch.moves[p];
                let still = scratch.settle(p, own, ready(own, marked, red));
                grew |= scratch.moves[p] != moves;
                still
            });
            if !grew {
                break;
            }
        }
        scratch.stuck = stuck;

        let mut moved = 0;
        for row in 0..rows {
            let p = (row + 1) * scratch.width + 1;
            for col in 0..cols {
                let (j, p) = (row * cols + col, p + col);
                let (own, marked) = (self.own[j], self.marked[j]);
                let (stay, moves) = (scratch.stay[p], scratch.moves[p]);
                let held = barred(own, self.red[j]) | ahead(stay) | scratch.gap_blocked(p);
                // Unmarked and still here: held, so marked. Marked and no longer held: restarting.
                self.marked[j] = stay & (!marked | held);
                self.own[j] = stay | (moves & !GAP) << 1 | scratch.incoming(p);
                moved += moves.count_ones();
            }
        }
        moved
    }
}
