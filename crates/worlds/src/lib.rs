//! Exactly symmetric multi-agent worlds.

mod controller;
mod episode;
mod error;
mod stream;
mod world;

pub use controller::{Controller, Uniform};
pub use episode::{Episode, Measures, Statistic, Summary, episode, play};
pub use error::{Error, Result};
pub use stream::{Purpose, Stream, StreamState};
pub use world::{Edge, End, Outcome, PictureShape, Symmetric, Symmetry, World};
