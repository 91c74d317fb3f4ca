//! A checkpoint is one file with everything that the rest of a run depends on: weights and Adam's moments as tensors,
//! streams, environments and counters as JSON. Continuing from one gives the same bits as never having stopped.

use crate::config::TrainConfig;
use crate::episodes::Episodes;
use crate::error::{Error, Result};
use crate::folder::RunFolder;
use crate::ppo::Trainer;
use crate::scale::ReturnScale;
use equimarl_files::TEMPORARY;
use equimarl_nn::Network;
use equimarl_nn::model::{Entries, Entry, pack, read_file, unpack, write_file};
use equimarl_worlds::{Registry, Stream, StreamState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// How many checkpoints are kept.
const KEPT: usize = 2;
const FORMAT: u64 = 1;

/// What is not a tensor.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    steps: u64,
    iterations: u64,
    optimiser_steps: u64,
    environments: Value,
    choices: Vec<StreamState>,
    shuffle: StreamState,
    augment: StreamState,
    episodes: Episodes,
    /// The unit of rewards, where they are scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<ReturnScale>,
    /// How many episodes each environment has begun, where agents have tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<u64>>,
    /// What the run wants to remember: lengths of files, times, thresholds.
    notes: Value,
}

impl Trainer {
    /// Everything as the bytes of a file; `notes` come back from [`Trainer::restore`].
    ///
    /// # Errors
    /// If it would be too large to read again.
    pub fn checkpoint(&self, notes: &Value) -> Result<Vec<u8>> {
        let state = State {
            steps: self.steps,
            iterations: self.iterations,
            optimiser_steps: self.optimiser.steps(),
            environments: self.environments.save(),
            choices: self.choices.iter().map(Stream::save).collect(),
            shuffle: self.shuffle.save(),
            augment: self.augment.save(),
            episodes: self.episodes.clone(),
            scale: self.scale.clone(),
            tokens: self.tokens.save(),
            notes: notes.clone(),
        };
        let state = serde_json::to_vec(&state).map_err(|e| Error::BadRun(e.to_string()))?;
        let mut entries = Entries::new();
        let [first, second] = self.optimiser.moments();
        for (name, range) in self.network.named() {
            for (kind, values) in [("weight", self.network.values()), ("first", first), ("second", second)] {
                let values = &values[range.clone()];
                entries.insert(format!("{kind}:{name}"), Entry::numbers(&[values.len()], values)?);
            }
        }
        entries.insert("state".into(), Entry::bytes(&state));
        let metadata = json!({ "checkpoint": FORMAT, "config": self.config.to_toml() });
        Ok(pack(&metadata, &entries)?)
    }

    /// Continues from what [`Trainer::checkpoint`] wrote for the same config, and gives its notes.
    ///
    /// # Errors
    /// If it is damaged, or of another run. The learner is then not to be used.
    pub fn restore(&mut self, registry: &Registry, bytes: &[u8]) -> Result<Value> {
        let (config, entries) = open(bytes)?;
        let made = parse_config(registry, &config, Path::new("the checkpoint"))?;
        // Where the rate does not fall, what was done does not depend on how much was to come.
        let steps = if self.config.decay { made.steps } else { self.config.steps };
        if let Some((key, was, now)) = (TrainConfig { steps, ..made }).difference(&self.config) {
            return Err(Error::Mismatch(format!(
                "the settings were changed after the run had begun: the checkpoint was made with {key} = {was}, and now it is \
                 {now}; put it back, or start another run"
            )));
        }
        let mut tensors: [Vec<f32>; 3] = Default::default();
        for (name, range) in self.network.named() {
            for (kind, list) in ["weight", "first", "second"].iter().zip(&mut tensors) {
                list.extend(numbers(&entries, &format!("{kind}:{name}"), range.len())?);
            }
        }
        let state = entries.get("state").and_then(Entry::as_bytes).ok_or_else(|| missing("state"))?;
        let state: State = serde_json::from_slice(state)
            .map_err(|e| Error::BadRun(format!("the checkpoint's state cannot be read: {e}")))?;
        if state.choices.len() != self.choices.len() || state.episodes.environments() != self.choices.len() {
            return Err(missing("state"));
        }
        let fits = |scale: &ReturnScale| scale.fits(self.choices.len());
        if state.scale.is_some() != self.scale.is_some() || !state.scale.as_ref().is_none_or(fits) {
            return Err(missing("state"));
        }
        if !self.tokens.load(state.tokens) {
            return Err(missing("state"));
        }
        let [weights, first, second] = tensors;
        self.network.values_mut().copy_from_slice(&weights);
        self.optimiser.restore(state.optimiser_steps, first, second);
        self.resumed = self.environments.load(&state.environments)?;
        for (choice, saved) in self.choices.iter_mut().zip(&state.choices) {
            *choice = Stream::load(saved)?;
        }
        self.shuffle = Stream::load(&state.shuffle)?;
        self.augment = Stream::load(&state.augment)?;
        self.episodes = state.episodes;
        self.scale = state.scale;
        self.steps = state.steps;
        self.iterations = state.iterations;
        Ok(state.notes)
    }
}

/// The settings and the entries of a checkpoint.
fn open(bytes: &[u8]) -> Result<(String, Entries<'_>)> {
    let (metadata, entries) = unpack(bytes)?;
    match (metadata.get("checkpoint").and_then(Value::as_u64), metadata.get("config")) {
        (Some(FORMAT), Some(Value::String(config))) => Ok((config.clone(), entries)),
        _ => Err(Error::BadRun("this is not a checkpoint of this version".into())),
    }
}

