//! Files that are there as a whole or not at all.

use super::container::MAX_FILE;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Error as IoError, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads a whole file of at most [`MAX_FILE`] bytes.
///
/// # Errors
/// If it cannot be read, is not a file, or is larger.
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let failed = |why| Error::File { path: path.display().to_string(), why };
    // Asked before opening: opening a pipe would wait for its writer.
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(failed(IoError::other("not a file")));
    }
    if found.len() > MAX_FILE as u64 {
        return Err(Error::BadModel(format!(
            "{}: it has {} bytes, and models have at most {MAX_FILE}",
            path.display(),
            found.len()
        )));
    }
    let mut bytes = Vec::with_capacity(found.len() as usize);
    // It may have grown since. One byte more than allowed is enough to be refused.
    File::open(path).and_then(|f| f.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

/// Replaces the file at `path` in one step: after a crash at any time there is the old file or the new one, whole.
///
/// # Errors
/// If it cannot be written; then the old file is untouched.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let failed = |why| Error::File { path: path.display().to_string(), why };
    let Some(name) = path.file_name() else {
        return Err(failed(IoError::other("not the name of a file")));
    };
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let draft = draft(folder, name.to_owned());
    let done = write_new(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if done.is_err() {
        // Nothing more can be done if this fails too, and the first error says why.
        let _ = fs::remove_file(&draft);
    }
    done.and_then(|()| sync_folder(folder)).map_err(failed)
}

/// A name beside the file that nobody else uses.
fn draft(folder: &Path, mut name: OsString) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    folder.join(name)
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The new name is on the disk only after its folder is. Elsewhere than on Unix folders cannot be opened.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
