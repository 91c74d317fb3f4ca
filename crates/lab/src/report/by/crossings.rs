//! The value at which another team overtakes the first.

use super::{At, Scored, TeamOver};
use crate::figure::Measure;
use crate::statistics::{Interval, crossing_interval};
use crate::words::number;
use serde::Serialize;

/// Where a team overtakes the first one, as the number grows.
#[derive(Clone, Debug, Serialize)]
pub struct Crossing {
    /// The team that is ahead at first.
    pub first: String,
    /// The team that overtakes it.
    pub method: String,
    /// After so many steps of training; none at the end, in the greedy evaluation.
    pub after: Option<u64>,
    /// The values at which both were run.
    pub values: Vec<f64>,
    /// How far the first is ahead at each of them: the difference of the interquartile means, positive if it is better.
    pub ahead: Vec<f64>,
    /// Where they cross: below all values (null) if the first is never ahead, beyond all (null) if it always is.
    pub at: Interval,
    /// The same for people.
    pub says: String,
}

impl Crossing {
    /// Of the first team and every other, after some steps and at the end.
    pub(super) fn all(teams: &[TeamOver], measure: &Measure, after: u64) -> Vec<Crossing> {
        let Some((first, others)) = teams.split_first() else { return vec![] };
        let of = |other| {
            let early = Crossing::of(first, other, measure, Some(after), |at| at.early.as_ref());
            [early, Crossing::of(first, other, measure, None, |at| at.end.as_ref())]
        };
        others.iter().flat_map(of).flatten().collect()
    }

    fn of(
        first: &TeamOver,
        other: &TeamOver,
        measure: &Measure,
        after: Option<u64>,
        scored: fn(&At) -> Option<&Scored>,
    ) -> Option<Crossing> {
        let both = |at: &'_ At| -> Option<(f64, Vec<f64>, Vec<f64>)> {
            let there = other.points.iter().find(|p| p.value == at.value)?;
            // Against itself nobody is ahead.
            if there.stands_in.as_ref() == Some(&first.method) {
                return None;
            }
            Some((at.value, scored(at)?.scores.clone(), scored(there)?.scores.clone()))
        };
        let found: Vec<(f64, Vec<f64>, Vec<f64>)> = first.points.iter().filter_map(both).collect();
        if found.len() < 2 {
            return None;
        }
        let values: Vec<f64> = found.iter().map(|f| f.0).collect();
        let pairs: Vec<(&[f64], &[f64])> =
            found.iter().map(|(_, a, b)| (a.as_slice(), b.as_slice())).collect();
        let mean = crate::statistics::interquartile_mean;
        let at = crossing_interval(&values, &pairs, measure.sign());
        Some(Crossing {
            first: first.method.clone(),
            method: other.method.clone(),
            after,
            ahead: pairs.iter().map(|(a, b)| measure.sign() * (mean(a) - mean(b))).collect(),
            says: says(at, values[0], values[values.len() - 1]),
            values,
            at,
        })
    }
}

/// "0.31 [0.22, 0.44]", "beyond 0.8 [0.62, beyond 0.8]", "before 0 [before 0, 0.10]".
fn says(at: Interval, least: f64, most: f64) -> String {
    let end = |v: f64| match v {
        v if v == f64::INFINITY => format!("beyond {most}"),
        v if v == f64::NEG_INFINITY => format!("before {least}"),
        v => number(v, 2),
    };
    match at.low.is_nan() && at.high.is_nan() {
        true => format!("{} (no interval)", end(at.estimate)),
        false => format!("{} [{}, {}]", end(at.estimate), end(at.low), end(at.high)),
    }
}
