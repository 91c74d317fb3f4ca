//! A Slurm cluster: job arrays, one task per run. What a task did is read from the run folders and what it is doing from
//! the queue, so no accounting database is needed.
//!
//! Tasks of an array are numbered from 0 and must stay below the cluster's limit; each chunk therefore has a file that
//! lists its runs, and task k makes the run on line k + 1. It also has its own copy of the sweep's file: whoever changes the
//! grid while jobs wait does not change what they make.

use crate::error::{Error, Result};
use crate::folder::Folder;
use equimarl_files::write_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Arrays are this long if the cluster does not say how long they may be: Slurm's own default.
const USUAL_LIMIT: usize = 1000;

/// A run is told this many seconds before its time is up. Slurm looks every half a minute, so it may tell 30 seconds earlier.
const WARNING: u64 = 60;

/// A run with less time could be told while its shell begins, which would end it before it did anything, every time.
const LEAST: u64 = 2 * 60;

/// How to submit.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The partition; the cluster's default if none.
    pub partition: Option<String>,
    /// The time limit of a run, as Slurm writes it; the partition's if none.
    pub time: Option<String>,
    /// The most tasks of an array; what the cluster allows if none.
    pub array_limit: Option<usize>,
}

/// A job array that was submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Slurm's number.
    pub id: u64,
    /// The runs of its tasks 0, 1, ... by their index when it was submitted.
    pub runs: Vec<usize>,
    /// The names of these runs.
    #[serde(default)]
    pub names: Vec<String>,
}

/// Submits the runs of `indices`, and says which job has which.
///
/// # Errors
/// If Slurm is not there or refuses.
pub fn submit(folder: &Folder, indices: &[usize], program: &Path, options: &Options) -> Result<Vec<Job>> {
    if let Some(time) =
        options.time.as_deref().filter(|time| seconds(time).is_some_and(|s| 0 < s && s < LEAST))
    {
        return Err(Error::Bad(format!(
            "--time {time} is too short: a run is told {WARNING} to {} seconds before its time is up, to write a checkpoint; give it \
             2:00 or more",
            WARNING + 30
        )));
    }
    let limit = match options.array_limit {
        Some(0) => return Err(Error::Bad("--array-limit must be at least 1".into())),
        Some(limit) => limit,
        None => cluster_limit()?,
    };
    let home = folder.path.join("slurm");
    let logs = home.join("logs");
    fs::create_dir_all(&logs).map_err(|e| Error::file(&logs, e))?;
    let mut jobs = vec![];
    for runs in indices.chunks(limit) {
        let list = new_list(&home)?;
        let [sweep, script] = ["toml", "sh"].map(|ending| list.with_extension(ending));
        let lines: String = runs.iter().map(|r| format!("{r}\n")).collect();
        let text = script_text(folder, &sweep, &list, program)?;
        for (path, text) in [(&list, &lines), (&sweep, &folder.sweep.text), (&script, &text)] {
            write_file(path, text.as_bytes()).map_err(|e| Error::file(path, e))?;
        }
        let mut command = Command::new("sbatch");
        command.arg("--parsable").args(arguments(folder, runs.len(), &logs, options)).arg(&script);
        let answer = ask(&mut command)?;
        let id = answer.trim().split(';').next().and_then(|id| id.parse().ok());
        let Some(id) = id else {
            return Err(Error::Bad(format!("sbatch answered `{}` instead of a job number", answer.trim())));
        };
        let names = runs.iter().map(|i| Ok(folder.planned(*i)?.name.clone())).collect::<Result<_>>()?;
        let job = Job { id, runs: runs.to_vec(), names };
        note(folder, &job)?;
        jobs.push(job);
    }
    Ok(jobs)
}

/// A new file for a list of runs. Nobody else has it, even if somebody submits at the same time: lists are read when tasks begin.
fn new_list(home: &Path) -> Result<PathBuf> {
    for chunk in 0.. {
        let list = home.join(format!("{chunk}.runs"));
        match OpenOptions::new().write(true).create_new(true).open(&list) {
            Ok(_) => return Ok(list),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::file(&list, e)),
        }
    }
    Err(Error::Bad(format!("{} is full", home.display())))
}

