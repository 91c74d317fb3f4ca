//! What stands in a run directory, and under which names. Nobody else spells them.

use crate::checkpoint::{self, parse_config};
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::model::elsewhere;
use crate::summary::Summary;
use equimarl_nn::model::write_file;
use equimarl_worlds::{Described, Registry};
use std::fs::{self, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// The settings, every one. A folder that has them is a run.
pub const CONFIG: &str = "config.toml";
/// The declaration of the run's world.
pub const SPEC: &str = "spec.json";
/// The learning curve, line by line. Whoever trains holds a lock on it.
pub const METRICS: &str = "metrics.jsonl";
/// The folder of checkpoints.
pub const CHECKPOINTS: &str = "checkpoint";
/// The network of a finished run.
pub const MODEL: &str = "model.safetensors";
/// The folder of files that the world is made from, if it is made from any.
pub const WORLD: &str = "world";
/// How a run ended. A run that has it is finished.
pub const SUMMARY: &str = "summary.json";

/// A run directory, or a folder that may be one.
#[derive(Clone, Copy, Debug)]
pub struct RunFolder<'a> {
    path: &'a Path,
}

impl<'a> RunFolder<'a> {
    /// The run directory at `path`; nothing is read yet.
    pub fn at(path: &'a Path) -> RunFolder<'a> {
        RunFolder { path }
    }

    /// Where [`CONFIG`] is.
    pub fn config(&self) -> PathBuf {
        self.path.join(CONFIG)
    }

    /// Where [`SPEC`] is.
    pub fn spec(&self) -> PathBuf {
        self.path.join(SPEC)
    }

    /// Where [`METRICS`] are.
    pub fn metrics(&self) -> PathBuf {
        self.path.join(METRICS)
    }

    /// Where [`CHECKPOINTS`] are.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join(CHECKPOINTS)
    }

    /// Where [`MODEL`] is.
    pub fn model(&self) -> PathBuf {
        self.path.join(MODEL)
    }

    /// Where [`WORLD`] is.
    pub fn world(&self) -> PathBuf {
        self.path.join(WORLD)
    }

    /// Where the world's files are that belong to a model or a checkpoint: beside it, or beside its folder.
    pub fn world_of(file: &Path) -> Option<PathBuf> {
        let above = file.ancestors().take(3).map(|folder| RunFolder::at(folder).world());
        above.into_iter().find(|folder| folder.is_dir())
    }

    /// Where [`SUMMARY`] is.
    pub fn summary(&self) -> PathBuf {
        self.path.join(SUMMARY)
    }

    /// Refuses a folder in which a run, or anything under the name of one of its files, is already.
    ///
    /// # Errors
    /// If there is something.
    pub fn check_empty(&self) -> Result<()> {
        if self.is_run() || self.is_finished() {
            return Err(self.occupied());
        }
        let below = fs::read_dir(self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        if let Some(run) = below.into_iter().find(|path| RunFolder::at(path).is_run()) {
            return Err(Error::BadRun(format!(
                "{} holds other runs, such as {}; choose a folder of its own for this one",
                self.path.display(),
                run.display()
            )));
        }
        let files = [SPEC, METRICS, MODEL].map(|name| self.path.join(name));
        let first = checkpoint::list(&self.checkpoints())?.into_iter().map(|(_, file)| file).next();
        match files.into_iter().filter(|file| file.exists()).chain(first).next() {
            None => Ok(()),
            Some(file) => Err(Error::BadRun(format!(
                "{} is there already, and no run of this program; choose another --out",
                file.display()
            ))),
        }
    }

    /// That a run is here already.
    pub(crate) fn occupied(&self) -> Error {
        Error::BadRun(format!(
            "{0} holds a run already; continue it with `train --resume {0}`, or choose another --out",
            self.path.display()
        ))
    }

    /// Whether a process trains here: it holds a lock then.
    pub fn is_busy(&self) -> bool {
        let Ok(file) = OpenOptions::new().write(true).open(self.metrics()) else { return false };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Whether a run was begun here.
    pub fn is_run(&self) -> bool {
        self.config().exists()
    }

    /// Whether it was finished, and its team is there.
    pub fn is_whole(&self) -> bool {
        self.is_finished() && self.model().exists()
    }

    /// Whether a run was finished here.
    pub fn is_finished(&self) -> bool {
        self.summary().exists()
    }

    /// The settings. Those that came after the run was made are as they were then.
    ///
    /// # Errors
    /// If there are none, or they are not settings.
    pub fn read_config(&self, registry: &Registry) -> Result<TrainConfig> {
        let path = self.config();
        let text =
            fs::read_to_string(&path).map_err(|why| Error::File { path: path.display().to_string(), why })?;
        parse_config(registry, &text, &path)
    }

    /// Refuses a run in a world that this program does not have, saying where it lives.
    ///
    /// # Errors
    /// If there is no such world, or the settings cannot be read.
    pub fn check_world(&self, registry: &Registry) -> Result<()> {
        let name = self.read_config(registry)?.world.name;
        if registry.get(&name).is_ok() {
            return Ok(());
        }
        let home = self.described().and_then(|described| described.home);
        let what = format!("{} is a run in", self.path.display());
        Err(elsewhere(registry, &what, &name, home.as_ref()))
    }

    /// The summary of a finished run; nothing if it is not finished.
    ///
    /// # Errors
    /// If there is one that cannot be read.
    pub fn read_summary(&self) -> Result<Option<Summary>> {
        let path = self.summary();
        if !path.exists() {
            return Ok(None);
        }
        let text =
            fs::read_to_string(&path).map_err(|why| Error::File { path: path.display().to_string(), why })?;
        let summary = serde_json::from_str(&text)
            .map_err(|e| Error::BadRun(format!("{} cannot be read: {e}", path.display())))?;
        Ok(Some(summary))
    }

    pub(crate) fn write_spec(&self, spec: &Described) -> Result<()> {
        let text = serde_json::to_string_pretty(spec).map_err(|e| Error::BadRun(e.to_string()))?;
        Ok(write_file(self.spec(), format!("{text}\n").as_bytes())?)
    }

    /// The declaration of the run's world; nothing in runs that are older than it.
    pub fn described(&self) -> Option<Described> {
        serde_json::from_slice(&fs::read(self.spec()).ok()?).ok()
    }
}
