//! `metrics.jsonl`: the learning curve, written line by line by the one process that trains.

use crate::error::{Error, Result};
use serde_json::Value;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// `metrics.jsonl`, written line by line.
pub(crate) struct Metrics {
    path: PathBuf,
    file: File,
}

impl Metrics {
    /// Opens the file, and keeps other processes from training in the same run.
    pub(crate) fn open(path: PathBuf) -> Result<Metrics> {
        let failed = |why| Error::File { path: path.display().to_string(), why };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        // Whoever only looks whether a run goes on holds the lock for a moment.
        for patience in (0..20).rev() {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if patience > 0 => sleep(Duration::from_millis(10)),
                Err(TryLockError::WouldBlock) => {
                    let run = path.parent().unwrap_or(&path).display();
                    return Err(Error::BadRun(format!("another process is training in {run}")));
                }
                // Where files cannot be locked, nothing keeps them apart.
                Ok(()) | Err(TryLockError::Error(_)) => break,
            }
        }
        let metrics = Metrics { path, file };
        if metrics.was_moved() {
            let path = metrics.path.display();
            return Err(Error::BadRun(format!("{path} was moved while this process waited for it")));
        }
        Ok(metrics)
    }

    /// Whether the path leads elsewhere than to the open file: a run that is finished may be moved, and then it is no longer ours.
    #[cfg(unix)]
    fn was_moved(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let id = |about: fs::Metadata| (about.dev(), about.ino());
        let (there, here) = (fs::metadata(&self.path).map(id), self.file.metadata().map(id));
        there.ok() != here.ok()
    }

    #[cfg(not(unix))]
    fn was_moved(&self) -> bool {
        !self.path.exists()
    }

    /// Goes on after `length` bytes; what comes after belongs to work that was lost.
    pub(crate) fn cut(&mut self, length: u64) -> Result<()> {
        self.check(length)?;
        self.file.set_len(length).map_err(|e| self.failed(e))?;
        self.file.seek(SeekFrom::End(0)).map_err(|e| self.failed(e))?;
        Ok(())
    }

    /// Refuses a file that is shorter than when a checkpoint was written.
    pub(crate) fn check(&self, length: u64) -> Result<()> {
        let found = self.file.metadata().map_err(|e| self.failed(e))?.len();
        if found < length {
            let path = self.path.display();
            let what = if found == 0 { "is gone".into() } else { format!("has {found} bytes only") };
            return Err(Error::BadRun(format!(
                "{path} {what}, and had {length} bytes when the last checkpoint was written: put it back, or let a new run begin with \
                 this team (`train --from`), which has a learning curve of its own"
            )));
        }
        Ok(())
    }

    fn failed(&self, why: std::io::Error) -> Error {
        Error::File { path: self.path.display().to_string(), why }
    }

    pub(crate) fn write(&mut self, line: &Value) -> Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(|e| self.failed(e))
    }

    /// Makes sure that it is on the disk, and gives its length.
    pub(crate) fn sync(&mut self) -> Result<u64> {
        self.file.sync_all().map_err(|e| self.failed(e))?;
        self.file.stream_position().map_err(|e| self.failed(e))
    }
}
