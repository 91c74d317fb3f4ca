//! A harbour: boats look for free berths.
//!
//! Boats and berths lie on a square of cells. In every step each boat stays or moves to a neighbouring cell, and sometimes a
//! gust of wind pushes all boats one cell further, from any side or always from the same one; a step gives the team 0.1 times the
//! share of berths that are taken. An episode has 50 steps.
//!
//! A boat sees numbers and no picture: whether it lies at a berth, and where it is, seen from the middle. It hears the other
//! boats, and the berths, which do not act: *senders*. Turned or mirrored, the harbour is the same harbour: D4. A wind that always
//! comes from one side breaks that, for a reason that is known: it is declared as a *cause*.

use equimarl_group::{Element, Group, Plane};
use equimarl_worlds::scene::{ActionMark, AgentMark, Colour, Edit, Handle, Scene, Shape, cell_at};
use equimarl_worlds::{
    Actions, Better, Definition, Edges, End, EnvBatch, Envs, Error, Exact, Measure, Opt, Outcome, Over,
    Result, Senders, Settings, Spec, Stream, Symmetries, World, moves,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Down and right, for each action.
const MOVES: [[i32; 2]; 5] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];
const STEP_LIMIT: usize = 50;
const STEP_REWARD: f64 = 0.1;

/// A place: its row and its column.
type Cell = [i32; 2];

/// The state of a harbour, and what never changes about it.
#[derive(Clone)]
pub struct State {
    size: i32,
    boats: Vec<Cell>,
    berths: Vec<Cell>,
    wind: f64,
    /// Where gusts push to, down and right, if that is always the same.
    steady: Option<[i32; 2]>,
    steps: usize,
    spec: Arc<Spec>,
    plane: Arc<Plane>,
}

// ---- What happens.

impl State {
    /// A harbour of `size` x `size` cells with as many berths as boats, without wind, under a group. Until it is reset,
    /// everything is in one corner.
    pub fn new(boats: usize, size: usize, group: &Group) -> Result<State> {
        // Sizes come from people: compare before you calculate, so that nothing can overflow.
        if boats == 0 || !(2..=101).contains(&size) || boats > size * size / 2 {
            return Err(Error::BadWorld(format!(
                "a harbour has 2 to 101 cells per side, and room for its boats and berths; {boats} boats on {size} x {size} \
                 cells do not fit"
            )));
        }
        Ok(State {
            size: size as i32,
            boats: vec![[0, 0]; boats],
            berths: vec![[0, 0]; boats],
            wind: 0.0,
            steady: None,
            steps: 0,
            spec: Arc::new(spec(boats, group)?),
            plane: Arc::new(Plane::new(group)?),
        })
    }

    /// The same harbour, in which this is the probability of a gust in a step, from `any` side or from one of the compass.
    pub fn with_wind(self, wind: f64, from: &str) -> Result<State> {
        if !(0.0..=1.0).contains(&wind) {
            return Err(Error::BadWorld(format!("`wind` is a probability, from 0 to 1, and not {wind}")));
        }
        let steady = match ["north", "west", "south", "east"].iter().position(|side| *side == from) {
            Some(side) => Some(MOVES[1 + side]),
            None if from == "any" => None,
            None => {
                let sides = "any, north, west, south or east";
                return Err(Error::BadWorld(format!("`wind_from` is {sides}, and not `{from}`")));
            }
        };
        let mut spec = (*self.spec).clone();
        if wind > 0.0 && steady.is_some() {
            // What breaks the symmetry turns like the plane.
            spec.cause = "rotation".into();
        }
        Ok(State { wind, steady, spec: Arc::new(spec), ..self })
    }

    fn is_free(&self, berth: Cell) -> bool {
        !self.boats.contains(&berth)
    }

    /// How many berths are free.
    pub fn free(&self) -> usize {
        self.berths.iter().filter(|&&berth| self.is_free(berth)).count()
    }

    /// Where a move takes a boat: walls stop it.
    fn moved(&self, boat: Cell, by: [i32; 2]) -> Cell {
        [0, 1].map(|k| (boat[k] + by[k]).clamp(0, self.size - 1))
    }

