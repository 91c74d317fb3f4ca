//! Operations of `equimarl-kernels` as Burn operations.

mod functions;
mod glue;

pub use functions::Realisation;
pub(crate) use functions::{Dense, Encode, Messages, OverTeam, Realise, Spread};
pub(crate) use glue::{apply1, apply3, apply4};

use burn::tensor::Tensor;
use std::sync::Arc;

/// Sums one number per agent over the agents of each state, as [`crate::Batch::starts`] has them: \[agents, 1\] becomes
/// \[states, 1\].
pub fn sum_over_team(values: Tensor<2>, starts: &Arc<[u32]>) -> Tensor<2> {
    apply1(OverTeam { starts: starts.clone(), mean: false }, values)
}
