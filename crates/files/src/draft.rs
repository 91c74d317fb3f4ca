//! A file that appears under its name only when it is complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of unfinished files end. Whoever is killed leaves one behind; nobody needs it.
pub const TEMPORARY: &str = "tmp";

/// A file being written beside the place where it will be. Dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
pub struct Draft {
    file: BufWriter<File>,
    temporary: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Starts a file that will be at `path`. What is there now stays until then.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn create(path: impl AsRef<Path>) -> Result<Draft> {
        // Two drafts of one program for the same file keep apart.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = path.as_ref();
        let Some(name) = path.file_name() else {
            return Err(Error::new(ErrorKind::InvalidInput, "this is not the name of a file"));
        };
        if path.is_dir() {
            return Err(Error::new(ErrorKind::IsADirectory, "there is a folder of this name"));
        }
        let mut hidden = OsString::from(".");
        hidden.push(name);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        hidden.push(format!(".{}-{count}.{TEMPORARY}", std::process::id()));
        let temporary = path.with_file_name(hidden);
        Ok(Draft { file: BufWriter::new(File::create(&temporary)?), temporary, path: path.into() })
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, if all went well until now, and removes it otherwise. Then it is on the disk.
    ///
    /// # Errors
    /// What went wrong until now, or does here.
    pub fn finish(mut self, written: Result<()>) -> Result<()> {
        written?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.temporary, &self.path)?;
        sync_folder(&self.path)
    }

    /// Gives the file its name, if no file has it.
    ///
    /// # Errors
    /// What goes wrong; [`ErrorKind::AlreadyExists`] if there is one, which stays as it is.
    pub fn finish_new(mut self) -> Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        match fs::hard_link(&self.temporary, &self.path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            Ok(()) => {}
            // Not every file system has links. This is not in one piece, but nobody else has the name.
            Err(_) => {
                let mut file = File::create_new(&self.path)?;
                file.write_all(&fs::read(&self.temporary)?)?;
                file.sync_all()?;
            }
        }
        sync_folder(&self.path)
    }
}

/// The new name is on the disk only after its folder is. Elsewhere than on Unix folders cannot be opened.
fn sync_folder(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename there is nothing to remove, and that is fine. Otherwise the first error says why.
        let _ = fs::remove_file(&self.temporary);
    }
}
