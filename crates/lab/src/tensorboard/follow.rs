//! A run's metrics as events, while it trains.

use super::record::{What, event};
use super::{NAME, values};
use crate::error::{Error, Result};
use equimarl_learn::RunFolder;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Follows `metrics.jsonl` of a run and writes what is new to an event file.
///
/// Every process has its own file. One that continues a run says so and writes the run from its beginning, because the last
/// lines of a process that was killed may be missing or void; TensorBoard then forgets what was there before.
#[derive(Debug)]
pub struct Follower {
    metrics: PathBuf,
    path: PathBuf,
    file: File,
    /// Bytes of the metrics that are done.
    offset: u64,
}

impl Follower {
    /// Begins an event file in `folder`/NAME for the run with that name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(run: &Path, folder: &Path) -> Result<Follower> {
        let whole = std::path::absolute(run).map_err(|e| Error::file(run, e))?;
        let name = whole.file_name().map_or("run".into(), |n| n.to_string_lossy().into_owned());
        let home = folder.join(super::safe(&name));
        fs::create_dir_all(&home).map_err(|e| Error::file(&home, e))?;
        let stamp = now();
        let path = home.join(format!("{NAME}.{}.{}", stamp as u64, std::process::id()));
        let mut file = File::create(&path).map_err(|e| Error::file(&path, e))?;
        file.write_all(&event(stamp, 0, &What::Version)).map_err(|e| Error::file(&path, e))?;
        Ok(Follower { metrics: RunFolder::at(run).metrics(), path, file, offset: 0 })
    }

    /// The run goes on from a checkpoint: what is in earlier files is void.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn resumed(&mut self) -> Result<()> {
        self.write(&event(now(), 0, &What::Start))
    }

    /// Writes what is new, whole lines only.
    ///
    /// # Errors
    /// If the metrics cannot be read or the events not be written.
    pub fn poll(&mut self) -> Result<()> {
        let mut text = String::new();
        let read = |text: &mut String| -> std::io::Result<usize> {
            let mut file = File::open(&self.metrics)?;
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_to_string(text)
        };
        match read(&mut text) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(|e| Error::file(&self.metrics, e))?,
        };
        let whole = text.rfind('\n').map_or(0, |i| i + 1);
        let mut bytes = vec![];
        for (step, values) in text[..whole].lines().filter_map(values) {
            bytes.extend(event(now(), step, &What::Scalars(&values)));
        }
        self.offset += whole as u64;
        self.write(&bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| Error::file(&self.path, e))
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_written_once() {
        let run = std::env::temp_dir().join(format!("equimarl-follow-{}", std::process::id()));
        fs::create_dir_all(&run).unwrap();
        let mut follower = Follower::begin(&run, &run.join("events")).unwrap();
        let size = |f: &Follower| fs::metadata(&f.path).unwrap().len();
        follower.poll().unwrap(); // nothing there yet
        let begun = size(&follower);
        fs::write(&follower.metrics, "{\"steps\":1,\"return\":1}\n{\"steps\":2,\"ret").unwrap();
        follower.poll().unwrap();
        let one = size(&follower) - begun;
        assert!(one > 0);
        follower.poll().unwrap();
        assert_eq!(size(&follower), begun + one);
        fs::write(&follower.metrics, "{\"steps\":1,\"return\":1}\n{\"steps\":2,\"return\":1}\n").unwrap();
        follower.poll().unwrap();
        assert_eq!(size(&follower), begun + 2 * one);
        fs::remove_dir_all(&run).unwrap();
    }
}
