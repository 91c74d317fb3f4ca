//! What can go wrong in the laboratory.

use std::path::Path;

/// What went wrong, and where.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A sweep, record or report is not as it should be.
    #[error("{0}")]
    Bad(String),
    /// Training or its settings.
    #[error(transparent)]
    Learn(#[from] equimarl_learn::Error),
    /// A file cannot be read or written.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// The system's reason.
        why: std::io::Error,
    },
}

/// What the laboratory gives.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A file and what the system said of it.
    pub fn file(path: &Path, why: std::io::Error) -> Error {
        Error::File { path: path.display().to_string(), why }
    }
}
