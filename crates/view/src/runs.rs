//! Run directories below a folder, found again at every look: runs appear, grow and vanish while the page is open.
//!
//! A run is known by its place below the folder, and only a name that the last look found is ever opened. So no request
//! can name a file of its own.

use crate::find::{self, Place};
use equimarl_lab::{Record, Setting, State};
use equimarl_learn::folder::{CONFIG, METRICS, MODEL, SUMMARY};
use equimarl_learn::{RunFolder, checkpoint};
use equimarl_worlds::{Registry, WorldConfig};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// A run whose metrics are younger than this is being written.
const FRESH: Duration = Duration::from_secs(15);
/// Larger metrics are not read.
const MAX_METRICS: u64 = 256 << 20;

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Its place below the folder.
    pub id: String,
    /// The sweep that it belongs to, or the folder that it is in.
    pub sweep: String,
    /// Whether it was made to choose a learning rate, and is no part of what is reported.
    pub for_choosing: bool,
    /// `running`, `stopped`, `finished` or `unreadable`.
    pub state: &'static str,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// The world's name and size.
    pub world: String,
    /// The world, if this program has it.
    #[serde(skip)]
    pub config: Option<WorldConfig>,
    /// What it shares with the runs that it can be compared with: world and settings but for method, seed and budget.
    #[serde(skip)]
    pub setting: String,
    pub method: String,
    pub group: String,
    pub seed: u64,
    pub learning_rate: f64,
    /// Environment steps in all, and those done.
    pub steps: u64,
    pub done: u64,
    /// The last point of its curve.
    #[serde(rename = "return")]
    pub mean_return: Option<f64>,
    /// What people look at first in this world, if that is not the return.
    pub measure: Option<Value>,
    /// The steps of the team that can be played: of its model, or of a checkpoint.
    pub trained: Option<u64>,
    /// When that team was written, in seconds.
    #[serde(skip)]
    pub written: u64,
}

impl Row {
    /// A run of which nothing is known.
    pub fn unreadable(id: &str, why: String) -> Row {
        Row {
            id: id.into(),
            sweep: String::new(),
            for_choosing: false,
            state: "unreadable",
            problem: Some(why),
            world: String::new(),
            config: None,
            setting: String::new(),
            method: String::new(),
            group: String::new(),
            seed: 0,
            learning_rate: 0.0,
            steps: 0,
            done: 0,
            mean_return: None,
            measure: None,
            trained: None,
            written: 0,
        }
    }
}

/// The last value of a world's own measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Value {
    pub name: String,
    pub title: String,
    pub value: f64,
}

/// What a file was like when it was read.
type Stamp = Option<(u64, SystemTime)>;

/// A run as it was read, or why it could not be.
pub(crate) type Read = Arc<std::result::Result<Record, String>>;

#[derive(Clone)]
struct Known {
    stamps: [Stamp; 4],
    place: Place,
    record: Read,
    /// See [`Row::setting`].
    setting: String,
}

impl Known {
    fn of(registry: &Registry, place: &Place, stamps: [Stamp; 4]) -> Known {
        let record = read(registry, place, stamps[1]);
        let shared = |record: &Record| {
            let setting = Setting::all([record]).into_iter().next();
            setting.map(|s| format!("{}\n{:?}\n{}", s.world.title, s.config, s.rules)).unwrap_or_default()
        };
        let setting = record.as_ref().map(shared).unwrap_or_default();
        Known { stamps, place: place.clone(), record: Arc::new(record), setting }
    }
}

/// All runs below a folder.
pub(crate) struct Runs {
    registry: Registry,
    root: Option<PathBuf>,
    known: Mutex<BTreeMap<String, Known>>,
}

impl Runs {
    /// Below `root`, which may be a run itself; nothing if there is none.
    pub fn new(registry: &Registry, root: Option<PathBuf>) -> Runs {
        Runs { registry: registry.clone(), root, known: Mutex::new(BTreeMap::new()) }
    }

    /// Looks again, and gives all runs in the order of their names.
    pub fn look(&self) -> Vec<Row> {
        let found = self.root.as_deref().map(find::runs).unwrap_or_default();
        let mut known = self.known();
        let mut now = BTreeMap::new();
        let mut rows = vec![];
        let locks = locks();
        for place in found {
            let stamps = [CONFIG, METRICS, SUMMARY, MODEL].map(|file| stamp(&place.path.join(file)));
            let entry = match known.remove(&place.id) {
                Some(entry) if entry.stamps == stamps && entry.place == place => entry,
                _ => Known::of(&self.registry, &place, stamps),
            };
            rows.push(row(&self.registry, &entry, &locks));
            now.insert(place.id, entry);
        }
        *known = now;
        rows
    }

