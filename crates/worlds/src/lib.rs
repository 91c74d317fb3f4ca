//! Exactly symmetric multi-agent worlds: drones that catch a poacher together, traffic lights that keep a city moving.
//!
//! - [`World`] and [`Exact`]: what a world is, and what it can promise besides. [`Spec`] is its declaration, which everybody
//!   else reads; [`Definition`] and [`Registry`] list the worlds that a program has.
//! - [`Wildlife`], [`Traffic`]: the two worlds of the paper, at any size; [`wildlife::solve`] gives the exact optimum.
//! - [`Spread`], [`Tag`]: particles that push each other, as in MPE ([`particles`] has the physics).
//! - [`audit`]: is a world as symmetric as it says? [`play`]: episodes of a [`Controller`]; [`Envs`]: many
//!   environments at once, whatever the world.
//! - [`scene`]: worlds as plain data that others draw and people edit; [`replay`]: scripted episodes.
//!
//! ```
//! use equimarl_worlds::{Traffic, TrafficOptions, Wildlife, audit};
//!
//! // Turned and mirrored, the drones' world is the same world.
//! assert!(audit(&Wildlife::new(3, 7)?, 200, 0).holds);
//!
//! // A mirrored city is not: its lanes are one-way. The audit says which lane goes where it cannot.
//! let city = Traffic::new(TrafficOptions::default())?.under(&"D4".parse()?)?;
//! let report = audit(&city, 200, 0);
//! let failed: Vec<&str> = report.elements.iter().filter(|e| !e.holds).map(|e| e.element.as_str()).collect();
//! assert_eq!(failed, ["m", "rm", "r2m", "r3m"]);
//! # Ok::<(), equimarl_worlds::Error>(())
//! ```

mod action;
mod audit;
mod batch;
mod controller;
mod envs;
mod episode;
mod error;
mod joint;
mod nearest;
pub mod particles;
mod registry;
mod replay;
pub mod scene;
mod settings;
mod spec;
pub mod spread;
mod stream;
pub mod tag;
mod terminal;
mod token;
pub mod traffic;
pub mod wildlife;
mod world;

pub use action::GroupAction;
pub use audit::{
    AuditReport, Auditing, Counterexample, ElementReport, ROUNDING, STEP_ROUNDING, Variation, Verdict, audit,
    audit_by, audit_turns,
};
pub use batch::{Canvas, EnvBatch};
pub use controller::{Controller, Named, uniform, uniform_vectors};
pub use envs::{Envs, ExactEnvs, Loose, Painter, Resumed};
pub use episode::{
    Episode, Moment, Statistic, Summary, Tally, episode, null_is_nan, play, play_each, watched_episode,
};
pub use error::{Error, Result};
pub use joint::Joint;
pub use nearest::nearest;
pub use registry::{Definition, FirstFormat, KEPT_IN, OwnAudit, Registry, Solved, Symmetries, builtin};
pub use replay::{play_script, replay};
pub use settings::{Opt, ParseFlag, Settings, Shorthand, Value, WorldConfig};
pub use spec::{
    Actions, Better, Described, Fallback, Home, Links, Measure, Over, Region, Senders, Spec, moves,
    permutation,
};
pub use spread::Spread;
pub use stream::{Purpose, Stream, StreamState};
pub use tag::Tag;
pub use token::Token;
pub use traffic::{Traffic, TrafficOptions};
pub use wildlife::Wildlife;
pub use world::{Edges, End, Exact, Outcome, World};
