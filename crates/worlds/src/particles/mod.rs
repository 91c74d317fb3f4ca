//! Bodies in the plane that push each other: what the particle worlds share.
//!
//! The physics are those of MPE as `mpe2` 1.1.1 has them, in double precision. Every body is a disc. A step of length
//! dt = 0.1, with a control u_i per moving body, is
//!
//! ```text
//! F_i = accel_i u_i + sum over bodies j of contact(x_i - x_j)
//! contact(d) = 100 d/|d| k ln(1 + exp((r_i + r_j - |d|)/k)),  k = 0.001
//! x_i <- x_i + dt v_i;  v_i <- 0.75 v_i + dt F_i;  |v_i| cut to the top speed
//! ```
//!
//! or, with the integrator of the original MPE, the velocity first and then the position. Two choices differ from mpe2 where
//! nobody can measure it: contacts further than forty times k apart are left out (they are below 1e-18), and two bodies on the
//! very same point do not push each other, where mpe2 divides zero by zero; no direction would be fair to all symmetries.
//!
//! A world adds [`Rules`]: kinds of bodies, rewards, who else moves. [`Particles`] is the rest.

mod arena;
mod bodies;
mod cloud;
mod drawing;
mod options;
mod save;
pub(crate) mod script;
mod symmetry;
#[cfg(test)]
mod tests;
mod world;

pub use arena::{Arena, Part, Shape};
pub use bodies::{Bodies, Integrator, Kind};
pub use world::{Particles, Rules};

pub(crate) use bodies::{length, minus};
pub(crate) use options::{Common, canonical, options};
pub(crate) use world::{CHOICES, Parts};

/// A vector of the plane: x to the right, y up, as in mpe2. What networks see is (down, right), as everywhere else.
pub type Vector = [f64; 2];
