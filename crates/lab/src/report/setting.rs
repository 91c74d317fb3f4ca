//! One setting: its teams, their scores, comparisons and thresholds.

use super::alarms::Alarms;
use super::compare::Comparison;
use super::costs::Costs;
use super::references::References;
use super::score::{After, Quartiles, TeamScore, continued};
use super::thresholds::ThresholdReport;
use crate::figure::{Colour, Measure};
use crate::record::{Record, State};
use crate::setting::{Setting, Team};
use equimarl_worlds::Registry;
use serde::Serialize;
use std::collections::BTreeSet;

/// A team's runs in one setting, at the learning rate that is reported.
pub(super) struct TeamRuns<'a> {
    pub team: Team,
    pub learning_rate: f64,
    /// All runs.
    pub all: Vec<&'a Record>,
    /// Those that are finished or failed.
    pub ended: Vec<&'a Record>,
}

/// What is known of a team in one setting.
#[derive(Clone, Debug, Serialize)]
pub struct TeamReport {
    /// The team.
    pub method: String,
    /// The learning rate that is reported.
    pub learning_rate: f64,
    /// The seeds of all runs.
    pub seeds: Vec<u64>,
    /// The steps that its runs were given, at most.
    pub steps: u64,
    /// Runs that are finished, not finished, and failed.
    pub finished: usize,
    /// Runs that are not finished; they count nowhere but in curves.
    pub unfinished: usize,
    /// Runs that failed.
    pub failed: usize,
    /// The number of its parameters.
    pub parameters: Option<u64>,
    /// The number of steps after which most of its runs ended, and were evaluated.
    pub evaluated_after: Option<u64>,
    /// The measure in evaluation then, with the greedy actions.
    pub evaluated_greedy: Option<Quartiles>,
    /// The same with sampled actions.
    pub evaluated_sampled: Option<Quartiles>,
    /// Environment steps a second, the median of those that are finished.
    pub steps_per_second: Option<f64>,
    #[serde(skip)]
    pub(super) colour: Colour,
}

/// What is known of one setting.
#[derive(Clone, Debug, Serialize)]
pub struct SettingReport {
    /// Its name.
    pub setting: String,
    /// A name for files.
    pub slug: String,
    /// What is measured: the return, or what else people look at first.
    #[serde(serialize_with = "name_of")]
    pub measure: Measure,
    /// What whoever has not learned gets.
    pub references: References,
    /// The teams.
    pub teams: Vec<TeamReport>,
    /// Scores after as many steps as all runs of some team made, and as the longest of some team.
    pub after: Vec<After>,
    /// The first team against every other.
    pub comparisons: Vec<Comparison>,
    /// Steps until thresholds were passed.
    pub thresholds: Vec<ThresholdReport>,
    /// What steps cost.
    pub costs: Costs,
    /// What hides failures if nobody looks, where the world declares it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<Alarms>,
    /// The measures in there.
    #[serde(skip)]
    pub(super) alarming: Vec<equimarl_worlds::Measure>,
    /// What all runs share besides the world, as TOML.
    #[serde(skip)]
    pub(super) rules: String,
    /// Whether its runs were made to be reported, not to choose learning rates.
    #[serde(skip)]
    pub(super) held_out: bool,
    #[serde(skip)]
    pub(super) records: Vec<Record>,
}

pub(super) fn name_of<S: serde::Serializer>(measure: &Measure, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(measure.name())
}

impl SettingReport {
    /// Of a setting and its teams; the first team is compared with the others.
    pub(super) fn of(
        registry: &Registry,
        setting: &Setting<'_>,
        teams: &[TeamRuns<'_>],
        held_out: bool,
        more: &[String],
    ) -> SettingReport {
        let measure = Measure::of(&setting.world);
        let references = References::of(registry, &setting.config, &measure, &setting.runs, more);
        let budgets = |t: &TeamRuns<'_>| {
            let all = || t.ended.iter().map(|r| r.config.steps);
            [all().min(), all().max()]
        };
        let points: BTreeSet<u64> = teams.iter().flat_map(budgets).flatten().collect();
        let score = |steps: u64| {
            let teams = teams.iter().filter_map(|t| TeamScore::of(t, &measure, steps, references.random));
            After { steps, teams: teams.collect() }
        };
        let after: Vec<After> = points.into_iter().map(score).collect();
        let reports = teams.iter().map(|t| TeamReport::of(t, &after)).collect();
        let names: Vec<String> = teams.iter().map(|t| t.team.name()).collect();
        let random = references.random;
        let costs = Costs::of(registry, teams);
        SettingReport {
            setting: setting.name.clone(),
            slug: setting.slug(),
            comparisons: Comparison::all(&after, &names, &measure),
            thresholds: ThresholdReport::all(&setting.world, teams, &costs),
            costs,
            alarms: Alarms::all(&setting.world, teams, &references.alarms),
            alarming: setting.world.alarms.clone(),
            references,
            teams: reports,
            after,
            rules: setting.rules.clone(),
            held_out,
            records: teams.iter().flat_map(|t| &t.all).map(|r| continued(r, &measure, random)).collect(),
            measure,
        }
    }

    /// The colour of a team.
    pub(super) fn colour(&self, method: &str) -> Colour {
        self.teams.iter().find(|t| t.method == method).map_or(Colour::new(6), |t| t.colour)
    }
}

impl TeamReport {
    fn of(runs: &TeamRuns<'_>, after: &[After]) -> TeamReport {
        let count = |wanted: fn(&State) -> bool| runs.all.iter().filter(|r| wanted(&r.state)).count();
        let summaries = || runs.ended.iter().filter_map(|r| r.summary.as_ref());
        let evaluated = after.iter().filter_map(|a| {
            let team = a.team(&runs.team.name())?;
            Some((team.evaluated_sampled.or(team.evaluated_greedy)?.runs, a.steps, team))
        });
        let evaluated = evaluated.max_by_key(|(runs, steps, _)| (*runs, *steps));
        let speeds: Vec<f64> = summaries().map(|s| s.steps_per_second).filter(|s| !s.is_nan()).collect();
        let mut seeds: Vec<u64> = runs.all.iter().map(|r| r.config.seed).collect();
        seeds.sort_unstable();
        TeamReport {
            method: runs.team.name(),
            learning_rate: runs.learning_rate,
            seeds,
            steps: runs.all.iter().map(|r| r.config.steps).max().unwrap_or(0),
            finished: count(|s| *s == State::Finished),
            unfinished: count(|s| *s == State::Unfinished),
            failed: count(|s| matches!(s, State::Failed(_))),
            parameters: summaries().next().map(|s| s.parameters as u64),
            evaluated_after: evaluated.map(|(_, steps, _)| steps),
            evaluated_greedy: evaluated.and_then(|(.., team)| team.evaluated_greedy),
            evaluated_sampled: evaluated.and_then(|(.., team)| team.evaluated_sampled),
            steps_per_second: Quartiles::of(&speeds).map(|q| q.median),
            colour: runs.team.colour(),
        }
    }
}
