//! What a run is worth after a number of steps.
//!
//! ```text
//! score(run, N) = mean of its training curve's points in the last tenth before N, 0.9 N < steps <= N
//! ```
//!
//! A run that failed before N counts as a team that acts at random, or as what it last was if that is worse. (It has no policy
//! any more; leaving it out would flatter methods that break.)

use super::setting::TeamRuns;
use crate::figure::Measure;
use crate::record::{Record, State};
use crate::statistics::{Interval, interquartile_mean_interval, quantile};
use equimarl_learn::Evaluation;
use equimarl_worlds::Summary as Played;
use serde::Serialize;

/// Intervals of fewer runs are not to be trusted.
pub(super) const FEW: usize = 5;

/// First quartile, median, third quartile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// Of how many runs.
    pub runs: usize,
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
        (!values.is_empty()).then_some(Quartiles { runs: values.len(), low, median, high })
    }
}

/// A team's runs after a number of steps.
#[derive(Clone, Debug, Serialize)]
pub struct TeamScore {
    /// The team.
    pub method: String,
    /// How many runs count after so many steps.
    pub runs: usize,
    /// How many runs the team has, those included that ended before or are not finished.
    pub of: usize,
    /// The score of every run that counts.
    pub scores: Vec<f64>,
    /// Their interquartile mean with its 95% interval.
    pub iqm: Interval,
    /// Their quartiles.
    pub quartiles: Option<Quartiles>,
    /// The measure in evaluation with the greedy actions, of runs that ended just here.
    pub evaluated_greedy: Option<Quartiles>,
    /// The same with sampled actions.
    pub evaluated_sampled: Option<Quartiles>,
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
    /// Of a team's runs after `steps`; nothing if none counts. `random` is what random actions give.
    pub(super) fn of(
        team: &TeamRuns<'_>,
        measure: &Measure,
        steps: u64,
        random: Option<f64>,
    ) -> Option<TeamScore> {
        let count = team.ended.iter().filter(|r| counts(r, steps));
        let scores: Vec<f64> = count.filter_map(|r| score(r, measure, steps, random)).collect();
        let evaluated = |how: fn(&Evaluation) -> &Played| {
            let here = team.ended.iter().filter(|r| r.config.steps == steps);
            let value = |r: &&Record| measure.of_played(how(r.summary.as_ref()?.evaluation.as_ref()?));
            Quartiles::of(&here.filter_map(value).filter(|v| !v.is_nan()).collect::<Vec<f64>>())
        };
        (!scores.is_empty()).then(|| TeamScore {
            method: team.team.name(),
            runs: scores.len(),
            of: team.all.len(),
            iqm: interquartile_mean_interval(&[&scores]),
            quartiles: Quartiles::of(&scores),
            evaluated_greedy: evaluated(|e| &e.greedy),
            evaluated_sampled: evaluated(|e| &e.sampled),
            scores,
        })
    }
}

impl After {
    /// A team after so many steps.
    pub(super) fn team(&self, method: &str) -> Option<&TeamScore> {
        self.teams.iter().find(|t| t.method == method)
    }

    /// How many runs each of these teams has at least; nothing if one has none.
    pub(super) fn fewest(&self, methods: &[&str]) -> Option<usize> {
        let runs = methods.iter().map(|m| Some(self.team(m)?.runs));
        runs.collect::<Option<Vec<usize>>>()?.into_iter().min()
    }

    /// After how many steps these teams are best looked at: the most steps that [`FEW`] runs of each made, or where there are never
    /// so many, the most steps of the most runs. One run that went on longer than all others says little.
    pub(super) fn telling<'a>(after: &'a [After], methods: &[&str]) -> Option<&'a After> {
        let all = after.iter().filter_map(|a| Some((a.fewest(methods)?.min(FEW), a.steps, a)));
        all.max_by_key(|(runs, steps, _)| (*runs, *steps)).map(|(.., a)| a)
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
