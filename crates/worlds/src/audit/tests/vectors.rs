//! A world whose agents see vectors and hear landmarks, under groups that round and groups that do not, and what is
//! found when one thing in it is wrong.

use super::{failed, text};
use crate::audit::audit;
use crate::error::{Error, Result};
use crate::scene::Scene;
use crate::spec::{Actions, Senders, Spec, permutation};
use crate::stream::{Purpose, Stream};
use crate::world::{Edges, End, Exact, Outcome, World};
use equimarl_group::{Element, Group, Plane};
use serde_json::{Value, json};
use std::sync::Arc;

const BOATS: usize = 2;
const LANDMARKS: usize = 3;
const REACH: i32 = 4;
const STEP_LIMIT: usize = 20;

type Place = [i32; 2];

/// Boats among landmarks, on the points of a square or a hexagonal lattice. A boat feels the current of the last step and
/// knows how far out it is; a landmark has a height, and a lamp that shines along a vector. The wind moves all boats.
#[derive(Clone)]
struct Harbour {
    spec: Arc<Spec>,
    lattice: Arc<Lattice>,
    flaw: Flaw,
    boats: [Place; BOATS],
    /// How each boat moved in the last step.
    moved: [Place; BOATS],
    /// Place, lamp and height of each landmark, in no particular order.
    landmarks: Vec<(Place, Place, i32)>,
    steps: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    /// What a boat feels always points down.
    Feature,
    /// How far out a boat is depends on where it is, not only on how far.
    Trivial,
    /// The vector from a landmark is a distance.
    LandmarkEdge,
    /// The lamps of landmarks do not turn.
    Lamp,
    /// The lamps of landmarks are left as they were in the buffer.
    Unwritten,
    /// Only landmarks above the middle are heard.
    Heard,
    /// Actions are declared to stay what they are.
    Action,
    /// Ids do not transform.
    Id,
    /// Two observations have one id.
    SharedId,
    /// What an id is painted as is not what is seen.
    Painted,
}

/// The points of the plane that boats visit, and how a group acts on them, in whole numbers.
struct Lattice {
    group: Group,
    moves: Vec<Place>,
    turn: Box<dyn Fn(Element, Place) -> Place + Send + Sync>,
    hexagonal: bool,
}

impl Lattice {
    fn square(group: &str) -> Lattice {
        let group: Group = group.parse().unwrap();
        let plane = Plane::new(&group).unwrap();
        let moves = vec![[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];
        Lattice { group, moves, turn: Box::new(move |g, v| plane.vector(g, v)), hexagonal: false }
    }

    /// Sixths of a turn on axial coordinates.
    fn hexagonal() -> Lattice {
        let turn = |g: Element, v: Place| (0..g).fold(v, |[q, r], _| [-r, q + r]);
        let moves = [vec![[0, 0]], (0..6).map(|g| turn(g, [1, 0])).collect()].concat();
        Lattice { group: "C6".parse().unwrap(), moves, turn: Box::new(turn), hexagonal: true }
    }

    /// How far out a point is.
    fn far(&self, [a, b]: Place) -> i32 {
        if self.hexagonal { a.abs().max(b.abs()).max((a + b).abs()) } else { a.abs().max(b.abs()) }
    }

    /// Where a lattice vector points in the plane.
    fn vector(&self, [a, b]: Place) -> [f32; 2] {
        if !self.hexagonal {
            return [a, b].map(|x| x as f32 / 3.0);
        }
        let (q, r) = (a as f32, b as f32);
        [q + r / 2.0, r * 3f32.sqrt() / 2.0]
    }

    fn place(&self, stream: &mut Stream) -> Place {
        let side = 2 * REACH as u32 + 1;
        loop {
            let at = [0; 2].map(|_| stream.below(side) as i32 - REACH);
            if self.far(at) <= REACH {
                return at;
            }
        }
    }
}

fn minus(a: Place, b: Place) -> Place {
    [a[0] - b[0], a[1] - b[1]]
}

impl Harbour {
    fn new(lattice: Lattice, flaw: Flaw) -> Harbour {
        let (group, moves) = (&lattice.group, &lattice.moves);
        let names = (0..moves.len()).map(|k| format!("move {k}")).collect();
        let find = |v: Place| moves.iter().position(|m| *m == v).unwrap();
        let rep = match flaw {
            Flaw::Action => format!("{}*trivial", moves.len()),
            _ => permutation(group, moves.len(), |g, k| find((lattice.turn)(g, moves[k]))),
        };
        let landmarks =
            Senders { kind: "landmark".into(), count: LANDMARKS, features: "trivial + rotation".into() };
        let spec = Spec {
            features: "trivial + rotation".into(),
            senders: vec![landmarks],
            edge: if lattice.hexagonal { "rotation".into() } else { String::new() },
            ..Spec::new("harbour", BOATS, group, Actions::Choice { names, rep, marks: vec![] })
        };
        Harbour {
            spec: Arc::new(spec),
            lattice: Arc::new(lattice),
            flaw,
            boats: [[0, 0]; BOATS],
            moved: [[0, 0]; BOATS],
            landmarks: vec![([0, 0], [0, 0], 0); LANDMARKS],
            steps: 0,
        }
    }

