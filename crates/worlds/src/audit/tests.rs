//! The audit passes what is symmetric and catches what is not: one broken world per equation.

use super::*;
use crate::error::{Error, Result};
use crate::wildlife::Wildlife;
use crate::world::{PictureShape, Symmetry};

/// The wildlife world with one thing wrong.
#[derive(Clone)]
struct Broken {
    world: Wildlife,
    flaw: Flaw,
}

#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    /// Drones move one after the other, so the first in the list wins a contested cell.
    ListOrder,
    /// A step down costs more.
    Reward,
    /// Episodes end early when the poacher is in the top row.
    End,
    /// The poacher's move is not turned along with the rest.
    Chance,
    /// One pixel too many in every picture.
    Picture,
    /// One key, two pictures: a drone's own mark vanishes on every other step.
    TwoPictures,
    /// Keys do not turn.
    Key,
    /// The lower index is not heard.
    Neighbours,
    /// Edge vectors point one way.
    Edge,
    /// Two actions turn into one.
    Action,
    /// The world cannot be turned.
    Turn,
}

impl World for Broken {
    type Chance = usize;
    type Key = u32;

    fn agents(&self) -> usize {
        self.world.agents()
    }
    fn actions(&self) -> usize {
        self.world.actions()
    }
    fn picture_shape(&self) -> PictureShape {
        self.world.picture_shape()
    }
    fn reset(&mut self, stream: &mut Stream) {
        self.world.reset(stream);
    }
    fn draw(&self, stream: &mut Stream) -> usize {
        self.world.draw(stream)
    }
    fn step(&mut self, actions: &[usize], chance: &usize) -> Outcome {
        if self.flaw == Flaw::ListOrder {
            let (poacher, steps, grid) = (self.world.poacher(), self.world.steps(), self.world.grid());
            let mut drones: Vec<[usize; 2]> = self.world.drones().collect();
            for (i, &a) in actions.iter().enumerate() {
                let [dr, dc] = crate::wildlife::STEPS[a];
                let to = |v: usize, d: i32| (v as i32 + d).rem_euclid(grid as i32) as usize;
                let cell = [to(drones[i][0], dr), to(drones[i][1], dc)];
                if !drones.contains(&cell) {
                    drones[i] = cell;
                }
            }
            // Sorting hides who is who, as a list of vehicles would be kept: the order is now by row and column.
            drones.sort();
            self.world.place(&drones, poacher, steps).unwrap();
            return self.world.step(&vec![0; actions.len()], chance);
        }
        let mut outcome = self.world.step(actions, chance);
        if self.flaw == Flaw::Reward && actions[0] == 1 {
            outcome.reward -= 1e-9;
        }
        if self.flaw == Flaw::End && self.world.poacher()[0] == 0 {
            outcome.end = End::Terminated;
        }
        outcome
    }
    fn observation_key(&self, agent: usize) -> u32 {
        self.world.observation_key(agent)
    }
    fn render(&self, key: &u32, picture: &mut [f32]) {
        self.world.render(key, picture);
        if self.flaw == Flaw::Picture {
            picture[1] = 1.0;
        }
        if self.flaw == Flaw::TwoPictures && self.world.steps() % 2 == 1 {
            picture.fill(0.0);
        }
    }
    fn neighbours(&self, agent: usize, edges: &mut Vec<Edge>) {
        self.world.neighbours(agent, edges);
        if self.flaw == Flaw::Neighbours {
            edges.retain(|e| e.vector[0] >= 0.0);
        }
        if self.flaw == Flaw::Edge {
            for edge in edges {
                edge.vector[0] = edge.vector[0].abs();
            }
        }
    }
    fn save(&self) -> Value {
        self.world.save()
    }
    fn load(&mut self, state: &Value) -> Result<()> {
        self.world.load(state)
    }
}

