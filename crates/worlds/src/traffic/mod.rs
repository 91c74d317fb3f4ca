//! Traffic lights: junctions that learn when to give way, so that vehicles wait less.
//!
//! ```text
//! reward = -(1/1000) mean waiting time of the vehicles in the system
//! ```
//!
//! R x C junctions stand on a grid of one-way lanes. Each junction chooses which pair of lanes has green; vehicles
//! arrive from outside, drive straight on and leave. All rules are decided at once from the positions before the
//! moves, so nothing depends on the order in which anything is stored, and the world is exactly symmetric under
//! quarter turns (R = C) or the half turn (any R, C).
//!
//! ```
//! use equimarl_worlds::{Purpose, Stream, World, traffic::{Traffic, TrafficOptions}};
//! let mut world = Traffic::new(TrafficOptions::default())?;
//! world.reset(&mut Stream::new(0, Purpose::World, 0));
//! let outcome = world.step(&[0, 1, 1, 0], &());
//! assert!(outcome.reward <= 0.0);
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod arrivals;
mod controllers;
mod edit;
mod lanes;
mod measures;
#[cfg(test)]
mod oracle;
mod picture;
mod rules;
mod save;
mod symmetry;
#[cfg(test)]
mod tests;
mod vehicle;

pub use arrivals::Arrival;
pub use controllers::{FixedCycle, LongestQueue, MaxPressure, traffic_controller};
pub use measures::TrafficMeasures;
pub use picture::JunctionKey;
pub use vehicle::{Finished, Left, Vehicle};

use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::world::{Edge, Outcome, PictureShape, Symmetry, World};
use arrivals::Road;
use equimarl_group::Group;
use lanes::Map;
use rules::Scratch;
use serde_json::Value;

/// More junctions than this do not fit the memory of ordinary machines.
const MAX_JUNCTIONS: usize = 1_000_000;
/// The most arrivals that may be drawn at a reset.
const MAX_DRAWS: usize = 100_000_000;

/// What makes a traffic world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficOptions {
    /// Rows of junctions.
    pub rows: usize,
    /// Columns of junctions.
    pub cols: usize,
    /// Vehicles arrive in steps 0..`arrival_steps`.
    pub arrival_steps: usize,
    /// The probability that a vehicle arrives, per entry lane and step.
    pub arrival_probability: f64,
    /// The episode is cut off after this many steps.
    pub step_limit: usize,
}

impl Default for TrafficOptions {
    /// The paper's world.
    fn default() -> Self {
        TrafficOptions { rows: 2, cols: 2, arrival_steps: 100, arrival_probability: 0.1, step_limit: 500 }
    }
}

/// The traffic world and its state.
#[derive(Clone, Debug)]
pub struct Traffic {
    options: TrafficOptions,
    map: Map,
    symmetry: Symmetry,
    /// Per junction, row-major: where each lane's own vehicles are (see `lanes` for the bits).
    own: Vec<u32>,
    /// The marked ones among them.
    marked: Vec<u32>,
    /// Bit 7 of a lane's byte: its light is red. Gap cells have their vehicles in `own`, so nothing collides.
    red: Vec<u32>,
    roads: Vec<Road>,
    /// The log of all lanes, see `arrivals`.
    log: Vec<i64>,
    /// Steps taken so far.
    now: i64,
    /// Vehicles that have not entered yet.
    pending: usize,
    inside: usize,
    /// The waiting times of the vehicles inside, summed.
    waiting: i64,
    finished: Finished,
    /// The vehicles that left in the last step.
    left: Vec<Left>,
    scratch: Scratch,
}

impl Traffic {
    /// The world with no vehicles yet, under the symmetry it has: C4 if rows = cols, C2 otherwise.
    ///
    /// # Errors
    /// If the options do not make a world.
    pub fn new(options: TrafficOptions) -> Result<Traffic> {
        check(&options)?;
        let map = Map { rows: options.rows, cols: options.cols };
        let group = if map.rows == map.cols { "C4" } else { "C2" };
        let mut world = Traffic {
            options,
            map,
            symmetry: Symmetry::named(group)?,
            own: vec![0; map.junctions()],
            marked: vec![0; map.junctions()],
            red: vec![picture::red(0); map.junctions()],
            roads: (0..map.lanes()).map(|l| Road::new(map, l)).collect(),
            log: Vec::new(),
            now: 0,
            pending: 0,
            inside: 0,
            waiting: 0,
            finished: Finished::default(),
            left: Vec::with_capacity(map.lanes()),
            scratch: Scratch::new(map),
        };
        world.clear();
        Ok(world)
    }

    /// The same world asked to have the symmetry `group`; an audit tells whether it has.
    ///
    /// # Errors
    /// If the group does not act on the plane.
    pub fn under(mut self, group: &Group) -> Result<Traffic> {
        self.symmetry = Symmetry::new(group)?;
        Ok(self)
    }

    /// The options that made this world.
    pub fn options(&self) -> &TrafficOptions {
        &self.options
    }

