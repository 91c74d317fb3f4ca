//! Reading and setting vehicles and lights by hand, for replays, tests, saved states and people who edit a scene.

use super::lanes::DIRECTIONS;
use super::scene::MARGIN;
use super::vehicle::Vehicle;
use super::{Traffic, picture};
use crate::error::{Error, Result};
use crate::scene::{Edit, cell_at};

/// Makes a change by hand: a vehicle, numbered as in [`Traffic::vehicles`], is moved to the nearest cell, or a light is
/// switched.
///
/// A vehicle keeps its direction where a lane of that direction runs, and takes that of the lane elsewhere.
///
/// # Errors
/// If there is no such thing, or it cannot be there; then nothing changes.
pub(super) fn edit(world: &mut Traffic, edit: &Edit) -> Result<()> {
    if let Some(junction) = edit.number("light").filter(|&j| j < world.red.len()) {
        edit.must_press()?;
        world.red[junction] = picture::red(1 - world.phase(junction));
        return Ok(());
    }
    let mut vehicles = world.vehicles();
    let Some(index) = edit.number("vehicle").filter(|&k| k < vehicles.len()) else {
        let (lights, vehicles) = (world.red.len(), vehicles.len());
        return Err(edit.unknown(&match vehicles {
            0 => format!("light 0 to {}, and no vehicle", lights - 1),
            _ => format!("light 0 to {}, and vehicle 0 to {}", lights - 1, vehicles - 1),
        }));
    };
    let (rows, cols) = world.cells();
    let Some([row, col]) = cell_at(edit.target()?, [rows, cols], MARGIN) else {
        return Err(edit.outside("the city"));
    };
    let own = [vehicles[index].dr, vehicles[index].dc];
    let lanes = [own].into_iter().chain([0, 2, 1, 3].map(|k| DIRECTIONS[k]));
    let Some([dr, dc]) = lanes.into_iter().find(|&step| world.map.find((row, col), step).is_some()) else {
        return Err(edit.refused([row, col], "no lane runs there"));
    };
    if (0..vehicles.len()).any(|k| k != index && (vehicles[k].row, vehicles[k].col) == (row, col)) {
        return Err(edit.refused([row, col], "another vehicle is there"));
    }
    vehicles[index] = Vehicle { row, col, dr, dc, ..vehicles[index] };
    world.set_vehicles(&vehicles)
}

impl Traffic {
    /// All vehicles in the system, sorted.
    pub fn vehicles(&self) -> Vec<Vehicle> {
        let mut all = Vec::with_capacity(self.inside);
        self.each_vehicle(|vehicle| all.push(vehicle));
        all.sort_unstable();
        all
    }

    /// Visits the vehicles lane by lane, from the front.
    fn each_vehicle(&self, mut visit: impl FnMut(Vehicle)) {
        for (index, road) in self.roads.iter().enumerate() {
            let lane = self.map.lane(index);
            let [dr, dc] = DIRECTIONS[lane.direction];
            let mut entered = self.log[road.front..road.next].iter();
            for s in (0..self.map.length(lane)).rev() {
                let (junction, bit) = self.map.bit(lane, s);
                if self.own[junction] & bit == 0 {
                    continue;
                }
                let (row, col) = self.map.cell(lane, s);
                let entered = entered.next().expect("the log knows every vehicle");
                visit(Vehicle {
                    row,
                    col,
                    dr,
                    dc,
                    waiting: (self.now - entered - s as i64) as u32,
                    marked: self.marked[junction] & bit != 0,
                });
            }
        }
    }

    /// Replaces the vehicles in the system, given in any order. A vehicle put in the middle of a lane counts as one
    /// that drove there from the entry.
    ///
    /// # Errors
    /// If a vehicle is on no lane of its direction, or two share a cell; then nothing changes.
    pub fn set_vehicles(&mut self, vehicles: &[Vehicle]) -> Result<()> {
        // Sorted by cell, two in one cell are neighbours.
        let mut cells: Vec<(usize, usize)> = vehicles.iter().map(|v| (v.row, v.col)).collect();
        cells.sort_unstable();
        if let Some(pair) = cells.windows(2).find(|pair| pair[0] == pair[1]) {
            let (row, col) = pair[0];
            return Err(Error::BadState(format!("two vehicles share the cell ({row}, {col})")));
        }
        let mut placed = Vec::with_capacity(vehicles.len());
        for v in vehicles {
            let (lane, s) = self.map.find((v.row, v.col), [v.dr, v.dc]).ok_or_else(|| {
                let (row, col, dr, dc) = (v.row, v.col, v.dr, v.dc);
                Error::BadState(format!(
                    "no lane runs through the cell ({row}, {col}) in direction ({dr}, {dc})"
                ))
            })?;
            placed.push((self.map.lane_index(lane), s, v.waiting, v.marked));
        }
        // Front first in every lane, as the log has it.
        placed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));

        let pending: Vec<Vec<i64>> =
            self.roads.iter().map(|road| self.log[road.next..road.end].to_vec()).collect();
        let mut inside = vec![Vec::new(); self.map.lanes()];
        self.own.fill(0);
        self.marked.fill(0);
        self.waiting = 0;
        for (index, s, waiting, marked) in placed {
            let (junction, bit) = self.map.bit(self.map.lane(index), s);
            self.own[junction] |= bit;
            self.marked[junction] |= if marked { bit } else { 0 };
            self.waiting += i64::from(waiting);
            inside[index].push(self.now - s as i64 - i64::from(waiting));
        }
        self.write_log(&inside, &pending);
        Ok(())
    }

    /// The phases of all junctions, row-major.
    pub fn phases(&self) -> Vec<usize> {
        (0..self.red.len()).map(|j| self.phase(j)).collect()
    }

    /// Sets the phases of all junctions, row-major.
    ///
    /// # Errors
    /// If there is not one phase, 0 or 1, per junction; then nothing changes.
    pub fn set_phases(&mut self, phases: &[usize]) -> Result<()> {
        if phases.len() != self.red.len() {
            return Err(Error::BadState(format!(
                "{} phases given for {} junctions",
                phases.len(),
                self.red.len()
            )));
        }
        if let Some(phase) = phases.iter().find(|&&phase| phase > 1) {
            return Err(Error::BadState(format!("a phase is 0 or 1, not {phase}")));
        }
        for (red, &phase) in self.red.iter_mut().zip(phases) {
            *red = picture::red(phase);
        }
        Ok(())
    }
}
