//! Layers: each file opens with its equation, and has its plan, forward and backward pass.
//!
//! A layer is sizes, representations and tables, free of weights. Its parameters are a slice of the network's one vector:
//! the coefficients of its weight, then those of its bias. `realise` puts them in the orders that the kernels read,
//! `backward` adds to a slice of gradients of the same layout.

mod channels;
mod dense;
mod dictionary;
mod edge_round;
mod encoder;
mod gate;
mod linear;
mod map;
mod messages;
mod round;
mod space;
mod stack;

pub use channels::Channels;
pub use dense::{Dense, DenseWeights, DenseWork};
pub use dictionary::{Dictionary, DictionaryWeights, DictionaryWork};
pub use edge_round::{EdgeRound, EdgeRoundWeights, EdgeRoundWork};
pub use encoder::{Encoder, EncoderConfig, EncoderWork};
pub use gate::{Gate, GateShape, GateWeights, GateWork};
pub use linear::{Linear, LinearWork};
pub use messages::{Heard, Messages, MessagesWeights, MessagesWork, Sent};
pub use round::{MessageRound, RoundWork};
pub use space::{Initial, Space};
pub use stack::{Stack, StackWork};

use crate::error::{Error, Result};
use equimarl_group::Rep;

/// A pointwise function commutes with permutations of coordinates, and with nothing else that we have.
pub(crate) fn check_relu(rep: &Rep) -> Result<()> {
    match rep.terms().iter().find(|t| !t.atom.is_permutation()) {
        None => Ok(()),
        Some(term) => Err(Error::BadNetwork(format!(
            "a ReLU on `{}` of {} breaks equivariance, because its elements do not permute coordinates; put it on \
             regular, quotient or trivial representations",
            term.atom.name(),
            rep.group()
        ))),
    }
}
