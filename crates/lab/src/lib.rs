//! The laboratory: sweeps over many runs, statistics that reviewers accept, figures.
//!
//! ```
//! use equimarl_lab::Sweep;
//!
//! let text = "name = 'mine'\n[[grid]]\nmethod = ['equivariant', 'plain']\nseed = '1-3'\nsteps = 20000";
//! let sweep = Sweep::parse(&equimarl_worlds::builtin(), text, ".".as_ref())?;
//! assert_eq!(sweep.runs.len(), 6);
//! assert_eq!(sweep.runs[1].name, "wildlife-3-plain-0.001-1");
//! # Ok::<(), equimarl_lab::Error>(())
//! ```

mod brief;
mod choose;
mod cost;
pub mod engine;
mod error;
mod family;
pub mod figure;
mod folder;
mod gather;
mod grid;
mod ranks;
mod record;
pub mod report;
mod setting;
pub mod statistics;
pub mod tensorboard;
#[cfg(test)]
mod testing;
mod words;

pub use brief::{Brief, Briefs};
pub use choose::{Choice, RateRule, RateScore, UP_TO, area, choose};
pub use cost::multiply_adds;
pub use error::{Error, Result};
pub use family::check_option;
pub use folder::{Folder, RunStatus};
pub use gather::{Found, Gathered, RATES, gather, sweep_name};
pub use grid::{Planned, Sweep, seeds};
pub use ranks::{RankChoice, Ranked, Try, choose_by_ranks};
pub use record::{Curve, Lines, Record, State};
pub use setting::{Setting, Team, one_per_seed};
