//! Reading and writing model files, and what else must be there as a whole or not at all.

use super::container::MAX_FILE;
use crate::error::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// Reads a whole file of at most [`MAX_FILE`] bytes.
///
/// # Errors
/// If it cannot be read, is not a file, or is larger.
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let path = path.as_ref();
    equimarl_files::read_file(path, MAX_FILE).map_err(|why| match why.kind() {
        ErrorKind::FileTooLarge => Error::BadModel(format!("{}: {why}", path.display())),
        _ => Error::File { path: path.display().to_string(), why },
    })
}

/// Replaces the file at `path` in one step: after a crash at any time there is the old file or the new one, whole.
///
/// # Errors
/// If it cannot be written; then the old file is untouched.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let failed = |why| Error::File { path: path.display().to_string(), why };
    equimarl_files::write_file(path, bytes).map_err(failed)
}
