//! Steps until thresholds are passed.

use super::costs::Costs;
use super::setting::TeamRuns;
use crate::brief::Brief;
use crate::record::Record;
use crate::statistics::{Interval, Passing};
use crate::words::thousands;
use serde::Serialize;

/// Steps until one threshold was passed.
#[derive(Clone, Debug, Serialize)]
pub struct ThresholdReport {
    /// The threshold: a return to exceed, or a waiting time to come below.
    pub threshold: f64,
    /// The teams.
    pub teams: Vec<TeamPassing>,
}

/// Steps until a team's runs passed a threshold. What the runs ended before is null.
#[derive(Clone, Debug, Serialize)]
pub struct TeamPassing {
    /// The team.
    pub method: String,
    /// How many runs.
    pub runs: usize,
    /// How many of them passed.
    pub passed: usize,
    /// The most steps that a run had.
    pub budget: u64,
    /// The median over all runs (Kaplan-Meier: those that ended before they passed count until their end).
    pub median: Interval,
    /// Where the median is beyond all ends: how many steps are known to be too few for half of the runs.
    pub more_than: Option<f64>,
    /// Of how many runs it is known whether they had passed by the median, or by `more_than`.
    pub known: usize,
    /// The first quartile.
    pub low: f64,
    /// The third quartile.
    pub high: f64,
    /// How many times as many steps as the first team: the ratio of the medians.
    pub times: Option<Interval>,
    /// The median in seconds: steps times the team's seconds per step.
    pub seconds: Option<f64>,
    /// The median in multiply-adds.
    pub multiply_adds: Option<f64>,
}

impl TeamPassing {
    fn of(method: String, p: &Passing, budget: u64, first: Option<&Passing>) -> TeamPassing {
        let median = p.median();
        let more_than = median.estimate.is_infinite().then(|| p.more_than(0.5));
        TeamPassing {
            method,
            runs: p.runs(),
            passed: p.passed(),
            budget,
            median,
            more_than,
            known: p.known_by_median(),
            low: p.quantile(0.25),
            high: p.quantile(0.75),
            times: first.map(|f| p.ratio(f)),
            seconds: None,
            multiply_adds: None,
        }
    }

    /// With what the steps to the median cost, where there is a median.
    fn with(mut self, costs: &Costs) -> TeamPassing {
        let steps = Some(self.median.estimate).filter(|s| s.is_finite());
        self.seconds = steps.and_then(|s| Some(s * costs.seconds(&self.method)?));
        self.multiply_adds = steps.and_then(|s| Some(s * costs.multiply_adds(&self.method)?));
        self
    }

    /// The median for people: `2,160 [2,000, 2,400]`, `5,000 [4,000, open]` or `over 6,000`.
    pub fn median_text(&self) -> String {
        let i = self.median;
        match self.more_than {
            Some(steps) if i.low.is_finite() => {
                format!("over {} [{}, open]", thousands(steps), thousands(i.low))
            }
            Some(steps) => format!("over {}", thousands(steps)),
            None if i.low.is_nan() => format!("{} (no interval)", thousands(i.estimate)),
            None => format!("{} [{}, {}]", thousands(i.estimate), open(i.low), open(i.high)),
        }
    }
}

/// Steps, or that nobody knows how many: the runs ended before.
pub(super) fn open(steps: f64) -> String {
    if steps.is_finite() { thousands(steps) } else { "open".into() }
}

impl ThresholdReport {
    /// All thresholds that any run has passed.
    pub(super) fn all(world: &Brief, teams: &[TeamRuns<'_>], costs: &Costs) -> Vec<ThresholdReport> {
        let teams: Vec<&TeamRuns<'_>> = teams.iter().filter(|t| !t.ended.is_empty()).collect();
        let mut reports = vec![];
        for threshold in &world.thresholds {
            let of = |t: &&TeamRuns<'_>| Passing::of(t.ended.iter().map(|r| passed(r, *threshold)));
            let passings: Vec<Passing> = teams.iter().map(of).collect();
            if passings.iter().all(|p| p.passed() == 0) {
                continue;
            }
            let team = |(i, (t, p)): (usize, (&&TeamRuns<'_>, &Passing))| {
                let budget = t.ended.iter().map(|r| r.config.steps).max().unwrap_or(0);
                TeamPassing::of(t.team.name(), p, budget, passings.first().filter(|_| i > 0)).with(costs)
            };
            let teams = teams.iter().zip(&passings).enumerate().map(team).collect();
            reports.push(ThresholdReport { threshold: *threshold, teams });
        }
        reports
    }
}

/// When a run passed a threshold, and how many steps it was given. The summary knows it exactly; of a run that failed, its metrics
/// know it to the next line. One that failed counts until the end of its budget, not of its life: it would never have passed.
fn passed(record: &Record, threshold: f64) -> (Option<u64>, u64) {
    let threshold = threshold.to_string();
    let by_metrics = || record.reached.as_ref()?.get(&threshold).copied();
    let by_summary = record.summary.as_ref().and_then(|s| s.reached.get(&threshold).copied());
    (by_summary.or_else(by_metrics), record.config.steps)
}
