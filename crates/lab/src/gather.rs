//! Finds runs: run directories, folders of sweeps, whatever lies below a folder, files of records.

use crate::error::{Error, Result};
use crate::grid::Sweep;
use crate::record::Record;
use equimarl_learn::RunFolder;
use equimarl_learn::folder::{CONFIG, METRICS};
use equimarl_worlds::Registry;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below a given one are looked into this deep.
const DEEP: usize = 6;

/// A run that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The sweep that it belongs to: what `sweep.toml` says, or the name of the folder or file that it was found in.
    pub sweep: String,
    /// Where: a run directory, or a file of records and the number of its line.
    pub place: String,
    /// The run.
    pub record: Record,
}

/// The name of a sweep that chooses learning rates ends like this.
pub const RATES: &str = "-rates";

impl Found {
    /// Whether it was made to choose a learning rate.
    pub fn for_choosing(&self) -> bool {
        self.sweep.ends_with(RATES)
    }
}

/// Runs, and what looked like one and could not be read.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The runs, in the order of their places; each settings' run once, a finished one before others. (Twice if it was made to
    /// choose a learning rate and also to be reported.)
    pub runs: Vec<Found>,
    /// Places and why they cannot be read.
    pub unreadable: Vec<(String, String)>,
}

/// All runs at these places: a run directory, a folder with runs somewhere below, or a file of records (`.jsonl`).
///
/// # Errors
/// If a place is not there or is something else. A run that is broken does not stop the others: it is listed.
pub fn gather(registry: &Registry, places: &[PathBuf]) -> Result<Gathered> {
    let mut found = Gathered::default();
    for place in places {
        if place.is_dir() {
            let before = found.runs.len() + found.unreadable.len();
            let home = Home { sweep: name_of(place), failed: None };
            look(registry, place, &home.entered(place), DEEP, &mut found);
            if found.runs.len() + found.unreadable.len() == before {
                return Err(Error::Bad(format!(
                    "{} holds no runs: no folder below it has a {CONFIG}, and no .jsonl file has records",
                    place.display()
                )));
            }
        } else if place.extension().is_some_and(|e| e == "jsonl") && !is_metrics(place) {
            let records = Record::read_all(registry, place)?;
            found.add_records(place, records);
        } else if place.exists() {
            return Err(Error::Bad(format!(
                "{} is neither a folder with runs nor a .jsonl file of records",
                place.display()
            )));
        } else {
            return Err(Error::Bad(format!("there is no {}", place.display())));
        }
    }
    found.drop_repeated();
    Ok(found)
}

/// What a folder's runs have in common.
#[derive(Clone)]
struct Home {
    sweep: String,
    /// The folder with the reasons of failed runs.
    failed: Option<PathBuf>,
}

impl Home {
    /// The same, or the sweep whose folder this is.
    fn entered(&self, folder: &Path) -> Home {
        let Some(sweep) = sweep_name(folder) else { return self.clone() };
        Home { sweep, failed: Some(folder.join("failed")) }
    }

    /// Why a run of this name failed, if somebody noted it.
    fn reason(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.failed.as_ref()?.join(format!("{name}.txt"))).ok()?;
        Some(text.trim().to_string())
    }
}

/// The name of the sweep whose folder this is: what its `sweep.toml` says, or the folder's own name.
pub fn sweep_name(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("sweep.toml")).ok()?;
    let name = text.parse::<toml::Table>().ok().and_then(|t| Some(t.get("name")?.as_str()?.to_string()));
    Some(name.unwrap_or_else(|| name_of(folder)))
}

fn name_of(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The curve of a single run, which is no file of records.
fn is_metrics(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n == METRICS)
}

fn look(registry: &Registry, folder: &Path, home: &Home, deep: usize, found: &mut Gathered) {
    if RunFolder::at(folder).is_run() {
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        match Record::of_run(registry, folder, &name, home.reason(&name)) {
            Ok(record) => {
                let place = folder.display().to_string();
                found.runs.push(Found { sweep: home.sweep.clone(), place, record });
            }
            Err(e) => found.unreadable.push((folder.display().to_string(), e.to_string())),
        }
        return;
    }
    let is_sweep = folder.join("sweep.toml").exists();
    if is_sweep {
        found.add_kept(registry, folder);
    }
    let Ok(entries) = fs::read_dir(folder) else {
        found.unreadable.push((folder.display().to_string(), "the folder cannot be read".into()));
        return;
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        // A sweep's notes on its jobs are no runs.
        if is_sweep && path.file_name().is_some_and(|n| n == "slurm") {
            continue;
        }
        if path.is_dir() && deep > 0 {
            look(registry, &path, &home.entered(&path), deep - 1, found);
        } else if path.extension().is_some_and(|e| e == "jsonl") && !is_metrics(&path) {
            match Record::read_all(registry, &path) {
                Ok(records) => found.add_records(&path, records),
                Err(e) => found.unreadable.push((path.display().to_string(), e.to_string())),
            }
        }
    }
}

impl Gathered {
    fn add_records(&mut self, file: &Path, records: Vec<Record>) {
        let sweep = name_of(file);
        for (i, record) in records.into_iter().enumerate() {
            let place = format!("{} line {}", file.display(), i + 1);
            self.runs.push(Found { sweep: sweep.clone(), place, record });
        }
    }

    /// The runs of a sweep that were made before and kept elsewhere, so that they have no folder here.
    fn add_kept(&mut self, registry: &Registry, folder: &Path) {
        let file = folder.join("sweep.toml");
        let table = fs::read_to_string(&file).unwrap_or_default().parse::<toml::Table>();
        if !table.is_ok_and(|table| table.contains_key("kept")) {
            return;
        }
        let sweep = match Sweep::read(registry, &file) {
            Ok(sweep) => sweep,
            Err(e) => return self.unreadable.push((file.display().to_string(), e.to_string())),
        };
        let Some(Ok(entries)) = sweep.kept.as_ref().map(fs::read_dir) else { return };
        let planned: BTreeSet<String> = sweep.runs.iter().map(|run| run.config.hash(registry)).collect();
        let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|e| e == "jsonl"));
        files.sort();
        for file in files {
            match Record::read_all(registry, &file) {
                Err(e) => self.unreadable.push((file.display().to_string(), e.to_string())),
                Ok(records) => {
                    for (i, record) in records.into_iter().enumerate() {
                        if planned.contains(&record.config_hash) {
                            let place = format!("{} line {}", file.display(), i + 1);
                            self.runs.push(Found { sweep: sweep.name.clone(), place, record });
                        }
                    }
                }
            }
        }
    }

    /// A run and its kept record are one run, and so are two places that overlap.
    fn drop_repeated(&mut self) {
        let unfinished = |f: &Found| f.record.summary.is_none();
        // A stable sort: among equals the first place stays.
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|i| unfinished(&self.runs[*i]));
        let mut seen = BTreeSet::new();
        let mut stays = vec![false; self.runs.len()];
        for i in order {
            let found = &self.runs[i];
            stays[i] = seen.insert((found.record.config_hash.clone(), found.for_choosing()));
        }
        let mut stays = stays.into_iter();
        self.runs.retain(|_| stays.next().unwrap_or(true));
    }
}
