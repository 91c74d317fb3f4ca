//! The folder of a sweep: `sweep.toml`, a run directory for every finished run, `unfinished/` for those that are not,
//! `failed/` with the reasons of those that cannot be.
//!
//! A run is made in `unfinished/NAME` and renamed to `NAME` at its end, so that whatever stands under its name is whole.

use crate::error::{Error, Result};
use crate::grid::{Planned, Sweep};
use crate::record::{Record, State};
use equimarl_files::write_file;
use equimarl_learn::RunFolder;
use equimarl_learn::run::{self, Ended, Event};
use equimarl_worlds::Registry;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How a run of a sweep stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Its folder is there.
    Finished,
    /// It was made before and kept in the results folder.
    Kept,
    /// A process is at it.
    Running,
    /// It was begun, and nobody is at it.
    Stopped,
    /// It cannot be made, and why.
    Failed(String),
    /// Nobody has begun it.
    Waiting,
}

impl RunStatus {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            RunStatus::Finished => "finished",
            RunStatus::Kept => "kept",
            RunStatus::Running => "running",
            RunStatus::Stopped => "stopped",
            RunStatus::Failed(_) => "failed",
            RunStatus::Waiting => "waiting",
        }
    }

    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        matches!(self, RunStatus::Finished | RunStatus::Kept)
    }
}

/// A sweep and its folder.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The runs.
    pub sweep: Sweep,
    /// The folder.
    pub path: PathBuf,
    registry: Registry,
}

impl Folder {
    /// The folder of a sweep that may have been begun before.
    ///
    /// Runs that were begun before keep their names: what is unusual about a run, and so its name, depends on the others.
    ///
    /// # Errors
    /// If the folder is a run, belongs to another sweep, or holds runs of the same names with other settings.
    pub fn open(registry: &Registry, sweep: Sweep, path: &Path) -> Result<Folder> {
        let path = std::path::absolute(path).map_err(|e| Error::file(path, e))?;
        // Nobody would look for runs inside of a run. (Above, other programs may have a config.toml, but no metrics beside it.)
        let is_run = |p: &&Path| {
            let run = RunFolder::at(p);
            run.is_run() && (*p == path || run.metrics().exists())
        };
        if let Some(run) = path.ancestors().find(is_run) {
            let lies = if run == path { "is" } else { "lies in" };
            return Err(Error::Bad(format!(
                "{} {lies} the folder of a run, not of a sweep; choose another --out",
                path.display()
            )));
        }
        let mut folder = Folder { sweep, path, registry: registry.clone() };
        if let Some(other) = folder.owner().filter(|name| *name != folder.sweep.name) {
            return Err(Error::Bad(format!(
                "{} belongs to the sweep `{other}`; choose another --out for `{}`",
                folder.path.display(),
                folder.sweep.name
            )));
        }
        folder.keep_names();
        for planned in &folder.sweep.runs {
            for home in [folder.finished(planned), folder.unfinished(planned)] {
                if !RunFolder::at(&home).is_run() {
                    continue;
                }
                // What cannot be read is somebody else's.
                if RunFolder::at(&home).read_config(registry).ok().as_ref() != Some(&planned.config) {
                    return Err(Error::Bad(format!(
                        "{} was made with other settings than the sweep has now; choose another --out",
                        home.display()
                    )));
                }
            }
        }
        Ok(folder)
    }

    /// The name of the sweep that was begun here.
    fn owner(&self) -> Option<String> {
        let text = fs::read_to_string(self.path.join("sweep.toml")).ok()?;
        Some(text.parse::<toml::Table>().ok()?.get("name")?.as_str()?.into())
    }

