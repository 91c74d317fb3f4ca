//! Files that are there as a whole or not at all, and a hash that tells them apart.
//!
//! ```
//! use equimarl_files::{read_file, write_file};
//! # let folder = std::env::temp_dir().join(format!("equimarl-files-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("note.txt");
//! write_file(&path, b"all or nothing")?;
//! assert_eq!(read_file(&path, 1000)?, b"all or nothing");
//! assert!(read_file(&path, 3).is_err());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod draft;
mod hash;

pub use draft::{Draft, TEMPORARY};
pub use hash::{fnv1a, fnv1a_after};

/// Stands in every figure, film, page and sample that we write, so that we know it again: only what has it is replaced without
/// being asked.
pub const MARK: &str = "made by equimarl";

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;

/// Reads a whole file of at most `most` bytes.
///
/// # Errors
/// If it cannot be read, is not a file, or is larger ([`ErrorKind::FileTooLarge`]).
pub fn read_file(path: impl AsRef<Path>, most: usize) -> Result<Vec<u8>> {
    let (path, most) = (path.as_ref(), most as u64);
    // Asked before opening: opening a pipe would wait for its writer.
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(Error::other("not a file"));
    }
    let fits = |bytes: u64| match bytes <= most {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it has {bytes} bytes, and at most {most} are read"),
        )),
    };
    fits(found.len())?;
    let mut bytes = Vec::with_capacity(found.len() as usize);
    // It may have grown since. One byte more than allowed is enough to be refused.
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    fits(bytes.len() as u64)?;
    Ok(bytes)
}

/// Replaces the file at `path` in one step: after a crash at any time there is the old file or the new one, whole.
///
/// # Errors
/// If it cannot be written; then the old file is untouched.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let mut draft = Draft::create(path)?;
    let written = draft.write_all(bytes);
    draft.finish(written)
}

/// Makes the file at `path`, in one step and only if there is none: of two who try at the same time, one does.
///
/// # Errors
/// If it cannot be written, or exists ([`ErrorKind::AlreadyExists`]).
pub fn create_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let mut draft = Draft::create(path)?;
    draft.write_all(bytes)?;
    draft.finish_new()
}

#[cfg(test)]
mod tests;
