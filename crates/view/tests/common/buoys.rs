//! A world from elsewhere: boats on a lake that hear buoys. Agents see numbers, nothing is an image.
//!
//! The lake is a square of odd side around its middle. A boat knows where the middle is, and hears every buoy and every
//! boat; the team is paid for boats that stand on buoys.

use equimarl_group::{Element, Group, Plane};
use equimarl_worlds::scene::{ActionMark, AgentMark, Colour, Edit, Handle, Scene, Shape, cell_at};
use equimarl_worlds::{
    Actions, Better, Definition, Edges, End, EnvBatch, Envs, Error, Exact, Loose, Measure, Opt, Outcome,
    Over, Result, Senders, Settings, Spec, Stream, Symmetries, World, moves,
};
use serde_json::{Value, json};
use std::sync::Arc;

const STEPS: [[i32; 2]; 5] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];
const LIMIT: usize = 30;

/// The list's entry; without exactness if the field says so.
pub struct Buoys {
    pub name: &'static str,
    pub exact: bool,
}

impl Definition for Buoys {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        "Boats look for buoys."
    }

    fn options(&self) -> Vec<Opt> {
        vec![
            Opt::new("boats", 2usize, "N", "how many boats"),
            Opt::new("half", 3usize, "N", "cells from the middle to the shore"),
            Opt::new("gain", 1.0, "X", "what a boat on a buoy is worth"),
            Opt::new("calm", true, "FLAG", "whether boats stay where they want to"),
            Opt::new("flag", "blue", "NAME", "the colour of the boats"),
        ]
    }

    fn symmetries(&self, _: &Settings) -> Symmetries {
        Symmetries { largest: "D4".into(), usual: "C4".into() }
    }

    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        let lake = Lake::new(self.name, settings, group)?;
        match self.exact {
            true => Ok(Box::new(EnvBatch::of(&lake, count))),
            false => Ok(Box::new(Loose::new(vec![lake; count])?)),
        }
    }
}

/// Places are (row, column) seen from the middle.
#[derive(Clone)]
pub struct Lake {
    spec: Arc<Spec>,
    plane: Plane,
    half: i32,
    gain: f64,
    boats: Vec<[i32; 2]>,
    buoys: Vec<[i32; 2]>,
    steps: usize,
}

impl Lake {
    fn new(name: &str, settings: &Settings, group: &Group) -> Result<Lake> {
        let (boats, half) = (settings.whole("boats")?, settings.whole("half")?);
        if boats == 0 || !(1..=200).contains(&half) || settings.text("flag")?.is_empty() {
            return Err(Error::BadWorld("a lake has a boat, a shore within 200 cells, and a flag".into()));
        }
        settings.flag("calm")?;
        let names = ["stay", "down", "right", "up", "left"].map(String::from).to_vec();
        let arrow = |[dr, dc]: [i32; 2]| match [dr, dc] {
            [0, 0] => ActionMark::Stay,
            _ => ActionMark::Arrow([dc as f32, dr as f32]),
        };
        let actions = Actions::Choice { names, rep: moves(group, &STEPS)?, marks: STEPS.map(arrow).to_vec() };
        // Vectors are [down, right], as the plane has them.
        let turns: Vec<String> =
            group.generators().iter().map(|&g| matrix(group, g)).collect::<Result<_>>()?;
        let plane =
            if turns.is_empty() { "2*trivial".into() } else { format!("matrix[{}]", turns.join("; ")) };
        let found = Measure {
            name: "found".into(),
            title: "boats on buoys".into(),
            unit: "boats".into(),
            better: Better::Higher,
            over: Over::Steps,
            first: true,
        };
        let aground = Measure {
            name: "aground".into(),
            title: "boats that end at the shore".into(),
            better: Better::Lower,
            over: Over::Episode,
            first: false,
            ..found.clone()
        };
        let spec = Spec {
            features: format!("trivial + {plane}"),
            senders: vec![Senders { kind: "buoy".into(), count: 2, features: "trivial".into() }],
            edge: plane,
            measures: vec![found, aground],
            alarms: vec!["aground".into()],
            ..Spec::new(name, boats, group, actions)
        };
        Ok(Lake {
            spec: Arc::new(spec),
            plane: Plane::new(group)?,
            half: half as i32,
            gain: settings.number("gain")?,
            boats: vec![[0, 0]; boats],
            buoys: vec![[1, 0], [0, 1]],
            steps: 0,
        })
    }

    fn found(&self) -> usize {
        self.boats.iter().filter(|boat| self.buoys.contains(boat)).count()
    }

    fn aground(&self) -> usize {
        self.boats.iter().filter(|boat| boat.iter().any(|v| v.abs() == self.half)).count()
    }

    fn inside(&self, place: &[i32; 2]) -> bool {
        place.iter().all(|v| v.abs() <= self.half)
    }

    fn point(&self, [r, c]: [i32; 2]) -> [f32; 2] {
        [(c + self.half) as f32 + 0.5, (r + self.half) as f32 + 0.5]
    }
}

fn matrix(group: &Group, g: Element) -> Result<String> {
    let [[a, b], [c, d]] = Plane::new(group)?.matrix(g);
    Ok(format!("{a} {b}, {c} {d}"))
}