    /// The world's height and width in cells.
    pub fn cells(&self) -> (usize, usize) {
        (self.map.height(), self.map.width())
    }

    /// Whether (row, col) belongs to a lane.
    pub fn is_lane(&self, row: usize, col: usize) -> bool {
        picture::is_lane(row, col) && row < self.map.height() && col < self.map.width()
    }

    /// The number of steps since the episode began.
    pub fn steps(&self) -> usize {
        self.now as usize
    }

    /// The phase that a junction shows: 0 is green for columns, 1 green for rows.
    pub fn phase(&self, junction: usize) -> usize {
        usize::from(self.red[junction] != picture::red(0))
    }

    /// The number of vehicles in the system.
    pub fn inside(&self) -> usize {
        self.inside
    }

    /// The number of vehicles of the schedule that have not entered, whether they wait outside already or not.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// What the vehicles that have left amount to.
    pub fn finished(&self) -> &Finished {
        &self.finished
    }

    /// The vehicles that left in the last step, in no particular order.
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// The mean waiting time so far of the vehicles in the system; 0 if there are none.
    pub fn mean_waiting(&self) -> f64 {
        if self.inside == 0 {
            return 0.0;
        }
        self.waiting as f64 / self.inside as f64
    }

    /// Forgets all vehicles, waiting and to come; step 0, all junctions in phase 0.
    fn clear(&mut self) {
        self.own.fill(0);
        self.marked.fill(0);
        self.red.fill(picture::red(0));
        self.log.clear();
        self.roads.iter_mut().for_each(|road| road.clear(0));
        (self.now, self.pending, self.inside, self.waiting) = (0, 0, 0, 0);
        self.finished = Finished::default();
        self.left.clear();
    }
}

impl World for Traffic {
    /// All chance is in the arrivals, and those are drawn at reset.
    type Chance = ();
    type Key = JunctionKey;

    fn agents(&self) -> usize {
        self.map.junctions()
    }

    fn actions(&self) -> usize {
        2
    }

    fn picture_shape(&self) -> PictureShape {
        picture::shape(1, 1)
    }

    fn reset(&mut self, stream: &mut Stream) {
        self.clear();
        self.draw_arrivals(stream);
    }

    fn draw(&self, _stream: &mut Stream) {}

    fn step(&mut self, actions: &[usize], _chance: &()) -> Outcome {
        self.advance(actions)
    }

    fn observation_key(&self, agent: usize) -> JunctionKey {
        JunctionKey::new(self.own[agent], self.red[agent])
    }

    fn render(&self, key: &JunctionKey, picture: &mut [f32]) {
        key.paint(picture);
    }

    fn repaint(&self, old: &JunctionKey, new: &JunctionKey, picture: &mut [f32]) {
        old.repaint(*new, picture);
    }

    fn team_picture_shape(&self) -> PictureShape {
        self.world_shape()
    }

    fn render_team(&self, picture: &mut [f32]) {
        self.render_world(picture);
    }

    fn neighbours(&self, agent: usize, edges: &mut Vec<Edge>) {
        edges.clear();
        let (row, col) = (agent / self.map.cols, agent % self.map.cols);
        let mut hear = |from: usize, vector: [f32; 2]| edges.push(Edge { from, vector });
        if row > 0 {
            hear(agent - self.map.cols, [1.0, 0.0]);
        }
        if col > 0 {
            hear(agent - 1, [0.0, 1.0]);
        }
        if col + 1 < self.map.cols {
            hear(agent + 1, [0.0, -1.0]);
        }
        if row + 1 < self.map.rows {
            hear(agent + self.map.cols, [-1.0, 0.0]);
        }
    }

    fn save(&self) -> Value {
        self.to_json()
    }

    fn load(&mut self, state: &Value) -> Result<()> {
        self.load_json(state)
    }

    fn same_state(&self, other: &Traffic) -> bool {
        self == other
    }
}

fn check(options: &TrafficOptions) -> Result<()> {
    let bad = |text: String| Err(Error::BadWorld(text));
    let TrafficOptions { rows, cols, .. } = *options;
    if rows == 0 || cols == 0 {
        return bad(format!("a traffic world needs at least 1 x 1 junctions, got {rows} x {cols}"));
    }
    if rows > MAX_JUNCTIONS / cols {
        return bad(format!("{rows} x {cols} junctions are too many: at most {MAX_JUNCTIONS} in all"));
    }
    let p = options.arrival_probability;
    if !(0.0..=1.0).contains(&p) {
        return bad(format!("the arrival probability must be between 0 and 1, got {p}"));
    }
    let lanes = 2 * (rows + cols);
    if options.arrival_steps > MAX_DRAWS / lanes {
        return bad(format!(
            "{} arrival steps on {lanes} lanes are too many draws: at most {MAX_DRAWS} in all",
            options.arrival_steps
        ));
    }
    let (limit, most) = (options.step_limit, u32::MAX as usize);
    if limit == 0 || limit > most {
        return bad(format!("the step limit must be between 1 and {most}, got {limit}"));
    }
    Ok(())
}
