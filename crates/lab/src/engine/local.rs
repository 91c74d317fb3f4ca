//! This machine: as many processes as cores, each making one run at a time.

use crate::error::{Error, Result};
use crate::folder::{Folder, RunStatus};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often we look whether to stop.
const TICK: Duration = Duration::from_millis(100);
/// A run whose process was killed by somebody else is tried this often.
const ATTEMPTS: usize = 2;

/// What is heard of a sweep while it goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// A worker begins with a run.
    Begins {
        /// Which worker.
        worker: usize,
        /// Which run.
        index: usize,
    },
    /// A line that the run printed.
    Says {
        /// Which worker.
        worker: usize,
        /// What it printed.
        line: Value,
    },
    /// A run is over.
    Ends {
        /// Which worker.
        worker: usize,
        /// Which run.
        index: usize,
        /// How it stands now.
        status: RunStatus,
    },
}

/// Makes all runs of `indices` with `workers` processes at once. `command` gives the program that makes one run; it must
/// stop, in a way that can be continued, when its standard input ends: so it does even if this process is killed.
///
/// Gives the runs whose processes died, and how: they left no note, and can be continued.
///
/// # Errors
/// If a process cannot be started, or a finished run cannot be kept.
pub fn make_all(
    folder: &Folder,
    indices: &[usize],
    workers: usize,
    command: &(dyn Fn(usize) -> Command + Sync),
    stop: &dyn Fn() -> bool,
    listen: &mut dyn FnMut(Note),
) -> Result<Vec<(usize, String)>> {
    // A sweep that was killed may not have come to keep what was finished.
    folder.keep(0..folder.sweep.runs.len())?;
    let floor = Floor {
        folder,
        queue: Mutex::new(indices.iter().copied().collect()),
        inputs: Mutex::new((0..workers).map(|_| None).collect()),
        stopping: AtomicBool::new(false),
        command,
    };
    thread::scope(|scope| {
        let (sender, notes) = mpsc::channel();
        for worker in 0..workers {
            let (floor, sender) = (&floor, sender.clone());
            scope.spawn(move || floor.work(worker, &sender));
        }
        drop(sender);
        let (mut wrong, mut died) = (None, vec![]);
        loop {
            if stop() {
                floor.stop();
            }
            match notes.recv_timeout(TICK) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(Err(error)) => {
                    wrong.get_or_insert(error);
                    floor.stop();
                }
                Ok(Ok(note)) => {
                    if let Note::Ends { index, .. } = note
                        && let Err(error) = folder.keep([index])
                    {
                        wrong.get_or_insert(error);
                        floor.stop();
                    }
                    if let Note::Ends { index, status: RunStatus::Failed(why), .. } = &note
                        && !floor.is_noted(*index)
                    {
                        died.push((*index, why.clone()));
                    }
                    listen(note);
                }
            }
        }
        wrong.map_or(Ok(died), Err)
    })
}

/// What the workers share.
struct Floor<'a> {
    folder: &'a Folder,
    queue: Mutex<VecDeque<usize>>,
    /// The standard inputs of running processes, which end when they are dropped.
    inputs: Mutex<Vec<Option<ChildStdin>>>,
    stopping: AtomicBool,
    command: &'a (dyn Fn(usize) -> Command + Sync),
}

impl Floor<'_> {
    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        open(&self.inputs).iter_mut().for_each(|input| *input = None);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Whether the run's folder says that it failed.
    fn is_noted(&self, index: usize) -> bool {
        let status = |planned| self.folder.status(planned, &Default::default());
        self.folder.planned(index).is_ok_and(|planned| matches!(status(planned), RunStatus::Failed(_)))
    }

    fn work(&self, worker: usize, notes: &Sender<Result<Note>>) {
        while !self.is_stopping() {
            let Some(index) = open(&self.queue).pop_front() else { break };
            let ended = self.make(worker, index, notes).map(|status| Note::Ends { worker, index, status });
            // The listener lives as long as we do.
            let _ = notes.send(ended);
        }
    }

    /// Makes one run, in as many attempts as it takes.
    fn make(&self, worker: usize, index: usize, notes: &Sender<Result<Note>>) -> Result<RunStatus> {
        let planned = self.folder.planned(index)?;
        let status = || self.folder.status(planned, &Default::default());
        let mut why = String::new();
        for _ in 0..ATTEMPTS {
            // A process of an earlier sweep that was killed may not have noticed yet.
            while status() == RunStatus::Running && !self.is_stopping() {
                thread::sleep(TICK);
            }
            if self.is_stopping() || status().is_done() {
                break;
            }
            let _ = notes.send(Ok(Note::Begins { worker, index }));
            let cannot = |e| Error::Bad(format!("cannot start a process for run {index}: {e}"));
            let mut child = self.start(worker, index).map_err(cannot)?;
            let complaints = listen_to(&mut child, worker, notes);
            let exit = child.wait().map_err(cannot)?;
            open(&self.inputs)[worker] = None;
            if status().is_done() || matches!(status(), RunStatus::Failed(_)) || self.is_stopping() {
                break;
            }
            why =
                complaints.lines().last().map_or_else(|| exit.to_string(), |line| format!("{line} ({exit})"));
        }
        Ok(match status() {
            // Whatever it was, it left no note.
            RunStatus::Stopped | RunStatus::Waiting if !why.is_empty() && !self.is_stopping() => {
                RunStatus::Failed(why)
            }
            status => status,
        })
    }

    fn start(&self, worker: usize, index: usize) -> std::io::Result<Child> {
        let mut command = (self.command)(index);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut inputs = open(&self.inputs);
        // Under the lock, so that whoever stops us cannot come in between.
        inputs[worker] = child.stdin.take().filter(|_| !self.is_stopping());
        Ok(child)
    }
}

/// Passes on what the process prints until it ends, and gives what it complained about.
fn listen_to(child: &mut Child, worker: usize, notes: &Sender<Result<Note>>) -> String {
    let errors = child.stderr.take();
    let complaints = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(errors) = errors {
            // Enough for any message, whatever a broken program prints.
            let _ = errors.take(65_536).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    if let Some(lines) = child.stdout.take() {
        for line in BufReader::new(lines).lines().map_while(std::io::Result::ok) {
            if let Ok(line) = serde_json::from_str(&line) {
                let _ = notes.send(Ok(Note::Says { worker, line }));
            }
        }
    }
    complaints.join().unwrap_or_default()
}

/// A worker that panicked leaves nothing half done behind.
fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
