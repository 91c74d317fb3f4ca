//! Reading and setting vehicles and lights by hand, for replays, tests and saved states.

use super::lanes::DIRECTIONS;
use super::vehicle::Vehicle;
use super::{Traffic, picture};
use crate::error::{Error, Result};

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
