//! Everything that a report says, before it is written down.

use super::by::{By, Over, Part};
use super::score::FEW;
use super::setting::SettingReport;
use super::stage::{ChosenOn, Instead, Said, Staged};
use super::together::Together;
use crate::choose::{Choice, RateRule};
use crate::gather::{Found, Gathered};
use crate::record::{Record, State};
use crate::words::{count, thousands};
use equimarl_learn::Summary;
use equimarl_worlds::Registry;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A run in the list of all runs.
#[derive(Clone, Debug, Serialize)]
pub struct RunLine {
    /// The run's name.
    pub name: String,
    /// The sweep that it belongs to.
    pub sweep: String,
    /// Where it is.
    pub place: String,
    /// How it stands.
    pub state: State,
    /// The last step in its curve.
    pub steps: u64,
    /// The steps that it was given.
    pub of: u64,
    /// Whether it was made to choose learning rates.
    pub for_choosing: bool,
    /// Why it is in no number, if it is not.
    pub left_out: Option<String>,
    /// What is wrong with its learning curve, if anything is.
    pub damage: Option<String>,
}

/// How a report is made.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// By what learning rates are chosen.
    pub rule: RateRule,
    /// Controllers that are shown besides those that a world always shows.
    pub controllers: Vec<String>,
    /// Over which number of their world teams are looked at, if over any.
    pub by: Option<By>,
}

/// What many runs amount to.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// What readers must be told first.
    pub notes: Vec<String>,
    /// On which runs learning rates were chosen, by setting.
    pub chosen_on: BTreeMap<String, ChosenOn>,
    /// By what learning rates were chosen.
    pub rule: RateRule,
    /// The learning rates that were tried.
    pub choice: Vec<Choice>,
    /// Every setting.
    pub settings: Vec<SettingReport>,
    /// Settings with a known optimum together, if there are several.
    pub together: Option<Together>,
    /// Teams over a number of their world, if somebody asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<Over>,
    /// Every run.
    pub runs: Vec<RunLine>,
    /// What looked like a run and could not be read, and why.
    pub unreadable: Vec<(String, String)>,
    /// The code that made the runs: versions with their commits.
    pub made_by: Vec<String>,
    /// The processors that they were made on.
    pub made_on: Vec<String>,
}

