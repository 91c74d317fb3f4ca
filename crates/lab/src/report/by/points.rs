//! What a team is at one value of the number.

use super::By;
use crate::record::{Record, State};
use crate::report::score::score;
use crate::report::setting::{SettingReport, TeamRuns};
use crate::statistics::{Interval, interquartile_mean_interval};
use serde::Serialize;

/// Scores of runs, and their interquartile mean.
#[derive(Clone, Debug, Serialize)]
pub struct Scored {
    /// One per run.
    pub scores: Vec<f64>,
    /// Their interquartile mean with its interval.
    pub iqm: Interval,
}

/// Steps to a threshold.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    /// The threshold.
    pub threshold: f64,
    /// How many runs passed.
    pub passed: usize,
    /// Of how many.
    pub runs: usize,
    /// The median of steps.
    pub median: Interval,
    /// The median for people.
    pub says: String,
}

/// A team at one value of the number.
#[derive(Clone, Debug, Serialize)]
pub struct At {
    /// The value.
    pub value: f64,
    /// The learning rate of its runs.
    pub learning_rate: f64,
    /// How many runs have ended, of how many.
    pub runs: [usize; 2],
    /// The team whose runs these are, if it is another one.
    pub stands_in: Option<String>,
    /// The best possible that scores are divided by.
    pub best: Option<f64>,
    /// The greedy evaluation at the end.
    pub end: Option<Scored>,
    /// The training curve over the last tenth of all steps.
    pub training: Option<Scored>,
    /// The training curve after fewer steps.
    pub early: Option<Scored>,
    /// Steps to thresholds.
    pub marks: Vec<Mark>,
}

/// Where a team is looked at.
pub(super) struct Place<'a> {
    pub value: f64,
    pub by: &'a By,
    pub report: &'a SettingReport,
    /// What scores are divided by.
    pub best: Option<f64>,
}

impl Place<'_> {
    /// The team of these runs here.
    pub fn of(&self, runs: &TeamRuns<'_>, stands_in: Option<String>) -> At {
        let training = |steps: u64| move |r: &Record| score(r, &self.report.measure, steps, self.random());
        let name = runs.team.name();
        let marks = self.report.thresholds.iter().filter_map(|t| {
            let team = t.teams.iter().find(|team| team.method == name)?;
            Some(Mark {
                threshold: t.threshold,
                passed: team.passed,
                runs: team.runs,
                median: team.median,
                says: team.median_text(),
            })
        });
        let long: Vec<&Record> =
            runs.ended.iter().copied().filter(|r| r.config.steps >= self.by.after).collect();
        At {
            value: self.value,
            learning_rate: runs.learning_rate,
            runs: [runs.ended.len(), runs.all.len()],
            stands_in,
            best: self.best,
            end: self.scored(&runs.ended, |r| self.end(r)),
            training: self.scored(&runs.ended, |r| training(r.config.steps)(r)),
            early: self.scored(&long, training(self.by.after)),
            marks: marks.collect(),
        }
    }

    fn random(&self) -> Option<f64> {
        self.report.references.random
    }

    /// The greedy evaluation of a run; of one that failed, what it counts as.
    fn end(&self, record: &Record) -> Option<f64> {
        match record.state {
            State::Failed(_) => score(record, &self.report.measure, record.config.steps, self.random()),
            _ => self.report.measure.of_played(&record.summary.as_ref()?.evaluation.as_ref()?.greedy),
        }
    }

    fn scored(&self, runs: &[&Record], of: impl Fn(&Record) -> Option<f64>) -> Option<Scored> {
        let values = runs.iter().filter_map(|r| of(r)).filter(|v| v.is_finite());
        let scores: Vec<f64> = values.map(|v| v / self.best.unwrap_or(1.0)).collect();
        (!scores.is_empty()).then(|| Scored { iqm: interquartile_mean_interval(&[&scores]), scores })
    }
}
