//! What an agent does against neighbours that lie under their own name.
//!
//! - It clips what they say to the ranges of the model file: numbers that no honest agent says become ones that it might.
//! - It leaves out the least and the largest of each number where it hears three neighbours or more (`trimmed`): then no single
//!   one of them moves a mean beyond what the others say.
//!
//! Both commute with the group, and clipping changes no bit of what is in range.

use equimarl_nn::Clip;
use std::sync::Arc;

/// What an agent does against neighbours that lie.
#[derive(Clone, Debug, Default)]
pub struct Defence {
    /// The ranges that it clips to, if the model file has any.
    pub clip: Option<Arc<Clip>>,
    /// Whether it trims means over three neighbours or more.
    pub trimmed: bool,
}

impl Defence {
    /// What is said to those who want to trim what cannot be.
    pub const CANNOT_TRIM: &str = "the messages of this team are vectors that turns mix, so means trimmed number by number would break \
                                   its symmetry; clip them only (--robust clip)";
}
