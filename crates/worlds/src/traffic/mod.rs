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
//! use equimarl_worlds::{Exact, Purpose, Stream, World, traffic::{Traffic, TrafficOptions}};
//! let mut world = Traffic::new(TrafficOptions::default())?;
//! world.reset(&mut Stream::new(0, Purpose::World, 0))?;
//! let outcome = world.apply(&[0, 1, 1, 0], &());
//! assert!(outcome.reward <= 0.0);
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod arrivals;
mod bound;
mod controllers;
mod definition;
mod demand;
mod edit;
mod lanes;
mod measures;
#[cfg(test)]
mod oracle;
mod picture;
mod planner;
mod rules;
mod save;
mod scene;
mod script;
mod symmetry;
mod terminal;
#[cfg(test)]
mod tests;
mod vehicle;

pub use arrivals::Arrival;
pub use definition::Definition;
pub use picture::JunctionKey;
pub use vehicle::{Finished, Left, Vehicle};

use crate::error::{Error, Result};
use crate::scene::{Edit, Scene};
use crate::spec::Spec;
use crate::stream::Stream;
use crate::world::{Edges, End, Exact, Outcome, World};
use arrivals::Road;
use equimarl_group::{Element, Group};
use lanes::Map;
use planner::Plans;
use rules::Scratch;
use serde_json::Value;
use std::sync::Arc;
use symmetry::Acts;

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
    /// How much more arrives along rows, and less along columns: 0 is alike, 1 all along rows.
    pub tilt: f64,
    /// How many times the usual demand the main road has.
    pub main_road: f64,
}

impl Default for TrafficOptions {
    /// The paper's world.
    fn default() -> Self {
        TrafficOptions {
            rows: 2,
            cols: 2,
            arrival_steps: 100,
            arrival_probability: 0.1,
            step_limit: 500,
            tilt: 0.0,
            main_road: 1.0,
        }
    }
}

/// The traffic world and its state.
#[derive(Clone, Debug)]
pub struct Traffic {
    options: TrafficOptions,
    map: Map,
    spec: Arc<Spec>,
    acts: Arc<Acts>,
    /// Per junction, row-major: where each lane's own vehicles are (see `lanes` for the bits).
    own: Vec<u32>,
    /// The marked ones among them.
    marked: Vec<u32>,
    /// Bit 7 of a lane's byte: its light is red. Gap cells have their vehicles in `own`, so nothing collides.
    red: Vec<u32>,
    roads: Vec<Road>,
    /// The number of the main road: the first lane, until something turns it.
    main: usize,
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
    /// What the planner has planned.
    plans: Plans,
}

impl Traffic {
    /// The world with no vehicles yet, under the symmetry it has: C4 if rows = cols, C2 otherwise.
    ///
    /// # Errors
    /// If the options do not make a world.
    pub fn new(options: TrafficOptions) -> Result<Traffic> {
        check(&options)?;
        let map = Map { rows: options.rows, cols: options.cols };
        let group = if map.rows == map.cols { "C4" } else { "C2" }.parse()?;
        let acts = Acts::new(&group)?;
        let mut world = Traffic {
            options,
            map,
            spec: Arc::new(definition::spec(&options, &acts)?),
            acts: Arc::new(acts),
            own: vec![0; map.junctions()],
            marked: vec![0; map.junctions()],
            red: vec![picture::red(0); map.junctions()],
            roads: (0..map.lanes()).map(|l| Road::new(map, l)).collect(),
            main: 0,
            log: Vec::new(),
            now: 0,
            pending: 0,
            inside: 0,
            waiting: 0,
            finished: Finished::default(),
            left: Vec::with_capacity(map.lanes()),
            scratch: Scratch::new(map),
            plans: Plans::default(),
        };
        world.clear();
        Ok(world)
    }

    /// The same world asked to have the symmetry `group`; an audit tells whether it has.
    ///
    /// # Errors
    /// If the group does not act on the plane.
    pub fn under(mut self, group: &Group) -> Result<Traffic> {
        let acts = Acts::new(group)?;
        self.spec = Arc::new(definition::spec(&self.options, &acts)?);
        self.acts = Arc::new(acts);
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
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        self.clear();
        self.draw_arrivals(stream);
        Ok(())
    }

    fn step(&mut self, actions: &[usize], _stream: &mut Stream) -> Result<Outcome> {
        Ok(self.advance(actions))
    }

