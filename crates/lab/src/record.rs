//! A run in a few kilobytes: its settings, how it ended, and its learning curve. Figures and statistics read nothing else.

use crate::brief::{Brief, Briefs, preset_of};
use crate::error::{Error, Result};
use crate::figure::Measure;
use crate::words::count;
use equimarl_learn::folder::METRICS;
use equimarl_learn::run::RECENT_WAITING;
use equimarl_learn::{RECENT, RunFolder, Summary, TrainConfig};
use equimarl_worlds::Registry;
use serde::de::IgnoredAny;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use toml::Table;

/// A curve keeps at most about this many points.
const POINTS: usize = 100;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All steps are done.
    Finished,
    /// It has steps left.
    Unfinished,
    /// It cannot go on, and why.
    Failed(String),
}

/// Values over environment steps, from the lines of `metrics.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Environment steps so far.
    pub steps: Vec<u64>,
    /// The mean return of the last 100 training episodes.
    #[serde(rename = "return")]
    pub returns: Vec<f64>,
    /// What else people look at first, by its name: the mean of the last 20 training episodes.
    #[serde(flatten)]
    pub measures: BTreeMap<String, Vec<f64>>,
}

/// A run, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The run's name within its sweep.
    pub name: String,
    /// How it stands.
    pub state: State,
    /// The hash of its settings.
    pub config_hash: String,
    /// Its settings, every one.
    pub config: TrainConfig,
    /// The content of `summary.json`; null while there is none.
    #[serde(serialize_with = "in_order")]
    pub summary: Option<Summary>,
    /// When a run that failed had passed thresholds, by its metrics. Of a finished one its summary knows it better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<BTreeMap<String, u64>>,
    /// Its learning curve.
    pub curve: Curve,
    /// What reports need to know of its world.
    #[serde(default)]
    pub world: Brief,
    /// The preset that it started from, as far as this program knows it.
    #[serde(skip)]
    pub preset: Option<Arc<Table>>,
    /// What is wrong with its learning curve, if anything is.
    #[serde(skip)]
    pub damage: Option<String>,
}

/// What stands in a file of records, by the numbers of its lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// The records. A run may have several: the last one counts.
    pub records: Vec<(usize, Record)>,
    /// Lines that are not records, and why.
    pub broken: Vec<(usize, String)>,
}

impl Record {
    /// Reads a run directory. A run without a summary is unfinished; `failed` says if it is known to be broken.
    ///
    /// # Errors
    /// If its settings or its summary cannot be read.
    pub fn of_run(registry: &Registry, run: &Path, name: &str, failed: Option<String>) -> Result<Record> {
        let folder = RunFolder::at(run);
        let config = folder.read_config(registry)?;
        let said = folder.described().map(|described| Brief::of(&described));
        let world = Briefs::new(registry).of(&config.world, said);
        let summary = folder.read_summary()?;
        let state = match (&summary, failed) {
            (Some(_), _) => State::Finished,
            (None, Some(why)) => State::Failed(why),
            (None, None) => State::Unfinished,
        };
        let (text, damage) = match fs::read_to_string(folder.metrics()) {
            Ok(text) => {
                let damage = damage(&text, &state);
                (text, damage)
            }
            // A run that was just made has none yet.
            Err(_) if state == State::Unfinished => Default::default(),
            Err(e) => (String::new(), Some(format!("{METRICS} cannot be read: {e}"))),
        };
        let reached = matches!(state, State::Failed(_)).then(|| thresholds_passed(&world, &text));
        let curve = Curve::of_metrics(&text, world.first.as_ref().map(|m| m.name.as_str())).thinned(POINTS);
        let empty = state == State::Finished && curve.steps.is_empty();
        let damage = damage.or(empty.then(|| format!("{METRICS} has no episode that ended")));
        Ok(Record {
            name: name.into(),
            state,
            config_hash: config.hash(registry),
            summary,
            reached,
            curve,
            world,
            preset: preset_of(registry, &config).map(Arc::new),
            config,
            damage,
        })
    }

    /// How the runs in a file of records stand, by the hash of their settings. It holds no more than a line at a time: sweeps
    /// ask after every run.
    ///
    /// # Errors
    /// If the file cannot be read or a line is not a record; a last line that was cut off is left out, and its run made again.
    pub fn states(path: &Path) -> Result<BTreeMap<String, State>> {
        #[derive(Deserialize)]
        struct Short {
            config_hash: String,
            state: State,
        }
        let failed = |e| Error::file(path, e);
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        let (mut states, mut line, mut number) = (BTreeMap::new(), String::new(), 0);
        while file.read_line(&mut line).map_err(failed)? > 0 {
            number += 1;
            match serde_json::from_str::<Short>(&line) {
                Ok(short) => {
                    states.insert(short.config_hash, short.state);
                }
                Err(_) if !line.ends_with('\n') => {}
                Err(e) => return Err(Error::Bad(format!("{} line {number}: {e}", path.display()))),
            }
            line.clear();
        }
        Ok(states)
    }

