//! Teams over a number of their world: how strong the wind is, how tilted the demand, how many agents.
//!
//! ```text
//! end        the greedy evaluation at the end of a run; of one that failed what it counts as (`score.rs`)
//! after N    the score of the training curve after N steps
//! relative   divided by the best possible return of the same value, where that is known for all values
//! ```
//!
//! Where nothing breaks the symmetry (the number is 0), `subgroup` and `cause` are the equivariant network, and its runs stand for
//! them if they were not run.

mod crossings;
mod draw;
mod points;
mod section;
mod tables;
#[cfg(test)]
mod tests;

pub use crossings::Crossing;
pub use points::{At, Mark, Scored};

use super::setting::{SettingReport, TeamRuns};
use crate::family::{Family, families};
use crate::figure::{Colour, Measure};
use crate::setting::{Setting, Team, slug};
use equimarl_learn::Method;
use equimarl_worlds::Registry;
use points::Place;
use serde::Serialize;
use std::collections::BTreeSet;

/// Over which number teams are looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct By {
    /// The option of the world.
    pub option: String,
    /// Besides the end, after so many steps of training.
    pub after: u64,
}

/// A setting with the runs that are reported of it.
pub(super) struct Part<'a> {
    pub setting: Setting<'a>,
    pub teams: Vec<TeamRuns<'a>>,
}

/// Teams over the values of one number.
#[derive(Clone, Debug, Serialize)]
pub struct Over {
    /// What all runs have in common.
    pub name: String,
    /// A name for files.
    pub slug: String,
    /// The number.
    pub option: String,
    /// What is measured.
    #[serde(serialize_with = "super::setting::name_of")]
    pub measure: Measure,
    /// Whether scores are divided by the best possible of the same value.
    pub relative: bool,
    /// The values of the number.
    pub values: Vec<f64>,
    /// After how many steps of training teams are looked at besides the end.
    pub after: u64,
    /// The teams.
    pub teams: Vec<TeamOver>,
    /// Where others overtake the first team.
    pub crossings: Vec<Crossing>,
    /// What readers must know.
    pub said: Vec<String>,
}

/// A team over the values of the number.
#[derive(Clone, Debug, Serialize)]
pub struct TeamOver {
    /// The team.
    pub method: String,
    /// What it is at each value at which it was run.
    pub points: Vec<At>,
    #[serde(skip)]
    colour: Colour,
}

impl Over {
    /// All families with at least two values of the number.
    pub(super) fn all(
        registry: &Registry,
        by: &By,
        parts: &[Part<'_>],
        reports: &[SettingReport],
    ) -> Vec<Over> {
        let settings: Vec<&Setting<'_>> = parts.iter().map(|p| &p.setting).collect();
        let found = families(registry, &settings, &by.option);
        let found = found.into_iter().filter(|family| family.members.len() > 1);
        found.map(|family| Over::of(family, by, parts, reports)).collect()
    }

    fn of(family: Family, by: &By, parts: &[Part<'_>], reports: &[SettingReport]) -> Over {
        let measure = reports[family.members[0].1[0]].measure.clone();
        let best = |i: &usize| reports[*i].references.optimum.filter(|best| *best > 0.0);
        let known = |(_, places): &(f64, Vec<usize>)| places.iter().all(|i| best(i).is_some());
        let relative = measure.is_return() && family.members.iter().all(known);
        let mut teams: Vec<Team> = vec![];
        let mut methods: Vec<TeamOver> = vec![];
        for i in family.members.iter().flat_map(|m| &m.1) {
            let new = parts[*i].teams.iter().map(|t| t.team.clone()).filter(|t| !teams.contains(t));
            let new: Vec<Team> = new.collect();
            teams.extend(new);
        }
        Team::sort(&mut teams);
        for team in &teams {
            let mut points = vec![];
            for (value, places) in &family.members {
                let Some((i, runs, stands_in)) = runs_of(team, *value, places, parts) else { continue };
                let best = if relative { best(&i) } else { None };
                let place = Place { value: *value, by, report: &reports[i], best };
                points.push(place.of(runs, stands_in));
            }
            methods.push(TeamOver { method: team.name(), points, colour: team.colour() });
        }
        let values: Vec<f64> = family.members.iter().map(|m| m.0).collect();
        let crossings = Crossing::all(&methods, &measure, by.after);
        let mut over = Over {
            slug: slug(&family.name),
            name: family.name,
            option: by.option.clone(),
            measure,
            relative,
            values,
            after: by.after,
            teams: methods,
            crossings,
            said: vec![],
        };
        over.say(&family.members, parts);
        over
    }

    /// What makes points of a line less comparable than they look.
    fn say(&mut self, members: &[(f64, Vec<usize>)], parts: &[Part<'_>]) {
        for team in &self.teams {
            if let Some(other) = team.points.iter().find_map(|p| p.stands_in.as_ref()) {
                self.said.push(format!(
                    "At {} 0 {} is {other}, whose runs stand for it.",
                    self.option, team.method
                ));
            }
            let mut rates: Vec<f64> =
                team.points.iter().filter(|p| p.stands_in.is_none()).map(|p| p.learning_rate).collect();
            rates.dedup();
            if rates.len() > 1 {
                let rates: Vec<String> = rates.iter().map(f64::to_string).collect();
                self.said.push(format!(
                    "{} has different learning rates: {}.",
                    team.method,
                    rates.join(", ")
                ));
            }
        }
        let runs = members.iter().flat_map(|m| &m.1).flat_map(|i| &parts[*i].teams).flat_map(|t| &t.ended);
        let budgets: BTreeSet<u64> = runs.map(|r| r.config.steps).collect();
        if budgets.len() > 1 {
            let budgets: Vec<String> = budgets.iter().map(u64::to_string).collect();
            self.said.push(format!("Runs end after different numbers of steps: {}.", budgets.join(", ")));
        }
    }
}

/// The runs of a team at a value, the place of their setting, and which team they are of if it is another.
fn runs_of<'a, 'r>(
    team: &Team,
    value: f64,
    places: &[usize],
    parts: &'a [Part<'r>],
) -> Option<(usize, &'a TeamRuns<'r>, Option<String>)> {
    let find = |wanted: &dyn Fn(&Team) -> bool| {
        let all = places.iter().flat_map(|i| parts[*i].teams.iter().map(move |t| (*i, t)));
        all.into_iter().find(|(_, t)| wanted(&t.team))
    };
    if let Some((i, runs)) = find(&|t| t == team) {
        return Some((i, runs, None));
    }
    let same = value == 0.0 && matches!(team.method, Method::Subgroup | Method::Cause);
    let exact = |t: &Team| t.method == Method::Equivariant && t.variant.is_empty();
    let (i, runs) = find(&exact).filter(|_| same)?;
    Some((i, runs, Some(runs.team.name())))
}
