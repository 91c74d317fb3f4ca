//! Exactly symmetric multi-agent worlds: drones that catch a poacher together, traffic lights that keep a city moving.
//!
//! - [`World`] and [`Symmetric`]: what a world is, and how a group turns it. Chance is drawn explicitly, so a step is a
//!   function, and an audit can turn the draw along with the state.
//! - [`Wildlife`], [`Traffic`]: the two worlds of the paper, at any size; [`wildlife::solve`] gives the exact optimum.
//! - [`audit`]: is a world as symmetric as it says? [`play`]: episodes of a [`Controller`]; [`Batch`]: many worlds at once.
//! - [`look`]: pictures, films and terminal views; [`replay`]: scripted episodes.
//!
//! ```
//! use equimarl_worlds::{Traffic, TrafficOptions, Wildlife, audit};
//!
//! // Turned and mirrored, the drones' world is the same world.
//! assert!(audit(&Wildlife::new(3, 7)?, 200, 0).holds);
//!
//! // A mirrored city is not: its lanes are one-way. The audit says which lane goes where it cannot.
//! let city = Traffic::new(TrafficOptions::default())?.under(&"D4".parse()?)?;
//! let report = audit(&city, 200, 0);
//! let failed: Vec<&str> = report.elements.iter().filter(|e| !e.holds).map(|e| e.element.as_str()).collect();
//! assert_eq!(failed, ["m", "rm", "r2m", "r3m"]);
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod audit;
mod batch;
mod controller;
mod episode;
mod error;
pub mod look;
mod replay;
mod stream;
pub mod traffic;
pub mod wildlife;
mod world;

pub use audit::{AuditReport, Counterexample, ElementReport, audit};
pub use batch::{Batch, Canvas};
pub use controller::{Controller, Uniform};
pub use episode::{Episode, Measures, Moment, Statistic, Summary, episode, play, watched_episode};
pub use error::{Error, Result};
pub use replay::{Script, replay};
pub use stream::{Purpose, Stream, StreamState};
pub use traffic::{Traffic, TrafficOptions};
pub use wildlife::Wildlife;
pub use world::{Edge, End, Outcome, PictureShape, Symmetric, Symmetry, World};
