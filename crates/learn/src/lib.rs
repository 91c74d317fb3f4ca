//! Teams that learn: rollouts, PPO, augmentation, evaluation; and the symmetry of whole policies.
//!
//! ```
//! use equimarl_learn::{equivariance, interface};
//! use equimarl_nn::{NetworkKind, Network, NetworkConfig};
//! use equimarl_worlds::builtin;
//!
//! let (registry, group) = (builtin(), "C4".parse()?);
//! let world = registry.make(&registry.usual("wildlife")?, &group, 1)?;
//! let config = NetworkConfig::usual(interface(world.spec(), NetworkKind::Equivariant)?, NetworkKind::Equivariant, &group);
//! let mut x = 0.0f64;
//! let mut normal = || { x += 1.0; (x * 12.9898).sin() * 1.4 }; // any source of random numbers
//! let policy = Network::init(&config, &mut normal)?.policy()?;
//! let report = equivariance(&policy, &*world, 10, 0)?;
//! assert!(report.equivariant, "{report:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arena;
mod begin;
pub mod checkpoint;
mod config;
mod controller;
mod episodes;
mod equivariance;
mod error;
mod estimate;
mod evaluate;
pub mod folder;
mod interface;
mod left;
mod loss;
mod metrics;
mod model;
mod observe;
mod optimiser;
mod ppo;
mod ranges;
mod returns;
mod rollout;
pub mod run;
mod scale;
mod stuck;
mod summary;
mod tokens;

pub use config::{AugmentRatio, Augmentation, EncoderChoice, Method, PRESETS, TrainConfig};
pub use controller::Learned;
pub use episodes::{Episodes, Finished, RECENT};
pub use equimarl_nn::{Choice, greedy_action, sample};
pub use equivariance::{
    ElementError, EquivarianceReport, TOLERANCE, equivariance, equivariance_each, equivariance_turns,
    random_states,
};
pub use error::{Error, Result};
pub use estimate::{Estimate, free_memory};
pub use evaluate::{Games, Inference, decide, evaluate, evaluate_watched};
pub use folder::RunFolder;
pub use interface::{check_fit, interface, interface_under};
pub use left::{in_words, left, usual_group};
pub use loss::{Loss, LossConfig, Samples};
pub use model::{Known, world_note, world_of};
pub use observe::{Observer, States, observe, observe_with};
pub use optimiser::Optimiser;
pub use ppo::{Progress, Pulse, Stage, Times, Trainer};
pub use ranges::message_ranges;
pub use returns::{Step, gae};
pub use stuck::{Pair, Stuck, StuckReport, Why};
pub use summary::{Evaluation, Summary};