    /// Gives runs that are there under other names these names.
    fn keep_names(&mut self) {
        let planned: BTreeSet<&str> = self.sweep.runs.iter().map(|run| run.name.as_str()).collect();
        let mut others: BTreeMap<String, String> = BTreeMap::new();
        for home in [self.path.join("unfinished"), self.path.clone()] {
            for entry in fs::read_dir(home).into_iter().flatten().flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                if planned.contains(name.as_str()) {
                    continue;
                }
                // What is finished is found last, and counts.
                if let Ok(config) = RunFolder::at(&entry.path()).read_config(&self.registry) {
                    others.insert(config.hash(&self.registry), name);
                }
            }
        }
        if others.is_empty() {
            return;
        }
        let (path, registry) = (self.path.clone(), self.registry.clone());
        for run in &mut self.sweep.runs {
            let begun = path.join(&run.name).exists() || path.join("unfinished").join(&run.name).exists();
            if let Some(name) = others.remove(&run.config.hash(&registry)).filter(|_| !begun) {
                run.name = name;
            }
        }
    }

    /// A sweep that was begun in this folder.
    ///
    /// # Errors
    /// If none was.
    pub fn begun(registry: &Registry, path: &Path) -> Result<Folder> {
        let file = path.join("sweep.toml");
        if !file.exists() {
            return Err(Error::Bad(format!(
                "{} is not the folder of a sweep: it has no sweep.toml",
                path.display()
            )));
        }
        Folder::open(registry, Sweep::read(registry, &file)?, path)
    }

    /// Makes the folder and leaves the sweep's file in it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn prepare(&self) -> Result<()> {
        self.make_parts()?;
        let file = self.path.join("sweep.toml");
        // Others may read it while we are writing.
        if fs::read_to_string(&file).ok().as_deref() != Some(&self.sweep.text) {
            write_file(&file, self.sweep.text.as_bytes()).map_err(|e| Error::file(&file, e))?;
        }
        Ok(())
    }

    /// The same for one run: a sweep's file that is there already stays, since a job may have been submitted with an older one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn prepare_for_one(&self) -> Result<()> {
        if self.path.join("sweep.toml").exists() { self.make_parts() } else { self.prepare() }
    }

    fn make_parts(&self) -> Result<()> {
        for part in ["unfinished", "failed"] {
            let path = self.path.join(part);
            fs::create_dir_all(&path).map_err(|e| Error::file(&path, e))?;
        }
        Ok(())
    }

    /// Where a run is when it is finished.
    pub fn finished(&self, planned: &Planned) -> PathBuf {
        self.path.join(&planned.name)
    }

    /// Where a run is until then.
    pub fn unfinished(&self, planned: &Planned) -> PathBuf {
        self.path.join("unfinished").join(&planned.name)
    }

    fn is_finished(&self, planned: &Planned) -> bool {
        RunFolder::at(&self.finished(planned)).is_finished()
    }

    /// Why a finished run could not take its place: something else is there, perhaps half a copy.
    fn in_the_way(&self, planned: &Planned) -> Option<String> {
        let place = self.finished(planned);
        let empty = fs::read_dir(&place).map_or(!place.exists(), |mut entries| entries.next().is_none());
        (!empty && !self.is_finished(planned))
            .then(|| format!("{} is in the way: it is not a finished run; move it away", place.display()))
    }

    fn failed(&self, planned: &Planned) -> PathBuf {
        self.path.join("failed").join(format!("{}.txt", planned.name))
    }

    /// How all runs stand, in the order of their indices.
    ///
    /// # Errors
    /// If kept results cannot be read.
    pub fn statuses(&self) -> Result<Vec<RunStatus>> {
        let kept = self.kept()?;
        Ok(self.sweep.runs.iter().map(|planned| self.status(planned, &kept)).collect())
    }

    /// How one run stands; `kept` are the kept results.
    pub fn status(&self, planned: &Planned, kept: &BTreeMap<String, State>) -> RunStatus {
        if self.is_finished(planned) {
            return RunStatus::Finished;
        }
        let unfinished = self.unfinished(planned);
        if RunFolder::at(&unfinished).is_busy() {
            return RunStatus::Running;
        }
        if let Ok(why) = fs::read_to_string(self.failed(planned)) {
            return RunStatus::Failed(why.trim().into());
        }
        match kept.get(&planned.config.hash(&self.registry)) {
            Some(State::Finished) => return RunStatus::Kept,
            Some(State::Failed(why)) => return RunStatus::Failed(why.clone()),
            Some(State::Unfinished) | None => {}
        }
        if let Some(why) = self.in_the_way(planned) {
            return RunStatus::Failed(why);
        }
        if RunFolder::at(&unfinished).is_run() { RunStatus::Stopped } else { RunStatus::Waiting }
    }

    /// Makes the run with this index, or goes on with it, in this process. What fails is noted with its reason.
    ///
    /// # Errors
    /// If the run fails, or its folder cannot be written.
    pub fn make(
        &self,
        index: usize,
        origin: &Value,
        stop: &dyn Fn() -> bool,
        listen: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended> {
        let planned = self.planned(index)?;
        let (finished, unfinished) = (self.finished(planned), self.unfinished(planned));
        if let Some(summary) = RunFolder::at(&finished).read_summary()? {
            return Ok(Ended::Finished(summary.into()));
        }
        if let Some(why) = self.in_the_way(planned) {
            return Err(Error::Bad(why));
        }
        let ended = begin(&self.registry, &unfinished, planned)
            .and_then(|()| Ok(run::train(&self.registry, &unfinished, origin, stop, listen)?));
        match ended {
            Ok(Ended::Finished(summary)) => {
                fs::rename(&unfinished, &finished).map_err(|e| Error::file(&finished, e))?;
                let _ = fs::remove_file(self.failed(planned));
                Ok(Ended::Finished(summary))
            }
            Ok(stopped) => Ok(stopped),
            // Somebody else is at it, or was until just now, which is no failure of the run.
            Err(error) if RunFolder::at(&unfinished).is_busy() => Err(error),
            Err(error) if self.is_finished(planned) => match RunFolder::at(&finished).read_summary()? {
                Some(summary) => Ok(Ended::Finished(summary.into())),
                None => Err(error),
            },
            Err(error) => {
                let (path, note) = (self.failed(planned), format!("{error}\n"));
                write_file(&path, note.as_bytes()).map_err(|e| Error::file(&path, e))?;
                Err(error)
            }
        }
    }

    /// The run with this index.
    ///
    /// # Errors
    /// If there is none.
    pub fn planned(&self, index: usize) -> Result<&Planned> {
        self.sweep.runs.get(index).ok_or_else(|| {
            let n = self.sweep.runs.len();
            Error::Bad(format!("there is no run {index}; the sweep has {n}, numbered from 0"))
        })
    }

    /// Forgets that a run failed, so that it is tried again.
    ///
    /// # Errors
    /// If the note cannot be removed.
    pub fn clear_failure(&self, index: usize) -> Result<()> {
        let note = self.failed(self.planned(index)?);
        match fs::remove_file(&note) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::file(&note, e)),
            _ => Ok(()),
        }
    }

    /// The file of kept results, if the sweep keeps any.
    pub fn results(&self) -> Option<PathBuf> {
        Some(self.sweep.kept.as_ref()?.join(format!("{}.jsonl", self.sweep.name)))
    }

    /// The states of all runs in the results folder, by the hash of their settings.
    ///
    /// # Errors
    /// If a file of results cannot be read.
    pub fn kept(&self) -> Result<BTreeMap<String, State>> {
        let mut states = BTreeMap::new();
        let Some(Ok(entries)) = self.sweep.kept.as_ref().map(fs::read_dir) else { return Ok(states) };
        for path in entries.filter_map(|e| Some(e.ok()?.path())) {
            if path.extension().is_some_and(|e| e == "jsonl") {
                states.extend(Record::states(&path)?);
            }
        }
        Ok(states)
    }

    /// Adds runs that are finished or failed to the kept results, and says how many are new.
    ///
    /// # Errors
    /// If they cannot be read or written.
    pub fn keep(&self, indices: impl IntoIterator<Item = usize>) -> Result<usize> {
        let Some(path) = self.results() else { return Ok(0) };
        if let Some(home) = path.parent() {
            fs::create_dir_all(home).map_err(|e| Error::file(home, e))?;
        }
        let failed = |e| Error::file(&path, e);
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        cut_torn_line(&mut file).map_err(failed)?;
        let known = self.kept()?;
        let mut added = 0;
        for index in indices {
            let planned = self.planned(index)?;
            let before = known.get(&planned.config.hash(&self.registry));
            // A run that failed may have been made since.
            if before.is_some_and(|state| *state == State::Finished || !self.is_finished(planned)) {
                continue;
            }
            let (finished, unfinished) = (self.finished(planned), self.unfinished(planned));
            let record = if self.is_finished(planned) {
                Record::of_run(&self.registry, &finished, &planned.name, None)?
            } else {
                match fs::read_to_string(self.failed(planned)) {
                    // One that failed before it began has nothing to keep.
                    Ok(why) if RunFolder::at(&unfinished).is_run() => {
                        Record::of_run(&self.registry, &unfinished, &planned.name, Some(why.trim().into()))?
                    }
                    _ => continue,
                }
            };
            let line = serde_json::to_string(&record).map_err(|e| Error::Bad(e.to_string()))?;
            file.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
            added += 1;
        }
        file.sync_all().map_err(failed)?;
        Ok(added)
    }
}

/// Makes the run's folder if nobody has.
fn begin(registry: &Registry, unfinished: &Path, planned: &Planned) -> Result<()> {
    let folder = RunFolder::at(unfinished);
    if folder.is_run() {
        return Ok(());
    }
    match run::create(registry, unfinished, &planned.config) {
        // Somebody else was faster, at this very moment.
        Err(_) if folder.is_run() => Ok(()),
        done => Ok(done?),
    }
}

/// Whoever was killed while writing left half a line, which would spoil the next one.
fn cut_torn_line(file: &mut File) -> std::io::Result<()> {
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == [b'\n'] {
        return Ok(());
    }
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    file.set_len(whole as u64)
}
