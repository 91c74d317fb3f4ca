//! A folder for the files of one SUMO, gone when it is not needed any more.

use equimarl_worlds::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of its own in the system's folder for such things.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> Result<Folder> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("equimarl-sumo-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| cannot(&path, &e))?;
        Ok(Folder(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it.
    ///
    /// # Errors
    /// If it cannot be written, as on a full disk.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        std::fs::write(&path, text).map_err(|e| cannot(&path, &e))?;
        Ok(path)
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Error {
    Error::BadWorld(format!(
        "{} cannot be written: {error}; SUMO needs some megabytes there (TMPDIR names another folder)",
        path.display()
    ))
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
