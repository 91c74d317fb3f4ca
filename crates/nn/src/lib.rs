//! Equivariant layers and networks.
mod batch;
mod error;
mod layers;
pub mod model;
mod network;
mod ops;
mod policy;
pub use batch::{Batch, BatchBuilder, Sharing};
pub use error::{Error, Result};
pub use layers::*;
pub use model::Metadata;
pub use network::{DenseModel, DenseTensor, Kind, Network, NetworkConfig, Output, Setting, Widths};
pub use ops::{Realisation, sum_over_team};
pub use policy::{Decision, Features, Judgement, Policy, Scratch};
