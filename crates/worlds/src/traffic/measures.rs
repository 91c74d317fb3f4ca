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
use crate::episode::Measures;
use crate::world::{Outcome, World};

/// The measures of an episode; see the list of names.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficMeasures {
    steps: usize,
    waiting: f64,
    queues: u64,
    outside: u64,
}

impl Measures<Traffic> for TrafficMeasures {
    fn names(&self) -> &'static [&'static str] {
        &["waiting", "vehicle_waiting", "travel_time", "throughput", "queue", "outside"]
    }

    fn start(&mut self, _world: &Traffic) {
        *self = TrafficMeasures::default();
    }

    fn step(&mut self, world: &Traffic, _outcome: &Outcome) {
        self.steps += 1;
        self.waiting += world.mean_waiting();
        let queue = |junction| world.queues(junction).iter().sum::<u32>();
        self.queues += (0..world.agents()).map(queue).map(u64::from).sum::<u64>();
        self.outside += world.outside() as u64;
    }

    fn finish(&mut self, world: &Traffic, values: &mut Vec<Option<f64>>) {
        let steps = self.steps.max(1) as f64;
        let finished = world.finished();
        let per_vehicle = |sum: u64| (finished.vehicles > 0).then(|| sum as f64 / finished.vehicles as f64);
        let approaches = (4 * world.agents()) as f64;
        values.extend([
            Some(self.waiting / steps),
            per_vehicle(finished.waiting),
            per_vehicle(finished.travel),
            Some(finished.vehicles as f64 / steps),
            Some(self.queues as f64 / steps / approaches),
            Some(self.outside as f64 / steps),
        ]);
    }
}