impl Study {
    /// Of runs that were found; those in `rates`, and those of sweeps whose name ends in `-rates`, chose learning rates.
    pub fn of(registry: &Registry, gathered: &Gathered, rates: &Gathered, how: &How) -> Study {
        // A run may have been made twice, once to choose and once to be reported: then it is both.
        let explicit: BTreeSet<(PathBuf, &str)> = rates.runs.iter().map(Found::really).collect();
        let stage = |f: &Found| f.for_choosing() || explicit.contains(&f.really());
        let mut found: Vec<(&Found, bool)> = gathered.runs.iter().map(|f| (f, stage(f))).collect();
        let mut left_out: Vec<(&Found, String)> = vec![];
        for f in &rates.runs {
            let same = |(g, yes): &&(&Found, bool)| *yes && g.record.config_hash == f.record.config_hash;
            match found.iter().find(same) {
                None => found.push((f, true)),
                Some((g, _)) if g.really() == f.really() => {}
                Some((g, _)) => left_out.push((f, f.repeats(g))),
            }
        }
        let records: Vec<&Record> = found.iter().map(|(f, _)| &f.record).collect();
        let choosing = |r: &Record| found.iter().any(|(f, yes)| *yes && std::ptr::eq(&f.record, r));
        let mut study = Study {
            notes: vec![],
            chosen_on: BTreeMap::new(),
            rule: how.rule,
            choice: vec![],
            settings: vec![],
            together: None,
            by: vec![],
            runs: vec![],
            unreadable: both(&gathered.unreadable, &rates.unreadable, |a, b| a == b),
            made_by: origins(&records, |s| Some(format!("{} ({})", s.version.as_ref()?, s.commit.as_ref()?))),
            made_on: origins(&records, |s| s.cpu.clone()),
        };
        let (mut said, mut parts) = (Said::default(), vec![]);
        for staged in Staged::all(&records, choosing) {
            let (choices, teams, chosen_on) = staged.teams(how.rule, &mut said);
            study.chosen_on.insert(staged.setting.name.clone(), chosen_on);
            study.choice.extend(choices);
            study.settings.push(SettingReport::of(
                registry,
                &staged.setting,
                &teams,
                staged.held_out(),
                &how.controllers,
            ));
            parts.push(Part { setting: staged.setting, teams });
        }
        if let Some(by) = &how.by {
            study.by = Over::all(registry, by, &parts, &study.settings);
            if study.by.is_empty() {
                said.notes.push(format!("There is no figure over {}: all runs have the same.", by.option));
            }
        }
        study.together = Together::of(&study.settings);
        let why = |f: &Found, instead: &Instead<'_>| match instead {
            Instead::Rate(rate) => {
                format!("its learning rate is {}, and {rate} is reported", f.record.config.learning_rate)
            }
            Instead::Run(run) => {
                let place =
                    found.iter().find(|(f, _)| std::ptr::eq(&f.record, *run)).map(|(f, _)| f.place.as_str());
                format!("{} has the same seed, and counts", place.unwrap_or(&run.name))
            }
        };
        let line = |(f, yes): &(&Found, bool)| {
            let instead = said.left_out.iter().find(|(r, _)| std::ptr::eq(*r, &f.record));
            RunLine::of(f, *yes, instead.map(|(_, instead)| why(f, instead)))
        };
        study.runs = found.iter().map(line).collect();
        let not = both(&gathered.left_out, &rates.left_out, |(a, _), (b, _)| a.really() == b.really());
        let not = not.iter().map(|(f, why)| (f, why.clone())).chain(left_out);
        study.runs.extend(not.map(|(f, why)| RunLine::of(f, stage(f), Some(why))));
        study.notes = said.notes;
        study.notes.extend(both(&gathered.notes, &rates.notes, |a, b| a == b));
        study.note_states();
        study.note_missing();
        study.note_few_runs();
        study
    }

    /// Runs that are in no number.
    pub fn left_out(&self) -> impl Iterator<Item = &RunLine> {
        self.runs.iter().filter(|r| r.left_out.is_some())
    }

    /// Where a simulator is not there, nobody plays beside the teams; a page without them looks as if there were none.
    fn note_missing(&mut self) {
        for setting in &self.settings {
            if let Some(why) = &setting.references.missing {
                self.notes.push(format!(
                    "{}: controllers, or random actions, could not be played and are missing: {why}",
                    setting.setting
                ));
            }
        }
    }

    /// Intervals of a handful of runs look more certain than they are. Every number is looked at, not every team: of many runs, few
    /// may have gone so far.
    fn note_few_runs(&mut self) {
        for setting in &self.settings {
            let mut numbers = vec![];
            for after in &setting.after {
                let few = after.teams.iter().filter(|t| t.runs < FEW);
                let teams = few.map(|t| format!("{} ({} of {})", t.method, t.runs, t.of));
                numbers.push((
                    format!("after {} steps", thousands(after.steps as f64)),
                    teams.collect::<Vec<_>>(),
                ));
            }
            for threshold in &setting.thresholds {
                // Where a team has few runs at all, it has been said.
                let few = threshold.teams.iter().filter(|t| t.known < FEW && t.runs >= FEW);
                let teams = few.map(|t| format!("{} ({} of {})", t.method, t.known, t.runs));
                numbers.push((format!("steps to {}", threshold.threshold), teams.collect()));
            }
            let said = numbers.iter().filter(|(_, teams)| !teams.is_empty());
            let said: Vec<String> =
                said.map(|(what, teams)| format!("{what}, {}", teams.join(", "))).collect();
            if !said.is_empty() {
                self.notes.push(format!(
                    "{}: fewer than {FEW} runs stand behind some numbers: {}. The intervals of so few are narrower than they \
                     should be.",
                    setting.setting,
                    said.join("; ")
                ));
            }
        }
    }

    /// What is missing is said before anybody reads numbers.
    fn note_states(&mut self) {
        let counted = || self.runs.iter().filter(|r| r.left_out.is_none());
        let reported = || counted().filter(|r| !r.for_choosing);
        let unfinished = reported().filter(|r| r.state == State::Unfinished).count();
        let failed = reported().filter(|r| matches!(r.state, State::Failed(_))).count();
        let mut notes = vec![];
        if unfinished > 0 {
            notes.push(format!(
                "{}; unfinished runs are in the curves and nowhere else.",
                are(unfinished, "run", "not finished")
            ));
        }
        if failed > 0 {
            notes.push(format!(
                "{} failed; in the statistics a failed run counts as a team that acts at random, or as what it last was if \
                 that is worse.",
                count(failed, "run")
            ));
        }
        let damaged = counted().filter(|r| r.damage.is_some()).count();
        if damaged > 0 {
            notes.push(format!(
                "A part of the learning curve is missing of {}; the list at the end says why.",
                count(damaged, "run")
            ));
        }
        if !self.unreadable.is_empty() {
            notes.push(format!(
                "{}; the list at the end says why.",
                are(self.unreadable.len(), "place", "not readable")
            ));
        }
        self.notes.extend(notes);
    }
}

/// Two lists as one; what is the same in both comes once, since a place may have been named twice.
fn both<T: Clone>(first: &[T], second: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let new = second.iter().filter(|b| !first.iter().any(|a| same(a, b)));
    first.iter().chain(new).cloned().collect()
}

/// 1 run is damaged, 2 runs are damaged.
fn are(n: usize, what: &str, how: &str) -> String {
    format!("{} {} {how}", count(n, what), if n == 1 { "is" } else { "are" })
}

/// What different summaries say of their origin.
fn origins(records: &[&Record], of: impl Fn(&Summary) -> Option<String>) -> Vec<String> {
    let found: BTreeSet<String> = records.iter().filter_map(|r| of(r.summary.as_ref()?)).collect();
    found.into_iter().collect()
}

impl RunLine {
    fn of(found: &Found, for_choosing: bool, left_out: Option<String>) -> RunLine {
        let record = &found.record;
        RunLine {
            name: record.name.clone(),
            sweep: found.sweep.clone(),
            place: found.place.clone(),
            state: record.state.clone(),
            steps: record.curve.steps.last().copied().unwrap_or(0),
            of: record.config.steps,
            for_choosing,
            left_out,
            damage: record.damage.clone(),
        }
    }
}
