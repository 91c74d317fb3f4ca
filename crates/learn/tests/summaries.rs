//! Summaries of all versions are read, and written back as they were.

use equimarl_learn::{RunFolder, Summary};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder whose names end like this.
fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, end, found);
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
}

fn stays(was: &Value, place: &str) {
    let summary: Summary = serde_json::from_value(was.clone()).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert_eq!(json!(summary), *was, "{place}");
    // The text has its keys in order, too.
    assert_eq!((summary.to_string(), format!("{summary:#}")), (was.to_string(), format!("{was:#}")));
}

#[test]
fn kept_records_stay_as_they_are() {
    let (mut found, mut read) = (vec![], 0);
    files(&root().join("docs/results"), ".jsonl", &mut found);
    files(&root().join("tests/fixtures/first-house/records"), ".jsonl", &mut found);
    for file in found {
        for (i, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            let record: Value = serde_json::from_str(line).unwrap();
            let Some(summary) = record.get("summary").filter(|s| !s.is_null()) else { continue };
            stays(summary, &format!("{} line {}", file.display(), i + 1));
            read += 1;
        }
    }
    assert!(read > 300, "only {read} summaries were found");
}

#[test]
fn summaries_of_the_first_house_stay_as_they_are() {
    let mut found = vec![];
    files(&root().join("tests/fixtures/first-house"), "summary.json", &mut found);
    assert!(!found.is_empty());
    for file in found {
        let text = fs::read_to_string(&file).unwrap();
        stays(&serde_json::from_str(&text).unwrap(), &file.display().to_string());
        let summary = RunFolder::at(file.parent().unwrap()).read_summary().unwrap().unwrap();
        assert_eq!(format!("{summary:#}\n"), text, "{}", file.display());
    }
}

#[test]
fn what_is_not_a_number_or_not_known_stays() {
    let text = fs::read(root().join("tests/fixtures/first-house/runs/finished/summary.json")).unwrap();
    let old: Value = serde_json::from_slice(&text).unwrap();
    let with = |changes: &[(&str, Value)]| {
        let mut value = old.clone();
        for (place, new) in changes {
            let (home, key) = place.rsplit_once('/').unwrap();
            value.pointer_mut(home).unwrap()[key] = new.clone();
        }
        value
    };
    let nothing = json!({ "mean": null, "stderr": null });
    let odd = with(&[
        ("/return", nothing.clone()),
        ("/waiting", json!({ "mean": 4.5, "stderr": null })),
        ("/steps_per_second", Value::Null),
        ("/peak_memory_mb", Value::Null),
        ("/evaluation/greedy/return", nothing),
        ("/evaluation/gap", Value::Null),
        ("/evaluation/median", json!([1, 2])),
        ("/from_the_future", json!({ "mean": 1, "stderr": 2, "n": 3 })),
    ]);
    stays(&odd, "odd");
    let summary: Summary = serde_json::from_value(odd).unwrap();
    assert!(summary.total.mean.is_nan() && summary.steps_per_second.is_nan());
    assert_eq!(summary.measure("waiting").unwrap().mean, 4.5);
    assert!(summary.measure("nothing").is_none());
    assert_eq!(summary.optimum(), old["evaluation"]["optimum"].as_f64());
    stays(&with(&[("/evaluation", Value::Null)]), "without an evaluation");
    assert!(serde_json::from_value::<Summary>(with(&[("/return", json!("much"))])).is_err());
}
