//! SUMO as a world: the lights of a city as agents, in the simulator that traffic engineers use.
//!
//! SUMO is a program of its own (`pip install eclipse-sumo`); this crate starts it, talks to it over TraCI, and holds none of
//! it. A city is a grid that SUMO's netgenerate makes, or a net of the user's own. How symmetric a net is is found by looking
//! at it ([`symmetry`]).
//!
//! ```
//! use equimarl_sumo::{City, Net, symmetry};
//! let net = Net::parse(include_str!("../tests/nets/grid-2x2.net.xml"))?;
//! let found = symmetry::turns(&City::new(net)?);
//! assert_eq!(symmetry::group(&found), "C4");
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod ask;
mod audit;
mod city;
mod controllers;
mod definition;
pub mod demand;
mod envs;
mod fit;
mod folder;
mod install;
mod junction;
mod law;
mod lights;
mod look;
mod net;
mod options;
mod phases;
mod process;
mod programs;
mod read;
mod scene;
mod shared;
mod spec;
mod state;
mod steps;
pub mod symmetry;
mod trips;
pub mod wire;
mod world;
mod xml;

pub use city::{Approach, City, Junction, LANES, PHASES};
pub use definition::SumoDefinition;
pub use envs::SumoEnvs;
pub use install::Install;
pub use lights::Lights;
pub use net::{Crossing, Edge, Lane, Link, Net, Node, Program, Way};
pub use options::Options;
pub use process::{Failure, Process};
pub use shared::Shared;
pub use spec::{Declared, PER_APPROACH};
pub use state::State;
pub use trips::{Totals, TripInfo};
pub use world::Sumo;
