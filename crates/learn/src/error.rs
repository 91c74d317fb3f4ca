//! What can go wrong, said so that the reader knows what to do next.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A network and a world that do not fit each other.
    #[error("{0}")]
    Mismatch(String),
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
