//! What can go wrong in a fleet.

use thiserror::Error;

/// What can go wrong in a fleet.
#[derive(Debug, Error)]
pub enum Error {
    /// A fleet file, a key or a setting makes no sense.
    #[error("{0}")]
    BadFleet(String),
    /// The model and the world do not fit, or a network cannot act alone.
    #[error("{0}")]
    Mismatch(String),
    /// The run could not start or go on.
    #[error("{0}")]
    Failed(String),
    /// The network between the members does not work.
    #[error("the network: {0}")]
    Network(String),
    /// A record of a run cannot be read.
    #[error("{0}")]
    BadRecord(String),
    /// A network refuses what it was given.
    #[error(transparent)]
    Nn(#[from] equimarl_nn::Error),
    /// A world refuses what it was given.
    #[error(transparent)]
    Worlds(#[from] equimarl_worlds::Error),
    /// A file.
    #[error("{path}: {why}")]
    File {
        /// Which file.
        path: String,
        /// What the system said.
        why: std::io::Error,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error about a file.
    pub fn file(path: &std::path::Path, why: std::io::Error) -> Error {
        Error::File { path: path.display().to_string(), why }
    }
}