impl World for Lake {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        let side = 2 * self.half as u32 + 1;
        let half = self.half;
        let mut place = || [stream.below(side) as i32 - half, stream.below(side) as i32 - half];
        self.boats.iter_mut().chain(&mut self.buoys).for_each(|v| *v = place());
        self.steps = 0;
        Ok(())
    }

    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        Ok(self.drawn_step(actions, stream))
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        match self.boats.get(who) {
            Some([r, c]) => out.copy_from_slice(&[self.steps as f32 / LIMIT as f32, -r as f32, -c as f32]),
            None => out.fill(1.0),
        }
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let [r, c] = self.boats[agent];
        for (k, [sr, sc]) in self.boats.iter().chain(&self.buoys).enumerate() {
            if k != agent {
                edges.hear(k, &[(r - sr) as f32, (c - sc) as f32]);
            }
        }
    }

    fn measure(&self, which: usize, end: End) -> Option<f64> {
        match which {
            0 => Some(self.found() as f64),
            _ => (end == End::Truncated).then(|| self.aground() as f64),
        }
    }

    fn scene(&self) -> Result<Scene> {
        let side = (2 * self.half + 1) as f32;
        let mut scene = Scene::new(side, side);
        for r in -self.half..=self.half {
            for c in -self.half..=self.half {
                let [x, y] = self.point([r, c]);
                let cell = Shape::Rect { corner: [x - 0.48, y - 0.48], size: [0.96; 2], radius: 0.1 };
                scene.add("water", cell, Colour(225, 238, 246));
            }
        }
        for (k, &buoy) in self.buoys.iter().enumerate() {
            let disc = Shape::Circle { centre: self.point(buoy), radius: 0.2 };
            scene.thing(format!("Buoy {k}"), Handle::drag(format!("buoy {k}")), |scene| {
                scene.add("buoy", disc, Colour::VERMILLION);
            });
        }
        for (k, &boat) in self.boats.iter().enumerate() {
            let (centre, text) = (self.point(boat), k.to_string());
            scene.thing(format!("Boat {k}"), Handle::drag(format!("boat {k}")), |scene| {
                scene.add("boat", Shape::Circle { centre, radius: 0.35 }, Colour::BLUE);
                scene.add("number", Shape::Label { centre, height: 0.25, text }, Colour::WHITE);
            });
        }
        scene.agents = self.boats.iter().map(|&b| AgentMark { at: self.point(b), radius: 0.4 }).collect();
        Ok(scene)
    }
}

impl Exact for Lake {
    type Chance = ();

    fn draw(&self, _: &mut Stream) {}

    fn apply(&mut self, actions: &[usize], (): &()) -> Outcome {
        for k in 0..self.boats.len() {
            let [dr, dc] = STEPS[actions[k]];
            let to = [self.boats[k][0] + dr, self.boats[k][1] + dc];
            if self.inside(&to) {
                self.boats[k] = to;
            }
        }
        self.steps += 1;
        let end = if self.steps >= LIMIT { End::Truncated } else { End::Running };
        Outcome { reward: self.gain * self.found() as f64, end }
    }

    fn transformed(&self, g: Element) -> Result<Lake> {
        let turn = |all: &[[i32; 2]]| all.iter().map(|&v| self.plane.vector(g, v)).collect();
        Ok(Lake { boats: turn(&self.boats), buoys: turn(&self.buoys), ..self.clone() })
    }

    fn transform_chance(&self, _: Element, (): &()) {}

    fn save(&self) -> Value {
        json!({ "boats": self.boats, "buoys": self.buoys, "steps": self.steps })
    }

    fn load(&mut self, state: &Value) -> Result<()> {
        let bad = |what: &str| Error::BadState(format!("its {what} are no places on this lake"));
        let places = |what: &str, count: usize| -> Result<Vec<[i32; 2]>> {
            let found: Vec<[i32; 2]> = serde_json::from_value(state[what].clone()).map_err(|_| bad(what))?;
            let fits = found.len() == count && found.iter().all(|place| self.inside(place));
            fits.then_some(found).ok_or_else(|| bad(what))
        };
        let (boats, buoys) = (places("boats", self.boats.len())?, places("buoys", 2)?);
        let steps = state["steps"].as_u64().filter(|n| *n <= LIMIT as u64).ok_or_else(|| bad("steps"))?;
        (self.boats, self.buoys, self.steps) = (boats, buoys, steps as usize);
        Ok(())
    }

    fn edit(&mut self, edit: &Edit) -> Result<()> {
        let side = 2 * self.half as usize + 1;
        let count = self.boats.len();
        let boat = edit.number("boat").filter(|&k| k < count);
        let buoy = edit.number("buoy").filter(|&k| k < 2);
        if boat.or(buoy).is_none() {
            return Err(edit.unknown("boats and buoys"));
        }
        let Some([row, col]) = cell_at(edit.target()?, [side, side], 0.0) else {
            return Err(edit.outside("the lake"));
        };
        let place = [row as i32 - self.half, col as i32 - self.half];
        match (boat, buoy) {
            (Some(k), _) => self.boats[k] = place,
            (_, Some(k)) => self.buoys[k] = place,
            _ => {}
        }
        Ok(())
    }
}
