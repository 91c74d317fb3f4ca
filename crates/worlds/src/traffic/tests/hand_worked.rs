//! Small situations worked out by hand from the rules.

use super::*;
use crate::traffic::{Finished, Left};

#[test]
fn one_vehicle_waits_at_a_red_light_and_restarts() {
    let mut w = world(1, 1).with_schedule(&[(0, 2, 0)]).unwrap();
    // Action 0 is red for rows. It enters and moves in step 0, then meets the stop line at (2, 2).
    let expected = [
        (0, vehicle(2, 1, 0, 1, 0, false)),
        (0, vehicle(2, 1, 0, 1, 1, true)),
        (0, vehicle(2, 1, 0, 1, 2, true)),
        (1, vehicle(2, 1, 0, 1, 3, false)), // restarting costs a step
        (1, vehicle(2, 2, 0, 1, 3, false)),
        (0, vehicle(2, 3, 0, 1, 3, false)), // red again, but it is past its stop line
        (0, vehicle(2, 4, 0, 1, 3, false)),
        (0, vehicle(2, 5, 0, 1, 3, false)),
        (0, vehicle(2, 6, 0, 1, 3, false)),
    ];
    for (action, after) in expected {
        let outcome = w.apply(&[action], &());
        assert_eq!(w.vehicles(), [after]);
        assert_eq!(outcome.reward, 0.0 - f64::from(after.waiting) / 1000.0);
        assert_eq!(outcome.end, End::Running);
    }
    let outcome = w.apply(&[0], &());
    assert_eq!((outcome.reward, outcome.end), (0.0, End::Terminated));
    // Ten steps from entry to leaving: seven cells and three steps of waiting.
    let left = Left { waiting: 3, travel: 10 };
    assert_eq!(w.left(), [left]);
    let finished = Finished { vehicles: 1, waiting: 3, travel: 10 };
    assert_eq!(*w.finished(), finished);
}

#[test]
fn free_flow_takes_fifteen_steps_in_the_papers_world() {
    for (row, col) in world(2, 2).entries() {
        let phase = usize::from(row % 14 != 0);
        let mut w = world(2, 2).with_schedule(&[(3, row, col)]).unwrap();
        let outcomes = run(&mut w, &[phase; 4], 100);
        assert_eq!(outcomes.len(), 3 + 15);
        assert_eq!(outcomes.last().unwrap().end, End::Terminated);
        assert!(outcomes.iter().all(|o| o.reward.to_bits() == 0));
        assert_eq!((w.finished().travel, w.finished().waiting), (15, 0));
    }
}

#[test]
fn a_queue_starts_one_after_the_other() {
    let mut w = world(1, 1);
    let queue = [vehicle(2, 0, 0, 1, 4, true), vehicle(2, 1, 0, 1, 6, true)];
    w.set_vehicles(&queue).unwrap();
    // Green: the first restarts; the second sees it stay, so it is held.
    w.apply(&[1], &());
    assert_eq!(w.vehicles(), [vehicle(2, 0, 0, 1, 5, true), vehicle(2, 1, 0, 1, 7, false)]);
    // The first moves out in this very step, so the second is not held: it restarts.
    w.apply(&[1], &());
    assert_eq!(w.vehicles(), [vehicle(2, 0, 0, 1, 6, false), vehicle(2, 2, 0, 1, 7, false)]);
    let outcome = w.apply(&[1], &());
    assert_eq!(w.vehicles(), [vehicle(2, 1, 0, 1, 6, false), vehicle(2, 3, 0, 1, 7, false)]);
    assert_eq!(outcome.reward, -(13.0 / 2.0) / 1000.0);
}

