//! The declaration: what junctions see, do and hear, and how turns act on it.

use crate::city::{City, LANES, PHASES};
use crate::options::Options;
use crate::symmetry::{Turns, group as largest, turned, turned_phase, turns, words};
use equimarl_group::{Element, Group, Plane};
use equimarl_worlds::scene::ActionMark;
use equimarl_worlds::{Actions, Better, Error, Links, Measure, Over, Result, Spec, permutation};
use std::sync::Arc;

/// Numbers per approach: nine for each lane, and three for all of it.
pub const PER_APPROACH: usize = LANES * 9 + 3;

/// What is measured: name, words, unit, which way is better.
pub const MEASURES: [(&str, &str, &str, Better); 9] = [
    ("time_loss", "mean time loss", "seconds", Better::Lower),
    ("travel_time", "mean travel time", "seconds", Better::Lower),
    ("waiting", "mean waiting time", "seconds", Better::Lower),
    ("stops", "mean number of stops", "", Better::Lower),
    ("queue", "vehicles that stand", "vehicles", Better::Lower),
    ("throughput", "vehicles that arrived", "vehicles", Better::Higher),
    ("depart_delay", "mean delay before coming in", "seconds", Better::Lower),
    ("not_inserted", "vehicles that could not come in", "vehicles", Better::Lower),
    ("teleports", "vehicles taken out of jams", "vehicles", Better::Lower),
];

/// A declaration, and what is known of the net before there is one.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The declaration.
    pub spec: Arc<Spec>,
    /// Where junctions are; x to the right, y upwards.
    pub places: Vec<[f64; 2]>,
    /// Whom each hears.
    pub neighbours: Vec<Vec<usize>>,
}

/// How many quarter turns counter-clockwise an element is.
///
/// # Errors
/// If it is none: a mirror.
pub fn quarters(plane: &Plane, group: &Group, g: Element) -> Result<usize> {
    let compass = [[0, 1], [-1, 0], [0, -1], [1, 0]];
    let image = |k: usize| compass.iter().position(|v| *v == plane.vector(g, compass[k]));
    match (image(0), image(1)) {
        (Some(east), Some(north)) if north == (east + 1) % 4 => Ok(east),
        _ => Err(Error::BadWorld(format!(
            "{group} has more than quarter turns, and SUMO has not: vehicles keep to one side, so a mirrored city is another one; \
             use C4 or C2"
        ))),
    }
}

impl Declared {
    /// The world with these settings under a group.
    ///
    /// # Errors
    /// If the settings do not make one, or the group is not one of turns.
    pub fn new(options: &Options, group: &Group) -> Result<Declared> {
        let plane = Plane::new(group)?;
        let quarter = |g: Element| quarters(&plane, group, g);
        group.elements().try_for_each(|g| quarter(g).map(drop))?;
        let turn = |g: Element| quarter(g).unwrap_or(0);
        let (places, neighbours, found) = match options.is_grid() {
            true => grid(options),
            false => {
                let city = options.own_city()?;
                let places = city.junctions.iter().map(|j| city.net.nodes[j.node].at).collect();
                (places, city.neighbours.clone(), moves(&turns(&city)))
            }
        };
        let moved = |&g: &Element| match turn(g) {
            0 => Some((0..places.len()).collect()),
            q => found[q - 1].clone(),
        };
        let agent_moves: Option<Vec<Vec<usize>>> = group.generators().iter().map(moved).collect();
        let side = permutation(group, 4, |g, k| (k + turn(g)) % 4);
        let phase = permutation(group, PHASES, |g, k| turned_phase(turn(g), k));
        let features = match side.contains("perm") {
            true => format!("{PER_APPROACH}*{side} + 2*{phase} + trivial"),
            false => format!("{}*trivial", 4 * PER_APPROACH + 2 * PHASES + 1),
        };
        let (names, marks) = actions();
        let measure = |(name, title, unit, better): (&str, &str, &str, Better)| Measure {
            name: name.into(),
            title: title.into(),
            unit: unit.into(),
            better,
            over: if name == "queue" { Over::Steps } else { Over::Episode },
            first: name == "time_loss",
        };
        let controllers = [
            "program",
            "fixed-cycle:DECISIONS",
            "actuated",
            "two-phase-actuated",
            "longest-queue",
            "max-pressure",
        ];
        let spec = Spec {
            agent_moves,
            features,
            legal: (0..PHASES).map(|k| 4 * PER_APPROACH + PHASES + k).collect(),
            measures: MEASURES.map(measure).to_vec(),
            alarms: ["depart_delay", "not_inserted", "teleports"].map(String::from).to_vec(),
            controllers: controllers.map(String::from).to_vec(),
            references: ["two-phase-actuated", "max-pressure"].map(String::from).to_vec(),
            links: Links::Fixed,
            ..Spec::new("sumo", places.len(), group, Actions::Choice { names, rep: phase, marks })
        };
        Ok(Declared { spec: Arc::new(spec), places, neighbours })
    }

