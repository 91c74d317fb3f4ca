//! The wildlife world as programs know it.

use super::{STEPS, Wildlife, Wind};
use crate::batch::EnvBatch;
use crate::envs::Envs;
use crate::error::Result;
use crate::registry::{self, FirstFormat, Solved, Symmetries};
use crate::settings::{Opt, Settings};
use crate::spec::{Actions, Better, Measure, Over, Spec, moves, plane};
use equimarl_group::Group;

/// The wildlife world's entry in the list of worlds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definition;

const GRID: usize = 7;
/// Where wind comes from, if there is any.
const FROM: &str = "west";

impl registry::Definition for Definition {
    fn name(&self) -> &'static str {
        "wildlife"
    }

    fn about(&self) -> &'static str {
        "Drones on a torus catch a poacher together."
    }

    fn options(&self) -> Vec<Opt> {
        vec![
            Opt::new("drones", 3usize, "N", "the number of drones"),
            Opt::new("grid", GRID, "G", "cells per side of the torus, odd"),
            Opt::new(
                "wind",
                0.0,
                "W",
                "the probability that the poacher drifts with the wind; it breaks the symmetry",
            )
            .added_later(0.0),
            Opt::new(
                "wind_from",
                FROM,
                "SIDE",
                "north, east, south or west, or any: drawn for every episode, and known",
            )
            .added_later(FROM),
        ]
    }

    fn symmetries(&self, _settings: &Settings) -> Symmetries {
        // The paper's networks know the turns, and no mirrors.
        Symmetries { largest: "D4".into(), usual: "C4".into() }
    }

    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        Ok(Box::new(EnvBatch::of(&Wildlife::of(settings)?.under(group)?, count)))
    }

    fn solve(&self, settings: &Settings, _episodes: usize) -> Result<Solved> {
        let (drones, grid) = sizes(settings)?;
        let found = super::solve_in(drones, grid, wind(settings)?.strength())?;
        Ok(Solved::Exact { optimum: found.mean_return(), states: found.classes() })
    }

    fn benchmarks(&self) -> Vec<Settings> {
        [3usize, 4].map(|drones| Settings::usual(&self.options()).with("drones", drones)).into()
    }

    fn replay(&self, script: &serde_json::Value) -> Result<serde_json::Value> {
        super::script::replay(script)
    }

    /// What was tried and why: docs/results.md. The paper's batches, which learn soonest; a larger rate that falls, and
    /// lambda 0.95, which end higher.
    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("paper", "learning_rate = 1e-3"),
            (
                "default",
                "learning_rate = 3e-3\nenvironments = 16\nrollout = 5\nminibatches = 4\nnormalise_advantages = false",
            ),
        ]
    }

    fn label(&self, settings: &Settings) -> String {
        let wind = match wind(settings) {
            Ok(wind) if wind.blows() => {
                format!("-wind-{}-{}", wind.strength(), settings.text("wind_from").unwrap_or_default())
            }
            _ => String::new(),
        };
        match sizes(settings) {
            Ok((drones, GRID)) => format!("wildlife-{drones}{wind}"),
            Ok((drones, grid)) => format!("wildlife-{drones}-{grid}x{grid}{wind}"),
            Err(_) => "wildlife".into(),
        }
    }

    fn title(&self, settings: &Settings) -> String {
        let wind = match wind(settings) {
            Ok(wind) if wind.is_drawn() => format!(", wind {} from a side that is drawn", wind.strength()),
            Ok(wind) if wind.blows() => {
                format!(
                    ", wind {} from the {}",
                    wind.strength(),
                    settings.text("wind_from").unwrap_or_default()
                )
            }
            _ => String::new(),
        };
        match sizes(settings) {
            Ok((drones, GRID)) => format!("wildlife, {drones} drones{wind}"),
            Ok((drones, grid)) => format!("wildlife, {drones} drones, {grid} x {grid} cells{wind}"),
            Err(_) => "wildlife".into(),
        }
    }

    fn of_first_format(&self, network: &FirstFormat) -> Option<Settings> {
        let usual = Settings::usual(&self.options());
        Some(usual.with("drones", network.agents).with("grid", network.image[1] / super::board::PIXELS))
    }
}

/// What the world is, under a group.
pub(super) fn spec(drones: usize, grid: usize, wind: Wind, group: &Group) -> Result<Spec> {
    let side = super::board::PIXELS * grid;
    let (names, marks) = super::scene::action_marks().into_iter().unzip();
    let actions = Actions::Choice { names, rep: moves(group, &STEPS)?, marks };
    Ok(Spec {
        image: Some([1, side, side]),
        team_image: Some([drones, side, side]),
        measures: vec![Measure {
            name: "captures".into(),
            title: "episodes that end with a capture".into(),
            unit: String::new(),
            better: Better::Higher,
            over: Over::Episode,
            first: false,
        }],
        thresholds: vec![1.5, 2.0, 2.25, 2.5],
        controllers: vec!["greedy".into(), "optimal".into()],
        cause: if wind.blows() { plane(group).into() } else { String::new() },
        cause_varies: wind.is_drawn(),
        ..Spec::new("wildlife", drones, group, actions)
    })
}

fn wind(settings: &Settings) -> Result<Wind> {
    Wind::new(settings.number("wind")?, settings.text("wind_from")?)
}

fn sizes(settings: &Settings) -> Result<(usize, usize)> {
    Ok((settings.whole("drones")?, settings.whole("grid")?))
}

impl Wildlife {
    /// The world with these settings.
    ///
    /// # Errors
    /// If they do not make a world.
    pub fn of(settings: &Settings) -> Result<Wildlife> {
        let (drones, grid) = sizes(settings)?;
        Wildlife::new(drones, grid)?.in_wind(wind(settings)?)
    }
}
