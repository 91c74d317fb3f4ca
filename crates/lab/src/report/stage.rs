//! Which runs chose the learning rates, and which are reported.

use super::setting::TeamRuns;
use crate::choose::{Choice, RateRule, choose_for};
use crate::record::{Record, State};
use crate::setting::{Setting, Team, one_per_seed};
use crate::words::{count, thousands};
use serde::Serialize;
use std::collections::BTreeSet;

/// On which runs learning rates were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChosenOn {
    /// On runs made for choosing, with other seeds than those that are reported.
    OtherSeeds,
    /// On the very runs that are reported, or on runs with the same seeds.
    ReportedSeeds,
    /// There is one rate per method, and nothing that says how it was chosen.
    Unknown,
}

/// What is reported instead of a run.
pub(super) enum Instead<'a> {
    Rate(f64),
    Run(&'a Record),
}

/// What readers must be told.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub notes: Vec<String>,
    /// Runs that are in no number, and why: they have another learning rate than the one that is reported, or their seed has a run
    /// that counts instead.
    pub left_out: Vec<(&'a Record, Instead<'a>)>,
}

/// A setting with its runs by stage.
pub(super) struct Staged<'a> {
    pub setting: Setting<'a>,
    /// Runs that were made for choosing.
    choosing: Vec<&'a Record>,
    /// Runs that are reported.
    reported: Vec<&'a Record>,
}

