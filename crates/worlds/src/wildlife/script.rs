//! Scripted episodes of wildlife.

use super::{MOVES, Wildlife};
use crate::error::{Error, Result};
use crate::replay::play_script;
use serde::Deserialize;
use serde_json::{Value, json};

/// A grid, a start, one action per drone and step, and where the poacher goes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    #[serde(rename = "world")]
    _world: String,
    grid: usize,
    drones: Vec<[usize; 2]>,
    poacher: [usize; 2],
    /// One action per drone for each step.
    actions: Vec<Vec<usize>>,
    /// The poacher's move after each step, numbered like actions.
    poacher_moves: Vec<usize>,
}

pub(super) fn replay(script: &Value) -> Result<Value> {
    let Script { grid, drones, poacher, actions, poacher_moves, .. } = Script::deserialize(script)
        .map_err(|error| Error::BadScript(format!("it is not a script: {error}")))?;
    let mut world = Wildlife::new(drones.len(), grid)?;
    world.place(&drones, poacher, 0)?;
    if let Some(step) = poacher_moves.iter().position(|&m| m >= MOVES) {
        return Err(Error::BadScript(format!(
            "poacher move {step} is {}; moves are 0 to {}",
            poacher_moves[step],
            MOVES - 1
        )));
    }
    let given = |step: usize, ended: bool| match poacher_moves.get(step) {
        Some(&chosen) => Ok(chosen),
        // Whoever is captured does not move any more, so the last move may be left out.
        None if ended => Ok(0),
        None => Err(Error::BadScript(format!(
            "there are {} poacher moves, but step {step} needs one too",
            poacher_moves.len()
        ))),
    };
    play_script(
        &mut world,
        &actions,
        given,
        |world| json!({ "drones": world.drones().collect::<Vec<_>>(), "poacher": world.poacher() }),
    )
}
