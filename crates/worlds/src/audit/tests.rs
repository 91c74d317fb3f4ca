//! The audit passes what is symmetric and catches what is not: one broken world per equation.

mod vectors;

use super::*;
use crate::error::{Error, Result};
use crate::scene::Scene;
use crate::spec::{Actions, Spec};
use crate::wildlife::Wildlife;
use crate::world::{Edges, World};
use std::sync::Arc;

/// The wildlife world with one thing wrong.
#[derive(Clone)]
struct Broken {
    world: Wildlife,
    spec: Arc<Spec>,
    flaw: Flaw,
}

#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    /// Drones move one after the other, so the first in the list wins a contested cell.
    ListOrder,
    /// A step down costs more.
    Reward,
    /// A step costs more when the poacher goes one way: one outcome of five.
    OneDraw,
    /// Episodes end early when the poacher is in the top row.
    End,
    /// The poacher's move is not transformed along with the rest.
    Chance,
    /// One pixel too many in every image.
    Image,
    /// One pixel of every image is left as it was in the buffer.
    Unpainted,
    /// One id, two images: a drone's own mark vanishes on every other step.
    TwoImages,
    /// What learners paint has a pixel more than what agents see.
    Painted,
    /// Ids do not transform.
    Id,
    /// Every other state has no ids.
    LostId,
    /// The lower index is not heard.
    Neighbours,
    /// Edge vectors point one way.
    Edge,
    /// Edge vectors are wrong by less than anybody would see.
    NearlyEdge,
    /// Somebody is heard who is not there.
    Ghost,
    /// Neighbours are not in the order of their index.
    Unsorted,
    /// Declares that actions stay what they are.
    Action,
    /// Declares that actions turn the other way round.
    BackwardAction,
    /// Declares a map that sends two actions to one.
    NoAction,
    /// Declares that a quarter turn exchanges the first two drones.
    Agents,
    /// Declares agent moves that are no action of the group.
    NoAgents,
    /// Declares nothing about where agents go.
    Local,
    /// The world cannot be transformed.
    Transform,
}

impl Broken {
    fn new(flaw: Flaw) -> Broken {
        let world = Wildlife::new(3, 5).unwrap();
        let mut spec = world.spec().as_ref().clone();
        let Actions::Choice { rep, .. } = &mut spec.actions else { unreachable!() };
        match flaw {
            Flaw::Action => *rep = "5*trivial".into(),
            // The quarter turn sends 1 -> 2 -> 3 -> 4 -> 1; as a gather that is [0, 4, 1, 2, 3], and here is its inverse.
            Flaw::BackwardAction => *rep = "perm[0 2 3 4 1; 0 1 4 3 2]".into(),
            Flaw::NoAction => *rep = "perm[0 0 0 0 0; 0 1 4 3 2]".into(),
            Flaw::Agents => spec.agent_moves = Some(vec![vec![1, 0, 2], vec![0, 1, 2]]),
            Flaw::NoAgents => spec.agent_moves = Some(vec![vec![1, 2, 0], vec![0, 1, 2]]),
            Flaw::Local => spec.agent_moves = None,
            _ => {}
        }
        Broken { world, spec: Arc::new(spec), flaw }
    }

    fn flawed(&self, out: &mut [f32]) {
        if self.flaw == Flaw::Image {
            out[1] = 1.0;
        }
        if self.flaw == Flaw::TwoImages && self.world.steps() % 2 == 1 {
            out.fill(0.0);
        }
    }
}

impl World for Broken {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }
    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        self.world.reset(stream)
    }
    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        Ok(self.drawn_step(actions, stream))
    }
    fn observe(&self, who: usize, out: &mut [f32]) {
        let kept = out[1];
        self.world.observe(who, out);
        self.flawed(out);
        if self.flaw == Flaw::Unpainted {
            out[1] = kept;
        }
    }
    fn id(&self, agent: usize) -> Option<u64> {
        match self.flaw {
            // The row of the poacher changes under a quarter turn.
            Flaw::LostId if self.world.poacher()[0] == 0 => None,
            _ => self.world.id(agent),
        }
    }
    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        self.world.neighbours(agent, edges);
        let all: Vec<(usize, Vec<f32>)> = edges.iter().map(|(from, v)| (from, v.to_vec())).collect();
        match self.flaw {
            Flaw::Neighbours => {
                edges.clear();
                all.iter().filter(|(_, v)| v[0] >= 0.0).for_each(|(from, v)| edges.hear(*from, v));
            }
            Flaw::Edge => edges.vectors.iter_mut().step_by(2).for_each(|x| *x = x.abs()),
            Flaw::NearlyEdge => edges.vectors.iter_mut().step_by(2).for_each(|x| *x += 1e-6),
            Flaw::Ghost => edges.hear(3, &[0.0, 0.0]),
            Flaw::Unsorted => {
                edges.clear();
                all.iter().rev().for_each(|(from, v)| edges.hear(*from, v));
            }
            _ => {}
        }
    }
    fn scene(&self) -> Result<Scene> {
        World::scene(&self.world)
    }
}

