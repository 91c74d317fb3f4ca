//! Which world a run learns in.

use crate::error::{Error, Result};
use equimarl_group::Group;
use equimarl_nn::Setting;
use equimarl_worlds::{Symmetric, Traffic, TrafficOptions, Wildlife};
use serde::{Deserialize, Serialize};

/// Which world, of which size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorldConfig {
    /// Drones that catch a poacher together.
    Wildlife {
        /// How many drones.
        drones: usize,
        /// Cells per side.
        grid: usize,
    },
    /// Traffic lights of a city.
    Traffic {
        /// Rows of junctions.
        rows: usize,
        /// Columns of junctions.
        cols: usize,
        /// Steps in which vehicles arrive.
        arrival_steps: usize,
        /// The probability of an arrival per lane and step.
        arrival_probability: f64,
        /// Steps after which an episode is cut off.
        step_limit: usize,
    },
}

impl WorldConfig {
    /// Three drones on 7 x 7 cells.
    pub fn wildlife() -> WorldConfig {
        WorldConfig::Wildlife { drones: 3, grid: 7 }
    }

    /// 2 x 2 junctions.
    pub fn traffic() -> WorldConfig {
        let o = TrafficOptions::default();
        WorldConfig::Traffic {
            rows: o.rows,
            cols: o.cols,
            arrival_steps: o.arrival_steps,
            arrival_probability: o.arrival_probability,
            step_limit: o.step_limit,
        }
    }

    /// The world with this name, in its usual size.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<WorldConfig> {
        match name {
            "wildlife" => Ok(WorldConfig::wildlife()),
            "traffic" => Ok(WorldConfig::traffic()),
            other => {
                Err(Error::BadConfig(format!("no world is called `{other}`; there are wildlife and traffic")))
            }
        }
    }

    /// The world's name and its size, and what else is unusual, for people and for names of runs: `wildlife-3`,
    /// `wildlife-3-5x5`, `traffic-2x2`, `traffic-2x2-p0.2`.
    pub fn label(&self) -> String {
        match self {
            WorldConfig::Wildlife { drones, grid: 7 } => format!("wildlife-{drones}"),
            WorldConfig::Wildlife { drones, grid } => format!("wildlife-{drones}-{grid}x{grid}"),
            WorldConfig::Traffic { rows, cols, arrival_steps, arrival_probability, step_limit } => {
                let usual = TrafficOptions::default();
                let mut label = format!("traffic-{rows}x{cols}");
                if *arrival_probability != usual.arrival_probability {
                    label += &format!("-p{arrival_probability}");
                }
                if (*arrival_steps, *step_limit) != (usual.arrival_steps, usual.step_limit) {
                    label += &format!("-t{arrival_steps}of{step_limit}");
                }
                label
            }
        }
    }

    /// The world's name.
    pub fn name(&self) -> &'static str {
        match self {
            WorldConfig::Wildlife { .. } => "wildlife",
            WorldConfig::Traffic { .. } => "traffic",
        }
    }

    /// The symmetry that the world has and the paper uses: quarter turns, or half turns of a city that is not square.
    pub fn usual_group(&self) -> &'static str {
        match self {
            WorldConfig::Traffic { rows, cols, .. } if rows != cols => "C2",
            _ => "C4",
        }
    }

    /// What networks need to know of it.
    ///
    /// # Errors
    /// If the group does not act on it.
    pub fn setting(&self, group: &Group) -> Result<Setting> {
        Ok(match *self {
            WorldConfig::Wildlife { drones, grid } => Setting::wildlife(drones, grid, group)?,
            WorldConfig::Traffic { rows, cols, .. } => Setting::traffic(rows, cols, group)?,
        })
    }
}

/// A world of either kind, under a group.
#[derive(Clone, Debug)]
pub enum AnyWorld {
    /// Wildlife.
    Wildlife(Wildlife),
    /// Traffic.
    Traffic(Traffic),
}

impl WorldConfig {
    /// Builds the world under `group`.
    ///
    /// # Errors
    /// If the sizes do not make a world, or the group does not act on it.
    pub fn build(&self, group: &Group) -> Result<AnyWorld> {
        Ok(match *self {
            WorldConfig::Wildlife { drones, grid } => {
                AnyWorld::Wildlife(Wildlife::new(drones, grid)?.under(group)?)
            }
            WorldConfig::Traffic { rows, cols, arrival_steps, arrival_probability, step_limit } => {
                let options = TrafficOptions { rows, cols, arrival_steps, arrival_probability, step_limit };
                let world = Traffic::new(options)?.under(group)?;
                let plane = &world.symmetry().plane;
                let mirrors = |g| {
                    let [[a, b], [c, d]] = plane.matrix(g);
                    a * d - b * c < 0
                };
                if group.elements().any(mirrors) {
                    return Err(Error::BadConfig(format!(
                        "{group} has mirrors, and traffic has none: its lanes are one-way; use C4 or C2"
                    )));
                }
                AnyWorld::Traffic(world)
            }
        })
    }
}
