//! A trained team as a fleet: one process per agent, messages between neighbours only.
//!
//! - [`Agent`]: what runs on a device. It holds the model, gets its own observation, its neighbours' relative positions and
//!   what it senses of things that do not act, exchanges features with its neighbours in rounds, and acts. It never sees another agent's observation or the state of the world.
//! - [`Host`]: the world that agents live in, any world: their sensors and actuators.
//! - [`Transport`]: how messages travel: inside a process, or between machines (feature `zenoh`).
//! - [`pool`]: a whole fleet in one process with simulated time, for studies and for thousands of agents;
//!   [`node`]: one member in its own process, against the clock.
//! - [`field`]: agents with sensors and actuators of their own ([`field::Sense`], [`field::Act`]) and no world;
//!   [`sensor`]: a program of any language as both.
//! - [`Faults`]: lost, late and cut-off messages on purpose. [`Signer`]: signatures.
//!
//! ```
//! use equimarl_fleet::{Agent, Faults, Host, RunPlan, Signer, pool};
//! use equimarl_learn::interface;
//! use equimarl_nn::{NetworkKind, Network, NetworkConfig};
//! use equimarl_worlds::builtin;
//! use std::sync::Arc;
//!
//! let group = "C4".parse()?;
//! let world = builtin().make(&builtin().usual("wildlife")?, &group, 1)?;
//! let config = NetworkConfig::usual(interface(world.spec(), NetworkKind::Equivariant)?, NetworkKind::Equivariant, &group);
//! let network = Network::init(&config, &mut || 0.1)?;
//! let policy = Arc::new(network.policy()?);
//!
//! let agents: Result<Vec<Agent>, _> = (0..3).map(|i| Agent::new(i, policy.clone(), 0, Signer::Open)).collect();
//! let plan = RunPlan { episodes: 2, ..RunPlan::default() };
//! let mut host = Host::new(world, plan, (&policy, 0), Signer::Open)?;
//! pool::run(&mut host, agents?, &Faults::default(), None, 1, &mut |_, _| Ok(true))?;
//! assert_eq!(host.episodes().len(), 2);
//! assert_eq!(host.report().missed, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
pub mod audit;
#[cfg(feature = "zenoh")]
mod certificates;
mod config;
mod defence;
#[cfg(feature = "zenoh")]
pub mod device;
mod error;
mod fallback;
mod faults;
pub mod field;
mod founding;
mod host;
mod inbox;
pub mod keys;
pub mod liar;
mod member;
mod message;
pub mod node;
mod observation;
#[cfg(feature = "zenoh")]
mod observer;
mod payload;
mod pixels;
pub mod pool;
pub mod record;
mod report;
pub mod sensor;
mod shape;
mod sight;
pub mod signer;
mod tally;
mod transport;
mod world;

pub use agent::{Agent, Envelope, Workspace};
pub use config::{Fleet, FleetConfig, MemberConfig, RunConfig, split_address};
pub use defence::Defence;
pub use error::{Error, Result};
pub use fallback::Fallback;
pub use faults::{Bursts, Delayed, Fate, Faults};
pub use founding::{Founding, found};
pub use host::{Brain, Host, Moment, RunPlan};
pub use inbox::Inbox;
pub use member::Member;
pub use message::{HEADER, Header, MAX_PAYLOAD, MessageKind, RunId, StepId, VERSION};
pub use observation::{MAX_NEIGHBOURS, MAX_SENDERS, Observation, Sensed};
#[cfg(feature = "zenoh")]
pub use observer::Observer;
pub use payload::{Action, Join, Welcome};
pub use record::MessageLog;
pub use report::Report;
pub use signer::{Ring, Signer};
pub use tally::{Drops, Reason};
pub use transport::{Endpoint, Transport, in_process};
#[cfg(feature = "zenoh")]
pub use transport::{House, Zenoh};
pub use world::may_meet;
