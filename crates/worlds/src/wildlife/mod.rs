//! Wildlife monitoring: drones on a torus catch a poacher that wanders at random.
//!
//! A capture takes one drone on the poacher's cell and at least one 4-adjacent to it: reward +1 for the drone above
//! and +1 for each adjacent one. Every step costs the team 0.05, and 100 steps end the episode.
//!
//! ```
//! use equimarl_worlds::{Exact, Wildlife};
//! let mut world = Wildlife::new(2, 7)?;
//! world.place(&[[3, 2], [1, 3]], [3, 3], 0)?;
//! // The first drone moves right onto the poacher, the second down beside it.
//! let outcome = world.apply(&[2, 1], &0);
//! assert_eq!(outcome.reward, 2.0 - 0.05);
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod board;
mod controllers;
mod definition;
mod edit;
mod optimum;
mod picture;
mod rules;
mod scene;
mod script;
mod state;
mod symmetry;
mod terminal;
#[cfg(test)]
mod tests;
mod wind;

pub use board::{MAX_GRID, MOVES, STEPS};
pub use definition::Definition;
pub use optimum::{Optimal, Optimum, solve, solve_in};
pub use rules::STEP_COST;
pub use wind::Wind;

use crate::error::{Error, Result};
use crate::scene::{Edit, Scene};
use crate::spec::Spec;
use crate::stream::Stream;
use crate::world::{Edges, End, Exact, Outcome, World};
use board::Board;
use equimarl_group::{Element, Group};
use rules::Room;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use symmetry::Acts;

/// An episode is cut off after this many steps.
pub const STEP_LIMIT: usize = 100;

/// Squared distance at which two drones stop hearing each other: |(3, 3)|^2.
const HEARING: i32 = 18;

/// Drones and one poacher on a G x G torus.
#[derive(Clone, Debug)]
pub struct Wildlife {
    board: Arc<Board>,
    spec: Arc<Spec>,
    acts: Arc<Acts>,
    solved: Arc<OnceLock<Option<Optimum>>>,
    drones: Vec<u32>,
    poacher: u32,
    steps: usize,
    wind: Wind,
    /// The move that the wind of this episode makes.
    blows: usize,
    room: Room,
}

impl Wildlife {
    /// `drones` drones and a poacher on a `grid` x `grid` torus, under D4. Until it is reset or placed, the drones
    /// stand on the first cells and the poacher on the last one.
    ///
    /// # Errors
    /// Fewer than 2 drones, more than a start can hold, or a grid that is even, below 3 or above [`MAX_GRID`].
    pub fn new(drones: usize, grid: usize) -> Result<Wildlife> {
        let board = Board::new(grid)?;
        if drones < 2 {
            return Err(Error::BadWorld(format!(
                "a capture takes two drones, so the team needs at least 2; got {drones}"
            )));
        }
        let most = board.cells() - 1;
        if drones > most {
            return Err(Error::BadWorld(format!(
                "{drones} drones and a poacher do not fit on a {grid} x {grid} grid: at most {most} drones do"
            )));
        }
        let cells = board.cells();
        let group = "D4".parse()?;
        Ok(Wildlife {
            spec: Arc::new(definition::spec(drones, grid, Wind::CALM, &group)?),
            acts: Arc::new(Acts::new(&group)?),
            solved: Arc::default(),
            drones: (0..drones as u32).collect(),
            poacher: cells as u32 - 1,
            steps: 0,
            wind: Wind::CALM,
            blows: Wind::CALM.first(),
            room: Room::new(drones, cells),
            board: Arc::new(board),
        })
    }

    /// The same world under another symmetry: C1, C2, C4, D1, D2 or D4.
    pub fn under(mut self, group: &Group) -> Result<Wildlife> {
        self.spec = Arc::new(definition::spec(self.team(), self.grid(), self.wind, group)?);
        self.acts = Arc::new(Acts::new(group)?);
        Ok(self)
    }

    /// The same world in a wind.
    pub fn in_wind(mut self, wind: Wind) -> Result<Wildlife> {
        (self.wind, self.blows) = (wind, wind.first());
        self.solved = Arc::default();
        let group: Group = self.spec.group.parse()?;
        self.under(&group)
    }

    /// The side that the wind of this episode comes from, and how strong it is; nothing in a calm.
    pub fn wind(&self) -> Option<(&'static str, f64)> {
        self.wind.blows().then(|| (wind::source(self.blows), self.wind.strength()))
    }

