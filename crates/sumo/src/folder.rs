//! A folder for the files of one SUMO, gone when it is not needed any more.
//!
//! Its name cannot be guessed, and nobody else may look into it. A program that is killed leaves its folders behind; each holds a file
//! that its program kept locked while it lived, so the next one finds those whose program is dead, and removes them.

use equimarl_worlds::{Error, Result};
use std::fs::{DirBuilder, File, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// How their names begin.
const PREFIX: &str = "equimarl-sumo-";
/// The file that says that its program lives.
const LOCK: &str = "lock";
/// Names that are tried.
const TRIES: usize = 20;

/// A folder of its own in the system's folder for such things.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// A new one. The first one of a program removes what dead programs left.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> Result<Folder> {
        static SWEEP: Once = Once::new();
        let base = std::env::temp_dir();
        let folder = Folder::new_in(&base)?;
        SWEEP.call_once(|| sweep(&base, &folder.path));
        Ok(folder)
    }

    fn new_in(base: &Path) -> Result<Folder> {
        let mut last = (base.to_path_buf(), std::io::Error::other("no name was free"));
        for _ in 0..TRIES {
            // Keys of hash maps come from the system's own randomness.
            let path = base.join(format!("{PREFIX}{:016x}", RandomState::new().build_hasher().finish()));
            match make(&path) {
                Ok(lock) => return Ok(Folder { path, _lock: lock }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => last = (path, error),
                Err(error) => return Err(cannot(&path, &error)),
            }
        }
        Err(cannot(&last.0, &last.1))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file into it.
    ///
    /// # Errors
    /// If it cannot be written, as on a full disk.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::write(&path, text).map_err(|e| cannot(&path, &e))?;
        Ok(path)
    }
}

/// A folder that was not there, for us alone, and its lock.
fn make(path: &Path) -> std::io::Result<File> {
    DirBuilder::new().mode(0o700).create(path)?;
    let lock = File::create_new(path.join(LOCK))?;
    // Somebody who sweeps at this very moment may have it: then this folder is theirs to remove.
    lock.try_lock().map_err(|_| std::io::Error::from(ErrorKind::AlreadyExists))?;
    Ok(lock)
}

/// Removes folders of programs that are dead: ours by name and owner, with a lock that nobody holds.
fn sweep(base: &Path, own: &Path) {
    let Ok(mine) = own.symlink_metadata() else { return };
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_name) && entry.path() != own {
            remove_if_dead(&entry.path(), &mine);
        }
    }
}

fn is_name(name: &str) -> bool {
    let number = name.strip_prefix(PREFIX);
    number.is_some_and(|n| n.len() == 16 && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn remove_if_dead(path: &Path, mine: &Metadata) {
    let ours = |m: &Metadata| m.uid() == mine.uid();
    let folder = path.symlink_metadata().is_ok_and(|m| m.is_dir() && ours(&m));
    let file = path.join(LOCK);
    if !folder || !file.symlink_metadata().is_ok_and(|m| m.is_file() && ours(&m)) {
        return;
    }
    let Ok(lock) = File::open(file) else { return };
    if lock.try_lock().is_ok() {
        let _ = std::fs::remove_dir_all(path);
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
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_dead_programs_are_removed_and_no_others() {
        let base = Folder::new().unwrap();
        let (own, living) = (Folder::new_in(base.path()).unwrap(), Folder::new_in(base.path()).unwrap());
        assert_ne!(own.path(), living.path());
        assert_eq!(own.path().metadata().unwrap().mode() & 0o777, 0o700);
        let dead = base.path().join(format!("{PREFIX}0123456789abcdef"));
        // The lock is dropped, and the folder stays: as after a kill.
        drop(make(&dead).unwrap());
        std::fs::write(dead.join("trips.xml"), "x").unwrap();
        let strangers = ["equimarl-sumo-12-0", "other", "equimarl-sumo-0123456789abcdeg"];
        let strangers = strangers.map(|name| base.path().join(name));
        strangers.iter().for_each(|path| drop(make(path).unwrap()));
        let unlocked = base.path().join(format!("{PREFIX}aaaaaaaaaaaaaaaa"));
        std::fs::create_dir(&unlocked).unwrap();
        let link = base.path().join(format!("{PREFIX}bbbbbbbbbbbbbbbb"));
        std::os::unix::fs::symlink(&strangers[1], &link).unwrap();
        sweep(base.path(), own.path());
        assert!(!dead.exists());
        assert!([own.path(), living.path(), &unlocked, &link].iter().all(|path| path.exists()));
        assert!(strangers.iter().all(|path| path.join(LOCK).exists()));
        drop(living);
    }
}