    /// A run of the last look, and whether it was made to choose a learning rate.
    pub fn record(&self, id: &str) -> Option<(Read, bool)> {
        self.known().get(id).map(|known| (known.record.clone(), known.place.for_choosing()))
    }

    /// The model file of a run of the last look, or its latest checkpoint.
    pub fn model(&self, id: &str) -> Option<PathBuf> {
        let path = self.known().get(id)?.place.path.clone();
        playable(&path).map(|team| team.file)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        // A look that panicked left whole entries behind.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A team in a file.
struct Team {
    file: PathBuf,
    /// The steps that it was trained for, if the file's name says so; otherwise all of its run.
    steps: Option<u64>,
    written: u64,
}

/// What a team can be read from: the model of a finished run, the latest checkpoint of another.
fn playable(run: &Path) -> Option<Team> {
    let team = |file: PathBuf, steps: Option<u64>| {
        let (_, at) = stamp(&file)?;
        let written = at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_secs());
        Some(Team { file, steps, written })
    };
    if let Some(team) = team(RunFolder::at(run).model(), None) {
        return Some(team);
    }
    let folder = RunFolder::at(run).checkpoints();
    let own = fs::symlink_metadata(&folder).is_ok_and(|about| about.is_dir());
    let all = if own { checkpoint::list(&folder).unwrap_or_default() } else { vec![] };
    all.into_iter().find_map(|(steps, path)| team(path, Some(steps)))
}

fn stamp(path: &Path) -> Stamp {
    let about = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((about.len(), about.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
}

fn read(registry: &Registry, place: &Place, metrics: Stamp) -> std::result::Result<Record, String> {
    if metrics.is_some_and(|(length, _)| length > MAX_METRICS) {
        return Err("its metrics are too large to be shown".into());
    }
    Record::of_run(registry, &place.path, &place.id, None).map_err(|e| e.to_string())
}

fn row(registry: &Registry, known: &Known, locks: &[u64]) -> Row {
    let Place { id, path, sweep } = &known.place;
    let record = match &*known.record {
        Ok(record) => record,
        Err(why) => return Row::unreadable(id, why.clone()),
    };
    let (config, curve) = (&record.config, &record.curve);
    let fresh = known.stamps[1].is_some_and(|(_, at)| at.elapsed().is_ok_and(|age| age < FRESH));
    let (state, problem) = match &record.state {
        State::Finished => ("finished", None),
        State::Failed(why) => ("failed", Some(why.clone())),
        State::Unfinished if fresh || locked(&RunFolder::at(path).metrics(), locks) => ("running", None),
        State::Unfinished => ("stopped", None),
    };
    let finished = record.state == State::Finished;
    // A team can be played only where there is its world.
    let known_world = registry.get(&config.world.name).is_ok();
    let measure = record.world.first.as_ref().and_then(|first| {
        let value = *curve.measures.get(&first.name)?.last()?;
        Some(Value { name: first.name.clone(), title: first.title.clone(), value })
    });
    let team = playable(path).filter(|_| known_world);
    Row {
        id: id.clone(),
        sweep: sweep.clone(),
        for_choosing: known.place.for_choosing(),
        state,
        problem,
        world: record.world.label.clone(),
        config: known_world.then(|| config.world.clone()),
        setting: known.setting.clone(),
        method: config.method.to_string(),
        group: config.group.clone(),
        seed: config.seed,
        learning_rate: config.learning_rate,
        steps: config.steps,
        done: if finished { config.steps } else { curve.steps.last().copied().unwrap_or(0) },
        mean_return: curve.returns.last().copied(),
        measure,
        trained: team.as_ref().map(|team| team.steps.unwrap_or(config.steps)),
        written: team.map_or(0, |team| team.written),
    }
}

/// The files (by inode) that processes of this machine hold locks on: a trainer locks its metrics. Asking the system
/// instead of the file keeps us out of the trainer's way.
fn locks() -> Vec<u64> {
    let text = fs::read_to_string("/proc/locks").unwrap_or_default();
    let inode = |line: &str| line.split_whitespace().find_map(|w| w.splitn(3, ':').nth(2)?.parse().ok());
    text.lines().filter(|line| line.contains("FLOCK")).filter_map(inode).collect()
}

#[cfg(unix)]
fn locked(path: &Path, locks: &[u64]) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path).is_ok_and(|about| locks.contains(&about.ino()))
}

#[cfg(not(unix))]
fn locked(_path: &Path, _locks: &[u64]) -> bool {
    false
}
