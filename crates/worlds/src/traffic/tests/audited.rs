//! What the audit says about this world, and about one that is wrong on purpose.

use super::*;
use crate::action::GroupAction;
use crate::audit::{Auditing, audit, audit_by};
use crate::error::Result;
use crate::scene::Scene;
use crate::spec::Spec;
use crate::world::Edges;
use serde_json::Value;
use std::sync::Arc;

#[test]
fn traffic_passes_its_audit() {
    for (rows, cols) in [(1, 1), (2, 2), (3, 2)] {
        let report = audit(&world(rows, cols), 2_000, 1);
        assert!(report.holds, "{report:?}");
    }
}

#[test]
fn reflections_fail_with_the_lane_and_its_image() {
    let report = audit(&world(2, 2).under(&"D4".parse().unwrap()).unwrap(), 50, 1);
    assert!(!report.holds);
    for (k, element) in report.elements.iter().enumerate() {
        assert_eq!(element.holds, k < 4, "{element:?}");
        if let Some(counterexample) = &element.counterexample {
            assert!(counterexample.text.contains("maps the lane"), "{}", counterexample.text);
        }
    }
}

#[test]
fn quarter_turns_of_a_rectangle_fail() {
    let report = audit(&world(1, 2).under(&"C4".parse().unwrap()).unwrap(), 50, 1);
    // What is declared says how the group acts on what a junction sees, and not where junctions go.
    let holds: Vec<bool> = report.elements.iter().map(|e| e.holds).collect();
    assert_eq!(holds, [true, false, false, false]);
    let text = |k: usize| report.elements[k].counterexample.as_ref().unwrap().text.as_str();
    assert!(text(1).contains("maps the lane") && text(3).contains("maps the lane"), "{report:?}");
    assert!(text(2).contains("does not say how the group moves agents"), "{}", text(2));
    // The half turn is a symmetry, as the world says if it is asked for no more.
    assert!(audit(&world(1, 2).under(&"C2".parse().unwrap()).unwrap(), 2_000, 1).holds);
}

/// A tilt breaks the law of the start and nothing else; half turns keep it, and so does everything that turns the tilt along.
#[test]
fn a_tilt_breaks_the_start_and_nothing_else() {
    let tilted = Traffic::new(TrafficOptions { tilt: 0.4, ..TrafficOptions::default() }).unwrap();
    let report = audit(&tilted, 500, 1);
    assert!(!report.holds);
    assert!(report.elements.iter().all(|e| e.counterexample.is_none()), "{report:?}");
    let starts: Vec<bool> = report.elements.iter().map(|e| e.start.as_ref().unwrap().holds).collect();
    assert_eq!(starts, [true, false, true, false]);
    let size = |k: usize| report.elements[k].start.as_ref().unwrap().variation.unwrap();
    assert!(size(2) == 0.0 && (size(1) - 0.246).abs() < 5e-4, "{} {}", size(1), size(2));
    let along = audit_by(&tilted, &Auditing { steps: 500, seed: 1, cause: true, controller: None });
    assert!(along.holds, "{along:?}");
    // Turned twice along, it is what it was.
    let mut turned = tilted.clone();
    turned.transform_cause(1);
    assert!(turned.options.tilt == -0.4);
    turned.transform_cause(1);
    assert!(turned.options.tilt == 0.4);
}

/// Traffic as it is often written: vehicles move one after the other, in the order of a list, and each sees where the
/// earlier ones have gone already.
#[derive(Clone)]
struct ListOrder(Traffic);

impl World for ListOrder {
    fn spec(&self) -> &Arc<Spec> {
        self.0.spec()
    }
    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        self.0.reset(stream)
    }
    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        Ok(self.drawn_step(actions, stream))
    }
    fn observe(&self, who: usize, out: &mut [f32]) {
        self.0.observe(who, out);
    }
    fn id(&self, agent: usize) -> Option<u64> {
        self.0.id(agent)
    }
    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        self.0.neighbours(agent, edges);
    }
    fn scene(&self) -> Result<Scene> {
        World::scene(&self.0)
    }
}

impl Exact for ListOrder {
    type Chance = ();

    fn draw(&self, _stream: &mut Stream) {}

    fn apply(&mut self, actions: &[usize], chance: &()) -> Outcome {
        let (mut list, mut entered) = (self.0.vehicles(), self.0.schedule());
        // The right world knows who enters, who leaves and when it is over; only the moves are done again.
        let outcome = self.0.apply(actions, chance);
        for later in self.0.schedule() {
            let place = entered.iter().position(|arrival| *arrival == later);
            entered.remove(place.expect("nobody is added to the schedule"));
        }
        for (_, row, col) in entered {
            let (dr, dc) = match (row % 8, col % 8) {
                (2, 0) => (0, 1),
                (4, 6) => (0, -1),
                (6, 2) => (-1, 0),
                _ => (1, 0),
            };
            list.push(vehicle(row, col, dr, dc, 0, false));
        }
        let next = |v: &Vehicle| {
            (v.row.wrapping_add_signed(v.dr as isize), v.col.wrapping_add_signed(v.dc as isize))
        };
        list.retain(|v| self.0.is_lane(next(v).0, next(v).1));
        list.sort();
        for k in 0..list.len() {
            let ahead = next(&list[k]);
            let red = self.0.phase(ahead.0 / 8 * self.0.options().cols + ahead.1 / 8)
                != usize::from(list[k].dr == 0);
            let stop = match (list[k].dr, list[k].dc) {
                (0, 1) => (2, 2),
                (0, _) => (4, 4),
                (-1, _) => (4, 2),
                _ => (2, 4),
            };
            let held =
                red && (ahead.0 % 8, ahead.1 % 8) == stop || list.iter().any(|o| (o.row, o.col) == ahead);
            let v = &mut list[k];
            if held || v.marked {
                v.marked = held;
                v.waiting += 1;
            } else {
                (v.row, v.col) = ahead;
            }
        }
        self.0.set_vehicles(&list).expect("nobody moves onto another");
        outcome
    }

    fn paint(&self, id: u64, out: &mut [f32]) {
        self.0.paint(id, out);
    }
    fn transform_id(&self, g: usize, id: u64) -> u64 {
        self.0.transform_id(g, id)
    }
    fn transformed(&self, g: usize) -> Result<ListOrder> {
        self.0.transformed(g).map(ListOrder)
    }
    fn transform_chance(&self, _g: usize, _chance: &()) {}
    fn save(&self) -> Value {
        self.0.save()
    }
    fn load(&mut self, state: &Value) -> Result<()> {
        self.0.load(state)
    }
}

#[test]
fn a_world_that_moves_vehicles_in_list_order_is_caught() {
    let report = audit(&ListOrder(world(2, 2)), 500, 1);
    assert!(!report.holds);
    assert!(report.elements[0].holds, "the identity is always a symmetry");
    for element in &report.elements[1..] {
        let found = element.counterexample.as_ref().expect("not a symmetry");
        assert!(found.text.contains("leads elsewhere"), "{}", found.text);
    }
    // The saved state and actions show it again.
    let found = report.elements[1].counterexample.as_ref().unwrap();
    let mut here = ListOrder(Traffic::restore(&found.state).unwrap());
    let mut there = here.transformed(1).unwrap();
    here.apply(&found.actions, &());
    let acts = GroupAction::new(here.spec()).unwrap();
    let mut turned = vec![0; 4];
    for (agent, &action) in found.actions.iter().enumerate() {
        turned[acts.agent(1, agent)] = acts.action(1, action);
    }
    there.apply(&turned, &());
    assert_ne!(here.transformed(1).unwrap().save(), there.save());
}
