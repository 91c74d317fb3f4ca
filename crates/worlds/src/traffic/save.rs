//! The state as JSON: everything that the future depends on, and the sums over finished vehicles.

use super::{Arrival, Finished, Traffic, TrafficOptions, Vehicle};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const NAME: &str = "traffic";
/// No episode comes near; far from overflow.
const MAX_SUM: u64 = 1 << 53;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    world: String,
    rows: usize,
    cols: usize,
    arrival_steps: usize,
    arrival_probability: f64,
    step_limit: usize,
    #[serde(default, skip_serializing_if = "nothing")]
    tilt: f64,
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    main_road: f64,
    /// Where the main road begins, if there is one and it was turned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    main_entry: Option<(usize, usize)>,
    /// Steps taken.
    step: u32,
    /// Per junction, row-major.
    phases: Vec<usize>,
    /// [row, col, dr, dc, waiting, marked], sorted.
    vehicles: Vec<Vehicle>,
    /// [t, row, col] of every vehicle that has not entered, sorted.
    schedule: Vec<Arrival>,
    finished: Finished,
}

fn nothing(tilt: &f64) -> bool {
    *tilt == 0.0
}

fn usual() -> f64 {
    1.0
}

fn is_usual(main_road: &f64) -> bool {
    *main_road == usual()
}

impl Saved {
    /// Reads a saved state, without judging whether it makes sense.
    fn read(state: &Value) -> Result<Saved> {
        match state.get("world").and_then(Value::as_str) {
            Some(NAME) => {}
            Some(other) => {
                return Err(Error::BadState(format!(
                    "it is a state of the world `{other}`, not of `{NAME}`"
                )));
            }
            None => {
                return Err(Error::BadState(format!("it does not say \"world\": \"{NAME}\"")));
            }
        }
        Saved::deserialize(state).map_err(|error| Error::BadState(error.to_string()))
    }

    fn build(self) -> Result<Traffic> {
        let options = TrafficOptions {
            rows: self.rows,
            cols: self.cols,
            arrival_steps: self.arrival_steps,
            arrival_probability: self.arrival_probability,
            step_limit: self.step_limit,
            tilt: self.tilt,
            main_road: self.main_road,
        };
        let Finished { vehicles, waiting, travel } = self.finished;
        if vehicles.max(waiting).max(travel) > MAX_SUM {
            return Err(Error::BadState(format!("the sums over finished vehicles are above {MAX_SUM}")));
        }
        let mut world = Traffic::new(options).map_err(|error| Error::BadState(error.to_string()))?;
        if let Some(entry) = self.main_entry {
            let lane = world.map.entry(entry);
            let lane = lane.ok_or_else(|| {
                Error::BadState(format!("no lane begins at {entry:?}, where the main road does"))
            })?;
            world.main = world.map.lane_index(lane);
        }
        world.now = i64::from(self.step);
        world.finished = self.finished;
        world.set_phases(&self.phases)?;
        world.set_schedule(&self.schedule)?;
        world.set_vehicles(&self.vehicles)?;
        Ok(world)
    }
}

impl Traffic {
    /// A world from what [`crate::Exact::save`] wrote, options included, under the symmetry that its size has.
    ///
    /// # Errors
    /// If the JSON is not a saved traffic world.
    pub fn restore(state: &Value) -> Result<Traffic> {
        Saved::read(state)?.build()
    }

    pub(super) fn to_json(&self) -> Value {
        let saved = Saved {
            world: NAME.into(),
            rows: self.options.rows,
            cols: self.options.cols,
            arrival_steps: self.options.arrival_steps,
            arrival_probability: self.options.arrival_probability,
            step_limit: self.options.step_limit,
            tilt: self.options.tilt,
            main_road: self.options.main_road,
            main_entry: (self.main != 0).then(|| self.map.cell(self.map.lane(self.main), 0)),
            step: self.now as u32,
            phases: self.phases(),
            vehicles: self.vehicles(),
            schedule: self.schedule(),
            finished: self.finished,
        };
        serde_json::to_value(saved).expect("numbers, text and lists are JSON")
    }

    /// Takes over a saved state of as many junctions, with its options; the symmetry asked for stays.
    pub(super) fn load_json(&mut self, state: &Value) -> Result<()> {
        let saved = Saved::read(state)?;
        let (rows, cols) = (saved.rows, saved.cols);
        if (rows, cols) != (self.map.rows, self.map.cols) {
            return Err(Error::BadState(format!(
                "it has {rows} x {cols} junctions, this world {} x {}",
                self.map.rows, self.map.cols
            )));
        }
        *self = Traffic { spec: self.spec.clone(), acts: self.acts.clone(), ..saved.build()? };
        Ok(())
    }
}