    fn outcome(&self) -> Outcome {
        let taken = (self.berths.len() - self.free()) as f64 / self.berths.len() as f64;
        let end = if self.steps >= STEP_LIMIT { End::Truncated } else { End::Running };
        Outcome { reward: STEP_REWARD * taken, end }
    }

    /// The rule of the controller `nearest`, as probabilities of actions: a boat that lies alone at a berth stays; any other
    /// goes to the nearest free berth, whichever way is as short as any. Boats that share a berth draw lots.
    pub fn nearest(&self, boat: Cell) -> [f64; MOVES.len()] {
        let distance = |action: usize| {
            let [row, col] = self.moved(boat, MOVES[action]);
            let free = self.berths.iter().filter(|&&berth| self.is_free(berth));
            free.map(|berth| (berth[0] - row).abs() + (berth[1] - col).abs()).min().unwrap_or(0)
        };
        let least = (0..MOVES.len()).map(distance).min().unwrap_or(0);
        let ways = (0..MOVES.len()).filter(|&action| distance(action) == least).count();
        let goes = match (self.berths.contains(&boat), self.boats.iter().filter(|&&b| b == boat).count()) {
            (true, 1) => 0.0,
            (true, _) => 0.5,
            (false, _) => 1.0,
        };
        let mut chosen = [0.0; MOVES.len()];
        chosen[0] = 1.0 - goes;
        for action in (0..MOVES.len()).filter(|&action| distance(action) == least) {
            chosen[action] += goes / ways as f64;
        }
        chosen
    }

    /// Where the boats are.
    pub fn boats(&self) -> &[Cell] {
        &self.boats
    }
}

/// From one cell to another, down and right. In cells, so that a step is 1: networks hardly notice much smaller numbers.
fn vector(from: Cell, to: Cell) -> [f32; 2] {
    [0, 1].map(|k| (to[k] - from[k]) as f32)
}

// ---- What everybody else needs to know: the declaration.

fn spec(boats: usize, group: &Group) -> Result<Spec> {
    let names = ["stay", "down", "right", "up", "left"].map(String::from).to_vec();
    // In a scene x grows to the right and y downwards.
    let arrow = |[down, right]: [i32; 2]| ActionMark::Arrow([right as f32, down as f32]);
    let marks = MOVES.map(|step| if step == [0, 0] { ActionMark::Stay } else { arrow(step) }).to_vec();
    Ok(Spec {
        // Whether it lies at a berth does not turn; where it is turns like the plane.
        features: "trivial + rotation".into(),
        senders: vec![Senders { kind: "berth".into(), count: boats, features: "trivial".into() }],
        measures: vec![Measure {
            name: "free".into(),
            title: "free berths".into(),
            unit: "berths".into(),
            better: Better::Lower,
            over: Over::Steps,
            first: false,
        }],
        thresholds: vec![2.0, 3.0, 4.0],
        controllers: vec!["nearest".into()],
        references: vec!["nearest".into()],
        ..Spec::new("harbour", boats, group, Actions::Choice { names, rep: moves(group, &MOVES)?, marks })
    })
}

