//! The figures of a report.

use super::by::Over;
use super::score::{After, TeamScore};
use super::setting::SettingReport;
use super::study::Study;
use super::thresholds::{TeamPassing, ThresholdReport};
use super::together::{TeamTogether, Together};
use crate::figure::{Beyond, Chart, Colour, Drawing, Intervals, Point, Reference, Row, Scale, Series};
use crate::statistics::{Interval, profile};
use crate::words::{count, thousands};

/// Places along a performance profile.
const PLACES: usize = 61;

/// A figure with its file name and what is to be said of it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of its files, without the ending.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub caption: String,
    /// What is to be seen.
    pub drawing: Drawing,
}

impl Figure {
    /// The endings of its files.
    pub const ENDINGS: [&'static str; 3] = ["svg", "pdf", "png"];

    /// Its files, in the order of [`Figure::ENDINGS`].
    pub fn files(&self) -> [Vec<u8>; 3] {
        [self.drawing.svg().into_bytes(), self.drawing.pdf(), self.drawing.png()]
    }

    pub(super) fn chart(name: String, caption: String, mut chart: Chart) -> Figure {
        chart.description = caption.clone();
        Figure { name, caption, drawing: chart.drawing() }
    }

    fn intervals(name: String, caption: String, mut intervals: Intervals) -> Figure {
        intervals.description = caption.clone();
        Figure { name, caption, drawing: intervals.drawing() }
    }
}

impl Study {
    /// All figures: those of all settings together first.
    pub fn figures(&self) -> Vec<Figure> {
        let together = self.together.iter().flat_map(Together::figures);
        let by = self.by.iter().flat_map(Over::figures);
        together.chain(by).chain(self.settings.iter().flat_map(SettingReport::figures)).collect()
    }
}

impl SettingReport {
    /// The figures of one setting.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = self.all_curves();
        figures.extend(self.after.iter().rev().map(|a| self.means(a)));
        figures.extend(self.improvement());
        figures.extend(self.steps());
        let all: Vec<&str> = self.teams.iter().map(|t| t.method.as_str()).collect();
        // Where teams have no point in common, it is where most of them are.
        let most = || self.after.iter().max_by_key(|a| (a.teams.len(), a.steps));
        let last = After::telling(&self.after, &all).or_else(most);
        figures.extend(last.map(|a| self.profile(a)));
        figures
    }

