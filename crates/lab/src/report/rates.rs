//! The learning rates that were tried, as tables.

use super::study::Study;
use super::tables::{rate, seeds, table};
use crate::choose::{Choice, RateRule, RateScore};
use crate::words::number;

/// The column of the setting comes first.
const HEADING: [&str; 5] = ["setting", "method", "learning rate", "seeds", "each seed"];

impl Study {
    /// The learning rates that were tried, as HTML.
    pub(super) fn choice_table(&self) -> String {
        let what = match self.rule {
            RateRule::Area => "area",
            RateRule::End => "last tenth",
        };
        let each = format!("{what}, each seed");
        let heading: Vec<&str> =
            HEADING[..4].iter().copied().chain([each.as_str(), "median", "failed", "chosen"]).collect();
        table(&heading, &self.rate_rows())
    }

    /// The same as a table in Markdown, for pages about experiments.
    pub fn rates_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let heading = HEADING.iter().copied().chain(["median", "failed", "chosen"]).map(String::from);
        let heading: Vec<String> = heading.collect();
        let mut text = line(&heading) + &format!("|{}\n", "---|".repeat(heading.len()));
        text.extend(self.rate_rows().iter().map(|row| line(row)));
        text
    }

    fn rate_rows(&self) -> Vec<Vec<String>> {
        self.choice.iter().flat_map(|choice| choice.rates.iter().map(|r| rate_row(choice, r))).collect()
    }
}

/// A run that failed is worth less than any; what others are worth is shown as it was measured.
fn rate_row(choice: &Choice, r: &RateScore) -> Vec<String> {
    let value = |worth: &f64| match worth.is_finite() {
        true => number(worth * choice.sign, 3),
        false => "failed".into(),
    };
    let waiting = if r.unfinished > 0 { format!(" ({} unfinished)", r.unfinished) } else { String::new() };
    vec![
        choice.setting.clone(),
        choice.method.clone(),
        rate(r.learning_rate),
        seeds(&r.seeds) + &waiting,
        r.areas.iter().map(value).collect::<Vec<_>>().join(", "),
        if r.score.is_nan() { "-".into() } else { value(&r.score) },
        r.failed.to_string(),
        if choice.chosen == Some(r.learning_rate) { "chosen".into() } else { String::new() },
    ]
}
