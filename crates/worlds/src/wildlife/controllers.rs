//! Wildlife controllers by name, and what an episode counts.

use super::Wildlife;
use super::board::MOVES;
use super::optimum::solve;
use crate::controller::{Controller, Uniform};
use crate::episode::Measures;
use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::world::{End, Outcome};

/// The names that [`controller`] knows.
pub const CONTROLLERS: [&str; 3] = ["random", "greedy", "optimal"];

/// The controller with this name for this world. `optimal` is solved first, which takes a moment.
///
/// # Errors
/// If there is no such controller, or the world is too large to solve.
pub fn controller(name: &str, world: &Wildlife) -> Result<Box<dyn Controller<Wildlife> + Send>> {
    match name {
        "random" => Ok(Box::new(Uniform)),
        "greedy" => Ok(Box::new(Greedy)),
        "optimal" => Ok(Box::new(solve(world.team(), world.grid())?.controller())),
        _ => Err(Error::BadWorld(format!(
            "wildlife has no controller `{name}`; use {} or {}",
            CONTROLLERS[..2].join(", "),
            CONTROLLERS[2]
        ))),
    }
}

/// Every drone chases: it takes a move that brings it nearest to the poacher on the torus, ties by lot. One word per
/// drone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl Controller<Wildlife> for Greedy {
    fn name(&self) -> &str {
        "greedy"
    }

    fn act(&mut self, world: &Wildlife, stream: &mut Stream, actions: &mut [usize]) {
        let board = &world.board;
        for (action, &drone) in actions.iter_mut().zip(&world.drones) {
            let distance = |a: usize| {
                let cell = board.moved[drone as usize][a];
                board.distance_to_middle(board.seen_from(world.poacher, cell))
            };
            let nearest = (0..MOVES).map(distance).min().expect("there are moves");
            let ties = || (0..MOVES).filter(|&a| distance(a) == nearest);
            let lot = stream.below(ties().count() as u32) as usize;
            *action = ties().nth(lot).expect("the lot is below the count");
        }
    }
}

/// Counts `captures`: 1 for an episode that ends with a capture, 0 for one that was cut off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Captures {
    captured: bool,
}

impl Measures<Wildlife> for Captures {
    fn names(&self) -> &'static [&'static str] {
        &["captures"]
    }

    fn start(&mut self, _world: &Wildlife) {
        self.captured = false;
    }

    fn step(&mut self, _world: &Wildlife, outcome: &Outcome) {
        self.captured = outcome.end == End::Terminated;
    }

    fn finish(&mut self, _world: &Wildlife, values: &mut Vec<Option<f64>>) {
        values.push(Some(f64::from(u8::from(self.captured))));
    }
}
