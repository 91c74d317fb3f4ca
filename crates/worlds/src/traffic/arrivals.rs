//! Who arrives when, and when they entered.
//!
//! Vehicles never overtake, so each lane's vehicles are one sequence in a log, first come first:
//!
//! ```text
//! .. left .. | front .. inside .. | next .. pending .. | end
//! ```
//!
//! A pending vehicle's number is the step in which it arrives outside; when it enters, the number becomes the step in
//! which it did. In every step inside a vehicle either moves one cell or waits (or leaves), hence after `now` steps
//!
//! ```text
//! waiting = now - entered - s,      s = cells from the lane's first cell
//! travel  = waiting + length of the lane, when it leaves
//! ```
//!
//! and no waiting time is ever stored or counted up.

use super::Traffic;
use super::demand;
use super::lanes::Map;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// An arrival: from step t on a vehicle waits outside the entry cell (row, col).
pub type Arrival = (u32, usize, usize);

/// One lane's places: in the log, and in the junctions' words.
#[derive(Clone, Debug)]
pub(super) struct Road {
    /// The place in the log of the vehicle that leaves next.
    pub front: usize,
    /// The place of the vehicle that enters next.
    pub next: usize,
    /// One past the lane's last place.
    pub end: usize,
    /// When the next vehicle arrives; never, if there is none.
    pub due: i64,
    /// The junction and bit of the first cell.
    pub first: (usize, u32),
    /// The junction and bit of the last cell.
    pub last: (usize, u32),
    /// The lane's cells.
    pub length: i64,
}

impl Road {
    pub fn new(map: Map, lane: usize) -> Road {
        let lane = map.lane(lane);
        let length = map.length(lane);
        Road {
            front: 0,
            next: 0,
            end: 0,
            due: i64::MAX,
            first: map.bit(lane, 0),
            last: map.bit(lane, length - 1),
            length: length as i64,
        }
    }

    /// No vehicles; the lane's part of the log begins at `begin`.
    pub fn clear(&mut self, begin: usize) {
        (self.front, self.next, self.end) = (begin, begin, begin);
        self.due = i64::MAX;
    }

    /// Looks up when the next vehicle arrives.
    pub fn look(&mut self, log: &[i64]) {
        self.due = if self.next < self.end { log[self.next] } else { i64::MAX };
    }
}

impl Traffic {
    /// Draws who arrives when: lane by lane, one word per step.
    pub(super) fn draw_arrivals(&mut self, stream: &mut Stream) {
        for (l, road) in self.roads.iter_mut().enumerate() {
            let p = demand::probability(&self.options, self.map.lane(l), l == self.main);
            // A draw with 24 bits is below p exactly if it is below this, in units of 2^-24.
            let below = (p * f64::from(1u32 << 24)).ceil() as u32;
            road.clear(self.log.len());
            for t in 0..self.options.arrival_steps {
                if stream.word() >> 8 < below {
                    self.log.push(t as i64);
                }
            }
            road.end = self.log.len();
            road.look(&self.log);
        }
        self.pending = self.log.len();
    }

    /// The cells (row, col) where vehicles enter, one per lane: lanes that run right, up, left, down.
    pub fn entries(&self) -> Vec<(usize, usize)> {
        let lanes = 0..self.map.lanes();
        lanes.map(|lane| self.map.cell(self.map.lane(lane), 0)).collect()
    }

    /// The world at the start of an episode with these arrivals and no others, in any order; several vehicles may
    /// arrive at one place and time. A later reset draws arrivals again.
    ///
    /// # Errors
    /// If a cell is not the first cell of a lane.
    pub fn with_schedule(mut self, schedule: &[Arrival]) -> Result<Traffic> {
        self.clear();
        self.set_schedule(schedule)?;
        Ok(self)
    }

    /// Replaces all arrivals of vehicles that have not entered yet.
    ///
    /// # Errors
    /// If a cell is not the first cell of a lane; then nothing changes.
    pub fn set_schedule(&mut self, schedule: &[Arrival]) -> Result<()> {
        let mut lanes: Vec<Vec<i64>> = vec![Vec::new(); self.map.lanes()];
        for &(t, row, col) in schedule {
            let lane = self.map.entry((row, col)).ok_or_else(|| {
                let entries = self.entries();
                let more = if entries.len() > 8 { ", ..." } else { "" };
                let entries: Vec<String> = entries.iter().take(8).map(|e| format!("{e:?}")).collect();
                Error::BadState(format!(
                    "no lane begins at ({row}, {col}); vehicles enter at {}{more}",
                    entries.join(", ")
                ))
            })?;
            lanes[self.map.lane_index(lane)].push(i64::from(t));
        }
        lanes.iter_mut().for_each(|times| times.sort_unstable());
        let inside: Vec<Vec<i64>> =
            self.roads.iter().map(|road| self.log[road.front..road.next].to_vec()).collect();
        self.write_log(&inside, &lanes);
        Ok(())
    }

    /// The arrivals of vehicles that have not entered yet, by time, then place.
    pub fn schedule(&self) -> Vec<Arrival> {
        let mut all: Vec<Arrival> = Vec::with_capacity(self.pending);
        for (lane, road) in self.roads.iter().enumerate() {
            let (row, col) = self.map.cell(self.map.lane(lane), 0);
            let times = &self.log[road.next..road.end];
            all.extend(times.iter().map(|&t| (t as u32, row, col)));
        }
        all.sort_unstable();
        all
    }

    /// The number of vehicles that have arrived and wait outside.
    pub fn outside(&self) -> usize {
        let arrived = |road: &Road| self.log[road.next..road.end].partition_point(|&t| t < self.now);
        self.roads.iter().map(arrived).sum()
    }

    /// Writes the log anew: per lane the steps in which the vehicles inside entered, front first, and the arrivals of
    /// those to come, sorted.
    pub(super) fn write_log(&mut self, inside: &[Vec<i64>], pending: &[Vec<i64>]) {
        self.log.clear();
        (self.pending, self.inside) = (0, 0);
        for (road, (inside, pending)) in self.roads.iter_mut().zip(inside.iter().zip(pending)) {
            road.clear(self.log.len());
            self.log.extend(inside);
            road.next = self.log.len();
            self.log.extend(pending);
            road.end = self.log.len();
            road.look(&self.log);
            self.inside += inside.len();
            self.pending += pending.len();
        }
    }
}
