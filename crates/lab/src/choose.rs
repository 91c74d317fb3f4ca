//! Which learning rate a method gets.
//!
//! ```text
//! worth(run)  = by area: mean of the training curve's return over its points up to 50,000 steps
//!               by end:  mean of the setting's measure over the last tenth of the run's steps, minus it where less is better
//!               -infinity if the run failed
//! score(rate) = median of the worth over the seeds
//! chosen      = the rate with the highest score; among equals the one with fewer failed runs, then the smaller one
//! ```
//!
//! (Scores are equal where half of the runs of both failed.) Only runs of one length are compared, because a run that went on for
//! longer, or whose rate decays over more steps, is another try: of several lengths it is the one at which most rates were tried, then
//! the one with most runs, then the longest.
//!
//! The area rewards both learning fast and ending high, and suits short runs; the end is what counts where the whole budget is
//! compared: a rate that is best for the first 50,000 steps need not be best for 500,000. Choosing on seeds that are reported later flatters: the best of
//! several noisy scores is better than its method. So rates are chosen on other seeds.

use crate::figure::Measure;
use crate::record::{Curve, Record, State};
use crate::setting::{Setting, Team, one_per_seed};
use crate::statistics::median;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// Curves count up to this many steps.
pub const UP_TO: u64 = 50_000;

/// By what rates are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateRule {
    /// The area under the curve's beginning.
    #[default]
    Area,
    /// The last tenth of all steps.
    End,
}

impl RateRule {
    /// What a run is worth.
    fn worth(self, record: &Record, measure: &Measure) -> f64 {
        let worth = match (self, &record.state) {
            (_, State::Failed(_)) => None,
            (RateRule::Area, _) => area(&record.curve, UP_TO),
            (RateRule::End, _) => end(record, measure),
        };
        worth.unwrap_or(f64::NEG_INFINITY)
    }

    /// What must be the same of runs that are compared: how many steps count; all of them where the rate decays to the end.
    fn length(self, record: &Record) -> u64 {
        if record.config.decay { record.config.steps } else { self.up_to(record) }
    }

    /// How many of a run's steps count.
    fn up_to(self, record: &Record) -> u64 {
        match self {
            RateRule::Area => record.config.steps.min(UP_TO),
            RateRule::End => record.config.steps,
        }
    }
}

/// How a learning rate did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateScore {
    /// The learning rate.
    pub learning_rate: f64,
    /// The seeds that were tried, failed ones included, in ascending order.
    pub seeds: Vec<u64>,
    /// What each seed's run is worth by the rule; null for a run that failed.
    #[serde(serialize_with = "null_if_infinite")]
    pub areas: Vec<f64>,
    /// How many steps each of these goes up to.
    pub up_to: Vec<u64>,
    /// How many runs failed.
    pub failed: usize,
    /// How many are not finished, and do not count.
    pub unfinished: usize,
    /// Their median; null if half of the runs failed.
    #[serde(serialize_with = "null_if_infinite_score")]
    pub score: f64,
}

/// The rates of one team in one setting, and the one that it gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The setting.
    pub setting: String,
    /// The team.
    pub method: String,
    /// What is measured: the return, or by the end what people look at first.
    pub measure: String,
    /// 1 if what a run is worth is what was measured, -1 if it is minus that, because less is better.
    pub sign: f64,
    /// The length of the runs that are compared, in steps.
    pub length: u64,
    /// How many runs of other lengths there are, which do not count.
    pub of_other_lengths: usize,
    /// The chosen rate; none if every run failed or none is finished.
    pub chosen: Option<f64>,
    /// All rates, in ascending order.
    pub rates: Vec<RateScore>,
}

fn null_if_infinite<S: Serializer>(values: &[f64], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(values.iter().map(|v| v.is_finite().then_some(v)))
}

fn null_if_infinite_score<S: Serializer>(value: &f64, s: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(value).serialize(s)
}

/// The mean of a curve's returns up to `steps`; nothing if it has no point there.
pub fn area(curve: &Curve, steps: u64) -> Option<f64> {
    let points = curve.steps.partition_point(|s| *s <= steps);
    let returns = curve.returns.get(..points).filter(|r| !r.is_empty())?;
    Some(returns.iter().sum::<f64>() / returns.len() as f64)
}

/// The mean of a run's measure over the last tenth of its steps, larger for better; nothing if it has no point there.
fn end(record: &Record, measure: &Measure) -> Option<f64> {
    let from = 0.9 * record.config.steps as f64;
    let last: Vec<f64> = measure.points(&record.curve).iter().filter(|p| p.0 > from).map(|p| p.1).collect();
    (!last.is_empty()).then(|| measure.sign() * last.iter().sum::<f64>() / last.len() as f64)
}