impl Exact for Broken {
    type Chance = usize;

    fn draw(&self, stream: &mut Stream) -> usize {
        self.world.draw(stream)
    }
    fn apply(&mut self, actions: &[usize], chance: &usize) -> Outcome {
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
            return self.world.apply(&vec![0; actions.len()], chance);
        }
        let mut outcome = self.world.apply(actions, chance);
        if self.flaw == Flaw::Reward && actions[0] == 1 {
            outcome.reward -= 1e-9;
        }
        if self.flaw == Flaw::OneDraw && *chance == 1 {
            outcome.reward -= 1e-9;
        }
        if self.flaw == Flaw::End && self.world.poacher()[0] == 0 {
            outcome.end = End::Terminated;
        }
        outcome
    }
    fn paint(&self, id: u64, out: &mut [f32]) {
        self.world.paint(id, out);
        self.flawed(out);
        if self.flaw == Flaw::Painted {
            out[1] = 1.0;
        }
    }
    fn transform_id(&self, g: Element, id: u64) -> u64 {
        match self.flaw {
            Flaw::Id => id,
            _ => self.world.transform_id(g, id),
        }
    }
    fn transformed(&self, g: Element) -> Result<Broken> {
        if self.flaw == Flaw::Transform && g != 0 {
            return Err(Error::BadWorld("the lane of row 2 has no image".into()));
        }
        Ok(Broken { world: self.world.transformed(g)?, ..self.clone() })
    }
    fn chances(&self) -> Option<Vec<(usize, f64)>> {
        self.world.chances()
    }
    fn transform_chance(&self, g: Element, chance: &usize) -> usize {
        match self.flaw {
            Flaw::Chance => *chance,
            _ => self.world.transform_chance(g, chance),
        }
    }
    fn save(&self) -> Value {
        self.world.save()
    }
    fn load(&mut self, state: &Value) -> Result<()> {
        self.world.load(state)
    }
}

fn examine(flaw: Flaw) -> AuditReport {
    audit(&Broken::new(flaw), 2000, 1)
}

fn text(report: &AuditReport, element: usize) -> &str {
    &report.elements[element].counterexample.as_ref().unwrap().text
}

fn failed(report: &AuditReport) -> Vec<&str> {
    report.elements.iter().filter(|e| !e.holds).map(|e| e.element.as_str()).collect()
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
        (Flaw::Image, "does not turn exactly: channel 0, row"),
        (Flaw::Id, "in the transformed world agent 0 sees"),
        (Flaw::LostId, "nothing with an id"),
        (Flaw::Neighbours, "the neighbours of agent"),
        (Flaw::Edge, "the neighbours of agent"),
        (Flaw::NearlyEdge, "the neighbours of agent"),
        (Flaw::Action, "the step leads elsewhere"),
        (Flaw::BackwardAction, "the step leads elsewhere"),
        (Flaw::Agents, "in the transformed world agent 1 sees"),
        (Flaw::Local, "does not say how the group moves agents"),
        (Flaw::Transform, "the lane of row 2 has no image"),
    ] {
        let report = examine(flaw);
        assert!(!report.holds);
        // The identity shows only flaws of the bookkeeping, never of the rules.
        assert!(report.elements[0].holds, "{words}");
        let quarter = &report.elements[1];
        assert_eq!((quarter.element.as_str(), quarter.holds), ("r", false), "{words}");
        assert!(text(&report, 1).contains(words), "{}", text(&report, 1));
    }
}