    fn means(&self, after: &After) -> Figure {
        // Teams that broke down would stretch the axis until nobody could tell the others apart.
        let sign = self.measure.sign();
        let broken = |t: &TeamScore| {
            let ends = [t.iqm.low, t.iqm.estimate, t.iqm.high].map(|v| v * sign);
            let best = ends.into_iter().fold(f64::MIN, f64::max);
            self.references.random.is_some_and(|random| best <= random * sign)
        };
        let all_broken = after.teams.iter().all(broken);
        let any_broken = after.teams.iter().any(broken) && !all_broken;
        let row = |t: &TeamScore| Row {
            name: t.method.clone(),
            note: format!("{} of {}", t.runs, count(t.of, "run")),
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
            "After {steps} steps: the interquartile mean of the runs' scores with its 95% bootstrap interval, and how \
             many of the runs made so many steps. One run has no interval.{off}"
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
            let at = match alike {
                true => String::new(),
                false => format!("after {} steps, ", thousands(c.steps as f64)),
            };
            let note = format!("{at}{} and {} runs", c.runs[0], c.runs[1]);
            row(format!("over {}", c.over), note, self.colour(&c.over), c.improvement)
        });
        let after = if alike { format!(" after {} steps", thousands(steps as f64)) } else { String::new() };
        let caption = format!(
            "The probability that a run of {first} ends better than a run of another team after as many steps, with its 95% \
             bootstrap interval, and the numbers of runs of both. At 0.5 they are alike."
        );
        let intervals = improvement(format!("How often {first} is better{after}"), rows.collect());
        Some(Figure::intervals(format!("{}-improvement", self.slug), caption, intervals))
    }

    /// The hardest threshold that two teams pass in the median, or one.
    fn steps(&self) -> Option<Figure> {
        let half = |t: &&TeamPassing| t.median.estimate.is_finite();
        let passed_by = |count: usize| {
            self.thresholds
                .iter()
                .rev()
                .find(move |m: &&ThresholdReport| m.teams.iter().filter(half).count() >= count)
        };
        let threshold = passed_by(2).or_else(|| passed_by(1))?;
        let row = |t: &TeamPassing| {
            // Beyond what is known there is an arrow.
            let end = t.more_than.unwrap_or(t.budget as f64);
            let ends = match (t.more_than, t.median.low.is_nan()) {
                (None, true) => [f64::NAN; 2],
                _ => [t.median.low, t.median.high].map(|v| v.min(end)),
            };
            let goes_on = t.more_than.is_some() || t.median.high > end;
            let few = if t.known < t.runs { format!("; {} known", t.known) } else { String::new() };
            Row {
                name: t.method.clone(),
                note: format!("{} of {} passed{few}", t.passed, count(t.runs, "run")),
                colour: self.colour(&t.method),
                low: ends[0],
                estimate: t.median.estimate,
                high: ends[1],
                beyond: if goes_on { Beyond::Upwards } else { Beyond::Nothing },
            }
        };
        let side = if self.measure.sign() > 0.0 { "above" } else { "below" };
        let goal = format!("{} {side} {}", self.measure.name(), threshold.threshold);
        let known = match threshold.teams.iter().any(|t| t.known < t.runs) {
            true => {
                " Known are those that had passed by the median or went on for so long; others ended before, and count until \
                 their end."
            }
            false => "",
        };
        let caption = format!(
            "Environment steps until the mean of the last training episodes had a {goal}: the median over all runs \
             (Kaplan-Meier) with its 95% bootstrap interval, and how many of the runs got there.{known} An arrow says \
             that nobody knows how far it goes on: the runs ended before."
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
            let name = format!("{} ({} of {})", t.method, t.runs, t.of);
            Series { name, colour: self.colour(&t.method), points }
        });
        let side = if sign > 0.0 { "above" } else { "below" };
        let steps = thousands(after.steps as f64);
        let caption = format!(
            "Performance profiles after {steps} steps: the part of the runs with a score {side} a value, with 95% bootstrap \
             bands for each value; in brackets how many of the runs made so many steps."
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
            found.map_or(Colour::new(7), Colour::of)
        };
        let runs = |t: &TeamTogether| {
            let each: Vec<String> = t.runs.iter().map(usize::to_string).collect();
            each.join(" + ")
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
            ..row(t.method.clone(), format!("{} runs", runs(t)), colour(&t.method), t.iqm)
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
             within each setting; below the names the number of runs in each.{off}"
        );
        let mut figures = vec![Figure::intervals("all-iqm".into(), caption, means)];
        let rows: Vec<Row> = self
            .teams
            .iter()
            .filter_map(|t| {
                let note = format!("{} runs", runs(t));
                Some(row(format!("over {}", t.method), note, colour(&t.method), t.improvement_of_first?))
            })
            .collect();
        if let (Some(first), false) = (self.teams.first(), rows.is_empty()) {
            let caption = format!(
                "The probability that a run of {} ends better, as the mean over the settings, with its 95% bootstrap \
                 interval. Below the names the other's runs in each setting; {} has {}.",
                first.method,
                first.method,
                runs(first)
            );
            let intervals = improvement(format!("How often {} is better", first.method), rows);
            figures.push(Figure::intervals("all-improvement".into(), caption, intervals));
        }
        let series = self.teams.iter().map(|t| Series {
            name: format!("{} ({})", t.method, runs(t)),
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
            "Performance profiles of the normalised scores, with 95% bootstrap bands for each value; in brackets the number of \
             runs in each setting."
                .into();
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

fn row(name: String, note: String, colour: Colour, i: Interval) -> Row {
    Row { name, note, colour, low: i.low, estimate: i.estimate, high: i.high, beyond: Beyond::Nothing }
}

fn point(x: f64, i: Interval) -> Point {
    Point { x, low: i.low, middle: i.estimate, high: i.high }
}

/// A name with a large first letter.
pub(super) fn title(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}
