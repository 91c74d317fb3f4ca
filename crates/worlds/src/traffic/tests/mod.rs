//! Tests of the whole world, by subject.

mod audited;
mod controlled;
mod hand_worked;
mod pictures;
mod properties;
mod saving;
mod scenes;
mod turning;

use super::{Arrival, Traffic, TrafficOptions, Vehicle};
use crate::stream::{Purpose, Stream};
use crate::world::{End, Exact, Outcome, World};

pub fn world(rows: usize, cols: usize) -> Traffic {
    Traffic::new(TrafficOptions { rows, cols, ..TrafficOptions::default() })
        .expect("these sizes make a world")
}

pub fn stream(index: u64) -> Stream {
    Stream::new(3, Purpose::Audit, index)
}

pub fn vehicle(row: usize, col: usize, dr: i32, dc: i32, waiting: u32, marked: bool) -> Vehicle {
    Vehicle { row, col, dr, dc, waiting, marked }
}

/// Random actions that hold for a while, so that queues form and dissolve.
pub fn act(actions: &mut [usize], change: f64, stream: &mut Stream) {
    for action in actions {
        if stream.unit() < change {
            *action = stream.below(2) as usize;
        }
    }
}

/// Vehicles strewn over the lanes, at most one in a cell.
pub fn strewn(world: &Traffic, density: f64, marks: f64, stream: &mut Stream) -> Vec<Vehicle> {
    let (height, width) = world.cells();
    let mut all = Vec::new();
    for row in 0..height {
        for col in 0..width {
            let mut lanes = Vec::new();
            if row % 8 == 2 {
                lanes.push((0, 1));
            }
            if row % 8 == 4 {
                lanes.push((0, -1));
            }
            if col % 8 == 2 {
                lanes.push((-1, 0));
            }
            if col % 8 == 4 {
                lanes.push((1, 0));
            }
            if lanes.is_empty() || stream.unit() >= density {
                continue;
            }
            let (dr, dc) = lanes[stream.below(lanes.len() as u32) as usize];
            let marked = stream.unit() < marks;
            all.push(vehicle(row, col, dr, dc, stream.below(20), marked));
        }
    }
    all
}

pub fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for k in (1..items.len()).rev() {
        items.swap(k, stream.below(k as u32 + 1) as usize);
    }
}

/// Arrivals at random entries and times; several may coincide.
pub fn arrivals(world: &Traffic, count: u32, steps: u32, stream: &mut Stream) -> Vec<Arrival> {
    let entries = world.entries();
    (0..count)
        .map(|_| {
            let (row, col) = entries[stream.below(entries.len() as u32) as usize];
            (stream.below(steps), row, col)
        })
        .collect()
}

/// Steps until the episode ends, always with the same actions, at most `most` times.
pub fn run(world: &mut Traffic, actions: &[usize], most: usize) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    while outcomes.len() < most {
        let outcome = world.apply(actions, &());
        outcomes.push(outcome);
        if outcome.end != End::Running {
            break;
        }
    }
    outcomes
}