    /// Reads records from a file with one per line. What is not a record does not stop the others.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_all(registry: &Registry, path: &Path) -> Result<Lines> {
        let text = fs::read_to_string(path).map_err(|e| Error::file(path, e))?;
        let mut briefs = Briefs::new(registry);
        let mut lines = Lines::default();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Record>(line) {
                Ok(record) => lines.records.push((i + 1, record.known(&mut briefs))),
                Err(e) if e.is_eof() => lines.broken.push((i + 1, "the line is cut off".into())),
                Err(e) => lines.broken.push((i + 1, e.to_string())),
            }
        }
        Ok(lines)
    }

    /// The best possible mean return, where the run says it.
    pub fn optimum(&self) -> Option<f64> {
        self.summary.as_ref()?.optimum()
    }

    /// With what this program knows of its world. Settings that came later are as they were before they existed.
    fn known(mut self, briefs: &mut Briefs<'_>) -> Record {
        if let Ok(world) = briefs.registry().complete(&self.config.world) {
            self.config.world = world;
        }
        let said = (self.world != Brief::default()).then(|| self.world.clone());
        self.world = briefs.of(&self.config.world, said);
        self.preset = preset_of(briefs.registry(), &self.config).map(Arc::new);
        self
    }
}

/// What is wrong with metrics. Whoever was killed while writing, or is writing, leaves half a line at the end.
fn damage(metrics: &str, state: &State) -> Option<String> {
    let torn = usize::from(*state != State::Finished && !metrics.is_empty() && !metrics.ends_with('\n'));
    let bad = metrics.lines().filter(|line| serde_json::from_str::<IgnoredAny>(line).is_err()).count();
    match bad.saturating_sub(torn) {
        0 => None,
        n => Some(format!("{} of {METRICS} cannot be read", count(n, "line"))),
    }
}

/// A summary is written with its keys in order, as in `summary.json`.
fn in_order<S: Serializer>(summary: &Option<Summary>, to: S) -> std::result::Result<S::Ok, S::Error> {
    serde_json::to_value(summary).map_err(S::Error::custom)?.serialize(to)
}

/// The first lines of metrics that are beyond each threshold, by the rule of summaries: the mean must be of 100 episodes (20,
/// for what else is shown first), or one lucky episode would do.
fn thresholds_passed(world: &Brief, metrics: &str) -> BTreeMap<String, u64> {
    let measure = Measure::of(world);
    let enough = if measure.is_return() { RECENT } else { RECENT_WAITING } as u64;
    let mut reached = BTreeMap::new();
    for line in metrics.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let (Some(steps), Some(episodes), Some(value)) =
            (line["steps"].as_u64(), line["episodes"].as_u64(), line[measure.name()].as_f64())
        else {
            continue;
        };
        let passed = |mark: &&f64| episodes >= enough && measure.sign() * (value - **mark) > 0.0;
        for mark in world.thresholds.iter().filter(passed) {
            reached.entry(mark.to_string()).or_insert(steps);
        }
    }
    reached
}

impl Curve {
    /// All points of metrics; lines that are not whole are left out, so that a run can be read while it writes.
    pub fn of_metrics(text: &str, measure: Option<&str>) -> Curve {
        let mut curve = Curve::default();
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            // The first episodes may not have ended yet.
            let (Some(steps), Some(value)) = (line["steps"].as_u64(), line["return"].as_f64()) else {
                continue;
            };
            if let Some(name) = measure {
                let Some(value) = line[name].as_f64() else { continue };
                curve.measures.entry(name.into()).or_default().push(rounded(value));
            }
            curve.steps.push(steps);
            curve.returns.push(rounded(value));
        }
        curve
    }

    /// Every k-th point such that at most about `most` are left; the last point stays.
    pub fn thinned(&self, most: usize) -> Curve {
        let (n, every) = (self.steps.len(), self.steps.len().div_ceil(most.max(1)).max(1));
        let stays = |i: usize| (i + 1).is_multiple_of(every) || i + 1 == n;
        let thin =
            |values: &[f64]| values.iter().enumerate().filter(|(i, _)| stays(*i)).map(|(_, v)| *v).collect();
        Curve {
            steps: self.steps.iter().enumerate().filter(|(i, _)| stays(*i)).map(|(_, s)| *s).collect(),
            returns: thin(&self.returns),
            measures: self.measures.iter().map(|(name, values)| (name.clone(), thin(values))).collect(),
        }
    }
}

