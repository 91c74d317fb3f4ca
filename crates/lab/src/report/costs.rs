//! What the steps of teams cost: seconds, as they were measured, and multiply-adds, as they are counted.
//!
//! Seconds of different machines are not compared: a team's seconds per step are the median over its finished runs on one machine (a
//! processor and its instructions), the one with the most runs of those that all teams have runs on. The curve of a team
//! against seconds is its curve against steps, stretched by that.

use super::score::Quartiles;
use super::setting::TeamRuns;
use crate::cost::multiply_adds;
use crate::record::Record;
use equimarl_worlds::Registry;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where the slowest run of a team takes so many times as long as its fastest, the machine had other work.
const UNEVEN: f64 = 1.5;

/// What the steps of one team cost.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TeamCost {
    /// The team.
    pub method: String,
    /// Seconds per environment step, of its finished runs on the machine of all: the whole run with its evaluations.
    pub seconds: Option<Quartiles>,
    /// Multiply-adds per environment step.
    pub multiply_adds: Option<f64>,
}

/// What the steps of a setting's teams cost.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Costs {
    /// The machine that seconds are of; none if there is none that all teams have runs on.
    pub timed_on: Option<String>,
    /// What is to be known of seconds and multiply-adds, or why there are none.
    pub said: Vec<String>,
    /// The teams.
    pub teams: Vec<TeamCost>,
}

/// A run's machine and its seconds per step.
fn timed(record: &Record) -> Option<(String, f64)> {
    let summary = record.summary.as_ref()?;
    let cpu = summary.cpu.clone()?;
    let machine = summary.simd.as_ref().map_or(cpu.clone(), |simd| format!("{cpu} with {simd}"));
    let speed = summary.steps_per_second;
    (speed.is_finite() && speed > 0.0).then_some((machine, 1.0 / speed))
}

