//! What can go wrong, said so that the reader knows what to do next.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A world that does not show itself.
    #[error(transparent)]
    World(#[from] equimarl_worlds::Error),
    /// A picture that cannot be drawn.
    #[error("cannot draw this: {0}")]
    Draw(String),
    /// A file that cannot be written.
    #[error("cannot write {}: {why}", path.display())]
    Write {
        /// The file.
        path: std::path::PathBuf,
        /// Why not. Part of the message, so it is not a source that would say it again.
        why: std::io::Error,
    },
}
