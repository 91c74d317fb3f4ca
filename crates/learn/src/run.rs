//! A run directory from beginning to end: `config.toml`, `spec.json`, `metrics.jsonl`, `checkpoint/`, `model.safetensors`,
//! `summary.json`. Nothing else writes there.

use crate::checkpoint::{self, restore_latest};
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::evaluate::{Games, evaluate};
use crate::folder::RunFolder;
use crate::model::world_note;
use crate::ppo::{Progress, Trainer};
use crate::summary::{Evaluation, Summary};
use equimarl_nn::model::write_file;
use equimarl_nn::{Choice, Network};
use equimarl_worlds::{Better, Described, Envs, Registry, Resumed};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// All policies are evaluated on the episodes of this seed, so that they can be compared in pairs.
pub const EVALUATION_SEED: u64 = 0;
/// What is shown first besides the return is averaged over this many recent episodes.
pub const RECENT_WAITING: usize = 20;
/// What the outside hears while a run goes on.
pub enum Event<'a> {
    /// It goes on from a checkpoint.
    Resumed {
        /// Steps that are done.
        steps: u64,
    },
    /// An iteration is done.
    Iteration {
        /// Steps so far.
        steps: u64,
        /// Episodes so far.
        episodes: u64,
        /// The mean return of recent episodes.
        mean_return: f64,
        /// The mean measure of recent episodes.
        measure: f64,
        /// What the iteration did.
        progress: &'a Progress,
    },
    /// An evaluation is done.
    Evaluation {
        /// Steps so far.
        steps: u64,
        /// What it found, as in `summary.json`.
        found: &'a Evaluation,
    },
    /// Something is not as it should be, but the run goes on.
    Warning(String),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// All steps are done; this is the content of `summary.json`.
    Finished(Box<Summary>),
    /// It was asked to stop, and can be continued.
    Stopped {
        /// Steps that are done.
        steps: u64,
    },
}

/// What a run remembers between checkpoints besides the learner.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notes {
    /// Bytes of `metrics.jsonl` that belong to this checkpoint.
    metrics: u64,
    /// Seconds of work so far.
    seconds: f64,
    /// Steps at which thresholds were passed.
    reached: BTreeMap<String, u64>,
    /// Whether an evaluation is due, because the run was stopped in the middle of it.
    #[serde(default)]
    judging: bool,
}

/// Makes a run directory for a config.
///
/// # Errors
/// If the settings cannot train, it holds a run already, or cannot be written.
pub fn create(registry: &Registry, run: &Path, config: &TrainConfig) -> Result<()> {
    config.check()?;
    // What would be refused later is refused before there is a folder.
    let spec = Described {
        spec: config.make(registry, 1)?.spec().as_ref().clone(),
        ..registry.describe(&config.world)?
    };
    Network::init(&config.network(registry)?, &mut || 0.0)?;
    let folder = RunFolder::at(run);
    if folder.is_run() || folder.is_finished() {
        return Err(Error::BadRun(format!(
            "{0} holds a run already; continue it with `train --resume {0}`, or choose another --out",
            run.display()
        )));
    }
    let failed = |why| Error::File { path: run.display().to_string(), why };
    fs::create_dir_all(folder.checkpoints()).map_err(failed)?;
    let spec = serde_json::to_string_pretty(&spec).map_err(|e| Error::BadRun(e.to_string()))?;
    write_file(folder.spec(), format!("{spec}\n").as_bytes())?;
    write_file(folder.config(), config.to_toml().as_bytes())?;
    Ok(())
}