fn missing(name: &str) -> Error {
    Error::BadRun(format!("the checkpoint has no valid `{name}`"))
}

fn numbers(entries: &Entries<'_>, name: &str, count: usize) -> Result<Vec<f32>> {
    let found = entries.get(name).and_then(Entry::as_numbers);
    let fits = |v: &Vec<f32>| v.len() == count && v.iter().all(|x| x.is_finite());
    found.filter(fits).ok_or_else(|| missing(name))
}

/// A team as it was at a checkpoint.
pub struct Snapshot {
    /// Its network.
    pub network: Network,
    /// The settings of its run.
    pub config: TrainConfig,
    /// For how many environment steps it had learned.
    pub steps: u64,
}

impl Snapshot {
    /// Of a checkpoint's file. Nothing of the learner is needed.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a whole checkpoint.
    pub fn load(registry: &Registry, file: &Path) -> Result<Snapshot> {
        let bytes = read_file(file)?;
        let (config, entries) = open(&bytes)?;
        let config = parse_config(registry, &config, file)?;
        let mut network = Network::init(&config.network(registry)?, &mut || 0.0)?;
        for (name, range) in network.named() {
            let values = numbers(&entries, &format!("weight:{name}"), range.len())?;
            network.values_mut()[range].copy_from_slice(&values);
        }
        let state = entries.get("state").and_then(Entry::as_bytes);
        let state: Value = state.and_then(|s| serde_json::from_slice(s).ok()).unwrap_or_default();
        let steps = state["steps"].as_u64().ok_or_else(|| missing("state"))?;
        Ok(Snapshot { network, config, steps })
    }

    /// Of a run's latest checkpoint that is whole; nothing if there is no checkpoint.
    ///
    /// # Errors
    /// If all of them are damaged.
    pub fn latest(registry: &Registry, run: &Path) -> Result<Option<Snapshot>> {
        let mut found = Ok(None);
        for (_, path) in list(&RunFolder::at(run).checkpoints())? {
            found = Snapshot::load(registry, &path).map(Some);
            if found.is_ok() {
                break;
            }
        }
        found
    }
}

/// Writes `folder/<step>.safetensors` in one piece, then removes all but the last two.
///
/// # Errors
/// If it cannot be written; earlier checkpoints are then untouched.
pub fn write(folder: &Path, step: u64, bytes: &[u8]) -> Result<()> {
    let failed = |why| Error::File { path: folder.display().to_string(), why };
    fs::create_dir_all(folder).map_err(failed)?;
    write_file(folder.join(format!("{step}.safetensors")), bytes)?;
    for (_, old) in list(folder)?.into_iter().skip(KEPT) {
        // One more file does no harm, so failing to remove it is no reason to stop.
        let _ = fs::remove_file(old);
    }
    Ok(())
}

/// The checkpoints in a folder, the latest first.
///
/// # Errors
/// If the folder cannot be read. A folder that is not there has none.
pub fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let failed = |why| Error::File { path: folder.display().to_string(), why };
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let step = path.file_stem().and_then(|s| s.to_str()).and_then(|s| s.parse().ok());
        if let (Some(step), Some("safetensors")) = (step, path.extension().and_then(|e| e.to_str())) {
            found.push((step, path));
        }
    }
    found.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
    Ok(found)
}

/// Removes what a process that was killed while writing left behind.
pub(crate) fn sweep(folder: &Path) {
    let unfinished = |path: &Path| path.extension().is_some_and(|e| e == TEMPORARY);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if unfinished(&entry.path()) {
            // They only take space, so failing to remove one is no reason to stop.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Continues a learner from the latest checkpoint that is whole, and gives its notes. Nothing if there is no checkpoint.
/// `complain` hears of damaged ones.
///
/// # Errors
/// If all checkpoints are damaged.
pub fn restore_latest(
    registry: &Registry,
    folder: &Path,
    fresh: impl Fn() -> Result<Trainer>,
    mut complain: impl FnMut(String),
) -> Result<(Trainer, Option<Value>)> {
    let all = list(folder)?;
    let mut last_error = None;
    for (_, path) in &all {
        let mut trainer = fresh()?;
        match read_file(path).map_err(Error::from).and_then(|bytes| trainer.restore(registry, &bytes)) {
            Ok(notes) => return Ok((trainer, Some(notes))),
            // Nothing is wrong with the checkpoint.
            Err(error @ Error::Mismatch(_)) => return Err(error),
            Err(error) => {
                complain(format!("{}: {error}", path.display()));
                last_error = Some(error);
            }
        }
    }
    match last_error {
        None => Ok((fresh()?, None)),
        Some(error) => Err(Error::BadRun(format!(
            "no checkpoint in {} can be read ({error}); remove the folder to start the run again",
            folder.display()
        ))),
    }
}

/// A world that is not there is read as it is: reports need no more.
pub(crate) fn parse_config(registry: &Registry, text: &str, from: &Path) -> Result<TrainConfig> {
    let bad = |why: String| Error::BadConfig(format!("{}: {why}", from.display()));
    let config: TrainConfig = toml::from_str(text).map_err(|e| bad(e.message().into()))?;
    if registry.get(&config.world.name).is_err() {
        config.check()?;
        return Ok(config);
    }
    config.complete(registry).map_err(|e| bad(e.to_string()))
}