/// The rates of every team in every setting.
pub fn choose<'a>(records: impl IntoIterator<Item = &'a Record>, rule: RateRule) -> Vec<Choice> {
    let mut choices = vec![];
    for setting in Setting::all(records) {
        for team in setting.teams() {
            choices.push(choose_for(&setting, &team, rule));
        }
    }
    choices
}

pub(crate) fn choose_for(setting: &Setting<'_>, team: &Team, rule: RateRule) -> Choice {
    let measure = Measure::of(&setting.world);
    // The bits of positive numbers are in the numbers' order.
    let mut by_rate: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    let (length, runs, of_other_lengths) = of_one_length(setting.runs_of(team), rule);
    for record in runs {
        by_rate.entry(record.config.learning_rate.to_bits()).or_default().push(record);
    }
    let score = |runs: Vec<&Record>| score(one_per_seed(&runs), rule, &measure);
    let rates: Vec<RateScore> = by_rate.into_values().map(score).collect();
    let order = |a: &&RateScore, b: &&RateScore| a.score.total_cmp(&b.score).then(b.failed.cmp(&a.failed));
    let alive = rates.iter().filter(|r| r.areas.iter().any(|a| a.is_finite()));
    // The last of equals wins; in this order that is the smallest rate.
    let best = alive.rev().max_by(order);
    Choice {
        setting: setting.name.clone(),
        method: team.name(),
        measure: if rule == RateRule::End { measure.name() } else { Measure::RETURN.name() }.into(),
        sign: if rule == RateRule::End { measure.sign() } else { 1.0 },
        length,
        of_other_lengths,
        chosen: best.map(|r| r.learning_rate),
        rates,
    }
}

/// The length at which runs are compared, the runs of that length, and how many others there are. Of a single rate there is nothing to
/// compare, and all of its runs stay.
fn of_one_length(runs: Vec<&Record>, rule: RateRule) -> (u64, Vec<&Record>, usize) {
    let mut lengths: BTreeMap<u64, (BTreeSet<u64>, usize)> = BTreeMap::new();
    for record in &runs {
        let (rates, count) = lengths.entry(rule.length(record)).or_default();
        rates.insert(record.config.learning_rate.to_bits());
        *count += 1;
    }
    let all: BTreeSet<&u64> = lengths.values().flat_map(|(rates, _)| rates).collect();
    let best = lengths.iter().max_by_key(|(length, (rates, count))| (rates.len(), *count, **length));
    let length = best.map_or(0, |(length, _)| *length);
    if all.len() < 2 {
        return (length, runs, 0);
    }
    let before = runs.len();
    let runs: Vec<&Record> = runs.into_iter().filter(|r| rule.length(r) == length).collect();
    let others = before - runs.len();
    (length, runs, others)
}