    fn paint_seen(&self, far: i32, moved: Place, out: &mut [f32]) {
        out[0] = far as f32;
        out[1..].copy_from_slice(&self.lattice.vector(moved));
        if self.flaw == Flaw::Feature {
            (out[1], out[2]) = (out[1].abs() + out[2].abs(), 0.0);
        }
    }

    /// How far out a boat is, and how it moved: a byte each.
    fn pack(far: i32, [a, b]: Place) -> u64 {
        [far, a, b].iter().fold(0, |id, &x| id << 8 | (x + 100) as u64)
    }

    fn unpack(id: u64) -> (i32, Place) {
        let [far, a, b] = [16, 8, 0].map(|shift| (id >> shift & 0xff) as i32 - 100);
        (far, [a, b])
    }

    fn seen(&self, boat: usize) -> (i32, Place) {
        let far = match self.flaw {
            Flaw::Trivial => self.boats[boat][0],
            _ => self.lattice.far(self.boats[boat]),
        };
        (far, self.moved[boat])
    }
}

impl World for Harbour {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }
    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        let lattice = &*self.lattice;
        self.boats = self.boats.map(|_| lattice.place(stream));
        self.moved = [[0, 0]; BOATS];
        for landmark in &mut self.landmarks {
            *landmark = (lattice.place(stream), lattice.place(stream), stream.below(3) as i32);
        }
        self.steps = 0;
        Ok(())
    }
    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        Ok(self.drawn_step(actions, stream))
    }
    fn observe(&self, who: usize, out: &mut [f32]) {
        if let Some(landmark) = who.checked_sub(BOATS) {
            let (_, lamp, height) = self.landmarks[landmark];
            out[0] = height as f32;
            if self.flaw != Flaw::Unwritten {
                out[1..].copy_from_slice(&self.lattice.vector(lamp));
            }
            return;
        }
        let (far, moved) = self.seen(who);
        self.paint_seen(far, moved, out);
        if self.flaw == Flaw::SharedId {
            out[0] += (self.steps % 2) as f32;
        }
    }
    fn id(&self, agent: usize) -> Option<u64> {
        let (far, moved) = self.seen(agent);
        Some(Harbour::pack(far, moved))
    }
    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let here = self.boats[agent];
        let other = 1 - agent;
        edges.hear(other, &self.lattice.vector(minus(here, self.boats[other])));
        for (k, &(place, ..)) in self.landmarks.iter().enumerate() {
            let away = minus(here, place);
            let heard = match self.flaw {
                Flaw::Heard => place[0] > 0,
                _ => self.lattice.far(away) <= REACH,
            };
            if heard {
                let vector = match self.flaw {
                    Flaw::LandmarkEdge => [self.lattice.far(away) as f32, 0.0],
                    _ => self.lattice.vector(away),
                };
                edges.hear(BOATS + k, &vector);
            }
        }
    }
    fn scene(&self) -> Result<Scene> {
        Err(Error::Draw("a harbour has no picture".into()))
    }
}

