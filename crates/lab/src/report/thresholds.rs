//! Steps until thresholds are passed.

use super::setting::TeamRuns;
use crate::brief::Brief;
use crate::record::Record;
use crate::statistics::{Interval, Passing};
use serde::Serialize;

/// Steps until one threshold was passed.
#[derive(Clone, Debug, Serialize)]
pub struct ThresholdReport {
    /// The threshold: a return to exceed, or a waiting time to come below.
    pub threshold: f64,
    /// The teams.
    pub teams: Vec<TeamPassing>,
}

/// Steps until a team's runs passed a threshold. What lies beyond the budget is null.
#[derive(Clone, Debug, Serialize)]
pub struct TeamPassing {
    /// The team.
    pub method: String,
    /// How many runs.
    pub runs: usize,
    /// How many of them passed.
    pub passed: usize,
    /// The steps that the runs had.
    pub budget: u64,
    /// The median over all runs, those included that did not pass.
    pub median: Interval,
    /// The first quartile.
    pub low: f64,
    /// The third quartile.
    pub high: f64,
    /// How many times as many steps as the first team: the ratio of the medians.
    pub times: Option<Interval>,
}

impl ThresholdReport {
    /// All thresholds that any run has passed.
    pub(super) fn all(world: &Brief, teams: &[TeamRuns<'_>]) -> Vec<ThresholdReport> {
        let mut reports = vec![];
        for threshold in &world.thresholds {
            let passings: Vec<(String, Passing)> = teams
                .iter()
                .filter(|t| !t.ended.is_empty())
                .map(|t| (t.team.name(), Passing::of(t.ended.iter().map(|r| passed(r, *threshold)))))
                .collect();
            if passings.iter().all(|(_, p)| p.passed() == 0) {
                continue;
            }
            let first = passings.first().map(|(_, p)| p.clone());
            let team = |(i, (method, p)): (usize, (String, Passing))| TeamPassing {
                method,
                runs: p.steps.len(),
                passed: p.passed(),
                budget: p.budget,
                median: p.median(),
                low: p.quantile(0.25),
                high: p.quantile(0.75),
                times: first.as_ref().filter(|_| i > 0).map(|f| p.ratio(f)),
            };
            reports.push(ThresholdReport {
                threshold: *threshold,
                teams: passings.into_iter().enumerate().map(team).collect(),
            });
        }
        reports
    }
}

/// When a run passed a threshold, and how many steps it was given. The summary knows it exactly; of a run that failed, its metrics
/// know it to the next line.
fn passed(record: &Record, threshold: f64) -> (Option<u64>, u64) {
    let threshold = threshold.to_string();
    let by_metrics = || record.reached.as_ref()?.get(&threshold).copied();
    let by_summary = record.summary.as_ref().and_then(|s| s.reached.get(&threshold).copied());
    (by_summary.or_else(by_metrics), record.config.steps)
}