impl World for State {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        // Every berth has a cell of its own, and every boat a cell that is no berth.
        let cells = (self.size * self.size) as u32;
        let mut taken: Vec<Cell> = vec![];
        for _ in 0..self.boats.len() + self.berths.len() {
            let cell = loop {
                let number = stream.below(cells) as i32;
                let cell = [number / self.size, number % self.size];
                if !taken.contains(&cell) {
                    break cell;
                }
            };
            taken.push(cell);
        }
        self.boats = taken.split_off(self.berths.len());
        self.berths = taken;
        self.steps = 0;
        Ok(())
    }

    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        Ok(self.drawn_step(actions, stream))
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        match self.boats.get(who) {
            Some(&boat) => {
                // Twice the offset from the middle is a whole number, so a turn changes nothing but signs and order.
                let offset = [0, 1].map(|k| (2 * boat[k] - (self.size - 1)) as f32 / self.size as f32);
                out[0] = f32::from(u8::from(self.berths.contains(&boat)));
                out[1..].copy_from_slice(&offset);
            }
            // Senders come after the agents.
            None => out[0] = f32::from(u8::from(self.is_free(self.berths[who - self.boats.len()]))),
        }
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let here = self.boats[agent];
        for (other, &boat) in self.boats.iter().enumerate().filter(|(other, _)| *other != agent) {
            edges.hear(other, &vector(boat, here));
        }
        for (berth, &cell) in self.berths.iter().enumerate() {
            edges.hear(self.boats.len() + berth, &vector(cell, here));
        }
    }

    /// A steady wind as a vector, as long as it is strong. Networks are told of it with `--method cause`.
    fn cause(&self, out: &mut [f32]) {
        out.copy_from_slice(&self.steady.unwrap_or_default().map(|v| v as f32 * self.wind as f32));
    }

    fn measure(&self, _which: usize, _end: End) -> Option<f64> {
        Some(self.free() as f64)
    }

    fn control(&self, controller: &str, stream: &mut Stream, actions: &mut [usize]) -> Result<()> {
        if controller != "nearest" {
            return Err(Error::BadWorld(format!("a harbour has no controller `{controller}`")));
        }
        for (action, &boat) in actions.iter_mut().zip(self.boats()) {
            let mut left = stream.unit();
            let passed = |p: &f64| {
                left -= p;
                left < 0.0
            };
            *action = self.nearest(boat).iter().position(passed).unwrap_or(0);
        }
        Ok(())
    }

    fn scene(&self) -> Result<Scene> {
        let side = self.size as f32;
        let mut scene = Scene::new(side, side);
        let water = Shape::Rect { corner: [0.0, 0.0], size: [side, side], radius: 0.2 };
        scene.add("water", water, Colour(225, 238, 245));
        let middle = |[row, col]: Cell| [col as f32 + 0.5, row as f32 + 0.5];
        for (i, &berth) in self.berths.iter().enumerate() {
            let free = self.is_free(berth);
            let [x, y] = middle(berth);
            let shape = Shape::Rect { corner: [x - 0.42, y - 0.42], size: [0.84, 0.84], radius: 0.1 };
            let colour = if free { Colour::WHITE } else { Colour::GREEN };
            let title = format!("berth {i}, {}", if free { "free" } else { "taken" });
            scene.thing(title, Handle::drag(format!("berth {i}")), |scene| {
                scene.add_rimmed("berth", shape, colour, Colour::INK, 0.05);
            });
        }
        for (i, &boat) in self.boats.iter().enumerate() {
            let centre = middle(boat);
            scene.agents.push(AgentMark { at: centre, radius: 0.32 });
            scene.thing(format!("boat {i}"), Handle::drag(format!("boat {i}")), |scene| {
                scene.add("boat", Shape::Circle { centre, radius: 0.32 }, Colour::BLUE);
                scene.add(
                    "number",
                    Shape::Label { centre, height: 0.26, text: i.to_string() },
                    Colour::WHITE,
                );
            });
        }
        Ok(scene)
    }
}

// ---- Chance, and how the group acts on states. How it acts on agents and actions follows from the declaration.

impl State {
    fn transformed_cell(&self, g: Element, [row, col]: Cell) -> Cell {
        let [row, col] = self.plane.pixel(g, self.size as usize, [row as usize, col as usize]);
        [row as i32, col as i32]
    }
}

impl Exact for State {
    /// Where the wind pushes all boats in a step: down and right.
    type Chance = [i32; 2];

    fn draw(&self, stream: &mut Stream) -> [i32; 2] {
        // A harbour without wind draws nothing, as before there was wind: old runs go on with the same episodes.
        if self.wind == 0.0 {
            return [0, 0];
        }
        let (blows, way) = (stream.unit() < self.wind, stream.below(4) as usize);
        if blows { self.steady.unwrap_or(MOVES[1 + way]) } else { [0, 0] }
    }

    /// All gusts with their probabilities, so that a check can say by how much a steady wind breaks the symmetry.
    fn chances(&self) -> Option<Vec<([i32; 2], f64)>> {
        let share = |gust| match self.steady {
            Some(steady) => f64::from(u8::from(gust == steady)),
            None => 0.25,
        };
        let gusts = MOVES[1..].iter().map(|&gust| (gust, self.wind * share(gust)));
        Some([([0, 0], 1.0 - self.wind)].into_iter().chain(gusts).collect())
    }

    fn apply(&mut self, actions: &[usize], gust: &[i32; 2]) -> Outcome {
        let moved = |(&boat, &action)| self.moved(self.moved(boat, MOVES[action]), *gust);
        self.boats = self.boats.iter().zip(actions).map(moved).collect();
        self.steps += 1;
        self.outcome()
    }