#[test]
fn unmarked_vehicles_move_as_a_convoy_through_gap_and_lights() {
    let mut w = world(1, 2);
    let convoy: Vec<Vehicle> = (3..12).map(|c| vehicle(2, c, 0, 1, 0, false)).collect();
    w.set_vehicles(&convoy).unwrap();
    w.apply(&[1, 1], &());
    let after: Vec<Vehicle> = (4..13).map(|c| vehicle(2, c, 0, 1, 0, false)).collect();
    assert_eq!(w.vehicles(), after);
    // One mark in the middle holds all behind it.
    let mut broken = convoy.clone();
    broken[4].marked = true;
    w.set_vehicles(&broken).unwrap();
    w.apply(&[1, 1], &());
    let mut after: Vec<Vehicle> = (3..7).map(|c| vehicle(2, c, 0, 1, 1, true)).collect();
    after.push(vehicle(2, 7, 0, 1, 1, false));
    after.extend((9..13).map(|c| vehicle(2, c, 0, 1, 0, false)));
    assert_eq!(w.vehicles(), after);
}

#[test]
fn a_closed_ring_stays_put() {
    let ring = [
        (2, 2, 0, 1),
        (2, 3, 0, 1),
        (2, 4, 1, 0),
        (3, 4, 1, 0),
        (4, 4, 0, -1),
        (4, 3, 0, -1),
        (4, 2, -1, 0),
        (3, 2, -1, 0),
    ];
    let vehicles: Vec<Vehicle> = ring.iter().map(|&(r, c, dr, dc)| vehicle(r, c, dr, dc, 0, false)).collect();
    let mut w = world(1, 1);
    w.set_vehicles(&vehicles).unwrap();
    for steps in 1..=20 {
        let outcome = w.apply(&[steps % 2], &());
        assert_eq!(outcome.reward, -(steps as f64) / 1000.0);
        let mut stuck: Vec<Vehicle> =
            vehicles.iter().map(|v| Vehicle { waiting: steps as u32, marked: true, ..*v }).collect();
        stuck.sort();
        assert_eq!(w.vehicles(), stuck);
    }
    // Without one of them, all can go: the cell ahead is empty or becomes so.
    for gone in 0..8 {
        let mut open = vehicles.clone();
        open.remove(gone);
        let mut w = world(1, 1);
        w.set_vehicles(&open).unwrap();
        w.apply(&[0], &());
        assert!(w.vehicles().iter().all(|v| !v.marked && v.waiting == 0));
    }
}

#[test]
fn a_vehicle_in_the_junction_claims_its_next_cell() {
    // Up, between its crossing cells, wants (2, 2), which is the stop line of the vehicle at (2, 1).
    let up = |marked| vehicle(3, 2, -1, 0, 0, marked);
    let right = vehicle(2, 1, 0, 1, 0, false);
    let mut w = world(1, 1);
    w.set_vehicles(&[up(false), right]).unwrap();
    w.apply(&[1], &());
    assert_eq!(w.vehicles(), [vehicle(2, 1, 0, 1, 1, true), vehicle(2, 2, -1, 0, 0, false)]);
    // Also when it does not move now.
    w.set_vehicles(&[up(true), right]).unwrap();
    w.apply(&[1], &());
    assert_eq!(w.vehicles(), [vehicle(2, 1, 0, 1, 1, true), vehicle(3, 2, -1, 0, 1, false)]);
    // On its second crossing cell it claims nothing, and moves out in this step.
    w.set_vehicles(&[vehicle(2, 2, -1, 0, 0, false), right]).unwrap();
    w.apply(&[1], &());
    assert_eq!(w.vehicles(), [vehicle(1, 2, -1, 0, 0, false), vehicle(2, 2, 0, 1, 0, false)]);
    // On its stop line it claims (3, 2), which is nobody's stop line.
    w.set_vehicles(&[vehicle(4, 2, -1, 0, 0, false), right]).unwrap();
    w.apply(&[1], &());
    assert_eq!(w.vehicles(), [vehicle(2, 2, 0, 1, 0, false), vehicle(3, 2, -1, 0, 0, false)]);
}

