//! The figures of a report.

use super::score::{After, TeamScore};
use super::setting::SettingReport;
use super::study::Study;
use super::tables::thousands;
use super::thresholds::{TeamPassing, ThresholdReport};
use super::together::{TeamTogether, Together};
use crate::figure::{Beyond, Chart, Intervals, Point, Reference, Row, Scale, Series, learning_curves};
use crate::statistics::{Interval, profile};

/// Places along a performance profile.
const PLACES: usize = 61;

/// A figure with its file name and what is to be said of it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of its file, without the ending.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub caption: String,
    drawing: Drawing,
}

#[derive(Clone, Debug)]
enum Drawing {
    Chart(Chart),
    Intervals(Intervals),
}

impl Figure {
    /// As a file of its own.
    pub fn svg(&self) -> String {
        match &self.drawing {
            Drawing::Chart(chart) => chart.svg(),
            Drawing::Intervals(intervals) => intervals.svg(),
        }
    }

    /// For a page.
    pub fn inline(&self) -> String {
        match &self.drawing {
            Drawing::Chart(chart) => chart.inline(),
            Drawing::Intervals(intervals) => intervals.inline(),
        }
    }

    fn chart(name: String, caption: String, mut chart: Chart) -> Figure {
        chart.description = caption.clone();
        Figure { name, caption, drawing: Drawing::Chart(chart) }
    }

    fn intervals(name: String, caption: String, mut intervals: Intervals) -> Figure {
        intervals.description = caption.clone();
        Figure { name, caption, drawing: Drawing::Intervals(intervals) }
    }
}

impl Study {
    /// All figures: those of all settings together first.
    pub fn figures(&self) -> Vec<Figure> {
        let together = self.together.iter().flat_map(Together::figures);
        together.chain(self.settings.iter().flat_map(SettingReport::figures)).collect()
    }
}

