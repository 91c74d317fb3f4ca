//! One team against another.

use super::score::After;
use crate::figure::Measure;
use crate::statistics::{Interval, improvement_interval, median_difference_interval};
use serde::Serialize;

/// A team against another after as many steps.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The team.
    pub method: String,
    /// The other.
    pub over: String,
    /// After so many steps: the most that enough runs of both made.
    pub steps: u64,
    /// How many runs of the team, and of the other.
    pub runs: [usize; 2],
    /// The probability that a run of the team is better than a run of the other; a tie counts half.
    pub improvement: Interval,
    /// The median of the differences of their scores, positive if the team is better.
    pub better_by: Interval,
}

impl Comparison {
    /// The first of these teams against every other.
    pub(super) fn all(after: &[After], teams: &[String], measure: &Measure) -> Vec<Comparison> {
        let Some((first, others)) = teams.split_first() else { return vec![] };
        others.iter().filter_map(|other| Comparison::of(after, first, other, measure)).collect()
    }

    fn of(after: &[After], method: &str, over: &str, measure: &Measure) -> Option<Comparison> {
        let point = After::telling(after, &[method, over])?;
        let of = |name: &str| -> Option<Vec<f64>> {
            Some(point.team(name)?.scores.iter().map(|s| s * measure.sign()).collect())
        };
        let (x, y) = (of(method)?, of(over)?);
        Some(Comparison {
            method: method.into(),
            over: over.into(),
            steps: point.steps,
            runs: [x.len(), y.len()],
            improvement: improvement_interval(&[(&x, &y)]),
            better_by: median_difference_interval(&x, &y),
        })
    }
}
