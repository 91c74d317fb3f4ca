//! Learning curves of runs, in the paper's style.

use super::{Chart, Reference, Series};
use crate::record::{Curve, Record};
use crate::setting::Team;
use equimarl_learn::WorldConfig;

/// Places along a curve; more cannot be told apart.
const PLACES: usize = 160;

/// What a learning curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The mean return of the last 100 training episodes: more is better.
    Return,
    /// The mean waiting time of the last 20 training episodes: less is better.
    Waiting,
}

impl Measure {
    /// What the paper shows of a world: waiting for traffic, return otherwise.
    pub fn of(world: &WorldConfig) -> Measure {
        match world {
            WorldConfig::Traffic { .. } => Measure::Waiting,
            WorldConfig::Wildlife { .. } => Measure::Return,
        }
    }

    /// Its name in metrics and summaries.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Return => "return",
            Measure::Waiting => "waiting",
        }
    }

    /// In words, for an axis.
    pub fn label(self) -> &'static str {
        match self {
            Measure::Return => "mean return of the last 100 training episodes",
            Measure::Waiting => "mean waiting time of the last 20 training episodes (less is better)",
        }
    }

    /// The points of a curve.
    pub fn points(self, curve: &Curve) -> Vec<(f64, f64)> {
        let values = match self {
            Measure::Return => &curve.returns,
            Measure::Waiting => &curve.waiting,
        };
        curve.steps.iter().map(|s| *s as f64).zip(values.iter().copied()).collect()
    }
}

/// Learning curves of runs in one world: a curve per team, the median of its seeds with a band from the first to the third
/// quartile. The lines stand beside them. Callers set title and description.
pub fn learning_curves(records: &[&Record], measure: Measure, lines: Vec<Reference>) -> Chart {
    let mut series = vec![];
    for team in Team::all(records.iter().copied()) {
        let runs: Vec<Vec<(f64, f64)>> = records
            .iter()
            .filter(|r| Team::of(&r.config) == team)
            .map(|r| measure.points(&r.curve))
            .filter(|points| !points.is_empty())
            .collect();
        if !runs.is_empty() {
            series.push(Series::quartiles(team.name(), team.colour(), &runs, PLACES));
        }
    }
    let y_range = match measure {
        Measure::Return => None,
        Measure::Waiting => Some((0.0, ceiling(&series, &lines))),
    };
    Chart {
        x_label: "environment steps".into(),
        y_label: measure.label().into(),
        series,
        lines,
        y_range,
        ..Chart::default()
    }
}

/// How high waiting times are shown: all medians and lines, and bands unless they tower over them.
fn ceiling(series: &[Series], lines: &[Reference]) -> f64 {
    let points = || series.iter().flat_map(|s| &s.points);
    let highest =
        |values: &mut dyn Iterator<Item = f64>| values.filter(|v| v.is_finite()).fold(0.0, f64::max);
    let middle = highest(&mut points().map(|p| p.middle).chain(lines.iter().map(|l| l.value)));
    let band = highest(&mut points().map(|p| p.high));
    let top = middle.max(band.min(1.5 * middle));
    if top > 0.0 { top * 1.05 } else { 1.0 }
}
