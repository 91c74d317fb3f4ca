//! How turns act on the traffic world, and why reflections do not.
//!
//! The world turned by g has, at position g x, the junction that was at x, seen turned: its four lane bytes rotate,
//! and with them vehicles, marks and red lights. Lanes are one-way, so an element is a symmetry only if it maps every
//! directed lane onto a directed lane. A mirror maps the lane that runs right along row 2 onto row 2 running left,
//! and there is no such lane.

use super::Traffic;
use super::lanes::{DIRECTIONS, Lane, Map, RUNS};
use crate::error::{Error, Result};
use equimarl_group::{Element, Group, Plane};

/// How the elements of a group act on the plane of the city.
#[derive(Debug)]
pub(super) struct Acts {
    pub group: Group,
    plane: Plane,
}

impl Acts {
    pub fn new(group: &Group) -> Result<Acts> {
        Ok(Acts { plane: Plane::new(group)?, group: group.clone() })
    }

    /// The number of quarter turns that g is; none for reflections.
    pub fn quarters(&self, g: Element) -> Option<usize> {
        let turned = |k: usize| self.plane.vector(g, DIRECTIONS[k]);
        let quarters = (0..4).find(|&k| DIRECTIONS[k] == turned(0))?;
        (turned(1) == DIRECTIONS[(quarters + 1) % 4]).then_some(quarters)
    }

    /// Whether g makes columns of rows.
    pub fn swaps(&self, g: Element) -> bool {
        self.plane.matrix(g)[0][0] == 0
    }

    /// Where g takes place (row, col) of a height x width grid. The quarter turn makes it width x height.
    fn place(
        &self,
        g: Element,
        (height, width): (usize, usize),
        (row, col): (usize, usize),
    ) -> (usize, usize) {
        // Twice the offset from the centre is a whole number.
        let offset = |x: usize, n: usize| 2 * x as i32 - (n as i32 - 1);
        let back = |x: i32, n: usize| ((x + n as i32 - 1) / 2) as usize;
        let from = [offset(row, height), offset(col, width)];
        let [y, x] = self.plane.vector(g, from);
        if self.swaps(g) { (back(y, width), back(x, height)) } else { (back(y, height), back(x, width)) }
    }

    /// The junction at position x goes to g x. A quarter turn of R x C junctions counts them in the C x R world.
    pub fn junction(&self, g: Element, map: Map, junction: usize) -> usize {
        let (rows, cols) = (map.rows, map.cols);
        let (row, col) = self.place(g, (rows, cols), (junction / cols, junction % cols));
        row * if self.swaps(g) { rows } else { cols } + col
    }

    /// The lane that g makes of a lane, or why it is none.
    pub fn lane(&self, g: Element, map: Map, lane: Lane) -> Result<Lane> {
        let cell = self.place(g, (map.height(), map.width()), map.cell(lane, 0));
        let step = self.plane.vector(g, DIRECTIONS[lane.direction]);
        if let Some((image, 0)) = map.find(cell, step)
            && map.length(image) == map.length(lane)
        {
            return Ok(image);
        }
        let (rows, cols) = (map.rows, map.cols);
        let name = self.group.element_name(g);
        let size = if self.swaps(g) && rows != cols {
            format!(
                "; {name} turns {rows} x {cols} junctions into {cols} x {rows}, and quarter turns are symmetries only \
                 of as many rows as columns (the half turn, C2, always is one)"
            )
        } else {
            String::new()
        };
        let runs = DIRECTIONS.iter().position(|&d| d == step).unwrap_or(0);
        let image = match runs % 2 {
            0 => format!("row {}", cell.0),
            _ => format!("column {}", cell.1),
        };
        Err(Error::BadWorld(format!(
            "{name} is not a symmetry of {rows} x {cols} junctions: it maps the lane of {} cells along {} onto {image} \
             running to {}, and that is not a lane of this world{size}",
            map.length(lane),
            map.describe(lane),
            RUNS[runs],
        )))
    }
}

/// The transformed world.
///
/// # Errors
/// If g does not map directed lanes to directed lanes: all reflections, and quarter turns unless rows = cols. The message
/// names a lane and its image.
pub(super) fn transformed(world: &Traffic, g: Element) -> Result<Traffic> {
    let (acts, map) = (&world.acts, world.map);
    let lanes = map.lanes();
    let mut source = vec![0; lanes];
    for lane in 0..lanes {
        let image = acts.lane(g, map, map.lane(lane))?;
        source[map.lane_index(image)] = lane;
    }
    let quarters = acts.quarters(g).expect("a reflection maps no lane to a lane");
    let bits = 8 * quarters as u32;
    let mut turned = world.clone();
    for junction in 0..world.own.len() {
        let image = acts.junction(g, map, junction);
        turned.own[image] = world.own[junction].rotate_left(bits);
        turned.marked[image] = world.marked[junction].rotate_left(bits);
        turned.red[image] = world.red[junction].rotate_left(bits);
    }
    let part = |lane: &usize, pending: bool| {
        let road = &world.roads[*lane];
        let places = if pending { road.next..road.end } else { road.front..road.next };
        world.log[places].to_vec()
    };
    let inside: Vec<_> = source.iter().map(|lane| part(lane, false)).collect();
    let pending: Vec<_> = source.iter().map(|lane| part(lane, true)).collect();
    turned.write_log(&inside, &pending);
    Ok(turned)
}

impl PartialEq for Traffic {
    /// Whether two worlds have the same options and state. What happened before does not matter, only what is left
    /// of it: positions, waiting times, lights, arrivals to come, sums over finished vehicles.
    fn eq(&self, other: &Traffic) -> bool {
        let logs = |world: &Traffic, other: &Traffic| {
            world.roads.iter().zip(&other.roads).all(|(a, b)| {
                world.log[a.front..a.next] == other.log[b.front..b.next]
                    && world.log[a.next..a.end] == other.log[b.next..b.end]
            })
        };
        (self.options, self.main) == (other.options, other.main)
            && (self.now, self.finished) == (other.now, other.finished)
            && self.own == other.own
            && self.marked == other.marked
            && self.red == other.red
            && logs(self, other)
    }
}
