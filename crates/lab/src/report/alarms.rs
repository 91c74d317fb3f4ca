//! What hides failures if nobody looks: the measures that a world declares as alarms, and episodes that its simulator lost. A team
//! whose vehicles cannot come in loses no time with them.

use super::setting::{SettingReport, TeamRuns};
use super::tables::table;
use crate::brief::Brief;
use crate::words::number;
use equimarl_learn::Evaluation;
use equimarl_worlds::{Better, Measure, Summary as Played};
use serde::Serialize;
use std::collections::BTreeMap;

/// A measure in the episodes of evaluations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alarm {
    /// The mean over runs, and over episodes of a run.
    pub mean: f64,
    /// The same of the worst run.
    pub worst: f64,
}

/// All alarms of a team, or of somebody who has not learned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alarms {
    /// Who.
    pub who: String,
    /// Runs that were evaluated; none for who has not learned.
    pub runs: Option<usize>,
    /// Training episodes that a simulator lost, in all runs.
    pub abandoned: Option<u64>,
    /// With the greedy actions, by the names of the measures.
    pub greedy: BTreeMap<String, Alarm>,
    /// With sampled actions, or as a controller plays.
    pub sampled: BTreeMap<String, Alarm>,
}

impl Alarms {
    /// Of teams, and of those who stand beside them. Nothing in a world without alarms.
    pub(super) fn all(
        world: &Brief,
        teams: &[TeamRuns<'_>],
        others: &BTreeMap<String, BTreeMap<String, f64>>,
    ) -> Vec<Alarms> {
        if world.alarms.is_empty() {
            return vec![];
        }
        let others = others.iter().map(|(who, values)| Alarms {
            who: who.clone(),
            runs: None,
            abandoned: None,
            greedy: BTreeMap::new(),
            sampled: values.iter().map(|(k, &v)| (k.clone(), Alarm { mean: v, worst: v })).collect(),
        });
        teams.iter().map(|team| Alarms::of(team, &world.alarms)).chain(others).collect()
    }

    fn of(team: &TeamRuns<'_>, alarms: &[Measure]) -> Alarms {
        let summaries = || team.ended.iter().filter_map(|r| r.summary.as_ref());
        let evaluations: Vec<&Evaluation> = summaries().filter_map(|s| s.evaluation.as_ref()).collect();
        let seen = |how: fn(&Evaluation) -> &Played| {
            let one = |m: &Measure| {
                let values = evaluations.iter().filter_map(|e| Some(how(e).measures.get(&m.name)?.mean));
                Some((m.name.clone(), Alarm::of(m, &values.filter(|v| !v.is_nan()).collect::<Vec<_>>())?))
            };
            alarms.iter().filter_map(one).collect()
        };
        let lost = summaries().filter_map(|s| s.more.get("abandoned")?.as_u64()).sum();
        Alarms {
            who: team.team.name(),
            runs: Some(evaluations.len()),
            abandoned: Some(lost),
            greedy: seen(|e| &e.greedy),
            sampled: seen(|e| &e.sampled),
        }
    }
}

impl Alarm {
    fn of(measure: &Measure, values: &[f64]) -> Option<Alarm> {
        let worse = if measure.better == Better::Lower { f64::max } else { f64::min };
        let worst = values.iter().copied().reduce(worse)?;
        Some(Alarm { mean: values.iter().sum::<f64>() / values.len() as f64, worst })
    }
}

impl SettingReport {
    /// Headings and rows of the alarms, for people.
    pub fn alarm_rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let cell = |alarm: Option<&Alarm>| match alarm {
            None => "-".into(),
            Some(a) if a.mean == a.worst => number(a.mean, 1),
            Some(a) => format!("{} (worst run {})", number(a.mean, 1), number(a.worst, 1)),
        };
        let mut heading = vec!["who".to_string()];
        for measure in &self.alarming {
            heading.extend(["sampled", "greedy"].map(|how| format!("{}, {how}", measure.name)));
        }
        heading.push("abandoned".into());
        let row = |a: &Alarms| {
            let mut row = vec![a.who.clone()];
            for measure in &self.alarming {
                row.extend([&a.sampled, &a.greedy].map(|of| cell(of.get(&measure.name))));
            }
            row.push(a.abandoned.map_or("-".into(), |n| n.to_string()));
            row
        };
        (heading, self.alarms.iter().map(row).collect())
    }

    /// The same as HTML, with what the names mean.
    pub(super) fn alarms_section(&self) -> String {
        if self.alarms.is_empty() {
            return String::new();
        }
        let (heading, rows) = self.alarm_rows();
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        let meaning = self.alarming.iter().map(|m| format!("{}: {}", m.name, m.title));
        let meaning = meaning.collect::<Vec<_>>().join("; ");
        format!(
            "<h3>What hides failures</h3>\n{}{}",
            super::page::paragraph(&format!(
                "Per episode of the evaluation: {meaning}. Abandoned are training episodes that the simulator lost. Where these are \
                 not zero, other measures look better than they are."
            )),
            table(&heading, &rows)
        )
    }
}
