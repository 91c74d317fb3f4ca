//! Learning curves of runs, in the paper's style.

use super::{Chart, Reference, Series};
use crate::brief::Brief;
use crate::record::{Curve, Record};
use crate::setting::Team;
use crate::words::{count, thousands};
use equimarl_learn::RECENT;
use equimarl_learn::run::RECENT_WAITING;
use equimarl_worlds::{Better, Summary};

/// Places along a curve; more cannot be told apart.
const PLACES: usize = 160;

/// What a learning curve shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// A measure of the world; the return if there is none.
    own: Option<equimarl_worlds::Measure>,
}

impl Measure {
    /// The mean return of the last 100 training episodes: more is better.
    pub const RETURN: Measure = Measure { own: None };

    /// What people look at first in a world.
    pub fn of(world: &Brief) -> Measure {
        Measure { own: world.first.clone() }
    }

    /// Whether it is the return.
    pub fn is_return(&self) -> bool {
        self.own.is_none()
    }

    /// Its name in metrics and summaries.
    pub fn name(&self) -> &str {
        self.own.as_ref().map_or("return", |measure| &measure.name)
    }

    /// Its mean over episodes that were played.
    pub fn of_played(&self, played: &Summary) -> Option<f64> {
        match &self.own {
            None => Some(played.total.mean),
            Some(measure) => played.measures.get(&measure.name).map(|s| s.mean),
        }
    }

    /// 1 if more is better, -1 if less is.
    pub fn sign(&self) -> f64 {
        if self.own.as_ref().is_some_and(|m| m.better == Better::Lower) { -1.0 } else { 1.0 }
    }

    /// In words, for an axis.
    pub fn label(&self) -> String {
        match &self.own {
            None => format!("mean return of the last {RECENT} training episodes"),
            Some(measure) => {
                let better = if self.sign() < 0.0 { "less" } else { "more" };
                format!(
                    "{} of the last {RECENT_WAITING} training episodes ({better} is better)",
                    measure.title
                )
            }
        }
    }

    /// The points of a curve.
    pub fn points(&self, curve: &Curve) -> Vec<(f64, f64)> {
        let values = match &self.own {
            None => curve.returns.as_slice(),
            Some(measure) => curve.measures.get(&measure.name).map_or(&[][..], Vec::as_slice),
        };
        curve.steps.iter().map(|s| *s as f64).zip(values.iter().copied()).collect()
    }

    /// One point more of a curve.
    pub(crate) fn push(&self, curve: &mut Curve, value: f64) {
        match &self.own {
            None => curve.returns.push(value),
            Some(measure) => curve.measures.entry(measure.name.clone()).or_default().push(value),
        }
    }
}

/// Learning curves of runs in one world: a curve per team, the median of its seeds with a band from the first to the third
/// quartile while all of them go on, and thin and dashed where only some do; the legend says how many they are. The lines stand
/// beside them. Callers set title and description.
pub fn learning_curves(records: &[&Record], measure: &Measure, lines: Vec<Reference>) -> Chart {
    curves_along(records, measure, lines, &Along::STEPS)
}

/// What lies along the level axis of learning curves.
#[derive(Clone, Copy)]
pub(crate) struct Along<'a> {
    /// Its name.
    pub label: &'a str,
    /// How much of it a step of a team is, by the team's name; teams of which nobody knows it are left out.
    pub per_step: &'a dyn Fn(&str) -> Option<f64>,
}

impl Along<'_> {
    pub const STEPS: Along<'static> = Along { label: "environment steps", per_step: &|_| Some(1.0) };
}

/// As [`learning_curves`], along something else than steps.
pub(crate) fn curves_along(
    records: &[&Record],
    measure: &Measure,
    lines: Vec<Reference>,
    along: &Along<'_>,
) -> Chart {
    let (mut series, mut thin) = (vec![], vec![]);
    for (team, mut runs) in by_team(records, measure) {
        let Some(each) = (along.per_step)(&team.name()) else { continue };
        runs.iter_mut().flatten().for_each(|point| point.0 *= each);
        let (mut all, rest) = Series::parts(team.name(), team.colour(), &runs, PLACES);
        let fewer = match (rest.iter().map(|r| r.0).min(), rest.iter().map(|r| r.0).max()) {
            (Some(least), Some(most)) if least < most => format!("; thin: {most} to {least}"),
            (Some(count), _) => format!("; thin: {count}"),
            _ => String::new(),
        };
        all.name = format!("{} ({}{fewer})", team.name(), count(runs.len(), "run"));
        series.push(all);
        thin.extend(rest.into_iter().map(|(_, series)| series));
    }
    // What should be small begins at nothing.
    let y_range = (measure.sign() < 0.0).then(|| (0.0, ceiling(&series, &thin, &lines)));
    Chart {
        x_label: along.label.into(),
        y_label: measure.label(),
        series,
        thin,
        lines,
        y_range,
        ..Chart::default()
    }
}

/// The points of several runs.
type Runs = Vec<Vec<(f64, f64)>>;

/// The curves of each team that has any.
fn by_team(records: &[&Record], measure: &Measure) -> Vec<(Team, Runs)> {
    let of = |team: Team| {
        let own = records.iter().filter(|r| r.team() == team).map(|r| measure.points(&r.curve));
        let runs: Runs = own.filter(|points| !points.is_empty()).collect();
        (team, runs)
    };
    let teams = Team::all(records.iter().copied()).into_iter().map(of);
    teams.filter(|(_, runs)| !runs.is_empty()).collect()
}

/// How far the runs of each team go, in words, if not all go as far: "plain: 5 runs up to 6,000 steps, 1 up to 60,000".
pub(crate) fn lengths(records: &[&Record], measure: &Measure) -> Vec<String> {
    let mut found = vec![];
    for (team, runs) in by_team(records, measure) {
        let mut ends: Vec<u64> = runs.iter().filter_map(|r| Some(r.last()?.0 as u64)).collect();
        ends.sort_unstable();
        let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else { continue };
        let longest = ends.iter().filter(|e| **e == last).count();
        let steps = |n: u64| thousands(n as f64);
        let then = match ends.iter().all(|e| *e == first || *e == last) {
            _ if first == last => continue,
            true => format!("{longest} up to {}", steps(last)),
            false => format!("then fewer and fewer, {longest} up to {}", steps(last)),
        };
        found.push(format!(
            "{}: {} up to {} steps, {then}",
            team.name(),
            count(ends.len(), "run"),
            steps(first)
        ));
    }
    found
}

/// How high what should be small is shown: all medians and lines, and bands unless they tower over them.
fn ceiling(series: &[Series], thin: &[Series], lines: &[Reference]) -> f64 {
    let points = || series.iter().flat_map(|s| &s.points);
    let highest =
        |values: &mut dyn Iterator<Item = f64>| values.filter(|v| v.is_finite()).fold(0.0, f64::max);
    let medians = points().chain(thin.iter().flat_map(|s| &s.points)).map(|p| p.middle);
    let middle = highest(&mut medians.chain(lines.iter().map(|l| l.value)));
    let band = highest(&mut points().map(|p| p.high));
    let top = middle.max(band.min(1.5 * middle));
    if top > 0.0 { top * 1.05 } else { 1.0 }
}