impl Costs {
    /// Of the teams of one setting.
    pub(super) fn of(registry: &Registry, teams: &[TeamRuns<'_>]) -> Costs {
        let times: Vec<Vec<(String, f64)>> =
            teams.iter().map(|t| t.ended.iter().filter_map(|r| timed(r)).collect()).collect();
        let mut costs = Costs { timed_on: common(&times), ..Costs::default() };
        let mut uneven: f64 = 1.0;
        for (team, times) in teams.iter().zip(&times) {
            let here = times.iter().filter(|(machine, _)| Some(machine) == costs.timed_on.as_ref());
            let here: Vec<f64> = here.map(|(_, seconds)| *seconds).collect();
            let least = here.iter().copied().fold(f64::MAX, f64::min);
            uneven = here.iter().map(|s| s / least).fold(uneven, f64::max);
            costs.teams.push(TeamCost {
                method: team.team.name(),
                seconds: Quartiles::of(&here),
                multiply_adds: team.all.first().and_then(|r| multiply_adds(registry, &r.config)),
            });
        }
        costs.say(teams, &times, uneven);
        costs
    }

    /// What readers must know.
    fn say(&mut self, teams: &[TeamRuns<'_>], times: &[Vec<(String, f64)>], uneven: f64) {
        let machines: BTreeSet<&str> = times.iter().flatten().map(|(machine, _)| machine.as_str()).collect();
        match &self.timed_on {
            None if machines.len() > 1 => self.said.push(format!(
                "There is no figure against seconds: no machine made runs of every team ({}).",
                machines.iter().copied().collect::<Vec<_>>().join("; ")
            )),
            None => self.said.push("No run says how long it took and on which machine.".into()),
            Some(one) if machines.len() > 1 => {
                let others: Vec<&str> = machines.iter().copied().filter(|m| m != one).collect();
                self.said.push(format!(
                    "Seconds are of runs on {one} alone; others were made on {}.",
                    others.join("; ")
                ));
            }
            Some(_) => {}
        }
        let commits: BTreeSet<&str> = teams
            .iter()
            .flat_map(|t| &t.ended)
            .filter(|r| timed(r).is_some_and(|(machine, _)| Some(machine) == self.timed_on))
            .filter_map(|r| r.summary.as_ref()?.commit.as_deref())
            .collect();
        if commits.len() > 1 {
            self.said.push(format!("The runs behind the seconds were made by {} commits.", commits.len()));
        }
        if uneven > UNEVEN {
            self.said.push(format!(
                "The slowest run of a team took {uneven:.1} times as long per step as its fastest: the machine had other work \
                 beside, so seconds are rough."
            ));
        }
        let missing = |of: fn(&TeamCost) -> bool| {
            let names = self.teams.iter().filter(|t| of(t)).map(|t| t.method.as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let (untimed, uncounted) = (missing(|t| t.seconds.is_none()), missing(|t| t.multiply_adds.is_none()));
        if !untimed.is_empty() && self.timed_on.is_some() {
            self.said.push(format!("No finished run says how long it took: {untimed}."));
        }
        if !uncounted.is_empty() {
            self.said.push(format!(
                "Multiply-adds cannot be counted here for {uncounted}: the world is not known to this program, or messages are \
                 made edge by edge and it depends on who hears whom."
            ));
        }
    }

    /// Seconds per step of a team.
    pub(super) fn seconds(&self, method: &str) -> Option<f64> {
        Some(self.teams.iter().find(|t| t.method == method)?.seconds?.median)
    }

    /// Multiply-adds per step of a team.
    pub(super) fn multiply_adds(&self, method: &str) -> Option<f64> {
        self.teams.iter().find(|t| t.method == method)?.multiply_adds
    }
}

/// The machine with the most runs, of those that every team with a time has some on.
fn common(times: &[Vec<(String, f64)>]) -> Option<String> {
    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    for (machine, _) in times.iter().flatten() {
        *runs.entry(machine).or_default() += 1;
    }
    let everywhere = |machine: &&str| {
        let with_times = times.iter().filter(|t| !t.is_empty());
        with_times.into_iter().all(|t| t.iter().any(|(m, _)| m == machine))
    };
    let found = runs.iter().filter(|(machine, _)| everywhere(machine));
    found.max_by_key(|(_, runs)| **runs).map(|(machine, _)| machine.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use equimarl_worlds::builtin;

    /// A finished run on a machine that makes so many steps a second.
    fn run(method: &str, seed: u64, machine: &str, speed: f64) -> Record {
        let change = format!("method = '{method}'\nseed = {seed}");
        let mut record = testing::record(&change);
        let mut summary = testing::summary(&record.config, 2.7785);
        (summary.cpu, summary.steps_per_second) = (Some(machine.into()), speed);
        record.summary = Some(summary);
        record
    }

    fn costs(records: &[Record]) -> Costs {
        let mut teams: Vec<TeamRuns<'_>> = vec![];
        for record in records {
            match teams.iter_mut().find(|t| t.team == record.team()) {
                Some(team) => team.all.push(record),
                None => teams.push(TeamRuns {
                    team: record.team(),
                    learning_rate: 1e-3,
                    all: vec![record],
                    ended: vec![],
                }),
            }
        }
        teams.iter_mut().for_each(|t| t.ended = t.all.clone());
        Costs::of(&builtin(), &teams)
    }

    #[test]
    fn seconds_are_of_one_machine() {
        let records = [
            run("equivariant", 1, "slow", 100.0),
            run("equivariant", 2, "slow", 125.0),
            run("equivariant", 3, "fast", 1000.0),
            run("plain", 1, "slow", 200.0),
            run("plain", 2, "other", 1e6),
        ];
        let found = costs(&records);
        assert_eq!(found.timed_on.as_deref(), Some("slow"));
        assert!((found.seconds("equivariant").unwrap() - 0.009).abs() < 1e-9, "{found:?}");
        assert_eq!(found.seconds("plain"), Some(0.005));
        assert_eq!(found.said, ["Seconds are of runs on slow alone; others were made on fast; other."]);
        assert_eq!(found.multiply_adds("plain"), Some(13.0 * 3.0 * 267_904.0));
    }

    #[test]
    fn machines_that_no_two_teams_share_are_not_compared() {
        let found = costs(&[run("equivariant", 1, "a", 100.0), run("plain", 1, "b", 300.0)]);
        assert_eq!((found.timed_on.as_deref(), found.seconds("plain")), (None, None));
        assert!(found.said[0].contains("no machine made runs of every team (a; b)"), "{:?}", found.said);
    }

    #[test]
    fn what_makes_seconds_rough_is_said() {
        let mut records =
            [run("plain", 1, "a", 100.0), run("plain", 2, "a", 300.0), run("equivariant", 1, "a", f64::NAN)];
        records[0].summary.as_mut().unwrap().commit = Some("old".into());
        let said = costs(&records).said.join("\n");
        for part in ["made by 2 commits", "took 3.0 times as long", "how long it took: equivariant"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
