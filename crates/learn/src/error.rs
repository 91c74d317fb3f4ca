//! What can go wrong, said so that the reader knows what to do next.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A network and a world that do not fit each other.
    #[error("{0}")]
    Mismatch(String),
    /// Settings that cannot train.
    #[error("{0}")]
    BadConfig(String),
    /// A run directory or checkpoint that cannot be continued.
    #[error("{0}")]
    BadRun(String),
    /// Learning left the numbers that computers have.
    #[error("{0}")]
    Diverged(String),
    /// A file could not be read or written.
    #[error("{path}: {why}")]
    File {
        /// Which file.
        path: String,
        /// What the system said.
        why: std::io::Error,
    },
    /// From the worlds.
    #[error(transparent)]
    World(#[from] equimarl_worlds::Error),
    /// From the networks.
    #[error(transparent)]
    Network(#[from] equimarl_nn::Error),
    /// From the groups.
    #[error(transparent)]
    Group(#[from] equimarl_group::Error),
}
