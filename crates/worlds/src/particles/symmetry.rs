//! How a group turns the plane of the particles.

use super::Vector;
use crate::error::Result;
use equimarl_group::{Element, Group, Plane};

/// The matrix of every element on (x, y).
#[derive(Clone, Debug)]
pub(super) struct Turns(Vec<[[f64; 2]; 2]>);

impl Turns {
    pub fn new(group: &Group) -> Result<Turns> {
        let plane = Plane::new(group)?;
        // What turns (down, right) = (-y, x) by [[a, b], [c, d]] turns (x, y) by [[d, -c], [-b, a]].
        let matrix = |g| {
            let [[a, b], [c, d]] = plane.matrix(g).map(|row| row.map(f64::from));
            [[d, -c], [-b, a]]
        };
        Ok(Turns(group.elements().map(matrix).collect()))
    }

    /// A vector, turned. Quarter turns and mirrors round nothing.
    pub fn vector(&self, g: Element, v: Vector) -> Vector {
        self.0[g].map(|row| row[0] * v[0] + row[1] * v[1])
    }
}

/// As networks see vectors: (down, right).
pub(super) fn seen([x, y]: Vector) -> [f32; 2] {
    [-y as f32, x as f32]
}