    /// That a net that is there is what was declared.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, city: &City) -> Result<()> {
        if city.junctions.len() != self.spec.agents {
            return Err(Error::BadWorld(format!(
                "the net has {} junctions with lights, and {} were declared: was its file changed?",
                city.junctions.len(),
                self.spec.agents
            )));
        }
        if self.spec.agent_moves.is_some() && !self.spec.group.starts_with("C1") {
            let found = turns(city);
            let group = largest(&found);
            let enough = group == "C4" || group == self.spec.group;
            if !enough {
                return Err(Error::BadWorld(format!(
                    "the net has the symmetry {group} and not {}: {}",
                    self.spec.group,
                    words(&found)
                )));
            }
        }
        Ok(())
    }
}

type Moves = [Option<Vec<usize>>; 3];

fn moves(turns: &Turns) -> Moves {
    [0, 1, 2].map(|k| turns[k].as_ref().ok().map(|t| t.junctions.clone()))
}

/// Places and neighbours of a grid, and where turns take its junctions.
fn grid(options: &Options) -> (Vec<[f64; 2]>, Vec<Vec<usize>>, Moves) {
    let [rows, cols] = options.grid;
    let place = |i: usize| [(i % cols) as f64, (rows - 1 - i / cols) as f64].map(|x| x * options.length);
    let places: Vec<[f64; 2]> = (0..rows * cols).map(place).collect();
    let near = |a: [f64; 2], b: [f64; 2]| {
        let distance = (a[0] - b[0]).abs() + (a[1] - b[1]).abs();
        (distance - options.length).abs() < 1.0
    };
    let heard = |i: usize| (0..places.len()).filter(|&j| near(places[i], places[j])).collect();
    let centre = [(cols - 1) as f64, (rows - 1) as f64].map(|n| n * options.length / 2.0);
    let moves = [1, 2, 3].map(|q| {
        let image = |&p: &[f64; 2]| {
            let to = turned(q, p, centre);
            places.iter().position(|o| (o[0] - to[0]).abs() + (o[1] - to[1]).abs() < 1.0)
        };
        places.iter().map(image).collect()
    });
    ((places.clone()), (0..places.len()).map(heard).collect(), moves)
}

/// Names of phases, and what they look like around a junction.
fn actions() -> (Vec<String>, Vec<ActionMark>) {
    let bar = |from: [f32; 2], to: [f32; 2]| ActionMark::Bar { from, to };
    let reach = 0.45;
    // x to the right and y downwards.
    let compass = [[reach, 0.0], [0.0, -reach], [-reach, 0.0], [0.0, reach]];
    let names =
        ["east-west", "north-south", "east-west left", "north-south left", "east", "north", "west", "south"];
    let marks = (0..PHASES).map(|k| match k {
        0 | 1 => bar(compass[k], compass[k + 2]),
        2 | 3 => bar(compass[k - 2].map(|x| x / 2.0), compass[k].map(|x| x / 2.0)),
        _ => bar([0.0, 0.0], compass[k - 4]),
    });
    (names.map(String::from).to_vec(), marks.collect())
}
