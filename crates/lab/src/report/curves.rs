//! Learning curves: against steps, against seconds, against multiply-adds.

use super::figures::{Figure, title};
use super::setting::SettingReport;
use crate::figure::{Along, Chart, curves_along, lengths};
use crate::record::Record;
use crate::words::{number, thousands};

/// Multiply-adds are drawn in these.
const BILLION: f64 = 1e9;

impl SettingReport {
    /// The curves against steps, and against what steps cost as far as that is known.
    pub(super) fn all_curves(&self) -> Vec<Figure> {
        let mut figures = vec![self.curves()];
        figures.extend(self.against_seconds());
        figures.extend(self.against_multiply_adds());
        figures
    }

    fn curves(&self) -> Figure {
        let records: Vec<&Record> = self.records.iter().collect();
        let lengths = lengths(&records, &self.measure);
        let lengths = match lengths.is_empty() {
            true => String::new(),
            false => format!(
                " Thin and dashed, without a band, where only some of the runs went on ({}).",
                lengths.join("; ")
            ),
        };
        let begin = format!(
            "Learning curves: the median over seeds, with a band from the first to the third quartile; in brackets the number of \
             runs.{lengths}"
        );
        self.drawn("curves", begin, &Along::STEPS)
    }

    fn against_seconds(&self) -> Option<Figure> {
        let machine = self.costs.timed_on.as_ref()?;
        let each = self
            .costs
            .teams
            .iter()
            .filter_map(|t| Some(format!("{} {} ms", t.method, number(1e3 * t.seconds?.median, 2))));
        let begin = format!(
            "The same curves against seconds on {machine}: steps times the median seconds per step of each team's finished runs \
             there, whole runs with their evaluations ({}). {}",
            each.collect::<Vec<_>>().join(", "),
            self.costs.said.join(" ")
        );
        let seconds = |name: &str| self.costs.seconds(name);
        let along = Along { label: "seconds", per_step: &seconds };
        Some(self.drawn("seconds", begin.trim_end().into(), &along))
    }

    fn against_multiply_adds(&self) -> Option<Figure> {
        let each = self
            .costs
            .teams
            .iter()
            .filter_map(|t| Some(format!("{} {} million", t.method, number(t.multiply_adds? / 1e6, 1))));
        let each: Vec<String> = each.collect();
        if each.is_empty() {
            return None;
        }
        let begin = format!(
            "The same curves against the multiply-adds of training, counted from the layers: a pass forward over every state of \
             a rollout, and three (forward and backward) for every state and copy in every epoch. It is the dense arithmetic that \
             the layers define; the program computes equal pictures once, and needs less. Per step: {}.",
            each.join(", ")
        );
        let billions = |name: &str| self.costs.multiply_adds(name).map(|n| n / BILLION);
        let along = Along { label: "billions of multiply-adds", per_step: &billions };
        Some(self.drawn("multiply-adds", begin, &along))
    }

    fn drawn(&self, name: &str, begin: String, along: &Along<'_>) -> Figure {
        let records: Vec<&Record> = self.records.iter().collect();
        let controllers = match self.references.controllers.is_empty() {
            true => "",
            false => &format!(
                " Dashed: controllers without learning, {} episodes each.",
                thousands(self.references.episodes as f64)
            ),
        };
        let failed = if self.teams.iter().any(|t| t.failed > 0) {
            " A run that failed goes on as a team that acts at random, or as what it last was if that is worse."
        } else {
            ""
        };
        let mut chart = curves_along(&records, &self.measure, self.references.lines(), along);
        let cut = match self.references.random.and_then(|random| self.without_collapse(&chart, random)) {
            Some(range) => {
                chart.y_range = Some(range);
                " What leaves the figure is worse than acting at random."
            }
            None => "",
        };
        Figure::chart(
            format!("{}-{name}", self.slug),
            format!("{begin}{failed}{cut}{controllers}"),
            Chart { title: title(&self.setting), ..chart },
        )
    }

    /// A range of values that ends a little beyond random actions, if some curve goes farther: one that collapses would press
    /// the others into a line.
    fn without_collapse(&self, chart: &Chart, random: f64) -> Option<(f64, f64)> {
        let points = || chart.series.iter().chain(&chart.thin).flat_map(|s| &s.points);
        let finite = |v: &f64| v.is_finite();
        let lowest = points().map(|p| p.low).filter(finite).fold(f64::MAX, f64::min);
        let highest = points().map(|p| p.high).filter(finite).fold(f64::MIN, f64::max);
        let lines = chart.lines.iter().map(|l| l.value);
        match self.measure.sign() > 0.0 {
            true => {
                let high = lines.fold(highest, f64::max);
                let room = 0.06 * (high - random);
                (lowest < random - 2.0 * room && room > 0.0).then_some((random - room, high + room))
            }
            false => {
                let top = 1.25 * lines.fold(random, f64::max);
                chart.y_range.filter(|(_, high)| *high > top).map(|(low, _)| (low, top))
            }
        }
    }
}
