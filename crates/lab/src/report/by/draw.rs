//! The figures: the number along the level axis, a line per team.

use super::{At, Over, Scored};
use crate::figure::{Chart, Point, Reference, Series};
use crate::report::figures::{Figure, title};
use crate::words::thousands;

impl Over {
    /// At the end, and after fewer steps.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let steps = thousands(self.after as f64);
        let end = "at the end: the last policy evaluated with its likeliest actions".to_string();
        let early = format!("after {steps} steps of training, actions sampled");
        let after = format!("{}-after-{}", self.slug, self.after);
        [
            self.figure(&format!("{}-end", self.slug), "at the end", end, |at| at.end.as_ref()),
            self.figure(&after, &format!("after {steps} steps"), early, |at| at.early.as_ref()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// What scores are, in words.
    pub(super) fn unit(&self) -> String {
        match self.relative {
            true => format!("{} / best possible", self.measure.name()),
            false => self.measure.name().to_string(),
        }
    }

    fn figure(
        &self,
        name: &str,
        when: &str,
        what: String,
        scored: fn(&At) -> Option<&Scored>,
    ) -> Option<Figure> {
        let point = |at: &At| {
            let iqm = scored(at)?.iqm;
            let ends = [iqm.low, iqm.high].map(|v| if v.is_finite() { v } else { iqm.estimate });
            Some(Point { x: at.value, low: ends[0], middle: iqm.estimate, high: ends[1] })
        };
        let series = self.teams.iter().map(|team| Series {
            name: team.method.clone(),
            colour: team.colour,
            points: team.points.iter().filter_map(point).collect(),
        });
        let series: Vec<Series> = series.filter(|s| !s.points.is_empty()).collect();
        if series.is_empty() {
            return None;
        }
        let relative = match self.relative {
            true => format!(", each divided by the best possible of its {}", self.option),
            false => String::new(),
        };
        let caption = format!(
            "Teams over {}, {what}: the interquartile mean over seeds{relative}, with its 95% bootstrap interval. Lines lie a \
             little beside each other so that intervals can be told apart. {}",
            self.option,
            self.said.join(" ")
        );
        let chart = Chart {
            title: format!("{}, {when}", title(&self.name)),
            x_label: self.option.clone(),
            y_label: match self.relative || self.measure.is_return() {
                true => self.unit(),
                false => format!("{} ({} is better)", self.unit(), self.better()),
            },
            series,
            lines: if self.relative { vec![Reference::new("best possible", 1.0)] } else { vec![] },
            bars: true,
            size: [560.0, 300.0],
            ..Chart::default()
        };
        Some(Figure::chart(name.into(), caption.trim_end().into(), chart))
    }

    fn better(&self) -> &'static str {
        if self.measure.sign() < 0.0 { "less" } else { "more" }
    }
}
