//! Wildlife monitoring: drones on a torus catch a poacher that wanders at random.
//!
//! A capture takes one drone on the poacher's cell and at least one 4-adjacent to it: reward +1 for the drone above
//! and +1 for each adjacent one. Every step costs the team 0.05, and 100 steps end the episode.
//!
//! ```
//! use equimarl_worlds::{Wildlife, World};
//! let mut world = Wildlife::new(2, 7)?;
//! world.place(&[[3, 2], [1, 3]], [3, 3], 0)?;
//! // The first drone moves right onto the poacher, the second down beside it.
//! let outcome = world.step(&[2, 1], &0);
//! assert_eq!(outcome.reward, 2.0 - 0.05);
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod board;
mod controllers;
mod optimum;
mod picture;
mod rules;
mod state;
mod symmetry;
#[cfg(test)]
mod tests;

pub use board::{MAX_GRID, MOVES, STEPS};
pub use controllers::{CONTROLLERS, Captures, Greedy, controller};
pub use optimum::{Optimal, Optimum, solve};
pub use rules::STEP_COST;

use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::world::{Edge, End, Outcome, PictureShape, Symmetry, World};
use board::Board;
use equimarl_group::Group;
use rules::Room;
use serde_json::Value;
use std::sync::Arc;

/// An episode is cut off after this many steps.
pub const STEP_LIMIT: usize = 100;

/// Squared distance at which two drones stop hearing each other: |(3, 3)|^2.
const HEARING: i32 = 18;

/// Drones and one poacher on a G x G torus.
#[derive(Clone, Debug)]
pub struct Wildlife {
    board: Arc<Board>,
    symmetry: Arc<Symmetry>,
    turned_moves: Arc<[[usize; MOVES]]>,
    drones: Vec<u32>,
    poacher: u32,
    steps: usize,
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
        let symmetry = Symmetry::named("D4")?;
        Ok(Wildlife {
            turned_moves: symmetry::turned_moves(&symmetry).into(),
            symmetry: Arc::new(symmetry),
            drones: (0..drones as u32).collect(),
            poacher: cells as u32 - 1,
            steps: 0,
            room: Room::new(drones, cells),
            board: Arc::new(board),
        })
    }

    /// The same world under another symmetry: C1, C2, C4, D1, D2 or D4.
    pub fn under(mut self, group: &Group) -> Result<Wildlife> {
        let symmetry = Symmetry::new(group)?;
        self.turned_moves = symmetry::turned_moves(&symmetry).into();
        self.symmetry = Arc::new(symmetry);
        Ok(self)
    }

    /// G.
    pub fn grid(&self) -> usize {
        self.board.grid
    }

    /// The number of drones.
    pub fn team(&self) -> usize {
        self.drones.len()
    }

    /// The number of different keys, G * G: keys are 0..keys.
    pub fn keys(&self) -> usize {
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

impl World for Wildlife {
    /// The poacher's move, an index into [`STEPS`].
    type Chance = usize;
    /// The poacher's cell as the drone sees it: row * G + col of the torus view with the drone in the middle.
    type Key = u32;

    fn agents(&self) -> usize {
        self.drones.len()
    }

    fn actions(&self) -> usize {
        MOVES
    }

    fn picture_shape(&self) -> PictureShape {
        let side = board::PIXELS * self.grid();
        PictureShape { channels: 1, height: side, width: side }
    }

    /// One word per drone and one for the poacher.
    fn reset(&mut self, stream: &mut Stream) {
        self.poacher = self.room.deal(stream, &mut self.drones);
        self.steps = 0;
    }

    /// One word, also when the step captures the poacher and the move is not used.
    #[inline]
    fn draw(&self, stream: &mut Stream) -> usize {
        stream.below(MOVES as u32) as usize
    }

    fn step(&mut self, actions: &[usize], chance: &usize) -> Outcome {
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

    #[inline]
    fn observation_key(&self, agent: usize) -> u32 {
        self.board.seen_from(self.drones[agent], self.poacher)
    }

    fn render(&self, key: &u32, picture: &mut [f32]) {
        picture::render(&self.board, *key, picture);
    }

    #[inline]
    fn repaint(&self, old: &u32, new: &u32, picture: &mut [f32]) {
        picture::repaint(&self.board, *old, *new, picture);
    }

    fn neighbours(&self, agent: usize, edges: &mut Vec<Edge>) {
        edges.clear();
        let place = |i: usize| self.board.place[self.drones[i] as usize];
        let [row, col] = place(agent);
        for from in (0..self.drones.len()).filter(|&j| j != agent) {
            let [r, c] = place(from);
            let [dr, dc] = [row - r, col - c];
            if dr * dr + dc * dc < HEARING {
                let vector = [dr, dc].map(|d| d as f32 / 3.0);
                edges.push(Edge { from, vector });
            }
        }
    }

    fn save(&self) -> Value {
        state::save(self)
    }

    fn load(&mut self, state: &Value) -> Result<()> {
        state::load(self, state)
    }

    fn same_state(&self, other: &Wildlife) -> bool {
        self.board.grid == other.board.grid
            && self.drones == other.drones
            && self.poacher == other.poacher
            && self.steps == other.steps
    }
}
