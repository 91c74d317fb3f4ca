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
            Some(a) if a.mean == a.worst => number(a.mean, 2),
            Some(a) => format!("{} (worst run {})", number(a.mean, 2), number(a.worst, 2)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::{Found, Gathered};
    use crate::report::{How, Study, page};
    use crate::testing;
    use equimarl_worlds::{Over, Statistic, builtin};
    use serde_json::json;

    /// A run whose greedy team kept so many out of every episode, in a world that calls this an alarm.
    fn run(seed: u64, kept_out: f64, abandoned: u64) -> Found {
        let change = format!("seed = {seed}\nsteps = 1000");
        let mut record = testing::record(&change);
        let mut summary = testing::summary(&testing::config(&change), 2.0);
        let evaluation = summary.evaluation.as_mut().unwrap();
        let value = |mean: f64| Statistic { mean, stderr: 0.0 };
        evaluation.greedy.measures.insert("kept-out".into(), value(kept_out));
        evaluation.sampled.measures.insert("kept-out".into(), value(0.0));
        if abandoned > 0 {
            summary.more.insert("abandoned".into(), json!(abandoned));
        }
        record.world.alarms = vec![Measure {
            name: "kept-out".into(),
            title: "those who could not come in".into(),
            unit: String::new(),
            better: Better::Lower,
            over: Over::Episode,
            first: false,
        }];
        record.summary = Some(summary);
        Found { sweep: "w".into(), place: "here".into(), record }
    }

    #[test]
    fn alarms_stand_in_every_report_of_a_world_that_has_them() {
        let study = |runs: Vec<Found>| {
            let runs = Gathered { runs, ..Gathered::default() };
            Study::of(&builtin(), &runs, &Gathered::default(), &How::default())
        };
        let all = study(vec![run(1, 0.0, 0), run(2, 3.0, 4)]);
        let alarms = serde_json::to_value(&all).unwrap()["settings"][0]["alarms"].clone();
        assert_eq!((&alarms[0]["runs"], &alarms[0]["abandoned"]), (&json!(2), &json!(4)));
        assert_eq!(alarms[0]["greedy"]["kept-out"], json!({ "mean": 1.5, "worst": 3.0 }));
        assert_eq!(alarms[0]["sampled"]["kept-out"], json!({ "mean": 0.0, "worst": 0.0 }));
        let (heading, rows) = all.settings[0].alarm_rows();
        assert_eq!(heading, ["who", "kept-out, sampled", "kept-out, greedy", "abandoned"]);
        assert_eq!(rows[0][1..], ["0.00", "1.50 (worst run 3.00)", "4"]);
        let html = page(&all, "equimarl report x", "0");
        assert!(html.contains("What hides failures") && html.contains("those who could not come in"));
        // And nowhere else.
        let mut usual = run(1, 0.0, 0);
        usual.record.world.alarms.clear();
        let usual = study(vec![usual]);
        assert!(usual.settings[0].alarms.is_empty());
        assert!(!page(&usual, "equimarl report x", "0").contains("What hides failures"));
    }
}