impl SettingReport {
    /// The figures of one setting.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![self.curves()];
        figures.extend(self.after.iter().rev().map(|a| self.means(a)));
        figures.extend(self.improvement());
        figures.extend(self.steps());
        figures.extend(self.after.last().map(|a| self.profile(a)));
        figures
    }

    fn curves(&self) -> Figure {
        let records: Vec<_> = self.records.iter().collect();
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
        let mut chart = learning_curves(&records, &self.measure, self.references.lines());
        let cut = match self.references.random.and_then(|random| self.without_collapse(&chart, random)) {
            Some(range) => {
                chart.y_range = Some(range);
                " What leaves the figure is worse than acting at random."
            }
            None => "",
        };
        let caption = format!(
            "Learning curves: the median over seeds, with a band from the first to the third quartile.{failed}{cut}{controllers}"
        );
        Figure::chart(
            format!("{}-curves", self.slug),
            caption,
            Chart { title: title(&self.setting), ..chart },
        )
    }

    /// A range of values that ends a little beyond random actions, if some curve goes farther: one that collapses would press
    /// the others into a line.
    fn without_collapse(&self, chart: &Chart, random: f64) -> Option<(f64, f64)> {
        let points = || chart.series.iter().flat_map(|s| &s.points);
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

    fn means(&self, after: &After) -> Figure {
        // Teams that broke down would stretch the axis until nobody could tell the others apart.
        let sign = self.measure.sign();
        let broken = |t: &TeamScore| {
            let best = (t.iqm.low * sign).max(t.iqm.high * sign);
            self.references.random.is_some_and(|random| best <= random * sign)
        };
        let all_broken = after.teams.iter().all(broken);
        let any_broken = after.teams.iter().any(broken) && !all_broken;
        let row = |t: &TeamScore| Row {
            name: format!("{} ({})", t.method, t.scores.len()),
            colour: self.colour(&t.method),
            low: t.iqm.low,
            estimate: t.iqm.estimate,
            high: t.iqm.high,
            beyond: if broken(t) && !all_broken { Beyond::All } else { Beyond::Nothing },
        };
        let steps = thousands(after.steps as f64);
        let off = if any_broken {
            " An arrow and a number: a team no better than one that acts at random, off the axis."
        } else {
            ""
        };
        let caption = format!(
            "After {steps} steps: the interquartile mean of the runs' scores with its 95% bootstrap interval; in brackets \
             the number of runs.{off}"
        );
        let intervals = Intervals {
            title: format!("After {steps} steps"),
            x_label: format!("{} (interquartile mean, 95% interval)", self.measure.name()),
            rows: after.teams.iter().map(row).collect(),
            lines: self.references.lines(),
            ..Intervals::default()
        };
        Figure::intervals(format!("{}-iqm-{}", self.slug, after.steps), caption, intervals)
    }

    fn improvement(&self) -> Option<Figure> {
        let first = &self.comparisons.first()?.method;
        let steps = self.comparisons[0].steps;
        let alike = self.comparisons.iter().all(|c| c.steps == steps);
        let rows = self.comparisons.iter().map(|c| {
            let at = if alike { String::new() } else { format!(" at {}k", c.steps as f64 / 1e3) };
            row(format!("over {}{at}", c.over), self.colour(&c.over), c.improvement)
        });
        let after = if alike { format!(" after {} steps", thousands(steps as f64)) } else { String::new() };
        let caption = format!(
            "The probability that a run of {first} ends better than a run of another team after as many steps, with its 95% \
             bootstrap interval. At 0.5 they are alike."
        );
        let intervals = improvement(format!("How often {first} is better{after}"), rows.collect());
        Some(Figure::intervals(format!("{}-improvement", self.slug), caption, intervals))
    }

    /// The hardest threshold that half of the runs of two teams pass, or of one.
    fn steps(&self) -> Option<Figure> {
        let half = |t: &&TeamPassing| 2 * t.passed >= t.runs;
        let passed_by = |count: usize| {
            self.thresholds
                .iter()
                .rev()
                .find(move |m: &&ThresholdReport| m.teams.iter().filter(half).count() >= count)
        };
        let threshold = passed_by(2).or_else(|| passed_by(1))?;
        let row = |t: &TeamPassing| {
            let budget = t.budget as f64;
            Row {
                name: format!("{} ({}/{})", t.method, t.passed, t.runs),
                colour: self.colour(&t.method),
                low: t.median.low.min(budget),
                estimate: t.median.estimate,
                high: t.median.high.min(budget),
                beyond: if t.median.high > budget { Beyond::Upwards } else { Beyond::Nothing },
            }
        };
        let side = if self.measure.sign() > 0.0 { "above" } else { "below" };
        let goal = format!("{} {side} {}", self.measure.name(), threshold.threshold);
        let caption = format!(
            "Environment steps until the mean of the last training episodes had a {goal}: the median over all runs with \
             its 95% bootstrap interval. In brackets how many runs got there; those that did not count as more than they \
             had, and an arrow says that the interval goes on beyond the budget."
        );
        let intervals = Intervals {
            title: format!("Steps to a {goal}"),
            x_label: "environment steps (median, 95% interval)".into(),
            rows: threshold.teams.iter().map(row).collect(),
            scale: Scale::Log,
            ..Intervals::default()
        };
        Some(Figure::intervals(format!("{}-steps", self.slug), caption, intervals))
    }

    fn profile(&self, after: &After) -> Figure {
        let sign = self.measure.sign();
        let all = || after.teams.iter().flat_map(|t| t.scores.iter().copied());
        let (low, high) = all().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        // How much worse than random a run is tells nothing more.
        let (low, high) = match (self.references.random, sign > 0.0) {
            (Some(random), true) if random < high => (low.max(random), high),
            (Some(random), false) if random > low => (low, high.min(random)),
            _ => (low, high),
        };
        let room = 0.05 * (high - low).max(0.1);
        let place = |i: usize| low - room + (high - low + 2.0 * room) * i as f64 / (PLACES - 1) as f64;
        let places: Vec<f64> = (0..PLACES).map(place).collect();
        let taus: Vec<f64> = places.iter().map(|v| v * sign).collect();
        let series = after.teams.iter().map(|t| {
            let scores: Vec<f64> = t.scores.iter().map(|s| s * sign).collect();
            let points = places.iter().zip(profile(&[&scores], &taus)).map(|(x, i)| point(*x, i)).collect();
            Series { name: t.method.clone(), colour: self.colour(&t.method), points }
        });
        let side = if sign > 0.0 { "above" } else { "below" };
        let steps = thousands(after.steps as f64);
        let caption = format!(
            "Performance profiles after {steps} steps: the part of the runs with a score {side} a value, with 95% bootstrap \
             bands for each value."
        );
        let chart = Chart {
            title: format!("All runs after {steps} steps"),
            x_label: format!("{} x", self.measure.name()),
            y_label: format!("part of the runs {side} x"),
            series: series.collect(),
            y_range: Some((0.0, 1.0)),
            size: [520.0, 200.0],
            ..Chart::default()
        };
        Figure::chart(format!("{}-profile", self.slug), caption, chart)
    }
}