    /// The tilt.
    fn cause(&self, out: &mut [f32]) {
        out.fill(self.options.tilt as f32);
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        self.key(who).paint(out);
    }

    /// All that a junction sees, in 32 bits: see [`JunctionKey`].
    #[inline]
    fn id(&self, agent: usize) -> Option<u64> {
        Some(self.key(agent).0.into())
    }

    fn team_image(&self, out: &mut [f32]) {
        self.render_world(out);
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let (row, col) = (agent / self.map.cols, agent % self.map.cols);
        if row > 0 {
            edges.hear(agent - self.map.cols, &[1.0, 0.0]);
        }
        if col > 0 {
            edges.hear(agent - 1, &[0.0, 1.0]);
        }
        if col + 1 < self.map.cols {
            edges.hear(agent + 1, &[0.0, -1.0]);
        }
        if row + 1 < self.map.rows {
            edges.hear(agent + self.map.cols, &[-1.0, 0.0]);
        }
    }

    fn measure(&self, which: usize, _end: End) -> Option<f64> {
        measures::value(self, which)
    }

    fn control(&self, controller: &str, _stream: &mut Stream, actions: &mut [usize]) -> Result<()> {
        controllers::act(self, controller, actions)
    }

    /// A light stays as it is.
    fn hold(&self, agent: usize) -> usize {
        self.phase(agent)
    }

    fn scene(&self) -> Result<Scene> {
        scene::scene(self)
    }

    fn terminal(&self, colour: bool) -> Option<String> {
        Some(terminal::terminal(self, colour))
    }
}

impl Traffic {
    /// What a junction sees.
    #[inline]
    pub fn key(&self, junction: usize) -> JunctionKey {
        JunctionKey::new(self.own[junction], self.red[junction])
    }
}

impl Exact for Traffic {
    /// All chance is in the arrivals, and those are drawn at reset.
    type Chance = ();

    fn draw(&self, _stream: &mut Stream) {}

    fn apply(&mut self, actions: &[usize], _chance: &()) -> Outcome {
        self.advance(actions)
    }

    fn paint(&self, id: u64, out: &mut [f32]) {
        JunctionKey(id as u32).paint(out);
    }

    #[inline]
    fn repaint(&self, old: u64, new: u64, out: &mut [f32]) {
        JunctionKey(old as u32).repaint(JunctionKey(new as u32), out);
    }

    /// # Panics
    /// If g is a reflection: the mirror image of a picture with vehicles shows them driving against their lanes, so
    /// it has no id. [`Exact::transformed`] refuses reflections with a reason; ask it first.
    fn transform_id(&self, g: Element, id: u64) -> u64 {
        match self.acts.quarters(g) {
            Some(quarters) => JunctionKey(id as u32).turned(quarters as u32).0.into(),
            None => panic!(
                "{} is a reflection, and no traffic picture is the mirror image of another",
                self.acts.group.element_name(g)
            ),
        }
    }

    fn transformed(&self, g: Element) -> Result<Traffic> {
        symmetry::transformed(self, g)
    }

    fn chances(&self) -> Option<Vec<((), f64)>> {
        Some(vec![((), 1.0)])
    }

    /// Networks are told of a tilt only.
    fn has_cause(&self) -> bool {
        self.options.tilt != 0.0 || self.options.main_road != 1.0
    }

    fn transform_cause(&mut self, g: Element) {
        if self.acts.swaps(g) {
            self.options.tilt = -self.options.tilt;
        }
        if let Ok(image) = self.acts.lane(g, self.map, self.map.lane(self.main)) {
            self.main = self.map.lane_index(image);
        }
    }

    /// Of the arrivals of one step.
    fn start_variation(&self, g: Element, along: bool) -> Option<f64> {
        self.arrivals_vary(g, along).ok()
    }

    /// The lights of the first step are of no weight in an episode of hundreds; the law of what arrives is.
    fn start_leaves_out(&self) -> Option<&'static str> {
        Some(
            "`start` is about what arrives: that all lights begin with green for the columns, which a quarter turn would make the rows, \
             is not counted",
        )
    }

    fn transform_chance(&self, _g: Element, _chance: &()) {}

    fn save(&self) -> Value {
        self.to_json()
    }

    fn load(&mut self, state: &Value) -> Result<()> {
        self.load_json(state)
    }

    fn edit(&mut self, edit: &Edit) -> Result<()> {
        edit::edit(self, edit)
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
    demand::check(options)
}
