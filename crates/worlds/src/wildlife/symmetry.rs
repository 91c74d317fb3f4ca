//! How the group acts on the wildlife world: everything turns about the middle cell, drones keep their index.

use super::board::{MOVES, STEPS};
use crate::error::Result;
use equimarl_group::{Element, Group, Plane};

/// The action of every element on cells and moves.
#[derive(Debug)]
pub(super) struct Acts {
    plane: Plane,
    /// `moved[g][a]`: the compass moves turn like vectors.
    pub moved: Vec<[usize; MOVES]>,
}

impl Acts {
    pub fn new(group: &Group) -> Result<Acts> {
        let plane = Plane::new(group)?;
        let find = |v: [i32; 2]| STEPS.iter().position(|s| *s == v).expect("the compass turns onto itself");
        let moved = group.elements().map(|g| STEPS.map(|s| find(plane.vector(g, s)))).collect();
        Ok(Acts { plane, moved })
    }

    /// Where g takes a cell of a grid.
    pub fn cell(&self, g: Element, grid: usize, cell: u32) -> u32 {
        let cell = cell as usize;
        let [row, col] = self.plane.pixel(g, grid, [cell / grid, cell % grid]);
        (row * grid + col) as u32
    }
}
