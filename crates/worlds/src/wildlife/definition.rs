//! The wildlife world as programs know it.

use super::{STEPS, Wildlife};
use crate::batch::EnvBatch;
use crate::envs::Envs;
use crate::error::Result;
use crate::registry::{self, FirstFormat, Solved, Symmetries};
use crate::settings::{Opt, Settings};
use crate::spec::{Actions, Better, Measure, Over, Spec, moves};
use equimarl_group::Group;

/// The wildlife world's entry in the list of worlds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definition;

const GRID: usize = 7;

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
        let found = super::solve(drones, grid)?;
        Ok(Solved::Exact { optimum: found.mean_return(), states: found.classes() })
    }

    fn benchmarks(&self) -> Vec<Settings> {
        [3usize, 4].map(|drones| Settings::usual(&self.options()).with("drones", drones)).into()
    }

    fn replay(&self, script: &serde_json::Value) -> Result<serde_json::Value> {
        super::script::replay(script)
    }

    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[("paper", "learning_rate = 1e-3"), ("default", "learning_rate = 1e-3")]
    }

    fn label(&self, settings: &Settings) -> String {
        match sizes(settings) {
            Ok((drones, GRID)) => format!("wildlife-{drones}"),
            Ok((drones, grid)) => format!("wildlife-{drones}-{grid}x{grid}"),
            Err(_) => "wildlife".into(),
        }
    }

    fn title(&self, settings: &Settings) -> String {
        match sizes(settings) {
            Ok((drones, GRID)) => format!("wildlife, {drones} drones"),
            Ok((drones, grid)) => format!("wildlife, {drones} drones, {grid} x {grid} cells"),
            Err(_) => "wildlife".into(),
        }
    }

    fn of_first_format(&self, network: &FirstFormat) -> Option<Settings> {
        let usual = Settings::usual(&self.options());
        Some(usual.with("drones", network.agents).with("grid", network.image[1] / super::board::PIXELS))
    }
}

/// What the world is, under a group.
pub(super) fn spec(drones: usize, grid: usize, group: &Group) -> Result<Spec> {
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
        ..Spec::new("wildlife", drones, group, actions)
    })
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
        Wildlife::new(drones, grid)
    }
}
