//! The tables of a report, as HTML.

use super::score::Quartiles;
use super::setting::SettingReport;
use super::study::Study;
use super::thresholds::open;
use crate::figure::{Measure, escape};
use crate::record::State;
use crate::words::{count, large, number, seconds, thousands};

/// A table with a heading; cells are text.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escape(text));
    let head: String = heading.iter().map(|h| format!("<th scope=\"col\">{}</th>", escape(h))).collect();
    let line = |row: &Vec<String>| {
        let cells: String = row.iter().map(|c| cell("td", c)).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let body: String = rows.iter().map(line).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )
}

/// Median and quartiles: 2.51 (2.48 to 2.55), 5 runs.
fn quartiles(q: Option<Quartiles>, decimals: usize) -> String {
    let Some(q) = q else { return "-".into() };
    let [low, median, high] = [q.low, q.median, q.high].map(|v| number(v, decimals));
    format!("{median} ({low} to {high}), {}", count(q.runs, "run"))
}

/// Seeds in short: 1-15, 20.
pub(super) fn seeds(seeds: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = vec![];
    for seed in seeds {
        match parts.last_mut() {
            Some((_, last)) if *seed == *last + 1 => *last = *seed,
            _ => parts.push((*seed, *seed)),
        }
    }
    let part = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// As a person writes it: 0.001, 3e-5.
pub(super) fn rate(value: f64) -> String {
    if value >= 1e-4 { value.to_string() } else { format!("{value:e}") }
}

fn decimals(measure: &Measure) -> usize {
    if measure.is_return() { 3 } else { 2 }
}

impl SettingReport {
    /// Runs, learning rates, and where teams ended.
    pub(super) fn final_table(&self) -> String {
        let decimals = decimals(&self.measure);
        let mut rows = vec![];
        for t in &self.teams {
            let mut states = format!("{} finished", t.finished);
            for (count, what) in [(t.unfinished, "unfinished"), (t.failed, "failed")] {
                if count > 0 {
                    states += &format!(", {count} {what}");
                }
            }
            let who = [t.method.clone(), rate(t.learning_rate), states, seeds(&t.seeds)];
            let parameters = t.parameters.map_or("-".into(), |p| thousands(p as f64));
            let milliseconds = self.costs.seconds(&t.method).map_or("-".into(), |s| number(1e3 * s, 2));
            let arithmetic = self.costs.multiply_adds(&t.method).map_or("-".into(), large);
            let price = [parameters, milliseconds, arithmetic];
            let scores: Vec<_> =
                self.after.iter().filter_map(|a| Some((a.steps, a.team(&t.method)?))).collect();
            for (steps, s) in &scores {
                let mut row = who.to_vec();
                row.extend([
                    thousands(*steps as f64),
                    format!("{} of {}", s.runs, s.of),
                    s.iqm.text(decimals),
                    quartiles(s.quartiles, decimals),
                    quartiles(s.evaluated_sampled, decimals),
                    quartiles(s.evaluated_greedy, decimals),
                ]);
                row.extend(price.clone());
                rows.push(row);
            }
            if scores.is_empty() {
                let nothing = ["-".into(), format!("0 of {}", t.seeds.len())];
                let row = who.into_iter().chain(nothing).chain(vec!["-".into(); 4]).chain(price);
                rows.push(row.collect());
            }
        }
        let heading = [
            "method",
            "learning rate",
            "runs",
            "seeds",
            "steps",
            "runs that far",
            "training, IQM [95%]",
            "training, median (quartiles)",
            "evaluated, sampled actions",
            "evaluated, greedy actions",
            "parameters",
            "milliseconds a step",
            "multiply-adds a step",
        ];
        table(&heading, &rows)
    }

    /// The first team against the others.
    pub(super) fn comparison_table(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .comparisons
            .iter()
            .map(|c| {
                vec![
                    format!("{} over {}", c.method, c.over),
                    thousands(c.steps as f64),
                    format!("{} and {}", c.runs[0], c.runs[1]),
                    c.improvement.text(2),
                    c.better_by.text(decimals(&self.measure)),
                ]
            })
            .collect();
        let by = format!("better by ({}; median of differences) [95%]", self.measure.name());
        table(&["comparison", "after steps", "runs", "probability of improvement [95%]", &by], &rows)
    }

    /// Steps until thresholds were passed.
    pub(super) fn thresholds_table(&self) -> String {
        let mut rows = vec![];
        for threshold in &self.thresholds {
            let side = if self.measure.sign() > 0.0 { "above" } else { "below" };
            let goal = format!("{side} {}", threshold.threshold);
            for t in &threshold.teams {
                let times = |v: f64| match v {
                    v if v.is_nan() => "-".into(),
                    v if v.is_infinite() => "more".into(),
                    v => format!("{v:.2}"),
                };
                rows.push(vec![
                    goal.clone(),
                    t.method.clone(),
                    format!("{} of {}", t.passed, t.runs),
                    t.median_text(),
                    format!("{} of {}", t.known, t.runs),
                    format!("{} to {}", open(t.low), open(t.high)),
                    t.times.map_or("-".into(), |x| match x.low.is_nan() && x.high.is_nan() {
                        true => format!("{} (no interval)", times(x.estimate)),
                        false => format!("{} [{}, {}]", times(x.estimate), times(x.low), times(x.high)),
                    }),
                    t.seconds.map_or("-".into(), seconds),
                    t.multiply_adds.map_or("-".into(), large),
                ]);
            }
        }
        let first = self.teams.first().map_or("the first", |t| t.method.as_str());
        let heading = [
            "threshold",
            "method",
            "passed",
            "steps, median [95%]",
            "runs known by then",
            "quartiles",
            &format!("times {first} [95%]"),
            "seconds, median",
            "multiply-adds, median",
        ];
        table(&heading, &rows)
    }
}

impl Study {
    /// Every run and how it stands.
    pub(super) fn runs_table(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .runs
            .iter()
            .map(|r| {
                let mut state = match &r.state {
                    State::Finished => "finished".into(),
                    State::Unfinished => "unfinished".into(),
                    State::Failed(why) => format!("failed: {why}"),
                };
                if let Some(damage) = &r.damage {
                    state += &format!("; {damage}");
                }
                let steps = format!("{} of {}", thousands(r.steps as f64), thousands(r.of as f64));
                let purpose = match &r.left_out {
                    Some(why) => &format!("left out: {why}"),
                    None if r.for_choosing => "choice of rates",
                    None => "report",
                };
                vec![r.name.clone(), r.sweep.clone(), purpose.into(), state, steps, r.place.clone()]
            })
            .chain(self.unreadable.iter().map(|(place, why)| {
                vec![
                    "-".into(),
                    "-".into(),
                    "-".into(),
                    format!("unreadable: {why}"),
                    "-".into(),
                    place.clone(),
                ]
            }))
            .collect();
        table(&["run", "sweep", "for", "state", "steps", "place"], &rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(seeds(&[1, 2, 3, 7, 9, 10]), "1-3, 7, 9-10");
        assert_eq!([1e-3, 3e-4, 3e-5].map(rate), ["0.001", "0.0003", "3e-5"]);
        let text = table(&["a<b"], &[vec!["<script>".into()]]);
        assert!(text.contains("a&lt;b") && text.contains("&lt;script&gt;"), "{text}");
    }
}