impl Exact for Harbour {
    /// Where the wind blows: one of the moves.
    type Chance = usize;

    fn draw(&self, stream: &mut Stream) -> usize {
        stream.below(self.lattice.moves.len() as u32) as usize
    }
    fn apply(&mut self, actions: &[usize], wind: &usize) -> Outcome {
        let lattice = &*self.lattice;
        for ((boat, moved), &action) in self.boats.iter_mut().zip(&mut self.moved).zip(actions) {
            let ([a, b], [c, d]) = (lattice.moves[action], lattice.moves[*wind]);
            let to = [boat[0] + a + c, boat[1] + b + d];
            let to = if lattice.far(to) <= REACH { to } else { *boat };
            (*moved, *boat) = (minus(to, *boat), to);
        }
        self.steps += 1;
        let nearest = |boat: &Place| self.landmarks.iter().map(|l| lattice.far(minus(*boat, l.0))).min();
        let reward = -self.boats.iter().filter_map(nearest).sum::<i32>();
        let end = if self.steps >= STEP_LIMIT { End::Truncated } else { End::Running };
        Outcome { reward: f64::from(reward), end }
    }
    fn paint(&self, id: u64, out: &mut [f32]) {
        let (far, moved) = Harbour::unpack(id);
        self.paint_seen(far, moved, out);
        if self.flaw == Flaw::SharedId {
            out[0] += (self.steps % 2) as f32;
        }
        if self.flaw == Flaw::Painted {
            out[0] += 1.0;
        }
    }
    fn transform_id(&self, g: Element, id: u64) -> u64 {
        let (far, moved) = Harbour::unpack(id);
        match self.flaw {
            Flaw::Id => id,
            _ => Harbour::pack(far, (self.lattice.turn)(g, moved)),
        }
    }
    fn transformed(&self, g: Element) -> Result<Harbour> {
        let turn = |v: Place| (self.lattice.turn)(g, v);
        let lamp = |v: Place| if self.flaw == Flaw::Lamp { v } else { turn(v) };
        let mut landmarks: Vec<_> =
            self.landmarks.iter().map(|&(place, shines, h)| (turn(place), lamp(shines), h)).collect();
        // Which landmark is which means nothing: in the transformed world they have other numbers.
        landmarks.sort_unstable();
        let (boats, moved) = (self.boats.map(turn), self.moved.map(turn));
        Ok(Harbour { boats, moved, landmarks, ..self.clone() })
    }
    fn transform_chance(&self, g: Element, wind: &usize) -> usize {
        let blows = (self.lattice.turn)(g, self.lattice.moves[*wind]);
        self.lattice.moves.iter().position(|m| *m == blows).unwrap()
    }
    fn save(&self) -> Value {
        let mut landmarks = self.landmarks.clone();
        landmarks.sort_unstable();
        json!({ "boats": self.boats, "moved": self.moved, "landmarks": landmarks, "steps": self.steps })
    }
    fn load(&mut self, state: &Value) -> Result<()> {
        let bad = |e: serde_json::Error| Error::BadState(e.to_string());
        let read = (
            serde_json::from_value(state["boats"].clone()).map_err(bad)?,
            serde_json::from_value(state["moved"].clone()).map_err(bad)?,
            serde_json::from_value(state["landmarks"].clone()).map_err(bad)?,
            serde_json::from_value(state["steps"].clone()).map_err(bad)?,
        );
        (self.boats, self.moved, self.landmarks, self.steps) = read;
        Ok(())
    }
}

#[test]
fn vectors_and_landmarks_pass_under_turns_and_mirrors() {
    for group in ["C4", "D4", "C2", "D1", "C1"] {
        let report = audit(&Harbour::new(Lattice::square(group), Flaw::None), 2_000, 3);
        assert!(report.holds, "{group}: {report:?}");
        assert_eq!(report.elements.len(), group.parse::<Group>().unwrap().order());
    }
}

