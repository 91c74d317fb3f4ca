//! What an episode of traffic amounts to.
//!
//! ```text
//! waiting         = mean over steps of the mean waiting time so far of the vehicles in the system
//! vehicle_waiting = mean over finished vehicles of their waiting time
//! travel_time     = mean over finished vehicles of their steps from entry to leaving, both counted
//! throughput      = finished vehicles / steps
//! queue           = mean over steps, junctions and lanes of the vehicles on approach cells
//! outside         = mean over steps of the vehicles that have arrived and wait outside
//! ```

use super::Traffic;
use crate::spec::{Better, Measure, Over};
use crate::world::World;

/// What is measured, in the order of [`value`].
pub(super) fn measures() -> Vec<Measure> {
    use Better::{Higher, Lower};
    use Over::{Episode, Steps};
    let all = [
        ("waiting", "mean waiting time", "steps", Lower, Steps),
        ("vehicle_waiting", "waiting time of a vehicle", "steps", Lower, Episode),
        ("travel_time", "travel time of a vehicle", "steps", Lower, Episode),
        ("throughput", "vehicles that leave per step", "vehicles", Higher, Episode),
        ("queue", "vehicles before a light", "vehicles", Lower, Steps),
        ("outside", "vehicles that wait outside", "vehicles", Lower, Steps),
    ];
    all.map(|(name, title, unit, better, over)| Measure {
        name: name.into(),
        title: title.into(),
        unit: unit.into(),
        better,
        over,
        first: name == "waiting",
    })
    .into()
}

pub(super) fn value(world: &Traffic, which: usize) -> Option<f64> {
    let finished = world.finished();
    let per_vehicle = |sum: u64| (finished.vehicles > 0).then(|| sum as f64 / finished.vehicles as f64);
    let junctions = world.spec().agents;
    match which {
        0 => Some(world.mean_waiting()),
        1 => per_vehicle(finished.waiting),
        2 => per_vehicle(finished.travel),
        3 => Some(finished.vehicles as f64 / world.steps().max(1) as f64),
        4 => {
            let queue = |junction| world.queues(junction).iter().sum::<u32>();
            Some((0..junctions).map(queue).sum::<u32>() as f64 / (4 * junctions) as f64)
        }
        5 => Some(world.outside() as f64),
        _ => None,
    }
}