    /// The same world with another declaration, for tests that want a wrong one.
    #[cfg(test)]
    pub(crate) fn declared(mut self, spec: Spec) -> Wildlife {
        self.spec = Arc::new(spec);
        self
    }

    /// The best policy, solved once for all copies of this world.
    fn solution(&self) -> Result<&Optimum> {
        let solved =
            self.solved.get_or_init(|| solve_in(self.team(), self.grid(), self.wind.strength()).ok());
        match solved {
            Some(found) => Ok(found),
            // Why not is said by trying again.
            None => Err(solve_in(self.team(), self.grid(), self.wind.strength())
                .err()
                .unwrap_or(Error::BadWorld("it has no optimum".into()))),
        }
    }

    /// G.
    pub fn grid(&self) -> usize {
        self.board.grid
    }

    /// The number of drones.
    pub fn team(&self) -> usize {
        self.drones.len()
    }

    /// The number of different observations, G * G: ids are 0..G * G.
    pub fn ids(&self) -> usize {
        self.board.cells()
    }

    /// (row, col) of every drone.
    pub fn drones(&self) -> impl ExactSizeIterator<Item = [usize; 2]> + '_ {
        self.drones.iter().map(|&cell| self.row_col(cell))
    }

    /// (row, col) of the poacher.
    pub fn poacher(&self) -> [usize; 2] {
        self.row_col(self.poacher)
    }

    /// Steps taken in this episode.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Puts everybody somewhere, `steps` steps into an episode. A drone may stand on the poacher's cell.
    ///
    /// # Errors
    /// If the number of drones differs, somebody is off the grid, two drones share a cell, or an episode has fewer
    /// steps. Nothing changes then.
    pub fn place(&mut self, drones: &[[usize; 2]], poacher: [usize; 2], steps: usize) -> Result<()> {
        let bad = |why: String| Err(Error::BadState(why));
        let grid = self.grid();
        if drones.len() != self.team() {
            return bad(format!("{} drones are placed, this world has {}", drones.len(), self.team()));
        }
        for (who, &[row, col]) in (0..).zip(drones).chain([(drones.len(), &poacher)]) {
            if row >= grid || col >= grid {
                let who = if who < drones.len() { format!("drone {who}") } else { "the poacher".into() };
                return bad(format!(
                    "{who} is at [{row}, {col}], outside of rows and columns 0 to {}",
                    grid - 1
                ));
            }
        }
        let mut taken = vec![None; self.board.cells()];
        for (i, &[row, col]) in drones.iter().enumerate() {
            if let Some(j) = taken[row * grid + col].replace(i) {
                return bad(format!("drones {j} and {i} share the cell [{row}, {col}]"));
            }
        }
        if steps > STEP_LIMIT {
            return bad(format!("it is {steps} steps into an episode, which has {STEP_LIMIT}"));
        }
        let number = |[row, col]: [usize; 2]| (row * grid + col) as u32;
        for (cell, &at) in self.drones.iter_mut().zip(drones) {
            *cell = number(at);
        }
        self.poacher = number(poacher);
        self.steps = steps;
        Ok(())
    }

    fn row_col(&self, cell: u32) -> [usize; 2] {
        self.board.place[cell as usize].map(|v| v as usize)
    }
}

/// The exact optimum is computed up to this many drones, on the paper's grid: it takes seconds.
const SOLVABLE: (usize, usize) = (4, 7);

impl World for Wildlife {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// One word per drone and one for the poacher, and one for the wind if it is drawn.
    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        self.poacher = self.room.deal(stream, &mut self.drones);
        self.blows = self.wind.draw(stream);
        self.steps = 0;
        Ok(())
    }

    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        Ok(self.drawn_step(actions, stream))
    }

    /// The wind as a vector (down, right).
    fn cause(&self, out: &mut [f32]) {
        if self.wind.blows() {
            out.copy_from_slice(&self.wind.vector(self.blows));
        }
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        picture::render(&self.board, self.seen(who), out);
    }

    /// The poacher's cell as the drone sees it: row * G + col of the torus view with the drone in the middle.
    #[inline]
    fn id(&self, agent: usize) -> Option<u64> {
        Some(self.seen(agent).into())
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let place = |i: usize| self.board.place[self.drones[i] as usize];
        let [row, col] = place(agent);
        for from in (0..self.drones.len()).filter(|&j| j != agent) {
            let [r, c] = place(from);
            let [dr, dc] = [row - r, col - c];
            if dr * dr + dc * dc < HEARING {
                edges.hear(from, &[dr, dc].map(|d| d as f32 / 3.0));
            }
        }
    }

    /// `captures`: whether the episode ended with one.
    fn measure(&self, _which: usize, end: End) -> Option<f64> {
        Some(f64::from(u8::from(end == End::Terminated)))
    }

    fn control(&self, controller: &str, stream: &mut Stream, actions: &mut [usize]) -> Result<()> {
        controllers::act(self, controller, stream, actions)
    }

    fn optimum(&self) -> Option<f64> {
        let small = self.team() <= SOLVABLE.0 && self.grid() <= SOLVABLE.1;
        small.then(|| self.solution().ok().map(Optimum::mean_return)).flatten()
    }

    fn scene(&self) -> Result<Scene> {
        scene::scene(self, &[])
    }

    fn scene_after(&self, actions: &[usize]) -> Result<Scene> {
        scene::scene(self, actions)
    }

    fn terminal(&self, colour: bool) -> Option<String> {
        Some(terminal::terminal(self, colour))
    }
}