#[test]
fn vehicles_enter_one_per_step_and_only_into_an_empty_cell() {
    // Three arrive at once. The first enters and moves on, the second enters in the next step, and so on.
    let mut w = world(1, 1).with_schedule(&[(0, 2, 0), (0, 2, 0), (0, 2, 0)]).unwrap();
    assert_eq!((w.outside(), w.pending(), w.inside()), (0, 3, 0));
    w.apply(&[0], &());
    assert_eq!((w.outside(), w.pending(), w.inside()), (2, 2, 1));
    w.apply(&[0], &());
    // The first is held at (2, 1); the second enters and is held behind it.
    assert_eq!(w.vehicles(), [vehicle(2, 0, 0, 1, 1, true), vehicle(2, 1, 0, 1, 1, true)]);
    for _ in 0..3 {
        w.apply(&[0], &());
        assert_eq!((w.outside(), w.inside()), (1, 2));
    }
    // Green: both restart, the first goes, the second goes in step 8 out of (2, 0), which was not empty before.
    for _ in 0..3 {
        w.apply(&[1], &());
        assert_eq!(w.outside(), 1);
    }
    w.apply(&[1], &());
    assert_eq!(w.outside(), 0);
}

#[test]
fn termination_wins_over_truncation() {
    let limited = |step_limit| {
        Traffic::new(TrafficOptions { rows: 1, cols: 1, step_limit, ..TrafficOptions::default() })
            .and_then(|w| w.with_schedule(&[(0, 2, 0)]))
            .unwrap()
    };
    for (limit, end) in [(6, End::Truncated), (7, End::Terminated), (8, End::Terminated)] {
        let outcomes = run(&mut limited(limit), &[1], 100);
        assert_eq!(outcomes.len(), limit.min(7));
        assert_eq!(outcomes.last().unwrap().end, end);
    }
    // Nothing scheduled: over after the first step, even if that is the limit.
    let mut empty = limited(1).with_schedule(&[]).unwrap();
    assert_eq!(empty.apply(&[0], &()).end, End::Terminated);
    let mut never =
        Traffic::new(TrafficOptions { arrival_probability: 0.0, ..TrafficOptions::default() }).unwrap();
    never.reset(&mut stream(0)).unwrap();
    assert_eq!(never.apply(&[0; 4], &()).end, End::Terminated);
}

#[test]
fn odd_options_are_refused_with_a_reason() {
    let base = TrafficOptions::default();
    let bad = [
        TrafficOptions { rows: 0, ..base },
        TrafficOptions { cols: 0, ..base },
        TrafficOptions { rows: usize::MAX, ..base },
        TrafficOptions { arrival_probability: 1.5, ..base },
        TrafficOptions { arrival_probability: f64::NAN, ..base },
        TrafficOptions { arrival_steps: usize::MAX, ..base },
        TrafficOptions { step_limit: 0, ..base },
        TrafficOptions { step_limit: usize::MAX, ..base },
    ];
    for options in bad {
        assert!(!Traffic::new(options).unwrap_err().to_string().is_empty());
    }
    let error = world(2, 2).with_schedule(&[(0, 2, 1)]).unwrap_err();
    assert!(error.to_string().contains("(2, 1)"), "{error}");
    assert!(error.to_string().contains("(2, 0)"), "{error}");
}

#[test]
fn vehicles_and_phases_are_checked_before_anything_changes() {
    let mut w = world(2, 2);
    let before = w.clone();
    for bad in [
        vec![vehicle(2, 0, 0, -1, 0, false)], // against its lane
        vec![vehicle(3, 0, 0, 1, 0, false)],  // off the lanes
        vec![vehicle(2, 15, 0, 1, 0, false)], // outside
        vec![vehicle(2, 2, 0, 1, 0, false), vehicle(2, 2, -1, 0, 0, false)],
    ] {
        assert!(w.set_vehicles(&bad).is_err());
        assert!(w == before);
    }
    assert!(w.set_phases(&[0; 3]).is_err());
    assert!(w.set_phases(&[0, 1, 2, 0]).is_err());
    assert!(w == before);
    w.set_phases(&[0, 1, 1, 0]).unwrap();
    assert_eq!(w.phases(), [0, 1, 1, 0]);
}