/// Trains in a run directory, from its latest checkpoint if it has one, until all steps are done or `stop` says so.
/// `origin` (version, commit, CPU) goes into the summary and the model.
///
/// # Errors
/// If learning diverges or a file cannot be written; checkpoints that were written stay.
pub fn train(
    registry: &Registry,
    run: &Path,
    origin: &Value,
    stop: &dyn Fn() -> bool,
    listen: &mut dyn FnMut(Event<'_>),
) -> Result<Ended> {
    let files = RunFolder::at(run);
    if let Some(summary) = files.read_summary()? {
        return Ok(Ended::Finished(summary.into()));
    }
    let config = &files.read_config(registry)?;
    let start = Instant::now();
    let mut metrics = Metrics::open(files.metrics())?;
    // Whoever had the lock before us may have finished the run.
    if let Some(summary) = files.read_summary()? {
        return Ok(Ended::Finished(summary.into()));
    }
    let folder = files.checkpoints();
    checkpoint::sweep(run);
    checkpoint::sweep(&folder);
    let fresh = || Trainer::new(registry, config);
    let (mut trainer, notes) = restore_latest(registry, &folder, fresh, |text| listen(Event::Warning(text)))?;
    let mut notes: Notes = match notes {
        Some(notes) => {
            listen(Event::Resumed { steps: trainer.steps() });
            if trainer.resumed == Resumed::Episode {
                let world = &config.world.name;
                listen(Event::Warning(format!(
                    "the world `{world}` does not save its state, so the run goes on with new episodes"
                )));
            }
            serde_json::from_value(notes).map_err(|e| Error::BadRun(e.to_string()))?
        }
        None => Notes::default(),
    };
    metrics.cut(notes.metrics)?;
    let before = notes.seconds;
    let save = |trainer: &Trainer, metrics: &mut Metrics, notes: &mut Notes| {
        notes.metrics = metrics.sync()?;
        notes.seconds = before + start.elapsed().as_secs_f64();
        checkpoint::write(&folder, trainer.steps(), &trainer.checkpoint(&json!(notes))?)
    };
    let mut arena = Arena::new(registry, config)?;
    let (mut due, mut judged) = (false, None);
    notes.judging |= trainer.is_finished();
    loop {
        let mut stopping = stop();
        if notes.judging && !stopping {
            match arena.judge(&mut trainer, stop)? {
                Some(found) => {
                    let steps = trainer.steps();
                    metrics.write(&json!({ "steps": steps, "evaluation": found }))?;
                    listen(Event::Evaluation { steps, found: &found });
                    notes.judging = false;
                    judged = Some(found);
                }
                None => stopping = true,
            }
        }
        if stopping {
            // The rest of an evaluation can wait: whoever asked to stop wants it now.
            save(&trainer, &mut metrics, &mut notes)?;
            return Ok(Ended::Stopped { steps: trainer.steps() });
        }
        if trainer.is_finished() {
            break;
        }
        if due {
            save(&trainer, &mut metrics, &mut notes)?;
        }
        let progress = trainer.iterate()?;
        let steps = trainer.steps();
        let passed = |every: u64| every > 0 && steps / every != (steps - config.batch() as u64) / every;
        let mean_return = trainer.episodes().statistic(|f| f.total).mean;
        let measure = recent_measure(&trainer);
        let episodes = trainer.episodes().count();
        note_thresholds(&trainer, measure, &mut notes.reached);
        listen(Event::Iteration { steps, episodes, mean_return, measure, progress: &progress });
        if passed(config.log_every) || trainer.is_finished() {
            metrics.write(&line(&trainer, &progress, measure))?;
        }
        due = passed(config.checkpoint_every);
        notes.judging = passed(config.evaluate_every) || trainer.is_finished();
    }
    metrics.sync()?;
    let seconds = before + start.elapsed().as_secs_f64();
    let hash = config.hash(registry);
    let summary = summarise(&trainer, origin, judged, &notes.reached, (seconds, &hash));
    let mut extra = origin.clone();
    if let Value::Object(extra) = &mut extra {
        extra.insert("seed".into(), json!(config.seed));
        extra.insert("steps".into(), json!(trainer.steps()));
        extra.insert("method".into(), json!(config.method));
        extra.insert("config_hash".into(), json!(hash));
    }
    trainer.network().save(files.model(), &world_note(registry, &config.world)?, &extra)?;
    write_file(files.summary(), format!("{summary:#}\n").as_bytes())?;
    Ok(Ended::Finished(summary.into()))
}

/// Where teams are evaluated.
struct Arena {
    envs: Box<dyn Envs>,
    /// The best possible mean return, if it is known; asked for once, since it takes seconds for large teams.
    optimum: OnceCell<Option<f64>>,
}

impl Arena {
    fn new(registry: &Registry, config: &TrainConfig) -> Result<Arena> {
        let envs = config.make(registry, 1)?;
        // A copy of an exact world costs next to nothing. Of others there are as many as in training.
        let envs = match envs.exact() {
            Some(exact) => exact.fork(config.evaluate_episodes),
            None => config.make(registry, config.environments.min(config.evaluate_episodes))?,
        };
        Ok(Arena { envs, optimum: OnceCell::new() })
    }

    /// Both ways of choosing, on the same episodes; nothing if `stop` says so before they are over.
    fn judge(&mut self, trainer: &mut Trainer, stop: &dyn Fn() -> bool) -> Result<Option<Evaluation>> {
        let (policy, episodes) = (trainer.network().policy()?, trainer.config().evaluate_episodes);
        let inference = trainer.inference();
        let mut score = |choice| {
            let games = Games { episodes, seed: EVALUATION_SEED, choice };
            evaluate(&policy, inference, &mut *self.envs, games, stop)
        };
        let Some(greedy) = score(Choice::Greedy)? else { return Ok(None) };
        let Some(sampled) = score(Choice::Sampled)? else { return Ok(None) };
        let optimum = *self.optimum.get_or_init(|| self.envs.world(0).optimum());
        let gap = optimum.map(|optimum| optimum - greedy.total.mean.max(sampled.total.mean));
        Ok(Some(Evaluation { greedy, sampled, optimum, gap, more: Map::new() }))
    }
}

fn recent_measure(trainer: &Trainer) -> f64 {
    let recent = trainer.episodes().recent();
    let skip = recent.len().saturating_sub(RECENT_WAITING);
    let values: Vec<f64> = recent.skip(skip).map(|f| f.measure).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn note_thresholds(trainer: &Trainer, measure: f64, reached: &mut BTreeMap<String, u64>) {
    let spec = trainer.environments().spec();
    for threshold in &spec.thresholds {
        let passed = match spec.first_measure() {
            None => trainer.episodes().mean_return().is_some_and(|r| r > *threshold),
            Some((_, first)) => {
                let better =
                    if first.better == Better::Higher { measure > *threshold } else { measure < *threshold };
                trainer.episodes().recent().len() >= RECENT_WAITING && better
            }
        };
        if passed {
            reached.entry(threshold.to_string()).or_insert(trainer.steps());
        }
    }
}

/// A line of metrics; it has no clock, so that equal runs have equal metrics.
fn line(trainer: &Trainer, progress: &Progress, measure: f64) -> Value {
    let (episodes, loss) = (trainer.episodes(), &progress.loss);
    let mut line = json!({
        "steps": trainer.steps(),
        "episodes": episodes.count(),
        "return": episodes.statistic(|f| f.total).mean,
        "length": episodes.statistic(|f| f.length as f64).mean,
        "terminated": episodes.statistic(|f| f64::from(u8::from(f.terminated))).mean,
        "entropy": loss.entropy,
        "approx_kl": loss.approx_kl,
        "clip_fraction": loss.clip_fraction,
        "policy_loss": loss.policy,
        "value_loss": loss.value,
        "loss": loss.total,
        "explained_variance": progress.explained_variance,
        "gradient_norm": progress.gradient_norm,
        "learning_rate": trainer.optimiser.rate,
    });
    if let Some((_, first)) = trainer.environments().spec().first_measure() {
        line[&first.name] = json!(measure);
    }
    line
}

fn summarise(
    trainer: &Trainer,
    origin: &Value,
    evaluation: Option<Evaluation>,
    reached: &BTreeMap<String, u64>,
    (seconds, hash): (f64, &str),
) -> Summary {
    let (config, episodes) = (trainer.config(), trainer.episodes());
    let mut more = origin.as_object().cloned().unwrap_or_default();
    let text = |key: &str| Some(more.remove(key)?.as_str()?.to_string());
    let [version, commit, cpu, simd] = ["version", "commit", "cpu", "simd"].map(text);
    if let Some((_, first)) = trainer.environments().spec().first_measure() {
        more.insert(first.name.clone(), json!(episodes.statistic(|f| f.measure)));
    }
    Summary {
        world: config.world.name.clone(),
        method: config.method,
        preset: config.preset.clone(),
        group: config.group.clone(),
        learning_rate: config.learning_rate,
        seed: config.seed,
        steps: trainer.steps(),
        episodes: episodes.count(),
        total: episodes.statistic(|f| f.total),
        length: episodes.statistic(|f| f.length as f64),
        reached: reached.clone(),
        evaluation,
        parameters: trainer.network().values().len(),
        steps_per_second: trainer.steps() as f64 / seconds,
        wall_seconds: seconds,
        peak_memory_mb: peak_memory_mb(),
        config_hash: hash.into(),
        version,
        commit,
        cpu,
        simd,
        more,
    }
}

/// The most memory that this process has had, in MB; nothing where the system does not say.
pub fn peak_memory_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some((kilobytes / 1024.0 * 10.0).round() / 10.0)
}

/// `metrics.jsonl`, written line by line.
struct Metrics {
    path: PathBuf,
    file: File,
}

impl Metrics {
    /// Opens the file, and keeps other processes from training in the same run.
    fn open(path: PathBuf) -> Result<Metrics> {
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
    fn cut(&mut self, length: u64) -> Result<()> {
        let found = self.file.metadata().map_err(|e| self.failed(e))?.len();
        if found < length {
            return Err(Error::BadRun(format!(
                "{} has {found} bytes, and the checkpoint belongs to {length}; it was changed",
                self.path.display()
            )));
        }
        self.file.set_len(length).map_err(|e| self.failed(e))?;
        self.file.seek(SeekFrom::End(0)).map_err(|e| self.failed(e))?;
        Ok(())
    }

    fn failed(&self, why: std::io::Error) -> Error {
        Error::File { path: self.path.display().to_string(), why }
    }

    fn write(&mut self, line: &Value) -> Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(|e| self.failed(e))
    }

    /// Makes sure that it is on the disk, and gives its length.
    fn sync(&mut self) -> Result<u64> {
        self.file.sync_all().map_err(|e| self.failed(e))?;
        self.file.stream_position().map_err(|e| self.failed(e))
    }
}
