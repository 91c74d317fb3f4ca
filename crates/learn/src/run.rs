//! A run directory from beginning to end: `config.toml`, `spec.json`, `world/`, `metrics.jsonl`, `checkpoint/`,
//! `model.safetensors`, `summary.json`. Nothing else writes there.

pub use crate::begin::{create, create_from, extend};

use crate::arena::Arena;
use crate::checkpoint::{self, restore_latest};
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::estimate::check_memory;
use crate::folder::RunFolder;
use crate::metrics::Metrics;
use crate::model::world_note;
use crate::ppo::{Progress, Pulse, Trainer};
use crate::summary::{Evaluation, Summary};
use equimarl_nn::model::write_file;
use equimarl_worlds::{Better, Registry, Resumed};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// All policies are evaluated on the episodes of this seed, so that they can be compared in pairs.
pub const EVALUATION_SEED: u64 = 0;
/// What is shown first besides the return is averaged over this many recent episodes.
pub const RECENT_WAITING: usize = 20;
/// People wait for the end of an iteration that is shorter than this.
const LONG: Duration = Duration::from_millis(500);

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
    /// An evaluation begins.
    Evaluating {
        /// Steps so far.
        steps: u64,
        /// Episodes of it, with greedy actions and again with sampled ones.
        episodes: usize,
    },
    /// An evaluation is done.
    Evaluation {
        /// Steps so far.
        steps: u64,
        /// What it found, as in `summary.json`.
        found: &'a Evaluation,
    },
    /// An iteration is under way.
    Working(Pulse),
    /// It was asked to stop, and writes down where it is.
    Stopping,
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
pub(crate) struct Notes {
    /// Bytes of `metrics.jsonl` that belong to this checkpoint.
    pub(crate) metrics: u64,
    /// Seconds of work so far.
    seconds: f64,
    /// Steps at which thresholds were passed.
    reached: BTreeMap<String, u64>,
    /// Whether an evaluation is due, because the run was stopped in the middle of it.
    #[serde(default)]
    judging: bool,
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
    let registry = &registry.beside(&files.world());
    if let Some(summary) = files.read_summary()?.filter(|_| files.is_whole()) {
        return Ok(Ended::Finished(summary.into()));
    }
    let config = &files.read_config(registry)?;
    let start = Instant::now();
    let mut metrics = Metrics::open(files.metrics())?;
    // Whoever had the lock before us may have finished the run.
    if let Some(summary) = files.read_summary()?.filter(|_| files.is_whole()) {
        return Ok(Ended::Finished(summary.into()));
    }
    check_memory(registry, config)?;
    let folder = files.checkpoints();
    checkpoint::sweep(run);
    checkpoint::sweep(&folder);
    let fresh = || Trainer::new(registry, config);
    let (mut trainer, notes) = restore_latest(registry, &folder, fresh, |text| listen(Event::Warning(text)))?;
    if notes.is_none() && !config.from.is_empty() {
        return Err(Error::BadRun(format!(
            "{} began with a trained team, and its checkpoints are gone; start it again with `train --from`",
            run.display()
        )));
    }
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
    let snapshot = |trainer: &Trainer, metrics: &mut Metrics, notes: &mut Notes| {
        notes.metrics = metrics.sync()?;
        notes.seconds = before + start.elapsed().as_secs_f64();
        trainer.checkpoint(&json!(notes))
    };
    let save = |trainer: &Trainer, metrics: &mut Metrics, notes: &mut Notes| {
        checkpoint::write(&folder, trainer.steps(), &snapshot(trainer, metrics, notes)?)
    };
    let mut arena = Arena::new(registry, config)?;
    let (mut due, mut judged) = (false, None);
    let (mut pace, mut may_warn) = (Pace::default(), true);
    notes.judging |= trainer.is_finished();
    loop {
        let mut stopping = stop();
        if trainer.is_finished() && due && !stopping {
            // Before the last evaluation, so that nothing is lost in it, and a run can go on after its end.
            save(&trainer, &mut metrics, &mut notes)?;
            due = false;
        }
        if notes.judging && !stopping {
            listen(Event::Evaluating { steps: trainer.steps(), episodes: config.evaluate_episodes });
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
            listen(Event::Stopping);
            save(&trainer, &mut metrics, &mut notes)?;
            return Ok(Ended::Stopped { steps: trainer.steps() });
        }
        if trainer.is_finished() {
            break;
        }
        if due {
            save(&trainer, &mut metrics, &mut notes)?;
        }
        // A long iteration is left in the middle when somebody wants to stop. Then it is lost, and nothing before it: it was the
        // first since the last checkpoint, or there is a copy of what was before.
        let spare = if pace.copies() {
            Some(pace.copy(|| snapshot(&trainer, &mut metrics, &mut notes))?)
        } else {
            None
        };
        let may_stop = spare.is_some() || pace.is_unknown();
        let (began, steps) = (Instant::now(), trainer.steps());
        let progress = trainer.iterate_while(&mut |pulse| {
            if may_warn && let Some(text) = too_long(began.elapsed(), pulse, config) {
                listen(Event::Warning(text));
            }
            may_warn = false;
            listen(Event::Working(pulse));
            !(may_stop && stop())
        })?;
        let Some(progress) = progress else {
            listen(Event::Stopping);
            spare.iter().try_for_each(|bytes| checkpoint::write(&folder, steps, bytes))?;
            return Ok(Ended::Stopped { steps });
        };
        pace.iteration = Some(began.elapsed());
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
        due = passed(config.checkpoint_every) || trainer.is_finished();
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
    let (messages, world) = (arena.message_ranges(&mut trainer)?, world_note(registry, &config.world)?);
    write_file(files.model(), &trainer.network().to_bytes_with(&world, &extra, messages.as_ref())?)?;
    write_file(files.summary(), format!("{summary:#}\n").as_bytes())?;
    Ok(Ended::Finished(summary.into()))
}

/// What is said of a run that will take days, as soon as its first step tells: acting alone is less than half of it.
fn too_long(step: Duration, pulse: Pulse, config: &TrainConfig) -> Option<String> {
    let steps = config.steps as f64 / config.environments as f64;
    let days = step.as_secs_f64() / pulse.done as f64 * steps / 86_400.0;
    (days > 1.0).then(|| {
        format!(
            "a step of all {} environments takes {:.1} s, so {} steps take more than {days:.0} days; fewer agents or fewer \
             --steps take less",
            config.environments,
            step.as_secs_f64() / pulse.done as f64,
            config.steps
        )
    })
}

/// How long things take, to know whether an iteration may be left in the middle.
#[derive(Default)]
struct Pace {
    /// The last iteration of this process; none yet before the first.
    iteration: Option<Duration>,
    /// The last copy of everything.
    copy: Duration,
}

impl Pace {
    fn is_unknown(&self) -> bool {
        self.iteration.is_none()
    }

    /// Whether everything is worth a copy before an iteration: it takes long, and copies are cheap beside it.
    fn copies(&self) -> bool {
        self.iteration.is_some_and(|took| took >= LONG && self.copy < took / 20)
    }

    fn copy(&mut self, make: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        let start = Instant::now();
        let made = make();
        self.copy = start.elapsed();
        made
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
    for alarm in &progress.alarms {
        line[&alarm.name] = json!(alarm.value);
    }
    // Only where there are any: lines of worlds that lose none stay as they are.
    if progress.abandoned > 0 {
        line["abandoned"] = json!(progress.abandoned);
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
    if episodes.abandoned() > 0 {
        more.insert("abandoned".into(), json!(episodes.abandoned()));
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
