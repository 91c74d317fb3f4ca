//! How a group turns the plane of the particles.

use super::Vector;
use crate::error::Result;
use equimarl_group::{Element, Group, Plane, Rep, Turn};

/// The matrix of every element on (x, y).
#[derive(Clone, Debug)]
pub(super) struct Turns(Vec<[[f64; 2]; 2]>);

impl Turns {
    pub fn new(group: &Group) -> Result<Turns> {
        // What turns (down, right) = (-y, x) by [[a, b], [c, d]] turns (x, y) by [[d, -c], [-b, a]].
        let seen = |[[a, b], [c, d]]: [[f64; 2]; 2]| [[d, -c], [-b, a]];
        if let Ok(plane) = Plane::new(group) {
            return Ok(Turns(
                group.elements().map(|g| seen(plane.matrix(g).map(|row| row.map(f64::from)))).collect(),
            ));
        }
        let rotation = Rep::rotation(group, 1)?;
        let tidy = |x: f64| if (x - x.round()).abs() < 1e-9 { x.round() } else { x };
        let matrix = |g| {
            let m = rotation.matrix(g);
            seen([0, 1].map(|row| [0, 1].map(|col| tidy(m[(row, col)]))))
        };
        Ok(Turns(group.elements().map(matrix).collect()))
    }

    /// A vector, turned. Quarter turns and mirrors round nothing.
    pub fn vector(&self, g: Element, v: Vector) -> Vector {
        self.0[g].map(|row| row[0] * v[0] + row[1] * v[1])
    }
}

/// A vector (x, y), turned by any angle as networks see it.
pub(super) fn turned(turn: Turn, [x, y]: Vector) -> Vector {
    let [down, right] = turn.matrix(1).map(|row| row[0] * -y + row[1] * x);
    [right, -down]
}

/// As networks see vectors: (down, right).
pub(super) fn seen([x, y]: Vector) -> [f32; 2] {
    [-y as f32, x as f32]
}
