//! Our statistics against SciPy, NumPy and rliable, whose answers are stored in `fixtures/statistics.json` (made by
//! `fixtures/make_statistics.py`).

use equimarl_lab::statistics::{
    improvement, improvement_interval, interquartile_mean, interquartile_mean_interval, median_difference,
    profile, quantile,
};
use serde_json::Value;

fn fixture() -> Value {
    serde_json::from_str(include_str!("fixtures/statistics.json")).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn slices(rows: &[Vec<f64>]) -> Vec<&[f64]> {
    rows.iter().map(Vec::as_slice).collect()
}

fn same(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 1e-12, "{ours} is not {theirs}");
}

/// Two bootstraps with different random numbers: ends agree up to a twentieth of the interval's length.
fn close(ours: (f64, f64), theirs: &[f64]) {
    let room = 0.05 * (theirs[1] - theirs[0]) + 1e-12;
    for (a, b) in [(ours.0, theirs[0]), (ours.1, theirs[1])] {
        assert!((a - b).abs() <= room, "{ours:?} is not {theirs:?}");
    }
}

#[test]
fn quantiles_and_trimmed_means_are_those_of_numpy_and_scipy() {
    let fixture = fixture();
    let places = numbers(&fixture["quantiles"]);
    let cases = fixture["one"].as_array().unwrap();
    assert_eq!(cases.len(), 10);
    for case in cases {
        let values = numbers(&case["values"]);
        for (q, theirs) in places.iter().zip(numbers(&case["quantiles"])) {
            same(quantile(&values, *q), theirs);
        }
        same(interquartile_mean(&values), number(&case["trim_mean"]));
    }
}

#[test]
fn probabilities_of_improvement_are_mann_whitney() {
    for pair in fixture()["pairs"].as_array().unwrap() {
        let (x, y) = (numbers(&pair["x"]), numbers(&pair["y"]));
        same(improvement(&x, &y), number(&pair["probability"]));
        same(median_difference(&x, &y), number(&pair["median_difference"]));
    }
}

#[test]
fn intervals_over_tasks_are_those_of_rliable() {
    let fixture = fixture();
    for tasks in fixture["tasks"].as_array().unwrap() {
        let (x, y) = (matrix(&tasks["x"]), matrix(&tasks["y"]));
        for (name, strata) in [("x", slices(&x)), ("y", slices(&y))] {
            let ours = interquartile_mean_interval(&strata);
            same(ours.estimate, number(&tasks["iqm"][name]));
            close((ours.low, ours.high), &numbers(&tasks["iqm_interval"][name]));
        }
        let pairs: Vec<(&[f64], &[f64])> = slices(&x).into_iter().zip(slices(&y)).collect();
        let ours = improvement_interval(&pairs);
        same(ours.estimate, number(&tasks["improvement"]));
        close((ours.low, ours.high), &numbers(&tasks["improvement_interval"]));
    }
}

#[test]
fn performance_profiles_are_those_of_rliable() {
    let fixture = fixture();
    let taus = numbers(&fixture["taus"]);
    for tasks in fixture["tasks"].as_array().unwrap() {
        for name in ["x", "y"] {
            let runs = matrix(&tasks[name]);
            let count = runs.concat().len() as f64;
            let ours = profile(&slices(&runs), &taus);
            let ends = matrix(&tasks["profile_interval"][name]);
            for (i, theirs) in numbers(&tasks["profile"][name]).into_iter().enumerate() {
                same(ours[i].estimate, theirs);
                // A part of the runs moves in steps of one run.
                for (end, of) in [(ours[i].low, ends[0][i]), (ours[i].high, ends[1][i])] {
                    assert!((end - of).abs() <= 1.0 / count + 1e-9, "{end} is not {of} at {}", taus[i]);
                }
            }
        }
    }
}
