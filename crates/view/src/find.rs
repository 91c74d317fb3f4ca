//! Looks for run directories below a folder, and for the sweep that each belongs to.

use equimarl_lab::{RATES, sweep_name};
use equimarl_learn::RunFolder;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below the first one in which runs are looked for.
const DEPTH: usize = 4;
/// The most runs in a list, and the most folders that are looked into.
const MOST: usize = 2000;
const FOLDERS: usize = 20_000;

/// A run directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Its place below the folder.
    pub id: String,
    pub path: PathBuf,
    /// The sweep that it belongs to: what the `sweep.toml` above it says, or the folder that it is in; nothing if that is
    /// the folder that is shown.
    pub sweep: String,
}

impl Place {
    /// Whether it was made to choose a learning rate.
    pub fn for_choosing(&self) -> bool {
        self.sweep.ends_with(RATES)
    }
}

/// All runs below a folder, which may be a run itself, in the order of their names.
pub(crate) fn runs(root: &Path) -> Vec<Place> {
    let mut search = Search { left: FOLDERS, found: vec![] };
    let sweep = sweep_name(root);
    let declared = sweep.is_some();
    // A folder without a name of its own may still be called one: `equimarl view runs/study-rates`.
    let sweep =
        sweep.unwrap_or_else(|| own_name(root).filter(|name| name.ends_with(RATES)).unwrap_or_default());
    search.look(root, &name_of_root(root), DEPTH, (&sweep, declared));
    search.found.sort();
    search.found
}

/// A folder that is a run itself is listed under its own name, others by what is below them.
pub(crate) fn name_of_root(root: &Path) -> String {
    if !RunFolder::at(root).is_run() {
        return String::new();
    }
    own_name(root).unwrap_or_else(|| "run".into())
}

fn own_name(folder: &Path) -> Option<String> {
    folder.file_name().map(|n| n.to_string_lossy().into_owned())
}

struct Search {
    /// Folders that may still be looked into.
    left: usize,
    found: Vec<Place>,
}

impl Search {
    /// `sweep` is the sweep that the folder is in, and whether a `sweep.toml` says so.
    fn look(&mut self, folder: &Path, id: &str, depth: usize, sweep: (&str, bool)) {
        if self.found.len() >= MOST || self.left == 0 {
            return;
        }
        self.left -= 1;
        if RunFolder::at(folder).config().is_file() && !id.is_empty() {
            let place = Place { id: id.into(), path: folder.into(), sweep: sweep.0.into() };
            return self.found.push(place);
        }
        if depth == 0 {
            return;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Links are not followed: they may lead anywhere.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !is_folder || name.starts_with('.') {
                continue;
            }
            let (path, id) =
                (entry.path(), if id.is_empty() { name.clone() } else { format!("{id}/{name}") });
            let is_run = RunFolder::at(&path).config().is_file();
            match if is_run { None } else { sweep_name(&path) } {
                Some(own) => self.look(&path, &id, depth - 1, (&own, true)),
                // Folders of a sweep, such as `unfinished`, are no sweeps; others may be what somebody took for one.
                None if is_run || sweep.1 => self.look(&path, &id, depth - 1, sweep),
                None => self.look(&path, &id, depth - 1, (&id, false)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_learn::folder::CONFIG;

    #[test]
    fn every_run_has_its_sweep() {
        let root = std::env::temp_dir().join(format!("equimarl-find-{}", std::process::id()));
        for run in ["alone", "by-hand/a", "by-hand/w-rates/b", "made/c", "made/unfinished/d", "tuned/e"] {
            fs::create_dir_all(root.join(run)).unwrap();
            fs::write(root.join(run).join(CONFIG), "").unwrap();
        }
        fs::write(root.join("made/sweep.toml"), "name = \"study\"").unwrap();
        fs::write(root.join("tuned/sweep.toml"), "name = \"study-rates\"").unwrap();
        let found = runs(&root);
        let sweeps: Vec<(&str, &str, bool)> =
            found.iter().map(|p| (p.id.as_str(), p.sweep.as_str(), p.for_choosing())).collect();
        assert_eq!(
            sweeps,
            [
                ("alone", "", false),
                ("by-hand/a", "by-hand", false),
                ("by-hand/w-rates/b", "by-hand/w-rates", true),
                ("made/c", "study", false),
                ("made/unfinished/d", "study", false),
                ("tuned/e", "study-rates", true),
            ]
        );
        // A sweep's folder can be shown alone.
        assert!(runs(&root.join("tuned"))[0].for_choosing());
        assert!(runs(&root.join("by-hand/w-rates"))[0].for_choosing());
        fs::remove_dir_all(&root).unwrap();
    }
}
