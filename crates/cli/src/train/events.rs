//! Event files for TensorBoard while a team learns.

use crate::outputs;
use anyhow::{Context, Result, ensure};
use equimarl_files::Draft;
use equimarl_lab::tensorboard::Follower;
use equimarl_learn::run::Event;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// TensorBoard looks every few seconds, so more is not needed.
const BETWEEN: Duration = Duration::from_secs(1);

/// Writes events if somebody asked for them. Trouble with them is no reason to stop training: it is said once.
pub struct Events {
    follower: Option<Follower>,
    last: Instant,
}

impl Events {
    /// Refuses a folder inside the run directory, which holds its own files and no others.
    pub fn check(folder: Option<&PathBuf>, run: &Path) -> Result<()> {
        let Some(folder) = folder else { return Ok(()) };
        // Events go to a folder of the run's name in this one.
        let home = folder.join(run.file_name().unwrap_or_default());
        ensure!(
            !outputs::is_inside(folder, run)? && !outputs::is_inside(&home, run)?,
            "--tensorboard {} lies in the run directory, which holds only the run; choose another folder",
            folder.display()
        );
        outputs::check_folder("--tensorboard", folder)?;
        // Tried before there is a run, which would be left behind.
        let tried =
            std::fs::create_dir_all(folder).and_then(|()| Draft::create(folder.join("events")).map(drop));
        tried.with_context(|| format!("cannot write to --tensorboard {}", folder.display()))
    }

    pub fn begin(folder: Option<&PathBuf>, run: &Path) -> Result<Events> {
        let follower = folder.map(|folder| Follower::begin(run, folder)).transpose()?;
        Ok(Events { follower, last: Instant::now() })
    }

    pub fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Resumed { .. } => self.with(Follower::resumed),
            Event::Iteration { .. } | Event::Evaluation { .. } if self.last.elapsed() >= BETWEEN => {
                self.last = Instant::now();
                self.with(Follower::poll);
            }
            // Before the first iteration the metrics may still hold lines that a checkpoint does not know.
            _ => {}
        }
    }

    /// The last lines.
    pub fn close(&mut self) {
        self.with(Follower::poll);
    }

    fn with(&mut self, job: impl FnOnce(&mut Follower) -> equimarl_lab::Result<()>) {
        let Some(follower) = &mut self.follower else { return };
        if let Err(error) = job(follower) {
            eprintln!("warning: no more events for TensorBoard: {error}");
            self.follower = None;
        }
    }
}