/// Four decimals are finer than any standard error, and short.
fn rounded(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_worlds::builtin;

    #[test]
    fn states_are_those_of_the_records() {
        let path = std::env::temp_dir().join(format!("equimarl-states-{}.jsonl", std::process::id()));
        let record = |seed, state| {
            let mut record = crate::testing::record(&format!("method = 'plain'\nseed = {seed}"));
            record.state = state;
            record
        };
        let all = [
            record(1, State::Failed("no".into())),
            record(2, State::Finished),
            record(1, State::Finished),
            record(3, State::Failed("why".into())),
        ];
        let lines: Vec<String> = all.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
        assert!(lines.iter().all(|line| line.contains("\"summary\":null,")), "{lines:?}");
        let whole = lines.join("\n") + "\n";
        // The last line is torn, as after a crash.
        fs::write(&path, format!("{whole}{}", &lines[0][..40])).unwrap();
        let read = Record::read_all(&builtin(), &path).unwrap();
        assert_eq!(read.broken, [(5, "the line is cut off".to_string())]);
        assert_eq!(read.records.iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let read: BTreeMap<String, State> =
            read.records.into_iter().map(|(_, r)| (r.config_hash, r.state)).collect();
        assert_eq!(Record::states(&path).unwrap(), read);
        assert_eq!(read.len(), 3);
        // One line that is no record: a sweep must not go on as if nothing had been made; a report has the others.
        fs::write(&path, format!("{{}}\n{whole}")).unwrap();
        let error = Record::states(&path).unwrap_err().to_string();
        assert!(error.contains("line 1: missing field"), "{error}");
        let read = Record::read_all(&builtin(), &path).unwrap();
        assert_eq!((read.records.len(), read.broken[0].0), (4, 1));
        assert!(read.broken[0].1.contains("missing field"), "{:?}", read.broken);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn damaged_metrics_are_noticed() {
        let line = "{\"steps\":400,\"return\":1}\n";
        let whole = line.repeat(3);
        let (torn, hole) = (format!("{whole}{{\"ste"), format!("{line}{{\"ste\n{line}"));
        let failed = State::Failed("no".into());
        for state in [&State::Finished, &State::Unfinished, &failed] {
            assert_eq!(damage(&whole, state), None);
            assert_eq!(damage(&hole, state).as_deref(), Some("1 line of metrics.jsonl cannot be read"));
        }
        // Half a line is what a run that writes leaves, and nothing that a finished one would.
        assert_eq!((damage(&torn, &State::Unfinished), damage(&torn, &failed)), (None, None));
        assert!(damage(&torn, &State::Finished).is_some());
    }

    #[test]
    fn marks_of_failed_runs_need_enough_episodes() {
        let text = "{\"steps\":400,\"episodes\":1,\"return\":1.9}\n{\"steps\":800,\"episodes\":99,\"return\":1.8}\n\
                    {\"steps\":1200,\"episodes\":100,\"return\":1.2}\n{\"steps\":1600,\"episodes\":120,\"return\":1.6}\n\
                    {\"steps\":2000,\"episodes\":130,\"return\":1.7}\n{\"steps\":24";
        let brief = |name: &str| Briefs::new(&builtin()).of(&builtin().usual(name).unwrap(), None);
        let reached = thresholds_passed(&brief("wildlife"), text);
        assert_eq!(reached.get("1.5"), Some(&1600));
        assert_eq!(reached.get("2.25"), None);
        let text = "{\"steps\":400,\"episodes\":19,\"return\":-1,\"waiting\":1}\n\
                    {\"steps\":800,\"episodes\":20,\"return\":-1,\"waiting\":4.9}\n";
        let traffic = brief("traffic");
        let reached = thresholds_passed(&traffic, text);
        let passed: Vec<&f64> =
            traffic.thresholds.iter().filter(|m| reached.contains_key(&m.to_string())).collect();
        assert!(passed.iter().all(|m| **m > 4.9) && !passed.is_empty(), "{reached:?}");
    }

    #[test]
    fn curves_come_from_whole_lines_and_keep_their_end() {
        let mut text = String::new();
        for i in 1..=250 {
            text += &format!("{{\"steps\":{},\"return\":{}}}\n", i * 400, f64::from(i) / 3.0);
        }
        text += "{\"steps\":100000,\"evaluation\":{}}\n{\"steps\":1004";
        let curve = Curve::of_metrics(&text, None);
        assert_eq!(curve.steps.len(), 250);
        let thin = curve.thinned(100);
        assert_eq!(thin.steps.len(), 84); // every third of 250, and the last
        assert_eq!(thin.steps.last(), Some(&100_000));
        assert_eq!(thin.steps[0], 1200);
        assert_eq!(thin.returns[0], 1.0);
    }
}
