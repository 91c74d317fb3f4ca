//! The classical controllers, and the measures they are compared by.

use super::*;
use crate::batch::EnvBatch;
use crate::controller::{Controller, Named};
use crate::episode::{Tally, play};

fn decide(world: &Traffic, controller: &str) -> Vec<usize> {
    let mut actions = vec![9; world.agents()];
    Named::new(controller, world).unwrap().act(world, &mut stream(0), &mut actions).unwrap();
    actions
}

#[test]
fn approach_and_exit_cells_are_counted_per_lane() {
    let mut w = world(1, 3);
    // All cells of the lane that runs right.
    let lane: Vec<Vehicle> = (0..23).map(|c| vehicle(2, c, 0, 1, 0, false)).collect();
    w.set_vehicles(&lane).unwrap();
    // The first junction has only cells 0 and 1 before its stop line; the others reach back over the gap to cell 5.
    assert_eq!([0, 1, 2].map(|j| w.queues(j)[0]), [2, 5, 5]);
    assert_eq!([0, 1, 2].map(|j| w.exits(j)[0]), [5, 5, 2]);
    // The lane that runs left meets them in the other order.
    let lane: Vec<Vehicle> = (0..23).map(|c| vehicle(4, c, 0, -1, 0, false)).collect();
    w.set_vehicles(&lane).unwrap();
    assert_eq!([0, 1, 2].map(|j| w.queues(j)[2]), [5, 5, 2]);
    assert_eq!([0, 1, 2].map(|j| w.exits(j)[2]), [2, 5, 5]);
    let mut w = world(2, 1);
    let up: Vec<Vehicle> = (0..15).map(|r| vehicle(r, 2, -1, 0, 0, false)).collect();
    w.set_vehicles(&up).unwrap();
    assert_eq!([w.queues(0), w.queues(1)], [[0, 5, 0, 0], [0, 2, 0, 0]]);
    let down: Vec<Vehicle> = (0..15).map(|r| vehicle(r, 4, 1, 0, 0, false)).collect();
    w.set_vehicles(&down).unwrap();
    assert_eq!([w.exits(0), w.exits(1)], [[0, 0, 0, 5], [0, 0, 0, 2]]);
}

#[test]
fn the_longer_queue_gets_green_and_ties_keep_the_phase() {
    let mut w = world(1, 1);
    let row = [vehicle(2, 1, 0, 1, 0, false), vehicle(4, 5, 0, -1, 0, false)];
    let column = vehicle(6, 2, -1, 0, 0, false);
    w.set_vehicles(&[row[0], row[1], column]).unwrap();
    assert_eq!(decide(&w, "longest-queue"), [1]);
    for phase in 0..2 {
        w.set_phases(&[phase]).unwrap();
        w.set_vehicles(&[row[0], column]).unwrap();
        assert_eq!(decide(&w, "longest-queue"), [phase]);
        assert_eq!(decide(&w, "max-pressure"), [phase]);
        // Vehicles on crossing cells, between them, or past them are no queue.
        w.set_vehicles(&[row[0], column, vehicle(2, 3, 0, 1, 0, false)]).unwrap();
        assert_eq!(decide(&w, "longest-queue"), [phase]);
        // But those past the crossing take pressure off their lane.
        w.set_vehicles(&[row[0], column, vehicle(4, 0, 0, -1, 0, false)]).unwrap();
        assert_eq!(decide(&w, "longest-queue"), [phase]);
        assert_eq!(decide(&w, "max-pressure"), [0]);
    }
}

#[test]
fn a_fixed_cycle_counts_steps() {
    let mut w = world(2, 2).with_schedule(&[(50, 2, 0)]).unwrap();
    for t in 0..20 {
        let actions = decide(&w, "fixed-cycle:3");
        assert_eq!(actions, [t / 3 % 2; 4]);
        w.apply(&actions, &());
    }
    // Without a period it is the usual one.
    let mut w = world(2, 2).with_schedule(&[(50, 2, 0)]).unwrap();
    for t in 0..20 {
        assert_eq!(decide(&w, "fixed-cycle"), [t / 4 % 2; 4]);
        w.apply(&[0; 4], &());
    }
    for (bad, part) in [
        ("fixed-cycle:0", "must be at least 1 step, and `0` is not"),
        ("fixed-cycle:-1", "must be a whole number of at least 1 step"),
        ("fixed-cycle:", "must be a whole number of at least 1 step"),
        ("fixed-cycle:six", "must be a whole number of at least 1 step"),
        ("fixed-cycle:18446744073709551616", "must be at most 18446744073709551615 steps"),
    ] {
        let error = Named::new(bad, &w).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn controllers_are_found_by_name() {
    let w = world(2, 2);
    for name in ["random", "fixed-cycle", "fixed-cycle:8", "longest-queue", "max-pressure", "planner"] {
        assert_eq!(Named::new(name, &w).unwrap().name(), name);
    }
    let error = Named::new("green-wave", &w).unwrap_err().to_string();
    assert!(error.contains("random, fixed-cycle, longest-queue, max-pressure or planner"), "{error}");
    // A period is something that only cycles have.
    for bad in ["max-pressure:8", "random:8"] {
        let error = Named::new(bad, &w).unwrap_err().to_string();
        assert!(error.contains("takes no number"), "{error}");
    }
}

#[test]
fn an_episodes_measures_by_hand() {
    // One vehicle, waiting 0, 1, 2, 3, 3, 3, 3, 3, 3 after the steps, then gone (see hand_worked).
    let mut w = world(1, 1).with_schedule(&[(0, 2, 0)]).unwrap();
    let mut tally = Tally::default();
    let mut end = End::Running;
    for action in [0, 0, 0, 1, 1, 0, 0, 0, 0, 0] {
        end = w.apply(&[action], &()).end;
        tally.step(&w, end);
    }
    let values = tally.finish(&w, end);
    let names: Vec<&str> = w.spec().measures.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["waiting", "vehicle_waiting", "travel_time", "throughput", "queue", "outside"]);
    assert_eq!((end, values.len()), (End::Terminated, 6));
    // It stood on approach cell (2, 1) after four of ten steps, on one lane of four.
    let expected = [21.0 / 10.0, 3.0, 10.0, 0.1, 4.0 / 10.0 / 4.0, 0.0];
    for (value, expected) in values.iter().zip(expected) {
        assert!((value.unwrap() - expected).abs() < 1e-12, "{values:?}");
    }
    // Nothing finished, nothing to say about finished vehicles.
    let mut w = world(1, 1).with_schedule(&[(0, 2, 0), (0, 2, 0)]).unwrap();
    let mut tally = Tally::default();
    let end = w.apply(&[0], &()).end;
    tally.step(&w, end);
    let values = tally.finish(&w, end);
    assert_eq!((values[1], values[2], values[5]), (None, None, Some(1.0)));
}

#[test]
fn every_controller_beats_guessing_and_queues_beat_clocks() {
    let w = world(2, 2);
    let waiting = |name: &str| {
        let mut controller = Named::new(name, &w).unwrap();
        let summary = play(&mut EnvBatch::of(&w, 1), &mut controller, 100, 5).unwrap();
        summary.measures["waiting"].mean
    };
    let random = waiting("random");
    let cycle = waiting("fixed-cycle:8");
    let queue = waiting("longest-queue");
    let pressure = waiting("max-pressure");
    assert!(
        queue < cycle && cycle < random && pressure < random,
        "random {random}, cycle {cycle}, longest queue {queue}, max pressure {pressure}"
    );
}
