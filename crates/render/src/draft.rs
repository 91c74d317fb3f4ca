//! A file that appears under its name only when it is complete.

use crate::error::{Error, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file being written beside the place where it will be. Dropped before it is finished, it leaves nothing behind.
pub(crate) struct Draft {
    file: BufWriter<File>,
    temporary: PathBuf,
    path: PathBuf,
}

impl Draft {
    pub fn create(path: &Path) -> Result<Draft> {
        // Two drafts of one program for the same file keep apart.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let refuse =
            |kind, why: &str| Err(Error::Write { path: path.into(), why: io::Error::new(kind, why) });
        let Some(name) = path.file_name() else {
            return refuse(io::ErrorKind::InvalidInput, "this is not the name of a file");
        };
        if path.is_dir() {
            return refuse(io::ErrorKind::IsADirectory, "there is a folder of this name");
        }
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let temporary = path.with_file_name(hidden);
        match File::create(&temporary) {
            Ok(file) => Ok(Draft { file: BufWriter::new(file), temporary, path: path.into() }),
            Err(why) => Err(Error::Write { path: path.into(), why }),
        }
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name if all went well until now, and removes it otherwise.
    pub fn finish(mut self, written: io::Result<()>) -> Result<()> {
        let complete = written.and_then(|()| {
            self.file.flush()?;
            self.file.get_ref().sync_all()?;
            fs::rename(&self.temporary, &self.path)
        });
        complete.map_err(|why| Error::Write { path: self.path.clone(), why })
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename there is nothing to remove, and that is fine.
        let _ = fs::remove_file(&self.temporary);
    }
}
