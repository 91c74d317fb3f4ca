//! Everything that a report says, before it is written down.

use super::setting::{SettingReport, TeamReport};
use super::stage::{ChosenOn, Staged};
use super::together::Together;
use crate::choose::Choice;
use crate::gather::{Found, Gathered};
use crate::record::{Record, State};
use equimarl_learn::Summary;
use equimarl_worlds::Registry;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Intervals of fewer runs are not to be trusted.
const FEW: usize = 5;

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
}

/// What many runs amount to.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// What readers must be told first.
    pub notes: Vec<String>,
    /// On which runs learning rates were chosen, by setting.
    pub chosen_on: BTreeMap<String, ChosenOn>,
    /// The learning rates that were tried.
    pub choice: Vec<Choice>,
    /// Every setting.
    pub settings: Vec<SettingReport>,
    /// Settings with a known optimum together, if there are several.
    pub together: Option<Together>,
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
    pub fn of(registry: &Registry, gathered: &Gathered, rates: &Gathered) -> Study {
        // A run may have been made twice, once to choose and once to be reported: then it is both.
        let explicit: BTreeSet<&str> = rates.runs.iter().map(|f| f.place.as_str()).collect();
        let stage = |f: &Found| f.for_choosing() || explicit.contains(f.place.as_str());
        let known: BTreeSet<&str> =
            gathered.runs.iter().filter(|f| stage(f)).map(|f| f.record.config_hash.as_str()).collect();
        let extra = rates.runs.iter().filter(|f| !known.contains(f.record.config_hash.as_str()));
        let found: Vec<(&Found, bool)> =
            gathered.runs.iter().map(|f| (f, stage(f))).chain(extra.map(|f| (f, true))).collect();
        let records: Vec<&Record> = found.iter().map(|(f, _)| &f.record).collect();
        let choosing = |r: &Record| found.iter().any(|(f, yes)| *yes && std::ptr::eq(&f.record, r));
        let mut study = Study {
            notes: vec![],
            chosen_on: BTreeMap::new(),
            choice: vec![],
            settings: vec![],
            together: None,
            runs: found.iter().map(|(f, yes)| RunLine::of(f, *yes)).collect(),
            unreadable: gathered.unreadable.iter().chain(&rates.unreadable).cloned().collect(),
            made_by: origins(&records, |s| Some(format!("{} ({})", s.version.as_ref()?, s.commit.as_ref()?))),
            made_on: origins(&records, |s| s.cpu.clone()),
        };
        for staged in Staged::all(&records, choosing) {
            let (choices, teams, chosen_on) = staged.teams(&mut study.notes);
            study.chosen_on.insert(staged.setting.name.clone(), chosen_on);
            study.choice.extend(choices);
            study.settings.push(SettingReport::of(registry, &staged.setting, &teams, staged.held_out()));
        }
        study.together = Together::of(&study.settings);
        study.note_states();
        study.note_few_runs();
        study
    }

    /// Intervals of a handful of runs look more certain than they are.
    fn note_few_runs(&mut self) {
        for setting in &self.settings {
            let few = |t: &&TeamReport| (1..FEW).contains(&(t.finished + t.failed));
            let names: Vec<&str> = setting.teams.iter().filter(few).map(|t| t.method.as_str()).collect();
            if !names.is_empty() {
                self.notes.push(format!(
                    "{}: fewer than {FEW} runs of {}; the intervals of so few are narrower than they should be.",
                    setting.setting,
                    names.join(", ")
                ));
            }
        }
    }

    /// What is missing is said before anybody reads numbers.
    fn note_states(&mut self) {
        let reported = || self.runs.iter().filter(|r| !r.for_choosing);
        let unfinished = reported().filter(|r| r.state == State::Unfinished).count();
        let failed = reported().filter(|r| matches!(r.state, State::Failed(_))).count();
        let mut notes = vec![];
        if unfinished > 0 {
            notes.push(format!(
                "{}; unfinished runs are in the curves and nowhere else.",
                runs(unfinished, "not finished")
            ));
        }
        if failed > 0 {
            notes.push(format!(
                "{}; in the statistics a failed run counts as a team that acts at random, or as what it last was if \
                 that is worse.",
                runs(failed, "failed").replace(" is failed", " failed").replace(" are failed", " failed")
            ));
        }
        if !self.unreadable.is_empty() {
            notes.push(format!(
                "{}; the list at the end says why.",
                runs(self.unreadable.len(), "not readable")
            ));
        }
        self.notes.extend(notes);
    }
}

fn runs(count: usize, what: &str) -> String {
    if count == 1 { format!("1 run is {what}") } else { format!("{count} runs are {what}") }
}

/// What different summaries say of their origin.
fn origins(records: &[&Record], of: impl Fn(&Summary) -> Option<String>) -> Vec<String> {
    let found: BTreeSet<String> = records.iter().filter_map(|r| of(r.summary.as_ref()?)).collect();
    found.into_iter().collect()
}

impl RunLine {
    fn of(found: &Found, for_choosing: bool) -> RunLine {
        let record = &found.record;
        RunLine {
            name: record.name.clone(),
            sweep: found.sweep.clone(),
            place: found.place.clone(),
            state: record.state.clone(),
            steps: record.curve.steps.last().copied().unwrap_or(0),
            of: record.config.steps,
            for_choosing,
        }
    }
}
