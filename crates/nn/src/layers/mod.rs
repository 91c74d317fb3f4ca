//! Layers as Burn modules: each file opens with its equation.

mod convolution;
mod encoder;
mod linear;
mod pool;
mod round;
mod weights;

pub use convolution::{EquivariantConvolution, EquivariantConvolutionConfig};
pub use encoder::{Encoder, EncoderConfig};
pub use linear::{EquivariantLinear, EquivariantLinearConfig};
pub use pool::{max_over_group, max_over_space};
pub use round::{MessageRound, MessageRoundConfig};
pub use weights::{Initial, Space, Weights};
