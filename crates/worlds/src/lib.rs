//! Exactly symmetric multi-agent worlds.

mod batch;
mod controller;
mod episode;
mod error;
mod stream;
pub mod wildlife;
mod world;

pub use batch::{Batch, Canvas};
pub use controller::{Controller, Uniform};
pub use episode::{Episode, Measures, Statistic, Summary, episode, play};
pub use error::{Error, Result};
pub use stream::{Purpose, Stream, StreamState};
pub use wildlife::Wildlife;
pub use world::{Edge, End, Outcome, PictureShape, Symmetric, Symmetry, World};
