//! The options that make a world, shared by all verbs.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use equimarl_group::Group;
use equimarl_worlds::{Symmetric, Traffic, TrafficOptions, Wildlife};

/// The worlds we have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorldName {
    /// Drones on a torus catch a poacher together.
    Wildlife,
    /// Traffic lights of a city keep its vehicles moving.
    Traffic,
}

/// A world with its size.
pub enum AnyWorld {
    Wildlife(Wildlife),
    Traffic(Traffic),
}

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The world")]
pub struct WorldArgs {
    /// Wildlife: the number of drones [default: 3].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub drones: Option<usize>,
    /// Wildlife: cells per side of the torus, odd [default: 7].
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub grid: Option<usize>,
    /// Traffic: rows and columns of junctions, for example 2x2 [default: 2x2].
    #[arg(long, value_name = "RxC")]
    pub junctions: Option<String>,
    /// Traffic: vehicles arrive in this many steps [default: 100].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub arrival_steps: Option<usize>,
    /// Traffic: the probability of an arrival per entry lane and step [default: 0.1].
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub arrival_probability: Option<f64>,
    /// Traffic: steps after which an episode is cut off [default: 500].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub step_limit: Option<usize>,
}

impl WorldArgs {
    /// Builds the world, under `group` if one is given.
    pub fn build(&self, name: WorldName, group: Option<&str>) -> Result<AnyWorld> {
        let group: Option<Group> = group.map(str::parse).transpose()?;
        match name {
            WorldName::Wildlife => {
                self.refuse_traffic()?;
                let world = Wildlife::new(self.drones.unwrap_or(3), self.grid.unwrap_or(7))?;
                Ok(AnyWorld::Wildlife(match &group {
                    Some(group) => world.under(group)?,
                    None => world,
                }))
            }
            WorldName::Traffic => {
                self.refuse_wildlife()?;
                let (rows, cols) = self.junctions()?;
                let usual = TrafficOptions::default();
                let world = Traffic::new(TrafficOptions {
                    rows,
                    cols,
                    arrival_steps: self.arrival_steps.unwrap_or(usual.arrival_steps),
                    arrival_probability: self.arrival_probability.unwrap_or(usual.arrival_probability),
                    step_limit: self.step_limit.unwrap_or(usual.step_limit),
                })?;
                let Some(group) = &group else { return Ok(AnyWorld::Traffic(world)) };
                let world = world.under(group)?;
                let plane = &world.symmetry().plane;
                if rows != cols && group.elements().any(|g| plane.matrix(g)[0][0] == 0) {
                    bail!(
                        "{rows} x {cols} junctions have no quarter turn: it would make {cols} x {rows} of them; \
                         use --group C2, or as many rows as columns"
                    );
                }
                Ok(AnyWorld::Traffic(world))
            }
        }
    }
}

impl WorldArgs {
    /// Builds the world for a network under `group`, which need not be a symmetry of the whole world: a local network
    /// turns what one agent sees.
    pub fn build_for_network(&self, name: WorldName, group: &Group) -> Result<AnyWorld> {
        Ok(match self.build(name, None)? {
            AnyWorld::Wildlife(world) => AnyWorld::Wildlife(world.under(group)?),
            AnyWorld::Traffic(world) => AnyWorld::Traffic(world.under(group)?),
        })
    }

    /// Refuses sizes of the traffic world.
    pub fn refuse_traffic(&self) -> Result<()> {
        refuse(&self.junctions, "--junctions", "traffic")?;
        refuse(&self.arrival_steps, "--arrival-steps", "traffic")?;
        refuse(&self.arrival_probability, "--arrival-probability", "traffic")?;
        refuse(&self.step_limit, "--step-limit", "traffic")
    }

    /// Refuses sizes of the wildlife world.
    pub fn refuse_wildlife(&self) -> Result<()> {
        refuse(&self.drones, "--drones", "wildlife")?;
        refuse(&self.grid, "--grid", "wildlife")
    }

    /// Rows and columns of junctions.
    pub fn junctions(&self) -> Result<(usize, usize)> {
        self.junctions.as_deref().map_or(Ok((2, 2)), junctions)
    }
}

fn refuse<T>(given: &Option<T>, option: &str, world: &str) -> Result<()> {
    if given.is_some() {
        bail!("{option} belongs to the {world} world");
    }
    Ok(())
}

/// Reads `2x3`.
fn junctions(text: &str) -> Result<(usize, usize)> {
    let parsed =
        text.split_once('x').and_then(|(r, c)| Some((r.trim().parse().ok()?, c.trim().parse().ok()?)));
    match parsed {
        Some(size) => Ok(size),
        None => bail!("cannot read the junctions `{text}`; write rows x columns, for example 2x2"),
    }
}
