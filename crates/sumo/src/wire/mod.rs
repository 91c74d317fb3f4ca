//! TraCI as bytes: frames of commands, and what comes back. Numbers are big-endian.
//!
//! ```text
//! frame     i32 length of all, then commands
//! command   u8 length, u8 id, body            or, above 255 bytes,  u8 0, i32 length, u8 id, body
//! status    command with id of what it answers: u8 result (0 is good), string
//! string    i32 length, bytes
//! ```

pub mod id;
mod read;
mod write;

pub use read::{News, Reader, Told, Value};
pub use write::{Body, Frame};

use std::fmt;

/// Bytes that are not TraCI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled(pub String);

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SUMO's answer cannot be read: {}", self.0)
    }
}

type Result<T> = std::result::Result<T, Garbled>;