impl<'a> Staged<'a> {
    /// Sorts runs into settings and stages; `choosing` says whether a run was made for choosing.
    pub fn all(records: &[&'a Record], choosing: impl Fn(&Record) -> bool) -> Vec<Staged<'a>> {
        let split = |setting: Setting<'a>| {
            let (choosing, reported) = setting.runs.iter().copied().partition(|r| choosing(r));
            Staged { setting, choosing, reported }
        };
        Setting::all(records.iter().copied()).into_iter().map(split).collect()
    }

    /// Whether there are runs that did not choose learning rates.
    pub fn held_out(&self) -> bool {
        !self.reported.is_empty()
    }

    /// The choice of each team's rate, the runs that are reported at that rate, and what readers must be told.
    pub fn teams(&self, rule: RateRule, said: &mut Said<'a>) -> (Vec<Choice>, Vec<TeamRuns<'a>>, ChosenOn) {
        let name = &self.setting.name;
        if self.reported.is_empty() {
            said.notes.push(format!(
                "{name}: there are only runs that were made to choose learning rates. What is shown of them is the best of \
                 several tries and flatters; make runs with other seeds."
            ));
        }
        let shown = if self.reported.is_empty() { &self.choosing } else { &self.reported };
        let basis = if self.choosing.is_empty() { &self.reported } else { &self.choosing };
        let of = |runs: &[&'a Record]| Setting { runs: runs.to_vec(), ..self.setting.clone() };
        let (shown, basis) = (of(shown), of(basis));
        let mut choices = vec![];
        let mut teams = vec![];
        let mut chosen_on = if self.choosing.is_empty() { ChosenOn::Unknown } else { ChosenOn::OtherSeeds };
        for team in basis.teams() {
            let choice = choose_for(&basis, &team, rule);
            said.notes.extend(uneven(&choice));
            said.notes.extend(unequal(&choice));
            choices.push(choice);
        }
        for team in shown.teams() {
            let choice = choices.iter().find(|c| c.method == team.name());
            if choice.is_none() {
                // Others were chosen for.
                said.notes.push(format!(
                    "{name}: nothing says how the learning rate of {} was chosen.",
                    team.name()
                ));
            }
            let (runs, flattered) = pick(&shown.runs_of(&team), &team, choice, name, said);
            if flattered || self.same_seeds(&team) || self.reported.is_empty() {
                chosen_on = ChosenOn::ReportedSeeds;
            }
            teams.extend(runs);
        }
        if chosen_on == ChosenOn::ReportedSeeds && !self.reported.is_empty() {
            said.notes.push(format!(
                "{name}: learning rates were chosen on the seeds that are reported here. The best of several tries looks \
                 better than it is; choose on other seeds (runs of a sweep whose name ends in -rates, or --rates)."
            ));
        }
        (choices, teams, chosen_on)
    }

    /// Whether a team's rate was chosen, among several, with a seed that is reported.
    fn same_seeds(&self, team: &Team) -> bool {
        let seeds = |runs: &[&Record]| -> BTreeSet<u64> {
            runs.iter().filter(|r| r.team() == *team).map(|r| r.config.seed).collect()
        };
        !seeds(&self.choosing).is_disjoint(&seeds(&self.reported))
    }
}

/// The runs of a team at one learning rate, and whether that rate was chosen among these very runs.
fn pick<'a>(
    runs: &[&'a Record],
    team: &Team,
    choice: Option<&Choice>,
    setting: &str,
    said: &mut Said<'a>,
) -> (Option<TeamRuns<'a>>, bool) {
    let mut rates: Vec<f64> = runs.iter().map(|r| r.config.learning_rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let chosen = choice.and_then(|c| c.chosen);
    let (rate, flattered) = match (&rates[..], chosen) {
        ([], _) => return (None, false),
        ([only], Some(chosen)) if chosen != *only => {
            said.notes.push(format!(
                "{setting}: {} is reported at a learning rate of {only}, but {chosen} would have been chosen.",
                team.name()
            ));
            (*only, false)
        }
        ([only], _) => (*only, false),
        (_, Some(chosen)) if rates.contains(&chosen) => {
            // Chosen elsewhere if the scores come from other runs than these.
            let here: BTreeSet<u64> = runs.iter().map(|r| r.config.seed).collect();
            let tried =
                choice.is_some_and(|c| c.rates.iter().flat_map(|r| &r.seeds).any(|s| here.contains(s)));
            (chosen, tried)
        }
        (several, chosen) => {
            let list: Vec<String> = several.iter().map(f64::to_string).collect();
            let why = chosen.map_or("no rate could be chosen".into(), |c| {
                format!("{c}, which was chosen, is not among them")
            });
            said.notes.push(format!(
                "{setting}: {} has runs at {}, and {why}; the first is shown.",
                team.name(),
                list.join(", ")
            ));
            (several[0], false)
        }
    };
    let (at_rate, other): (Vec<&'a Record>, Vec<&'a Record>) =
        runs.iter().copied().partition(|r| r.config.learning_rate == rate);
    said.left_out.extend(other.into_iter().map(|r| (r, Instead::Rate(rate))));
    let all = one_per_seed(&at_rate);
    if all.len() < at_rate.len() {
        said.notes.push(format!(
            "{setting}: {} has several runs of the same seed, which are not independent; of each seed the longest counts ({} \
             of {}).",
            team.name(),
            all.len(),
            at_rate.len()
        ));
    }
    for run in at_rate.iter().filter(|r| !all.iter().any(|a| std::ptr::eq(*a, **r))) {
        let counts = all.iter().find(|a| a.config.seed == run.config.seed);
        said.left_out.extend(counts.map(|counts| (*run, Instead::Run(counts))));
    }
    let ended = all.iter().copied().filter(|r| r.state != State::Unfinished).collect();
    (Some(TeamRuns { team: team.clone(), learning_rate: rate, all, ended }), flattered)
}

/// Runs that ended before others, or went on, are of another part of training.
fn uneven(choice: &Choice) -> Option<String> {
    (choice.of_other_lengths > 0).then(|| {
        format!(
            "{}: the learning rates of {} are compared on runs of {} steps; {} of other lengths did not choose.",
            choice.setting,
            choice.method,
            thousands(choice.length as f64),
            count(choice.of_other_lengths, "run")
        )
    })
}

/// A median of two seeds against one of three is no equal chance: some runs may not have been made yet.
fn unequal(choice: &Choice) -> Option<String> {
    let first = &choice.rates.first()?.seeds;
    let differs = choice.rates.iter().any(|r| r.seeds != *first);
    let tried =
        choice.rates.iter().map(|r| format!("{} with {}", r.learning_rate, count(r.seeds.len(), "seed")));
    differs.then(|| {
        format!(
            "{}: the learning rates of {} were not all tried on the same seeds: {}.",
            choice.setting,
            choice.method,
            tried.collect::<Vec<_>>().join(", ")
        )
    })
}
