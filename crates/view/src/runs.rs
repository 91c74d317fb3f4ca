//! Run directories below a folder, found again at every look: runs appear, grow and vanish while the page is open.
//!
//! A run is known by its place below the folder, and only a name that the last look found is ever opened. So no request
//! can name a file of its own.

use equimarl_lab::{Record, State};
use equimarl_learn::folder::{CONFIG, METRICS, MODEL, SUMMARY};
use equimarl_learn::{RunFolder, checkpoint};
use equimarl_worlds::{Registry, WorldConfig};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Folders below the first one in which runs are looked for.
const DEPTH: usize = 4;
/// The most runs in a list, and the most folders that are looked into.
const MOST: usize = 2000;
const FOLDERS: usize = 20_000;
/// A run whose metrics are younger than this is being written.
const FRESH: Duration = Duration::from_secs(15);
/// Larger metrics are not read.
const MAX_METRICS: u64 = 256 << 20;

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Its place below the folder.
    pub id: String,
    /// `running`, `stopped`, `finished` or `unreadable`.
    pub state: &'static str,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// The world's name and size.
    pub world: String,
    /// The world, if this program has it.
    #[serde(skip)]
    pub config: Option<WorldConfig>,
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
    /// Whether it has a team to play: its model, or that of a checkpoint.
    pub playable: bool,
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

#[derive(Clone)]
struct Known {
    stamps: [Stamp; 4],
    record: Arc<std::result::Result<Record, String>>,
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
        let mut found = vec![];
        if let Some(root) = &self.root {
            let mut left = FOLDERS;
            find(root, &name_of_root(root), DEPTH, &mut left, &mut found);
        }
        found.sort();
        let mut known = self.known();
        let mut now = BTreeMap::new();
        let mut rows = vec![];
        let locks = locks();
        for (id, path) in found {
            let stamps = [CONFIG, METRICS, SUMMARY, MODEL].map(|file| stamp(&path.join(file)));
            let entry = match known.remove(&id) {
                Some(entry) if entry.stamps == stamps => entry,
                _ => Known { stamps, record: Arc::new(read(&self.registry, &path, &id, stamps[1])) },
            };
            rows.push(row(&self.registry, &id, &entry, &path, &locks));
            now.insert(id, entry);
        }
        *known = now;
        rows
    }

    /// A run of the last look.
    pub fn record(&self, id: &str) -> Option<Arc<std::result::Result<Record, String>>> {
        self.known().get(id).map(|known| known.record.clone())
    }

    /// The model file of a run of the last look, or its latest checkpoint.
    pub fn model(&self, id: &str) -> Option<PathBuf> {
        let root = self.root.as_ref()?;
        if !self.known().contains_key(id) {
            return None;
        }
        let below = id.strip_prefix(&name_of_root(root)).unwrap_or(id);
        playable(&root.join(below.trim_start_matches('/')))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        // A look that panicked left whole entries behind.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A folder that is a run itself is listed under its own name, others by what is below them.
fn name_of_root(root: &Path) -> String {
    if !RunFolder::at(root).is_run() {
        return String::new();
    }
    root.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_else(|| "run".into())
}

fn find(folder: &Path, id: &str, depth: usize, left: &mut usize, found: &mut Vec<(String, PathBuf)>) {
    if found.len() >= MOST || *left == 0 {
        return;
    }
    *left -= 1;
    if RunFolder::at(folder).config().is_file() && !id.is_empty() {
        return found.push((id.into(), folder.into()));
    }
    if depth == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Links are not followed: they may lead anywhere.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_folder && !name.starts_with('.') {
            let id = if id.is_empty() { name } else { format!("{id}/{name}") };
            find(&entry.path(), &id, depth - 1, left, found);
        }
    }
}

/// What a team can be read from: the model of a finished run, the latest checkpoint of another.
fn playable(run: &Path) -> Option<PathBuf> {
    let model = RunFolder::at(run).model();
    if stamp(&model).is_some() {
        return Some(model);
    }
    let folder = RunFolder::at(run).checkpoints();
    let own = fs::symlink_metadata(&folder).is_ok_and(|about| about.is_dir());
    let all = if own { checkpoint::list(&folder).unwrap_or_default() } else { vec![] };
    all.into_iter().map(|(_, path)| path).find(|path| stamp(path).is_some())
}

fn stamp(path: &Path) -> Stamp {
    let about = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((about.len(), about.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
}

fn read(registry: &Registry, path: &Path, id: &str, metrics: Stamp) -> std::result::Result<Record, String> {
    if metrics.is_some_and(|(length, _)| length > MAX_METRICS) {
        return Err("its metrics are too large to be shown".into());
    }
    Record::of_run(registry, path, id, None).map_err(|e| e.to_string())
}

fn row(registry: &Registry, id: &str, known: &Known, path: &Path, locks: &[u64]) -> Row {
    let record = match &*known.record {
        Ok(record) => record,
        Err(why) => {
            return Row {
                id: id.into(),
                state: "unreadable",
                problem: Some(why.clone()),
                world: String::new(),
                config: None,
                method: String::new(),
                group: String::new(),
                seed: 0,
                learning_rate: 0.0,
                steps: 0,
                done: 0,
                mean_return: None,
                measure: None,
                playable: false,
            };
        }
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
    Row {
        id: id.into(),
        state,
        problem,
        world: record.world.label.clone(),
        config: known_world.then(|| config.world.clone()),
        method: config.method.to_string(),
        group: config.group.clone(),
        seed: config.seed,
        learning_rate: config.learning_rate,
        steps: config.steps,
        done: if finished { config.steps } else { curve.steps.last().copied().unwrap_or(0) },
        mean_return: curve.returns.last().copied(),
        measure,
        playable: known_world && playable(path).is_some(),
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
