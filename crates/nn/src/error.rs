//! What can go wrong, said so that the reader knows what to do next.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A network that cannot be built. The message says what would work.
    #[error("{0}")]
    BadNetwork(String),
    /// A model file that is damaged, foreign, or of another network.
    #[error("cannot load the model: {0}")]
    BadModel(String),
    /// A network and a world that do not fit each other.
    #[error("{0}")]
    Mismatch(String),
    /// A batch that does not fit the network.
    #[error("{0}")]
    BadBatch(String),
    /// A file could not be read or written.
    #[error("{path}: {why}")]
    File {
        /// Which file.
        path: String,
        /// What the system said. Part of the message, so it is not a source that would say it again.
        why: std::io::Error,
    },
    /// Groups, representations or bases that do not fit.
    #[error(transparent)]
    Group(#[from] equimarl_group::Error),
    /// Sizes that do not fit a kernel.
    #[error(transparent)]
    Kernel(#[from] equimarl_kernels::Error),
}
