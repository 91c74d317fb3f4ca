//! Event files that TensorBoard reads, without TensorFlow.
//!
//! TensorBoard takes every folder below the one it is given as a run. Run directories hold what they hold and nothing else, so
//! event files go to a folder of their own.

mod follow;
mod record;

pub use follow::Follower;

use crate::error::{Error, Result};
use crate::gather::Found;
use crate::record::Curve;
use equimarl_files::write_file;
use equimarl_learn::RunFolder;
use record::{What, event};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// TensorBoard finds files by this part of their name.
const NAME: &str = "events.out.tfevents";

/// Values by name at a step.
type Line = (u64, Vec<(String, f64)>);

/// A line of metrics as values: `train/return`, `evaluation/greedy/return`, ...
fn values(line: &str) -> Option<Line> {
    let Value::Object(line) = serde_json::from_str(line).ok()? else { return None };
    let step = line.get("steps")?.as_u64()?;
    let mut found = vec![];
    for (key, value) in &line {
        match value {
            Value::Number(n) if key != "steps" => found.push((format!("train/{key}"), n.as_f64()?)),
            Value::Object(_) => nested(key, value, &mut found),
            _ => {}
        }
    }
    (!found.is_empty()).then_some((step, found))
}

/// Means and numbers in an object, by their path.
fn nested(path: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(map) => {
            if let Some(mean) = map.get("mean").and_then(Value::as_f64) {
                found.push((path.into(), mean));
                return;
            }
            for (key, inner) in map {
                nested(&format!("{path}/{key}"), inner, found);
            }
        }
        Value::Number(n) => found.extend(n.as_f64().map(|n| (path.to_string(), n))),
        _ => {}
    }
}

/// The lines of a curve, where there are no metrics.
fn lines_of(curve: &Curve) -> Vec<Line> {
    let line = |(i, step): (usize, &u64)| {
        let mut found = vec![];
        found.extend(curve.returns.get(i).map(|v| ("train/return".to_string(), *v)));
        for (name, values) in &curve.measures {
            found.extend(values.get(i).map(|v| (format!("train/{name}"), *v)));
        }
        (*step, found)
    };
    curve.steps.iter().enumerate().map(line).collect()
}

/// Writes one event file per run to `folder`/SWEEP/RUN, replacing what an earlier report wrote there, and says where. A run's
/// metrics are taken whole where its directory is there, and its kept curve otherwise. Times are seconds of training.
///
/// # Errors
/// If a file cannot be written.
pub fn export(runs: &[Found], folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for found in runs {
        let metrics = fs::read_to_string(RunFolder::at(Path::new(&found.place)).metrics());
        let lines: Vec<Line> = match metrics {
            Ok(text) => text.lines().filter_map(values).collect(),
            Err(_) => lines_of(&found.record.curve),
        };
        let summary = found.record.summary.as_ref();
        let seconds = summary.map(|s| s.wall_seconds).filter(|s| !s.is_nan()).unwrap_or(0.0);
        let steps = summary.map_or(1, |s| s.steps).max(1) as f64;
        let mut bytes = event(0.0, 0, &What::Version);
        for (step, values) in &lines {
            bytes.extend(event(seconds * *step as f64 / steps, *step, &What::Scalars(values)));
        }
        let home = folder.join(safe(&found.sweep)).join(safe(&found.record.name));
        fs::create_dir_all(&home).map_err(|e| Error::file(&home, e))?;
        let path = home.join(format!("{NAME}.0.report"));
        write_file(&path, &bytes).map_err(|e| Error::file(&path, e))?;
        files.push(path);
    }
    Ok(files)
}

/// A name that stays within its folder.
fn safe(name: &str) -> String {
    let letter = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    if name.trim_matches('.').is_empty() { "run".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_line_has_a_name() {
        let line = r#"{"steps":400,"return":-1.5,"kl":null,"terminated":1}"#;
        let expected = vec![("train/return".to_string(), -1.5), ("train/terminated".to_string(), 1.0)];
        assert_eq!(values(line), Some((400, expected)));
        let line = r#"{"steps":9,"evaluation":{"gap":0.25,"greedy":{"episodes":7,"return":{"mean":2.0,"stderr":0.1}}}}"#;
        let (step, found) = values(line).unwrap();
        let names: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(
            (step, names),
            (9, vec!["evaluation/gap", "evaluation/greedy/episodes", "evaluation/greedy/return"])
        );
        assert_eq!(values("{\"steps\":40"), None);
        assert_eq!(values("[]"), None);
    }

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!([safe("../a/b"), safe(".."), safe("w-3.1")], [".._a_b", "run", "w-3.1"]);
    }
}