impl Together {
    fn figures(&self) -> Vec<Figure> {
        let colour = |method: &str| {
            let found = equimarl_learn::Method::ALL.into_iter().find(|m| m.name() == method);
            found.map_or(crate::figure::Colour::new(7), crate::figure::Colour::of)
        };
        let names: Vec<String> = self
            .settings
            .iter()
            .map(|(name, steps)| format!("{name} after {} steps", thousands(*steps as f64)))
            .collect();
        let over = names.join("; ");
        // As in a single setting, one that broke down would hide the differences of the others.
        let broken = |t: &TeamTogether| t.iqm.high <= 0.0;
        let any_broken = self.teams.iter().any(broken) && !self.teams.iter().all(broken);
        let of = |t: &TeamTogether| Row {
            beyond: if any_broken && broken(t) { Beyond::All } else { Beyond::Nothing },
            ..row(t.method.clone(), colour(&t.method), t.iqm)
        };
        let means = Intervals {
            title: "All settings with a known optimum".into(),
            x_label: "normalised score: 0 is random, 1 the best possible".into(),
            rows: self.teams.iter().map(of).collect(),
            ..Intervals::default()
        };
        let off = if any_broken {
            " An arrow and a number: a team no better than random, off the axis."
        } else {
            ""
        };
        let caption = format!(
            "The interquartile mean over all runs of all settings ({over}) with its 95% bootstrap interval, runs resampled \
             within each setting.{off}"
        );
        let mut figures = vec![Figure::intervals("all-iqm".into(), caption, means)];
        let rows: Vec<Row> = self
            .teams
            .iter()
            .filter_map(|t| {
                Some(row(format!("over {}", t.method), colour(&t.method), t.improvement_of_first?))
            })
            .collect();
        if let (Some(first), false) = (self.teams.first(), rows.is_empty()) {
            let caption = format!(
                "The probability that a run of {} ends better, as the mean over the settings, with its 95% bootstrap \
                 interval.",
                first.method
            );
            let intervals = improvement(format!("How often {} is better", first.method), rows);
            figures.push(Figure::intervals("all-improvement".into(), caption, intervals));
        }
        let series = self.teams.iter().map(|t| Series {
            name: t.method.clone(),
            colour: colour(&t.method),
            points: self.taus.iter().zip(&t.profile).map(|(x, i)| point(*x, *i)).collect(),
        });
        let chart = Chart {
            title: "All runs of all settings".into(),
            x_label: "normalised score x".into(),
            y_label: "part of the runs above x".into(),
            series: series.collect(),
            y_range: Some((0.0, 1.0)),
            size: [520.0, 200.0],
            ..Chart::default()
        };
        let caption =
            "Performance profiles of the normalised scores, with 95% bootstrap bands for each value.".into();
        figures.push(Figure::chart("all-profile".into(), caption, chart));
        figures
    }
}

fn improvement(title: String, rows: Vec<Row>) -> Intervals {
    Intervals {
        title,
        x_label: "probability of improvement (95% interval)".into(),
        rows,
        lines: vec![Reference::new("alike", 0.5)],
        cover: vec![0.0, 1.0],
        ..Intervals::default()
    }
}

fn row(name: String, colour: crate::figure::Colour, i: Interval) -> Row {
    Row { name, colour, low: i.low, estimate: i.estimate, high: i.high, beyond: Beyond::Nothing }
}

fn point(x: f64, i: Interval) -> Point {
    Point { x, low: i.low, middle: i.estimate, high: i.high }
}

/// A name with a large first letter.
pub(super) fn title(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}