#[test]
fn sixths_of_a_turn_pass_in_spite_of_rounding() {
    let world = Harbour::new(Lattice::hexagonal(), Flaw::None);
    let report = audit(&world, 2_000, 3);
    assert!(report.holds, "{report:?}");
    assert_eq!(report.elements.len(), 6);
    // They do round: no sixth only permutes and negates, the half turn does.
    let acts = crate::GroupAction::new(world.spec()).unwrap();
    let exact: Vec<bool> = (0..6).map(|g| acts.edge_is_exact(g)).collect();
    assert_eq!(exact, [true, false, false, true, false, false]);
    assert_eq!(exact, (0..6).map(|g| acts.features_are_exact(g, None)).collect::<Vec<_>>());
    assert_eq!(exact, (0..6).map(|g| acts.features_are_exact(g, Some(0))).collect::<Vec<_>>());
}

#[test]
fn what_is_wrong_with_vectors_is_named() {
    for lattice in [|| Lattice::square("C4"), || Lattice::square("D4"), Lattice::hexagonal] {
        for (flaw, words) in [
            (Flaw::Feature, "sees does not transform as its representation says: number 1 should be"),
            (Flaw::Trivial, "in the transformed world agent"),
            (Flaw::LandmarkEdge, "a landmark along"),
            (Flaw::Lamp, "that sends"),
            (Flaw::Heard, "the neighbours of agent"),
            (Flaw::Action, "the step"),
            (Flaw::Action, "] were transformed into ["),
            (Flaw::Id, "in the transformed world agent"),
        ] {
            let report = audit(&Harbour::new(lattice(), flaw), 500, 3);
            assert!(!report.holds && report.elements[0].holds, "{words}: {report:?}");
            assert!(!report.elements[1].holds, "{words}: {report:?}");
            assert!(text(&report, 1).contains(words), "{}", text(&report, 1));
        }
        for (flaw, words) in [
            (Flaw::SharedId, "two observations have one id"),
            (Flaw::Painted, "what agent 0 sees is not what its id"),
            (Flaw::Unwritten, "NaN, NaN]"),
        ] {
            let report = audit(&Harbour::new(lattice(), flaw), 500, 3);
            assert!(text(&report, 0).contains(words), "{}", text(&report, 0));
        }
    }
}

#[test]
fn a_wrong_action_says_which_actions_it_made_of_which() {
    let report = audit(&Harbour::new(Lattice::square("D4"), Flaw::Action), 500, 3);
    assert_eq!(failed(&report), ["r", "r2", "r3", "m", "rm", "r2m", "r3m"]);
    let found = report.elements[1].counterexample.as_ref().unwrap();
    let same = format!("the actions {:?} were transformed into {:?}", found.actions, found.actions);
    assert!(found.text.contains(&same), "{}", found.text);
    // And it can be played again.
    let mut world = Harbour::new(Lattice::square("D4"), Flaw::Action);
    world.load(&found.state).unwrap();
    assert_eq!(world.save(), found.state);
    let wind: usize = found.chance.parse().unwrap();
    let mut there = world.transformed(1).unwrap();
    there.apply(&found.actions, &world.transform_chance(1, &wind));
    world.apply(&found.actions, &wind);
    assert!(!world.transformed(1).unwrap().same_state(&there));
}

#[test]
fn edges_to_landmarks_are_in_the_order_of_their_index() {
    let mut world = Harbour::new(Lattice::square("C4"), Flaw::None);
    world.reset(&mut Stream::new(1, Purpose::World, 0)).unwrap();
    let mut edges = Edges::default();
    world.neighbours(0, &mut edges);
    assert!(edges.from.is_sorted() && edges.vectors.len() == 2 * edges.from.len());
    assert_eq!(world.spec().sender_count(), LANDMARKS);
    let kinds: Vec<Option<usize>> = (0..7).map(|who| world.spec().sender_kind(who)).collect();
    assert_eq!(kinds, [None, None, Some(0), Some(0), Some(0), None, None]);
}