/// The seconds of a time as Slurm writes it: minutes, minutes:seconds, hours:minutes:seconds, days-hours and so on. Nothing if it is
/// something else, such as UNLIMITED, which is for Slurm to judge; 0 has no limit, too.
fn seconds(time: &str) -> Option<u64> {
    let (days, rest) = match time.split_once('-') {
        Some((days, rest)) => (Some(days.parse::<u64>().ok()?), rest),
        None => (None, time),
    };
    let parts: Vec<u64> = rest.split(':').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match (days, &parts[..]) {
        (None, &[minutes]) => (0, minutes, 0),
        (None, &[minutes, seconds]) => (0, minutes, seconds),
        (Some(_), &[hours]) => (hours, 0, 0),
        (Some(_), &[hours, minutes]) => (hours, minutes, 0),
        (_, &[hours, minutes, seconds]) => (hours, minutes, seconds),
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    hours.checked_mul(60)?.checked_add(minutes)?.checked_mul(60)?.checked_add(seconds)
}

/// What `sbatch` is told. The signal goes to the batch shell, which is the run itself.
fn arguments(folder: &Folder, tasks: usize, logs: &Path, options: &Options) -> Vec<String> {
    let mut all = vec![
        format!("--job-name={}", folder.sweep.name),
        format!("--array=0-{}", tasks - 1),
        "--ntasks=1".into(),
        "--cpus-per-task=1".into(),
        "--requeue".into(),
        "--open-mode=append".into(),
        format!("--signal=B:TERM@{WARNING}"),
        format!("--output={}/%A_%a.log", logs.display()),
    ];
    all.extend(options.partition.iter().map(|p| format!("--partition={p}")));
    all.extend(options.time.iter().map(|t| format!("--time={t}")));
    all
}

fn script_text(folder: &Folder, sweep: &Path, list: &Path, program: &Path) -> Result<String> {
    Ok(format!(
        "#!/bin/sh\n\
         # Task k of the array makes the run on line k + 1 of the list.\n\
         run=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {})\n\
         exec {} sweep run {} --out {} --index \"$run\" --threads 1 --quiet\n",
        quoted(list)?,
        quoted(program)?,
        quoted(sweep)?,
        quoted(&folder.path)?,
    ))
}

/// For a shell.
fn quoted(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) => Ok(format!("'{}'", text.replace('\'', "'\\''"))),
        None => Err(Error::Bad(format!("{} is not a path that a script can name", path.display()))),
    }
}

/// All jobs that were submitted for this folder.
///
/// # Errors
/// If the list cannot be read.
pub fn jobs(folder: &Folder) -> Result<Vec<Job>> {
    let path = folder.path.join("slurm/jobs.jsonl");
    match fs::read_to_string(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(vec![]),
        Err(e) => Err(Error::file(&path, e)),
        Ok(text) => text
            .lines()
            .map(|line| {
                serde_json::from_str(line).map_err(|e| Error::Bad(format!("{}: {e}", path.display())))
            })
            .collect(),
    }
}

fn note(folder: &Folder, job: &Job) -> Result<()> {
    let path = folder.path.join("slurm/jobs.jsonl");
    let line = serde_json::to_string(job).map_err(|e| Error::Bad(e.to_string()))?;
    let failed = |e| Error::file(&path, e);
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
    file.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// What the queue says of runs: `PENDING`, `RUNNING` and the like, with the job and task. Runs that are not in the queue
/// are not in the answer.
///
/// # Errors
/// If Slurm is not there or does not answer.
pub fn queue(folder: &Folder) -> Result<BTreeMap<usize, Queued>> {
    let jobs = jobs(folder)?;
    if jobs.is_empty() {
        return Ok(BTreeMap::new());
    }
    // The queue forgets jobs, and to be asked about forgotten ones is an error; so all are asked for.
    let answer = ask(Command::new("squeue").args(["--noheader", "--array", "--format=%F|%K|%T|%r"]))?;
    let index = |name: &str| folder.sweep.runs.iter().position(|run| run.name == name);
    Ok(read_queue(&answer, &jobs, &index))
}

/// Whether there is a cluster to ask.
///
/// # Errors
/// If there is none, in words.
pub fn check() -> Result<()> {
    cluster_limit().map(|_| ())
}

/// A run in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The job and its task, as `scancel` takes them.
    pub task: String,
    /// Slurm's word for what it does.
    pub state: String,
    /// Why it waits.
    pub reason: String,
}