#[test]
fn flaws_of_the_bookkeeping_show_without_any_turn() {
    for (flaw, words) in [
        (Flaw::TwoImages, "two observations have one id"),
        (Flaw::Painted, "what agent 0 sees is not what its id"),
        (Flaw::Unpainted, "what agent 0 sees is not what its id"),
        (Flaw::Ghost, "the neighbours of agent 0 include number 3, and agents and senders are 0 to 2"),
        (Flaw::Unsorted, "must be in the order of their index"),
    ] {
        let report = examine(flaw);
        assert!(!report.holds);
        assert!(text(&report, 0).contains(words), "{}", text(&report, 0));
    }
}

#[test]
fn a_wrong_permutation_of_actions_fails_where_it_is_wrong() {
    // The transformed actions are part of the story.
    let report = examine(Flaw::Action);
    assert_eq!(failed(&report).len(), 7);
    let found = report.elements[1].counterexample.as_ref().unwrap();
    let same = format!("the actions {:?} were transformed into {:?}", found.actions, found.actions);
    assert!(found.text.contains(&same), "{}", found.text);
    // Turning the other way round is wrong for quarter turns, and right for half turns and two of the mirrors.
    assert_eq!(failed(&examine(Flaw::BackwardAction)), ["r", "r3", "rm", "r3m"]);
}

#[test]
fn agents_that_move_otherwise_than_declared_are_caught() {
    // The declared exchange is of order two, so half turns and the mirror itself are right.
    assert_eq!(failed(&examine(Flaw::Agents)), ["r", "r3", "rm", "r3m"]);
    // Without a declaration only the identity can be checked.
    assert_eq!(failed(&examine(Flaw::Local)).len(), 7);
}

#[test]
fn declarations_that_contradict_themselves_are_not_audited() {
    for (flaw, words) in [
        (Flaw::NoAction, "the declaration of `wildlife`: `actions` is `perm[0 0 0 0 0"),
        (Flaw::NoAgents, "the declaration of `wildlife`: `agent_moves` is no action of D4"),
    ] {
        let report = examine(flaw);
        assert!(!report.holds);
        assert_eq!(report.elements.len(), 1);
        assert!(text(&report, 0).contains(words), "{}", text(&report, 0));
    }
}

#[test]
fn rules_that_fail_have_a_size() {
    let most = |flaw, g: usize| examine(flaw).elements[g].variation.unwrap().most;
    // Some step down is taken for another step: the two laws have no reward in common.
    assert!((most(Flaw::Reward, 1) - 1.0).abs() < 1e-12);
    assert_eq!(most(Flaw::None, 1), 0.0);
    // A poacher that goes anywhere with the same probability has a symmetric law, whatever its draws are said to become.
    assert!(most(Flaw::Chance, 1) < 1e-12);
}

/// One rollout of one step draws one outcome, and the size is that of all five: two of them have another reward where they lead.
#[test]
fn what_no_rollout_has_drawn_counts() {
    for seed in 0..6 {
        let found = audit(&Broken::new(Flaw::OneDraw), 1, seed);
        assert!((found.elements[1].variation.unwrap().most - 0.4).abs() < 1e-12, "seed {seed}");
        assert!(!found.elements[1].holds);
    }
}

#[test]
fn a_counterexample_can_be_replayed() {
    let report = examine(Flaw::Reward);
    let found = report.elements[1].counterexample.as_ref().unwrap();
    let mut world = Broken::new(Flaw::Reward);
    world.load(&found.state).unwrap();
    let acts = GroupAction::new(world.spec()).unwrap();
    let chance: usize = found.chance.parse().unwrap();
    let here = world.clone().apply(&found.actions, &chance);
    let turned: Vec<usize> = found.actions.iter().map(|&a| acts.action(1, a)).collect();
    let there = world.transformed(1).unwrap().apply(&turned, &world.transform_chance(1, &chance));
    assert_ne!(here.reward, there.reward);
}

#[test]
fn the_report_has_the_promised_keys() {
    let json = serde_json::to_value(examine(Flaw::Transform)).unwrap();
    let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["elements", "holds", "steps"]);
    assert_eq!(keys(&json["elements"][0]), ["counterexample", "element", "holds", "variation"]);
    assert!(json["elements"][0]["counterexample"].is_null());
    assert_eq!(json["elements"][3]["counterexample"]["text"], "the lane of row 2 has no image");
}
