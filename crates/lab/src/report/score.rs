//! What a run is worth after a number of steps.
//!
//! ```text
//! score(run, N) = mean of its training curve's points in the last tenth before N, 0.9 N < steps <= N
//! ```
//!
//! A run that failed before N counts as a team that acts at random, or as what it last was if that is worse. (It has no policy
//! any more; leaving it out would flatter methods that break.)

use crate::figure::Measure;
use crate::record::{Record, State};
use crate::statistics::{Interval, interquartile_mean_interval, quantile};
use serde::Serialize;

/// First quartile, median, third quartile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// The first quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub high: f64,
}

impl Quartiles {
    /// Of some values; nothing if there are none.
    pub fn of(values: &[f64]) -> Option<Quartiles> {
        let [low, median, high] = [0.25, 0.5, 0.75].map(|q| quantile(values, q));
        (!values.is_empty()).then_some(Quartiles { low, median, high })
    }
}

/// A team's runs after a number of steps.
#[derive(Clone, Debug, Serialize)]
pub struct TeamScore {
    /// The team.
    pub method: String,
    /// The score of every run, by seed.
    pub scores: Vec<f64>,
    /// Their interquartile mean with its 95% interval.
    pub iqm: Interval,
    /// Their quartiles.
    pub quartiles: Option<Quartiles>,
}

/// All teams that went on for this many steps.
#[derive(Clone, Debug, Serialize)]
pub struct After {
    /// Environment steps.
    pub steps: u64,
    /// The teams.
    pub teams: Vec<TeamScore>,
}

impl TeamScore {
    /// Of some scores.
    pub fn of(method: String, scores: Vec<f64>) -> TeamScore {
        TeamScore {
            method,
            iqm: interquartile_mean_interval(&[&scores]),
            quartiles: Quartiles::of(&scores),
            scores,
        }
    }
}

/// Whether a run counts after `steps`: it was to make so many, and has ended. Where the learning rate decays to the end of the
/// budget, a longer run is not one that went on: it was elsewhere in its schedule.
pub(super) fn counts(record: &Record, steps: u64) -> bool {
    let budget = record.config.steps;
    let so_many = if record.config.decay { budget == steps } else { budget >= steps };
    so_many && record.state != State::Unfinished
}

/// The score of a run after `steps`; `random` is what random actions give.
pub(super) fn score(record: &Record, measure: &Measure, steps: u64, random: Option<f64>) -> Option<f64> {
    let points = measure.points(&record.curve);
    let end = steps as f64;
    let until: Vec<f64> = points.iter().filter(|p| p.0 <= end).map(|p| p.1).collect();
    let recent: Vec<f64> = points.iter().filter(|p| p.0 <= end && p.0 > 0.9 * end).map(|p| p.1).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let last = until.last().copied();
    let failed_before =
        matches!(record.state, State::Failed(_)) && points.last().is_none_or(|p| p.0 < 0.99 * end);
    if !failed_before {
        return if recent.is_empty() { last } else { Some(mean(&recent)) };
    }
    match (last, random) {
        (Some(last), Some(random)) => Some(measure.worse(last, random)),
        (one, other) => one.or(other),
    }
}

/// The run as curves show it: one that failed goes on as what it counts as. Otherwise the median of the others would jump up
/// wherever a bad run ends.
pub(super) fn continued(record: &Record, measure: &Measure, random: Option<f64>) -> Record {
    let mut record = record.clone();
    let value = score(&record, measure, record.config.steps, random);
    let (State::Failed(_), Some(value)) = (&record.state, value) else { return record };
    let begin = record.curve.steps.last().map_or(0, |s| s + 1);
    for steps in [begin, record.config.steps.max(begin + 1)] {
        record.curve.steps.push(steps);
        measure.push(&mut record.curve, value);
    }
    record
}

impl Measure {
    /// The worse of two values.
    fn worse(&self, a: f64, b: f64) -> f64 {
        if self.sign() > 0.0 { a.min(b) } else { a.max(b) }
    }
}
