//! The best that a fully informed team can do, exactly.
//!
//! With t steps left, a team that stands on the set s around the poacher (see `teams`) can expect
//!
//! ```text
//! V_0(s) = 0
//! V_t(s) = -0.05 + max over joint moves of after_{t-1}(q),  q the set on which the moves end
//! after_t(q) = 1 + (drones beside the poacher)         if q captures it
//!            = mean over the poacher's moves of V_t    otherwise
//! ```
//!
//! All three are invariant under D4 and under permutations of the drones, so they live on classes of sets. An episode
//! starts with 100 steps left on a uniform set that leaves the poacher's cell free.
//!
//! In wind (see `wind`) the mean has its weights, and of D4 the mirror along the wind is left. It is solved once, for wind to
//! the right: a team in another wind is turned until it blows there.

mod policy;
mod teams;

pub use policy::Optimal;

use super::STEP_LIMIT;
use super::Wildlife;
use super::Wind;
use super::board::{Board, MOVES};
use super::rules::{Room, STEP_COST};
use crate::error::Result;
use std::sync::Arc;
use teams::Teams;

/// The value of every state of a wildlife world, and so its best policy.
#[derive(Clone, Debug)]
pub struct Optimum {
    table: Arc<Table>,
}

#[derive(Debug)]
struct Table {
    board: Board,
    teams: Teams,
    drones: usize,
    strength: f64,
    mean_return: f64,
    /// `after[t][class]`: see the module's equations.
    after: Vec<Vec<f64>>,
}

/// Solves the world of `drones` drones on a `grid` x `grid` torus.
///
/// ```
/// let optimum = equimarl_worlds::wildlife::solve(2, 5)?;
/// assert!(optimum.mean_return() > 1.0 && optimum.mean_return() < 1.95);
/// # Ok::<(), equimarl_worlds::Error>(())
/// ```
///
/// # Errors
/// If there is no such world, or it has too many states.
pub fn solve(drones: usize, grid: usize) -> Result<Optimum> {
    solve_in(drones, grid, 0.0)
}

/// The move of the wind that is solved for: to the right.
const SOLVED: usize = 2;
/// The move that undoes each move.
const BACK: [usize; MOVES] = [0, 3, 4, 1, 2];

/// The same in wind of this strength, wherever it comes from.
///
/// # Errors
/// If there is no such world, or it has too many states.
pub fn solve_in(drones: usize, grid: usize, strength: f64) -> Result<Optimum> {
    Wildlife::new(drones, grid)?;
    let wind = Wind::new(strength, "west")?;
    let board = Board::new(grid)?;
    let teams = Teams::new(&board, drones, wind.blows().then_some(SOLVED))?;
    let model = Model::new(&board, &teams, drones, &wind);
    let mut after = Vec::with_capacity(STEP_LIMIT);
    let mut value = vec![0.0; teams.len()];
    for _ in 0..STEP_LIMIT {
        let follows = model.after(&value);
        model.improve(&follows, &mut value);
        after.push(follows);
    }
    let mean_return = start_mean(&board, &teams, &value);
    Ok(Optimum { table: Arc::new(Table { board, teams, drones, strength, mean_return, after }) })
}

/// The mean over all starts: every set that leaves the poacher's cell free is as likely as any other.
fn start_mean(board: &Board, teams: &Teams, value: &[f64]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (class, v) in value.iter().enumerate() {
        if !teams.member(class).contains(&board.middle()) {
            sum += v * f64::from(teams.size(class));
            count += f64::from(teams.size(class));
        }
    }
    sum / count
}

/// What can happen from each class.
struct Model {
    /// The reward of standing on a class, if that captures the poacher.
    capture: Vec<Option<f64>>,
    /// The class after the poacher moved against each move: seen from the poacher, everybody moves by it.
    drift: Vec<[u32; MOVES]>,
    /// How likely each of them is; nothing if all are equally likely.
    law: Option<[f64; MOVES]>,
    /// The different classes that the joint moves from class c lead to: `reach[start[c]..start[c + 1]]`.
    reach: Vec<u32>,
    start: Vec<usize>,
}

