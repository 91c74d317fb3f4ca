//! Equivariant layers, the paper's eight networks and networks for feature vectors, with explicit forward and backward
//! passes.
//!
//! - Layers: [`Linear`], [`Encoder`] (two convolutions and a pool), [`MessageRound`]; for feature vectors [`Stack`] and
//!   [`EdgeRound`]. Each takes representations of any group and refuses what would break the symmetry.
//! - [`Network`]: encoder, message rounds or hidden layers, heads, over one vector of parameters; four [`NetworkKind`]s for each
//!   world. [`Cache`]: all that lies between observations and outputs, kept and reused.
//! - [`Policy`]: the same layers with fixed weights. `encode`, `round` and `decide` are what one agent runs on its own device.
//! - [`Choice`]: from probabilities to an action.
//! - [`Batch`]: what a network looks at; each distinct image or feature vector once, and turned copies of images not at
//!   all.
//! - Files are in the module [`model`].
//!
//! An equivariant network has fewer free weights than entries, and its policy turns with what it sees:
//!
//! ```
//! use equimarl_nn::{NetworkKind, Network, NetworkConfig, Scratch, Interface};
//! use equimarl_group::{Group, Plane};
//!
//! let group: Group = "C4".parse()?;
//! let interface = Interface {
//!     world: "pond".into(),
//!     agents: 3,
//!     image: [1, 21, 21],
//!     actions: "perm[0 4 1 2 3]".into(), // stay, down, right, up, left
//!     ..Interface::default()
//! };
//! let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group);
//! let mut x = 0.0f64;
//! let mut normal = || { x += 1.0; (x * 12.9898).sin() * 1.4 }; // any source of random numbers
//! let policy = Network::init(&config, &mut normal)?.policy()?;
//!
//! // A lone agent sees one bright pixel, then the same image turned by 90 degrees.
//! let decide = |pixel: [usize; 2]| -> equimarl_nn::Result<Vec<f32>> {
//!     let (mut scratch, mut own, mut mixed) = (Scratch::default(), vec![], vec![]);
//!     let mut image = vec![0.0; 21 * 21];
//!     image[pixel[0] * 21 + pixel[1]] = 1.0;
//!     policy.encode(&image, &mut scratch, &mut own)?;
//!     for l in 0..policy.rounds() {
//!         policy.round(l, &own, &[], &[], &mut scratch, &mut mixed)?;
//!         std::mem::swap(&mut own, &mut mixed);
//!     }
//!     Ok(policy.decide(&own)?.log_probabilities)
//! };
//! let turn = Plane::new(&group)?.pixel(group.generators()[0], 21, [2, 7]);
//! let (here, turned) = (decide([2, 7])?, decide(turn)?);
//! // Down became right, right became up, ...: action 1 -> 2 -> 3 -> 4 -> 1, and staying stays.
//! for (a, b) in [(0, 0), (1, 2), (2, 3), (3, 4), (4, 1)] {
//!     assert!((here[a] - turned[b]).abs() < 1e-5);
//! }
//! # Ok::<(), equimarl_nn::Error>(())
//! ```

mod album;
mod batch;
mod built;
mod choose;
mod config;
mod error;
mod features;
mod fit;
mod gaussian;
mod layers;
pub mod model;
mod network;
mod pass;
mod plan;
mod policy;
mod ranges;
mod relaxed;
#[cfg(test)]
mod testing;
mod vectors;
mod weights;

pub use album::{Album, Observation, TeamAlbum};
pub use batch::{Batch, BatchBuilder, Images, Sharing};
pub use built::encoder_asked_for;
pub use choose::{Choice, greedy_action, sample};
pub use config::{Interface, NetworkConfig, NetworkKind, SenderKind, Widths};
pub use equimarl_kernels::encoder::Packed as EncoderPacked;
pub use equimarl_kernels::linear::Packed;
pub use error::{Error, Result};
pub use fit::{Senses, WorldShape};
pub use gaussian::{Gaussian, Squash};
pub use layers::*;
pub use model::Metadata;
pub use network::{DenseModel, DenseTensor, Network};
pub use pass::{Cache, Output, PassTimes};
pub use policy::{Decision, Features, Policy, PolicyOutput, Scratch};
pub use ranges::{Clip, MessageRanges, RangeMeter, trimmed_mean};
pub use vectors::{Senders, Vectors};
