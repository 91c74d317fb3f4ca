//! The optimal policy as a controller.

use super::{SOLVED, Table, joint_moves};
use crate::wildlife::board::{Board, STEPS};
use crate::wildlife::rules::Room;
use crate::wildlife::{STEP_LIMIT, Wildlife};
use std::sync::Arc;

/// Tries every joint move and takes the best, given the steps that are left. It sees the whole world and draws
/// nothing; of equally good moves it takes the first.
#[derive(Clone, Debug)]
pub struct Optimal {
    table: Arc<Table>,
    room: Room,
    home: Vec<u32>,
    cells: Vec<u32>,
    moves: Vec<usize>,
}

impl Optimal {
    pub(super) fn new(table: Arc<Table>) -> Optimal {
        let drones = table.drones;
        Optimal {
            room: Room::new(drones, table.board.cells()),
            home: vec![0; drones],
            cells: vec![0; drones],
            moves: Vec::with_capacity(drones),
            table,
        }
    }

    /// The value of the best joint move; calls back with every move that is better than all before it.
    pub(super) fn best(&mut self, world: &Wildlife, mut better: impl FnMut(&[usize])) -> f64 {
        let Table { board, teams, drones, after, strength, .. } = &*self.table;
        assert!(
            world.team() == *drones && world.grid() == board.grid && world.wind.strength() == *strength,
            "this policy is for {drones} drones on a grid of {} in a wind of {strength}",
            board.grid
        );
        // Turned until the wind blows to where it was solved.
        let turns = if world.wind.blows() { quarters(world.blows) } else { 0 };
        for (cell, &drone) in self.home.iter_mut().zip(&world.drones) {
            *cell = turned(board, turns, board.seen_from(world.poacher, drone));
        }
        let left = (STEP_LIMIT - world.steps()).max(1);
        let follows = &after[left - 1];
        let mut best = f64::NEG_INFINITY;
        let cells = &mut self.cells;
        joint_moves(board, &self.home, &mut self.room, |moves, next| {
            cells.copy_from_slice(next);
            let value = follows[teams.class_of(cells)];
            if value > best {
                best = value;
                if turns == 0 {
                    better(moves);
                } else {
                    self.moves.clear();
                    self.moves.extend(moves.iter().map(|&m| turned_move(4 - turns, m)));
                    better(&self.moves);
                }
            }
        });
        best
    }
}

impl Optimal {
    /// Writes the best joint move.
    ///
    /// # Panics
    /// If `world` is not of the size that was solved.
    pub fn act(&mut self, world: &Wildlife, actions: &mut [usize]) {
        self.best(world, |moves| actions.copy_from_slice(moves));
    }
}

/// A quarter turn of vectors.
fn quarter([row, col]: [i32; 2]) -> [i32; 2] {
    [-col, row]
}

/// The quarter turns that make the wind blow to where it was solved.
fn quarters(blows: usize) -> usize {
    (0..4).find(|&k| turned_move(k, blows) == SOLVED).unwrap_or_default()
}

fn turned_move(quarters: usize, m: usize) -> usize {
    let to = (0..quarters).fold(STEPS[m], |v, _| quarter(v));
    STEPS.iter().position(|&s| s == to).unwrap_or_default()
}

fn turned(board: &Board, quarters: usize, cell: u32) -> u32 {
    let (half, side) = (board.grid as i32 / 2, board.grid as i32);
    let [row, col] = board.place[cell as usize].map(|v| v - half);
    let [row, col] = (0..quarters).fold([row, col], |v, _| quarter(v)).map(|v| v + half);
    (row * side + col) as u32
}