impl Symmetric for Broken {
    fn symmetry(&self) -> &Symmetry {
        self.world.symmetry()
    }
    fn turned(&self, g: Element) -> Result<Broken> {
        if self.flaw == Flaw::Turn && g != 0 {
            return Err(Error::BadWorld("the lane of row 2 has no image".into()));
        }
        let world = self.world.turned(g)?;
        Ok(Broken { world, ..*self })
    }
    fn turn_chance(&self, g: Element, chance: &usize) -> usize {
        match self.flaw {
            Flaw::Chance => *chance,
            _ => self.world.turn_chance(g, chance),
        }
    }
    fn turn_action(&self, g: Element, action: usize) -> usize {
        match self.flaw {
            Flaw::Action => 0,
            _ => self.world.turn_action(g, action),
        }
    }
    fn turn_agent(&self, _g: Element, agent: usize) -> usize {
        agent
    }
    fn turn_key(&self, g: Element, key: &u32) -> u32 {
        match self.flaw {
            Flaw::Key => *key,
            _ => self.world.turn_key(g, key),
        }
    }
}

fn examine(flaw: Flaw) -> AuditReport {
    let world = Wildlife::new(3, 5).unwrap();
    audit(&Broken { world, flaw }, 2000, 1)
}

#[test]
fn a_sound_world_passes() {
    let report = examine(Flaw::None);
    assert!(report.holds);
    assert_eq!(report.elements.len(), 8);
}

#[test]
fn every_flaw_is_caught() {
    for (flaw, words) in [
        (Flaw::ListOrder, "the step leads elsewhere"),
        (Flaw::Reward, "the reward or the end"),
        (Flaw::End, "the reward or the end"),
        (Flaw::Chance, "the step leads elsewhere"),
        (Flaw::Picture, "does not turn exactly: channel 0, row"),
        (Flaw::Key, "in the turned world agent 0 sees"),
        (Flaw::Neighbours, "the neighbours of agent"),
        (Flaw::Edge, "the neighbours of agent"),
        (Flaw::Action, "the actions 0 to 4 are sent to [0, 0, 0, 0, 0]"),
        (Flaw::Turn, "the lane of row 2 has no image"),
    ] {
        let report = examine(flaw);
        assert!(!report.holds);
        let identity = &report.elements[0];
        // The identity shows only flaws of the bookkeeping, never of the rules.
        assert_eq!(identity.holds, flaw != Flaw::Action, "{words}");
        let quarter = &report.elements[1];
        assert_eq!((quarter.element.as_str(), quarter.holds), ("r", false), "{words}");
        let text = &quarter.counterexample.as_ref().unwrap().text;
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_key_with_two_pictures_is_caught() {
    let report = examine(Flaw::TwoPictures);
    assert!(!report.holds);
    let text = &report.elements[0].counterexample.as_ref().unwrap().text;
    assert!(text.contains("two pictures have one observation key"), "{text}");
}

#[test]
fn a_counterexample_can_be_replayed() {
    let report = examine(Flaw::Reward);
    let found = report.elements[1].counterexample.as_ref().unwrap();
    let world = Wildlife::new(3, 5).unwrap();
    let mut world = Broken { world, flaw: Flaw::Reward };
    world.load(&found.state).unwrap();
    let chance: usize = found.chance.parse().unwrap();
    let here = world.clone().step(&found.actions, &chance);
    let turned: Vec<usize> = found.actions.iter().map(|&a| world.turn_action(1, a)).collect();
    let there = world.turned(1).unwrap().step(&turned, &world.turn_chance(1, &chance));
    assert_ne!(here.reward, there.reward);
}

#[test]
fn the_report_has_the_promised_keys() {
    let json = serde_json::to_value(examine(Flaw::Turn)).unwrap();
    let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["elements", "holds", "steps"]);
    assert_eq!(keys(&json["elements"][0]), ["counterexample", "element", "holds"]);
    assert!(json["elements"][0]["counterexample"].is_null());
    assert_eq!(json["elements"][3]["counterexample"]["text"], "the lane of row 2 has no image");
}
