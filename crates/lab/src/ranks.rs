//! One learning rate (and penalty) per method for several values of a number of its world, by ranks:
//!
//! ```text
//! score(rate, value) = median over the seeds of the measure over the last tenth of the steps (choose.rs, by the end)
//! rank(rate, value)  = its place among the rates that were tried at that value, 1 for the best; equal ones share their mean place
//! chosen             = the rate with the least mean of its ranks over all values; among equals the smaller rate
//! ```
//!
//! A method with a penalty (`relaxed`) chooses twice: first the penalty, among those at the rate at which most penalties were tried,
//! then the rate, among those at that penalty. A try that is missing at one of its method's values is not ranked. The rule is that of
//! `experiments/imperfect-plan.md`.

use crate::choose::{RateRule, score};
use crate::family::families;
use crate::figure::Measure;
use crate::record::{Record, State};
use crate::setting::{Setting, one_per_seed};
use equimarl_learn::Method;
use equimarl_worlds::Registry;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How a try did at one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// The value of the number.
    pub value: f64,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// What was measured, one per seed; null for a run that failed.
    pub measured: Vec<Option<f64>>,
    /// The median; null if half of the runs failed.
    pub median: Option<f64>,
    /// Its place among the tries at this value.
    pub rank: f64,
    /// The same larger for better, for ranking.
    #[serde(skip)]
    worth: f64,
}

/// A rate, and a penalty if the method has one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Try {
    /// The learning rate.
    pub learning_rate: f64,
    /// The penalty.
    pub penalty: Option<f64>,
    /// How it did at each value.
    pub places: Vec<Ranked>,
    /// The mean of its ranks.
    pub mean_rank: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// A choice by ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankChoice {
    /// What all runs have in common.
    pub family: String,
    /// The method.
    pub method: String,
    /// What is chosen: `learning_rate` or `penalty`.
    pub of: &'static str,
    /// What is measured.
    pub measure: String,
    /// All tries, in the order of penalties and rates.
    pub tries: Vec<Try>,
    /// How many tries are missing at some value, and not ranked.
    pub incomplete: usize,
}

/// A rate and a penalty; the bits of positive numbers are in the numbers' order.
type Key = (u64, u64);

/// The choices of every method over the values of `option`. Runs that are not finished do not count.
pub fn choose_by_ranks<'a>(
    registry: &Registry,
    records: impl IntoIterator<Item = &'a Record>,
    option: &str,
) -> Vec<RankChoice> {
    let settings = Setting::all(records.into_iter().filter(|r| r.state != State::Unfinished));
    let all: Vec<&Setting<'_>> = settings.iter().collect();
    let mut choices = vec![];
    for family in families(registry, &all, option) {
        for method in Method::ALL {
            let mut tried: BTreeMap<Key, Vec<(f64, Vec<&Record>)>> = BTreeMap::new();
            let mut values = BTreeSet::new();
            for (value, places) in &family.members {
                for run in places.iter().flat_map(|i| &settings[*i].runs) {
                    if run.config.method != method {
                        continue;
                    }
                    values.insert(value.to_bits());
                    let penalty = if method == Method::Relaxed { run.config.penalty } else { 0.0 };
                    let own =
                        tried.entry((penalty.to_bits(), run.config.learning_rate.to_bits())).or_default();
                    match own.iter_mut().find(|(v, _)| v == value) {
                        Some((_, runs)) => runs.push(run),
                        None => own.push((*value, vec![run])),
                    }
                }
            }
            let Some(place) = family.members.first().and_then(|m| m.1.first()) else { continue };
            let measure = Measure::of(&settings[*place].world);
            let before = tried.len();
            tried.retain(|_, places| places.len() == values.len());
            let choice = |of: &'static str, tries: Vec<Try>| RankChoice {
                family: family.name.clone(),
                method: method.to_string(),
                of,
                measure: measure.name().into(),
                tries,
                incomplete: before - tried.len(),
            };
            let rank = |keys: &[Key]| ranked(&tried, keys, &measure);
            choices
                .extend(stages(tried.keys().copied().collect(), rank).map(|(of, tries)| choice(of, tries)));
        }
    }
    choices
}

/// The penalty first, if there are several at some rate, then the rate.
fn stages(
    keys: Vec<Key>,
    rank: impl Fn(&[Key]) -> Vec<Try>,
) -> impl Iterator<Item = (&'static str, Vec<Try>)> {
    let mut found = vec![];
    let at_rate = |rate: u64| keys.iter().copied().filter(move |k| k.1 == rate).collect::<Vec<Key>>();
    // Among equals the last is the smallest rate.
    let rate = keys.iter().map(|k| k.1).rev().max_by_key(|rate| at_rate(*rate).len());
    let penalties = rate.map(at_rate).unwrap_or_default();
    let mut rest = keys.clone();
    if penalties.len() > 1 {
        let tries = rank(&penalties);
        let chosen = tries.iter().find(|t| t.chosen).and_then(|t| t.penalty).map(f64::to_bits);
        rest.retain(|k| Some(k.0) == chosen);
        found.push(("penalty", tries));
    }
    if rest.len() > 1 || (found.is_empty() && !rest.is_empty()) {
        found.push(("learning_rate", rank(&rest)));
    }
    found.into_iter()
}

fn ranked(tried: &BTreeMap<Key, Vec<(f64, Vec<&Record>)>>, keys: &[Key], measure: &Measure) -> Vec<Try> {
    let mut tries: Vec<Try> = keys
        .iter()
        .map(|key| Try {
            learning_rate: f64::from_bits(key.1),
            penalty: (key.0 > 0).then(|| f64::from_bits(key.0)),
            places: tried[key].iter().map(|(value, runs)| place(*value, runs, measure)).collect(),
            mean_rank: f64::NAN,
            chosen: false,
        })
        .collect();
    let values = tries.first().map_or(0, |t| t.places.len());
    for i in 0..values {
        let worths: Vec<f64> = tries.iter().map(|t| t.places[i].worth).collect();
        for (own, worth) in tries.iter_mut().zip(&worths) {
            let better = worths.iter().filter(|w| *w > worth).count() as f64;
            let equal = worths.iter().filter(|w| *w == worth).count() as f64;
            own.places[i].rank = better + (equal + 1.0) / 2.0;
        }
    }
    for own in &mut tries {
        own.mean_rank = own.places.iter().map(|p| p.rank).sum::<f64>() / values as f64;
    }
    let order = |a: &&mut Try, b: &&mut Try| {
        let size = |t: &Try| (t.learning_rate, t.penalty.unwrap_or(0.0));
        let ((ra, pa), (rb, pb)) = (size(a), size(b));
        a.mean_rank.total_cmp(&b.mean_rank).then(ra.total_cmp(&rb)).then(pa.total_cmp(&pb))
    };
    if let Some(best) = tries.iter_mut().min_by(order) {
        best.chosen = true;
    }
    tries
}

fn place(value: f64, runs: &[&Record], measure: &Measure) -> Ranked {
    let score = score(one_per_seed(runs), RateRule::End, measure);
    let back = |worth: &f64| worth.is_finite().then_some(measure.sign() * worth);
    Ranked {
        value,
        measured: score.areas.iter().map(back).collect(),
        median: back(&score.score),
        seeds: score.seeds,
        rank: f64::NAN,
        worth: score.score,
    }
}

#[cfg(test)]
mod tests;