impl Wildlife {
    #[inline]
    fn seen(&self, agent: usize) -> u32 {
        self.board.seen_from(self.drones[agent], self.poacher)
    }
}

impl Exact for Wildlife {
    /// The poacher's move, an index into [`STEPS`].
    type Chance = usize;

    /// One word, and another one in wind, also when the step captures the poacher and the move is not used.
    #[inline]
    fn draw(&self, stream: &mut Stream) -> usize {
        self.wind.drift(self.blows, stream)
    }

    fn chances(&self) -> Option<Vec<(usize, f64)>> {
        Some(self.wind.law(self.blows).into_iter().enumerate().collect())
    }

    fn apply(&mut self, actions: &[usize], chance: &usize) -> Outcome {
        assert_eq!(actions.len(), self.drones.len(), "one action per drone");
        let board = &*self.board;
        for ((next, &cell), &action) in self.room.next.iter_mut().zip(&self.drones).zip(actions) {
            *next = board.moved[cell as usize][action];
        }
        let captors = self.room.settle(board, &self.drones, self.poacher);
        self.drones.copy_from_slice(&self.room.next);
        self.steps = (self.steps + 1).min(STEP_LIMIT);
        if captors > 0 {
            return Outcome { reward: f64::from(1 + captors) - STEP_COST, end: End::Terminated };
        }
        self.poacher = board.moved[self.poacher as usize][*chance];
        Outcome {
            reward: -STEP_COST,
            end: if self.steps == STEP_LIMIT { End::Truncated } else { End::Running },
        }
    }

    fn paint(&self, id: u64, out: &mut [f32]) {
        picture::render(&self.board, id as u32, out);
    }

    #[inline]
    fn repaint(&self, old: u64, new: u64, out: &mut [f32]) {
        picture::repaint(&self.board, old as u32, new as u32, out);
    }

    fn transform_id(&self, g: Element, id: u64) -> u64 {
        self.acts.cell(g, self.board.grid, id as u32).into()
    }

    fn transformed(&self, g: Element) -> Result<Wildlife> {
        let mut world = self.clone();
        for cell in world.drones.iter_mut().chain([&mut world.poacher]) {
            *cell = self.acts.cell(g, self.board.grid, *cell);
        }
        Ok(world)
    }

    fn transform_cause(&mut self, g: Element) {
        self.blows = self.acts.moved[g][self.blows];
    }

    fn transform_chance(&self, g: Element, chance: &usize) -> usize {
        self.acts.moved[g][*chance]
    }

    /// A deal: 1 where everybody stands on a cell of their own, 0 elsewhere.
    fn start_density(&self) -> Option<f64> {
        let mut cells = self.drones.clone();
        cells.push(self.poacher);
        cells.sort_unstable();
        cells.dedup();
        Some(f64::from(u8::from(self.steps == 0 && cells.len() == self.drones.len() + 1)))
    }

    fn save(&self) -> Value {
        state::save(self)
    }

    fn load(&mut self, state: &Value) -> Result<()> {
        state::load(self, state)
    }

    fn edit(&mut self, edit: &Edit) -> Result<()> {
        edit::edit(self, edit)
    }

    fn same_state(&self, other: &Wildlife) -> bool {
        self.board.grid == other.board.grid
            && self.drones == other.drones
            && self.poacher == other.poacher
            && self.steps == other.steps
            && (!self.wind.blows() || self.blows == other.blows)
    }
}
