//! Finite groups, their representations, and exact bases of the maps that commute with them.

mod closure;
mod error;
mod family;
mod group;
mod parse_group;
mod plane;
mod subgroup;
mod text;

pub use error::{Error, Result};
pub use group::{Element, Group, MAX_ORDER};
pub use plane::{Plane, strided_size};
pub use subgroup::Subgroup;