impl Model {
    fn new(board: &Board, teams: &Teams, drones: usize, wind: &Wind) -> Model {
        let mut room = Room::new(drones, board.cells());
        let mut cells = vec![0; drones];
        let mut seen = vec![u32::MAX; teams.len()];
        let mut model = Model {
            capture: Vec::with_capacity(teams.len()),
            drift: Vec::with_capacity(teams.len()),
            law: wind.blows().then(|| {
                let law = wind.law(SOLVED);
                std::array::from_fn(|m| law[BACK[m]])
            }),
            reach: Vec::new(),
            start: vec![0],
        };
        for class in 0..teams.len() {
            let home = teams.member(class);
            room.next.copy_from_slice(home);
            let captors = room.settle(board, home, board.middle());
            model.capture.push((captors > 0).then(|| f64::from(1 + captors)));
            model.drift.push(std::array::from_fn(|m| {
                for (cell, &at) in cells.iter_mut().zip(home) {
                    *cell = board.moved[at as usize][m];
                }
                teams.class_of(&mut cells) as u32
            }));
            joint_moves(board, home, &mut room, |_, next| {
                cells.copy_from_slice(next);
                let reached = teams.class_of(&mut cells);
                if seen[reached] != class as u32 {
                    seen[reached] = class as u32;
                    model.reach.push(reached as u32);
                }
            });
            model.start.push(model.reach.len());
        }
        model
    }

    /// after_t from V_t.
    fn after(&self, value: &[f64]) -> Vec<f64> {
        let mean = |drift: &[u32; MOVES]| match &self.law {
            None => drift.iter().map(|&c| value[c as usize]).sum::<f64>() / MOVES as f64,
            Some(law) => drift.iter().zip(law).map(|(&c, p)| p * value[c as usize]).sum::<f64>(),
        };
        self.capture
            .iter()
            .zip(&self.drift)
            .map(|(reward, drift)| reward.unwrap_or_else(|| mean(drift)))
            .collect()
    }

    /// V_{t+1} from after_t.
    fn improve(&self, after: &[f64], value: &mut [f64]) {
        for (class, value) in value.iter_mut().enumerate() {
            let reach = &self.reach[self.start[class]..self.start[class + 1]];
            // Four maxima side by side: one alone would wait for itself, and this loop is nearly all of the time.
            let mut best = [f64::NEG_INFINITY; 4];
            let mut raise = |lane: usize, class: u32| {
                let value = after[class as usize];
                best[lane] = if value > best[lane] { value } else { best[lane] };
            };
            let (fours, rest) = reach.as_chunks::<4>();
            for four in fours {
                (0..4).for_each(|lane| raise(lane, four[lane]));
            }
            rest.iter().for_each(|&class| raise(0, class));
            *value = best.into_iter().fold(f64::NEG_INFINITY, f64::max) - STEP_COST;
        }
    }
}

/// Tries all 5^n joint moves of a team around the poacher: calls back with the actions and the cells on which the
/// drones end.
fn joint_moves(board: &Board, home: &[u32], room: &mut Room, mut visit: impl FnMut(&[usize], &[u32])) {
    let mut actions = vec![0; home.len()];
    loop {
        for ((next, &cell), &action) in room.next.iter_mut().zip(home).zip(&actions) {
            *next = board.moved[cell as usize][action];
        }
        room.settle(board, home, board.middle());
        visit(&actions, &room.next);
        // Count up in base 5.
        let Some(digit) = actions.iter().position(|&a| a + 1 < MOVES) else {
            return;
        };
        actions[digit] += 1;
        actions[..digit].fill(0);
    }
}

impl Optimum {
    /// The best possible mean return over uniform starts.
    pub fn mean_return(&self) -> f64 {
        self.table.mean_return
    }

    /// The number of drones.
    pub fn drones(&self) -> usize {
        self.table.drones
    }

    /// The grid.
    pub fn grid(&self) -> usize {
        self.table.board.grid
    }

    /// The number of states after all symmetries.
    pub fn classes(&self) -> usize {
        self.table.teams.len()
    }

    /// The best expected return of the rest of an episode.
    ///
    /// # Panics
    /// If `world` is not of the size that was solved.
    pub fn value(&self, world: &Wildlife) -> f64 {
        self.controller().best(world, |_| {}) - STEP_COST
    }

    /// The policy that reaches the optimum.
    pub fn controller(&self) -> Optimal {
        Optimal::new(self.table.clone())
    }
}

#[cfg(test)]
mod tests;
