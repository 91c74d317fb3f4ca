//! Exactly symmetric multi-agent worlds.

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