pub(crate) fn score(mut runs: Vec<&Record>, rule: RateRule, measure: &Measure) -> RateScore {
    runs.sort_by_key(|r| r.config.seed);
    let unfinished = runs.iter().filter(|r| r.state == State::Unfinished).count();
    let failed = runs.iter().filter(|r| matches!(r.state, State::Failed(_))).count();
    let learning_rate = runs[0].config.learning_rate;
    runs.retain(|r| r.state != State::Unfinished);
    let areas: Vec<f64> = runs.iter().map(|r| rule.worth(r, measure)).collect();
    let score = median(&areas);
    RateScore {
        learning_rate,
        seeds: runs.iter().map(|r| r.config.seed).collect(),
        areas,
        up_to: runs.iter().map(|r| rule.up_to(r)).collect(),
        failed,
        unfinished,
        score,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use equimarl_learn::Method;

    fn run(method: Method, rate: f64, seed: u64, returns: &[f64], state: State) -> Record {
        let steps = (1..=returns.len() as u64).map(|i| i * 20_000).collect();
        let change = format!("method = '{method}'\nlearning_rate = {rate}\nseed = {seed}");
        let curve = Curve { steps, returns: returns.to_vec(), ..Curve::default() };
        Record { state, curve, ..testing::record(&change) }
    }

    #[test]
    fn areas_stop_at_their_limit() {
        let r = run(Method::Plain, 1e-3, 1, &[1.0, 2.0, 100.0], State::Finished);
        assert_eq!(area(&r.curve, UP_TO), Some(1.5)); // the third point is at 60,000 steps
        assert_eq!(area(&r.curve, 10), None);
    }

    #[test]
    fn the_best_median_wins_and_failures_are_the_worst() {
        let failed = || State::Failed("the loss is inf".into());
        let m = Method::Equivariant;
        let records = [
            run(m, 3e-4, 1, &[1.0, 1.0], State::Finished),
            run(m, 3e-4, 2, &[2.0, 2.0], State::Finished),
            run(m, 3e-4, 3, &[0.0, 0.0], State::Finished),
            run(m, 1e-3, 2, &[9.0, 9.0], State::Finished),
            run(m, 1e-3, 1, &[9.0, 9.0], failed()),
            run(m, 1e-3, 3, &[0.9, 0.9], State::Finished),
            run(m, 3e-3, 1, &[9.0, 9.0], failed()),
            run(m, 3e-3, 2, &[9.0, 9.0], State::Unfinished),
        ];
        let choices = choose(&records, RateRule::Area);
        let [choice] = &choices[..] else { panic!("{choices:?}") };
        // Medians: 1 of {0, 1, 2}, 0.9 of {-inf, 0.9, 9}, -inf.
        assert_eq!(choice.chosen, Some(3e-4));
        let scores: Vec<f64> = choice.rates.iter().map(|r| r.score).collect();
        assert_eq!(scores, [1.0, 0.9, f64::NEG_INFINITY]);
        assert_eq!(choice.rates[1].seeds, [1, 2, 3]);
        assert_eq!((choice.rates[2].failed, choice.rates[2].unfinished), (1, 1));
        let json = serde_json::to_value(&choices).unwrap();
        assert!(json[0]["rates"][2]["score"].is_null() && json[0]["rates"][1]["areas"][0].is_null());
        assert_eq!(json[0]["chosen"], 3e-4);
    }

    #[test]
    fn at_the_end_of_the_budget_another_rate_may_be_best() {
        // 100,000 steps: the one learns fast and stops, the other ends higher.
        let m = Method::Plain;
        let mut records = vec![
            run(m, 1e-3, 1, &[1.0, 1.5, 2.0, 2.5, 3.0], State::Finished),
            run(m, 3e-3, 1, &[2.0, 2.0, 2.0, 2.0, 2.0], State::Finished),
        ];
        records.iter_mut().for_each(|r| r.config.steps = 100_000);
        assert_eq!(choose(&records, RateRule::Area)[0].chosen, Some(3e-3));
        let choice = choose(&records, RateRule::End).remove(0);
        assert_eq!(choice.chosen, Some(1e-3));
        assert_eq!((choice.rates[0].score, choice.rates[0].up_to[0]), (3.0, 100_000));
    }

    #[test]
    fn rates_are_compared_at_one_length() {
        let m = Method::Plain;
        let at = |rate, seed, value: f64, steps| {
            let mut run = run(m, rate, seed, &[value; 25], State::Finished);
            run.config.steps = steps;
            run
        };
        // What one long run of a third rate got to is not compared with short ones.
        let records = [at(1e-3, 1, 1.0, 100_000), at(3e-3, 1, 2.0, 100_000), at(3e-4, 1, 9.0, 500_000)];
        let choice = choose(&records, RateRule::End).remove(0);
        assert_eq!((choice.chosen, choice.length, choice.of_other_lengths), (Some(3e-3), 100_000, 1));
        assert_eq!(choice.rates.len(), 2);
        // The first 50,000 steps are the same, unless the rate decays.
        let choice = choose(&records, RateRule::Area).remove(0);
        assert_eq!((choice.chosen, choice.of_other_lengths), (Some(3e-4), 0));
        let mut decays = records;
        decays.iter_mut().for_each(|r| r.config.decay = true);
        assert_eq!(choose(&decays, RateRule::Area)[0].chosen, Some(3e-3));
    }

    #[test]
    fn where_most_runs_fail_the_fewest_failures_win() {
        let failed = || State::Failed("the loss is inf".into());
        let m = Method::AugmentFull;
        let mut records = vec![
            run(m, 3e-4, 1, &[1.0], failed()),
            run(m, 3e-4, 2, &[1.0], failed()),
            run(m, 3e-4, 3, &[1.0], State::Finished),
        ];
        records.extend((1..=3).map(|seed| run(m, 1e-3, seed, &[1.0], failed())));
        assert_eq!(choose(&records, RateRule::Area)[0].chosen, Some(3e-4));
        // Equal in everything: the smaller rate.
        let even = [run(m, 1e-3, 1, &[1.0], State::Finished), run(m, 3e-3, 1, &[1.0], State::Finished)];
        assert_eq!(choose(&even, RateRule::Area)[0].chosen, Some(1e-3));
    }

    #[test]
    fn where_everything_failed_nothing_is_chosen() {
        let records = [run(Method::Plain, 1e-3, 1, &[], State::Failed("no".into()))];
        assert_eq!(choose(&records, RateRule::Area)[0].chosen, None);
        assert!(choose(&[], RateRule::Area).is_empty());
    }
}
