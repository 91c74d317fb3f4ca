//! The optimal policy as a controller.

use super::{Table, joint_moves};
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
}

impl Optimal {
    pub(super) fn new(table: Arc<Table>) -> Optimal {
        let drones = table.drones;
        Optimal {
            room: Room::new(drones, table.board.cells()),
            home: vec![0; drones],
            cells: vec![0; drones],
            table,
        }
    }

    /// The value of the best joint move; calls back with every move that is better than all before it.
    pub(super) fn best(&mut self, world: &Wildlife, mut better: impl FnMut(&[usize])) -> f64 {
        let Table { board, teams, drones, after, .. } = &*self.table;
        assert!(
            world.team() == *drones && world.grid() == board.grid,
            "this policy is for {drones} drones on a grid of {}",
            board.grid
        );
        for (cell, &drone) in self.home.iter_mut().zip(&world.drones) {
            *cell = board.seen_from(world.poacher, drone);
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
                better(moves);
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
