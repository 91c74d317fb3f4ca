//! Scripted episodes of traffic.

use super::{Arrival, Traffic, TrafficOptions};
use crate::error::{Error, Result};
use crate::replay::play_script;
use serde::Deserialize;
use serde_json::{Value, json};

/// Junctions, arrivals `[step, entry row, entry column]`, and one phase per junction and step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    #[serde(rename = "world")]
    _world: String,
    rows: usize,
    cols: usize,
    schedule: Vec<Arrival>,
    /// One action per junction, row-major, for each step.
    actions: Vec<Vec<usize>>,
}

pub(super) fn replay(script: &Value) -> Result<Value> {
    let script = Script::deserialize(script)
        .map_err(|error| Error::BadScript(format!("it is not a script: {error}")))?;
    let options = TrafficOptions { rows: script.rows, cols: script.cols, ..TrafficOptions::default() };
    let mut world = Traffic::new(options)?.with_schedule(&script.schedule)?;
    play_script(
        &mut world,
        &script.actions,
        |_, _| Ok(()),
        |world| {
            let mut vehicles = world.vehicles();
            vehicles.sort_unstable();
            json!({ "vehicles": vehicles })
        },
    )
}
