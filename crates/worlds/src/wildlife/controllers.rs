//! Wildlife controllers by name.

use super::Wildlife;
use super::board::MOVES;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// Lets the controller with this name act.
///
/// # Errors
/// If there is none, or the world is too large to solve.
pub(super) fn act(world: &Wildlife, name: &str, stream: &mut Stream, actions: &mut [usize]) -> Result<()> {
    match name {
        "greedy" => greedy(world, stream, actions),
        "optimal" => world.solution()?.controller().act(world, actions),
        _ => return Err(Error::BadWorld(format!("wildlife has no controller `{name}`"))),
    }
    Ok(())
}

/// Every drone chases: it takes a move that brings it nearest to the poacher on the torus, ties by lot. One word per
/// drone.
fn greedy(world: &Wildlife, stream: &mut Stream, actions: &mut [usize]) {
    let board = &world.board;
    for (action, &drone) in actions.iter_mut().zip(&world.drones) {
        let distance = |a: usize| {
            let cell = board.moved[drone as usize][a];
            board.distance_to_middle(board.seen_from(world.poacher, cell))
        };
        let nearest = (0..MOVES).map(distance).min().unwrap_or_default();
        let ties = || (0..MOVES).filter(|&a| distance(a) == nearest);
        let lot = stream.below(ties().count() as u32) as usize;
        *action = ties().nth(lot).unwrap_or_default();
    }
}
