//! The tables: scores, steps to thresholds, crossings.

use super::{At, Over, Scored};
use crate::words::thousands;

/// A table: its heading and its rows.
pub type Cells = (Vec<String>, Vec<Vec<String>>);

impl Over {
    /// Interquartile means of every team at every value, at the end.
    pub fn end_table(&self) -> Cells {
        self.scores(|at| at.end.as_ref())
    }

    /// The same after fewer steps of training.
    pub fn early_table(&self) -> Cells {
        self.scores(|at| at.early.as_ref())
    }

    /// The thresholds that some team passed somewhere.
    pub fn thresholds(&self) -> Vec<f64> {
        let all = self.teams.iter().flat_map(|t| &t.points).flat_map(|p| &p.marks);
        let mut found: Vec<f64> = all.map(|m| m.threshold).collect();
        found.sort_by(f64::total_cmp);
        found.dedup();
        found
    }

    /// Median steps of every team at every value until it passed a threshold.
    pub fn steps_table(&self, threshold: f64) -> Cells {
        self.table(|at| {
            let mark = at.marks.iter().find(|m| m.threshold == threshold)?;
            Some(format!("{} ({} of {})", mark.says, mark.passed, mark.runs))
        })
    }

    /// Where others overtake the first team.
    pub fn crossings_table(&self) -> Cells {
        let heading =
            ["team", "overtakes", "when", &format!("at {} [95%]", self.option), "ahead at each value"];
        let row = |c: &super::Crossing| {
            let ahead = c.values.iter().zip(&c.ahead).map(|(x, d)| format!("{x}: {d:.3}"));
            vec![
                c.method.clone(),
                c.first.clone(),
                c.after.map_or("end".into(), |n| format!("{} steps", thousands(n as f64))),
                c.says.clone(),
                ahead.collect::<Vec<_>>().join(", "),
            ]
        };
        (heading.map(String::from).to_vec(), self.crossings.iter().map(row).collect())
    }

    fn scores(&self, of: fn(&At) -> Option<&Scored>) -> Cells {
        let decimals = if self.measure.is_return() { 3 } else { 2 };
        self.table(|at| {
            let scored = of(at)?;
            Some(format!("{} ({} of {})", scored.iqm.text(decimals), scored.scores.len(), at.runs[1]))
        })
    }

    /// A row per team, a column per value.
    fn table(&self, cell: impl Fn(&At) -> Option<String>) -> Cells {
        let values = self.values.iter().map(|v| format!("{} {v}", self.option));
        let row = |team: &super::TeamOver| {
            let at = |value: &f64| team.points.iter().find(|p| p.value == *value);
            let cells = self.values.iter().map(|v| at(v).and_then(&cell).unwrap_or("-".into()));
            let rates = team.points.iter().rev().map(|p| p.learning_rate.to_string()).next();
            [team.method.clone(), rates.unwrap_or("-".into())].into_iter().chain(cells).collect()
        };
        let heading = ["method".to_string(), "rate".into()].into_iter().chain(values).collect();
        (heading, self.teams.iter().map(row).collect())
    }
}
