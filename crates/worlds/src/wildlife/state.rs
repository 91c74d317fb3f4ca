//! The state as JSON, so that a test, a replay or a bug report can start anywhere.
//!
//! `{"world": "wildlife", "grid": 7, "drones": [[row, col], ...], "poacher": [row, col], "steps": 0}`

use super::Wildlife;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const NAME: &str = "wildlife";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    world: String,
    grid: usize,
    drones: Vec<[usize; 2]>,
    poacher: [usize; 2],
    steps: usize,
    /// The side that it comes from, in a world with wind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wind: Option<String>,
}

pub(super) fn save(world: &Wildlife) -> Value {
    let state = State {
        world: NAME.into(),
        grid: world.grid(),
        drones: world.drones().collect(),
        poacher: world.poacher(),
        steps: world.steps(),
        wind: world.wind().map(|(from, _)| from.into()),
    };
    serde_json::to_value(state).expect("plain numbers and text have a JSON form")
}

fn read(state: &Value) -> Result<State> {
    match state.get("world") {
        Some(Value::String(name)) if name == NAME => {}
        Some(other) => {
            return Err(Error::BadState(format!("it is of the world {other}, not of \"{NAME}\"")));
        }
        None => {
            return Err(Error::BadState(format!(
                "it has no entry `world`; a state of this world says \"world\": \"{NAME}\""
            )));
        }
    }
    State::deserialize(state).map_err(|e| Error::BadState(e.to_string()))
}

pub(super) fn load(world: &mut Wildlife, state: &Value) -> Result<()> {
    let state = read(state)?;
    if state.grid != world.grid() || state.drones.len() != world.team() {
        return Err(Error::BadState(format!(
            "it has {} drones on a grid of {}, this world {} on {}",
            state.drones.len(),
            state.grid,
            world.team(),
            world.grid()
        )));
    }
    let blows = match (&state.wind, world.wind()) {
        (None, None) => world.blows,
        (None, Some((from, _))) => {
            return Err(Error::BadState(format!(
                "it has no `wind`, and in this world there is one, from the {from}"
            )));
        }
        (Some(_), None) => {
            return Err(Error::BadState("it has `wind`, and in this world there is none".into()));
        }
        (Some(from), Some(_)) => super::wind::blowing(from).ok_or_else(|| {
            Error::BadState(format!("its wind comes from north, east, south or west, not from `{from}`"))
        })?,
    };
    world.place(&state.drones, state.poacher, state.steps)?;
    world.blows = blows;
    Ok(())
}

impl Wildlife {
    /// The world of a saved state, whatever its size.
    ///
    /// ```
    /// use equimarl_worlds::{Exact, Wildlife};
    /// let state = serde_json::json!({
    ///     "world": "wildlife", "grid": 5, "drones": [[0, 0], [4, 4]], "poacher": [2, 2], "steps": 3
    /// });
    /// assert_eq!(Wildlife::from_state(&state)?.save(), state);
    /// # Ok::<(), equimarl_worlds::Error>(())
    /// ```
    pub fn from_state(state: &Value) -> Result<Wildlife> {
        let read = read(state)?;
        let bad = |e: Error| Error::BadState(e.to_string());
        let mut world = Wildlife::new(read.drones.len(), read.grid).map_err(bad)?;
        world.place(&read.drones, read.poacher, read.steps)?;
        Ok(world)
    }
}