    fn transformed(&self, g: Element) -> Result<State> {
        let all = |cells: &[Cell]| cells.iter().map(|&cell| self.transformed_cell(g, cell)).collect();
        Ok(State { boats: all(&self.boats), berths: all(&self.berths), ..self.clone() })
    }

    /// In the turned harbour the same gust blows the turned way.
    fn transform_chance(&self, g: Element, gust: &[i32; 2]) -> [i32; 2] {
        self.plane.vector(g, *gust)
    }

    /// The wind stays when the harbour is turned; here it turns as well.
    fn transform_cause(&mut self, g: Element) {
        self.steady = self.steady.map(|wind| self.plane.vector(g, wind));
    }

    fn save(&self) -> Value {
        json!({ "boats": self.boats, "berths": self.berths, "steps": self.steps })
    }

    fn load(&mut self, state: &Value) -> Result<()> {
        let bad = |why: &str| Error::BadState(why.into());
        let cells = |key: &str| serde_json::from_value::<Vec<Cell>>(state[key].clone());
        let (Ok(boats), Ok(berths), Some(steps)) = (cells("boats"), cells("berths"), state["steps"].as_u64())
        else {
            return Err(bad("it has no boats, berths and steps"));
        };
        let inside = |cell: &Cell| cell.iter().all(|v| (0..self.size).contains(v));
        if (boats.len(), berths.len()) != (self.boats.len(), self.berths.len()) {
            return Err(bad("it has another number of boats or berths"));
        }
        if !boats.iter().chain(&berths).all(inside) || steps as usize > STEP_LIMIT {
            return Err(bad("something is outside of the harbour, or the episode is too long"));
        }
        (self.boats, self.berths, self.steps) = (boats, berths, steps as usize);
        Ok(())
    }

    fn edit(&mut self, edit: &Edit) -> Result<()> {
        let side = self.size as usize;
        let [row, col] =
            cell_at(edit.target()?, [side, side], 0.0).ok_or_else(|| edit.outside("the harbour"))?;
        let cell = [row as i32, col as i32];
        if let Some(boat) = edit.number("boat").and_then(|i| self.boats.get_mut(i)) {
            *boat = cell;
            return Ok(());
        }
        let Some(berth) = edit.number("berth").filter(|i| *i < self.berths.len()) else {
            return Err(edit.unknown("boats and berths"));
        };
        if self.berths.iter().enumerate().any(|(i, &other)| i != berth && other == cell) {
            return Err(edit.refused([row, col], "another berth is there"));
        }
        self.berths[berth] = cell;
        Ok(())
    }
}

// ---- The entry in the list of worlds.

/// The harbour, for [`equimarl_worlds::Registry::with`].
pub struct Harbour;

impl Definition for Harbour {
    fn name(&self) -> &'static str {
        "harbour"
    }

    fn about(&self) -> &'static str {
        "Boats look for free berths."
    }

    fn options(&self) -> Vec<Opt> {
        vec![
            Opt::new("boats", 3usize, "N", "the number of boats, and of berths"),
            Opt::new("size", 7usize, "S", "cells per side of the harbour"),
            // It came later: runs and models from before it mean a harbour without wind.
            Opt::new("wind", 0.0, "P", "the probability of a gust, which pushes all boats one cell")
                .added_later(0.0),
            Opt::new(
                "wind_from",
                "any",
                "SIDE",
                "the side that gusts come from: any, north, west, south or east",
            )
            .added_later("any"),
        ]
    }

    fn symmetries(&self, _settings: &Settings) -> Symmetries {
        Symmetries { largest: "D4".into(), usual: "D4".into() }
    }

    /// All episodes have 50 steps: without a warm-up, environments would be in the same part of theirs all the time. What a
    /// boat does pays within a few steps, so a short view learns faster.
    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[("default", "warm_up = 50\ndiscount = 0.95")]
    }

    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        let state = State::new(settings.whole("boats")?, settings.whole("size")?, group)?;
        Ok(Box::new(EnvBatch::of(
            &state.with_wind(settings.number("wind")?, settings.text("wind_from")?)?,
            count,
        )))
    }
}
