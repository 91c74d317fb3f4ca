//! How a turn acts on the wildlife world: everything turns about the middle cell, drones keep their index.

use super::Wildlife;
use super::board::STEPS;
use crate::error::Result;
use crate::world::{Symmetric, Symmetry};
use equimarl_group::Element;

/// `actions[g][a]`: the compass moves turn like vectors.
pub(super) fn turned_moves(symmetry: &Symmetry) -> Vec<[usize; 5]> {
    let find = |v: [i32; 2]| STEPS.iter().position(|s| *s == v).expect("the compass turns onto itself");
    symmetry.group.elements().map(|g| STEPS.map(|s| find(symmetry.plane.vector(g, s)))).collect()
}

impl Wildlife {
    fn turn_cell(&self, g: Element, cell: u32) -> u32 {
        let grid = self.board.grid;
        let [row, col] = self.board.place[cell as usize].map(|v| v as usize);
        let [row, col] = self.symmetry.plane.pixel(g, grid, [row, col]);
        (row * grid + col) as u32
    }
}

impl Symmetric for Wildlife {
    fn symmetry(&self) -> &Symmetry {
        &self.symmetry
    }

    fn turned(&self, g: Element) -> Result<Wildlife> {
        let mut world = self.clone();
        for cell in &mut world.drones {
            *cell = self.turn_cell(g, *cell);
        }
        world.poacher = self.turn_cell(g, self.poacher);
        Ok(world)
    }

    fn turn_chance(&self, g: Element, chance: &usize) -> usize {
        self.turned_moves[g][*chance]
    }

    fn turn_action(&self, g: Element, action: usize) -> usize {
        self.turned_moves[g][action]
    }

    fn turn_agent(&self, _g: Element, agent: usize) -> usize {
        agent
    }

    fn turn_key(&self, g: Element, key: &u32) -> u32 {
        self.turn_cell(g, *key)
    }
}
