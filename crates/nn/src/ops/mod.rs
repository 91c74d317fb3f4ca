//! Operations of `equimarl-kernels` as Burn operations.

mod functions;
mod glue;

pub use functions::Realisation;
pub(crate) use functions::{Dense, Encode, Messages, Realise, Spread, TeamMean};
pub(crate) use glue::{apply1, apply3, apply4};
