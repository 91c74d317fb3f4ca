//! Teams that learn: rollouts, PPO, augmentation, evaluation; and the symmetry of whole policies.
//!
//! ```
//! use equimarl_learn::equivariance;
//! use equimarl_nn::{Kind, Network, NetworkConfig, Setting};
//! use equimarl_worlds::Wildlife;
//!
//! let group = "C4".parse()?;
//! let world = Wildlife::new(3, 7)?.under(&group)?;
//! let config = NetworkConfig::paper(Setting::wildlife(3, 7, &group)?, Kind::Equivariant, &group);
//! let mut x = 0.0f64;
//! let mut normal = || { x += 1.0; (x * 12.9898).sin() * 1.4 }; // any source of random numbers
//! let policy = Network::init(&config, &mut normal)?.policy()?;
//! let report = equivariance(&policy, &world, 10, 0)?;
//! assert!(report.equivariant, "{report:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod checkpoint;
mod config;
mod controller;
mod episodes;
mod equivariance;
mod error;
mod evaluate;
mod loss;
mod observe;
mod optimiser;
mod ppo;
mod returns;
mod rollout;
pub mod run;

pub use config::{AnyWorld, AugmentRatio, Method, PRESETS, TrainConfig, WorldConfig};
pub use controller::Learned;
pub use episodes::{Episodes, Finished, RECENT};
pub use equivariance::{ElementError, EquivarianceReport, TOLERANCE, equivariance, random_states};
pub use error::{Error, Result};
pub use evaluate::{Choice, Games, Inference, evaluate, likeliest};
pub use loss::{Loss, LossConfig, Samples};
pub use observe::{Observer, States, observe};
pub use optimiser::Optimiser;
pub use ppo::{Progress, Times, Trainer};
pub use returns::{Step, advantages};
pub use rollout::sample;