/// `index` knows where a run of this name stands in the sweep as it is now.
fn read_queue(answer: &str, jobs: &[Job], index: &dyn Fn(&str) -> Option<usize>) -> BTreeMap<usize, Queued> {
    let mut found = BTreeMap::new();
    for line in answer.lines() {
        let parts: Vec<&str> = line.trim().split('|').collect();
        let [job, task, state, reason] = parts[..] else { continue };
        let (Ok(id), Ok(number)) = (job.parse::<u64>(), task.parse::<usize>()) else { continue };
        let run = jobs.iter().find(|j| j.id == id).and_then(|job| match job.names.get(number) {
            Some(name) => index(name),
            None => job.runs.get(number).copied(),
        });
        if let Some(run) = run {
            let (state, reason) = (state.to_string(), reason.to_string());
            found.insert(run, Queued { task: format!("{job}_{task}"), state, reason });
        }
    }
    found
}

/// Array indices must stay below the cluster's `MaxArraySize`.
fn cluster_limit() -> Result<usize> {
    let answer = ask(Command::new("scontrol").args(["show", "config"]))?;
    Ok(read_limit(&answer).unwrap_or(USUAL_LIMIT))
}

fn read_limit(config: &str) -> Option<usize> {
    let line = config.lines().find(|l| l.trim_start().starts_with("MaxArraySize"))?;
    let size: usize = line.split_once('=')?.1.trim().parse().ok()?;
    // The size is one more than the largest index.
    Some(size.max(1))
}

/// Runs one of Slurm's commands.
fn ask(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => Error::Bad(format!(
            "there is no `{name}` here, so Slurm is not installed on this machine; use --engine local, or a login node"
        )),
        _ => Error::Bad(format!("cannot run {name}: {e}")),
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        return Err(Error::Bad(format!("{name} refused: {why}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_read_by_job_and_task() {
        let names = vec!["a".into(), "b".into(), "gone".into()];
        let jobs = [Job { id: 7, runs: vec![4, 5, 6], names }, Job { id: 8, runs: vec![2], names: vec![] }];
        let text = "7|1|RUNNING|None\n8|0|PENDING|Resources\n99|0|RUNNING|None\n7|5|RUNNING|None\n7|2|RUNNING|None\nnonsense\n";
        // The grid has grown since: what was run 5 is run 9 now.
        let index = |name: &str| ["a", "b"].iter().position(|n| *n == name).map(|i| i + 8);
        let found = read_queue(text, &jobs, &index);
        assert_eq!(found.len(), 2);
        assert_eq!((found[&9].state.as_str(), found[&9].task.as_str()), ("RUNNING", "7_1"));
        assert_eq!((found[&2].state.as_str(), found[&2].reason.as_str()), ("PENDING", "Resources"));
    }

    #[test]
    fn the_limit_is_read_from_the_configuration() {
        assert_eq!(read_limit("A = 1\nMaxArraySize            = 1001\n"), Some(1001));
        assert_eq!(read_limit("nothing"), None);
    }

    #[test]
    fn times_are_read_as_slurm_writes_them() {
        let times = ["2", "1:30", "1:02:03", "1-1", "1-0:1", "1-0:0:1", "0"].map(seconds);
        assert_eq!(times, [120, 90, 3_723, 90_000, 86_460, 86_401, 0].map(Some));
        for odd in ["UNLIMITED", "", "1:2:3:4", "-1", "1-", "99999999999999999999", "300000000000000000-1"] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }

    #[test]
    fn paths_survive_the_shell() {
        assert_eq!(quoted(Path::new("/a b/it's")).unwrap(), "'/a b/it'\\''s'");
    }
}
