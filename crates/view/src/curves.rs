//! Curves of chosen runs, and what sets two runs apart.

use crate::asked::{Fields, needed};
use crate::error::{Answer, Refusal};
use crate::lines::{Line, Run, grouped, single};
use crate::runs::Runs;
use equimarl_lab::figure::{Chart, Colour, Measure, Reference, Series};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most runs in one figure.
const MOST: usize = 200;
/// Places along a curve of several seeds.
const PLACES: usize = 160;
const MAX_SMOOTH: u64 = 100;

/// Which curves to draw, and how.
#[derive(Debug)]
pub(crate) struct Ask {
    runs: Vec<String>,
    /// One curve per team in its setting: the median of its seeds, with quartiles.
    group: bool,
    /// How many points are averaged.
    smooth: usize,
    /// The width of the picture.
    width: f64,
}

impl Ask {
    /// Reads a request.
    pub fn of(mut fields: Fields) -> Answer<Ask> {
        let name = |value: &Value| value.as_str().map(String::from);
        let width = fields.number("width")?.filter(|w| w.is_finite()).unwrap_or(640.0);
        let ask = Ask {
            runs: needed("runs", fields.list("runs", "runs, by their names", name)?)?,
            group: fields.flag("group")?,
            smooth: fields.whole("smooth", u64::MAX)?.map_or(1, |n| n.clamp(1, MAX_SMOOTH) as usize),
            width: width.clamp(280.0, 1600.0),
        };
        fields.done()?;
        match ask.runs.len() {
            n if n > MOST => {
                Err(Refusal::bad(format!("at most {MOST} runs fit into a figure, and {n} are asked for")))
            }
            _ => Ok(ask),
        }
    }
}

/// One figure per world, as SVG for the page. Runs that vanished meanwhile are left out.
pub(crate) fn draw(runs: &Runs, ask: &Ask) -> Answer<Value> {
    let read: Vec<_> = ask.runs.iter().map(|id| (id, runs.record(id))).collect();
    let (mut worlds, mut missing) = (BTreeMap::<&str, Vec<Run<'_>>>::new(), vec![]);
    for (id, found) in &read {
        match found
            .as_ref()
            .and_then(|(read, for_choosing)| Some((read.as_ref().as_ref().ok()?, *for_choosing)))
        {
            Some((record, for_choosing)) => {
                worlds.entry(&record.world.label).or_default().push(Run { record, for_choosing });
            }
            None => missing.push(id),
        }
    }
    let figures: Vec<Value> = worlds.iter().map(|(world, runs)| figure(world, runs, ask)).collect();
    Ok(json!({ "figures": figures, "missing": missing }))
}

fn figure(world: &str, runs: &[Run<'_>], ask: &Ask) -> Value {
    let (lines, repeated) = if ask.group { grouped(runs) } else { (single(runs), vec![]) };
    let chart = chart(world, runs, &lines, ask);
    json!({ "world": world, "svg": chart.inline(), "description": chart.description, "repeated": repeated })
}

fn chart(world: &str, runs: &[Run<'_>], lines: &[Line<'_>], ask: &Ask) -> Chart {
    let measure = runs.first().map_or(Measure::RETURN, |r| Measure::of(&r.record.world));
    let distinct = (0..lines.len()).all(|i| lines[..i].iter().all(|l| l.method != lines[i].method));
    let (mut series, mut thin, mut ends): (Vec<Series>, Vec<Series>, Vec<String>) = Default::default();
    let end = |s: &Series| s.points.last().map(|p| format!("{:.3}", p.middle));
    for (i, line) in lines.iter().enumerate() {
        let curves: Vec<Vec<(f64, f64)>> = line.records.iter().map(|r| measure.points(&r.curve)).collect();
        // A method keeps its colour where colours can tell methods apart.
        let colour = if distinct { Colour::of(line.method) } else { Colour::new(i) };
        match curves.as_slice() {
            [one] => {
                let one = Series::line(line.name.clone(), colour, one.iter().copied()).smoothed(ask.smooth);
                ends.extend(end(&one).map(|at| format!("{} ends at {at}", one.name)));
                series.push(one);
            }
            many => {
                // Where only some of the seeds go on, the curve is thin: it stands on other runs than before.
                let name = format!("{} ({} seeds)", line.name, many.len());
                let (all, rest) = Series::parts(name, colour, many, PLACES);
                let all = all.smoothed(ask.smooth);
                let mut said =
                    format!("{} ends at {}", all.name, end(&all).unwrap_or("no common step".into()));
                for (count, part) in rest {
                    let part = part.smoothed(ask.smooth);
                    let goes_on = end(&part).map(|at| format!(", {count} of {} at {at}", many.len()));
                    said += &goes_on.unwrap_or_default();
                    thin.push(part);
                }
                ends.push(said);
                series.push(all);
            }
        }
    }
    let best = runs.iter().find_map(|r| r.record.optimum());
    Chart {
        title: world.into(),
        description: ends.join("; "),
        x_label: "environment steps".into(),
        y_label: measure.label(),
        lines: best.map(|b| Reference::new("best possible", b)).into_iter().collect(),
        series,
        thin,
        size: [ask.width, (ask.width * 0.42).clamp(180.0, 340.0)],
        ..Chart::default()
    }
}

/// The settings of two runs side by side: those that differ, and how many are the same.
pub(crate) fn difference(runs: &Runs, a: &str, b: &str) -> Answer<Value> {
    let config = |id: &str| -> Answer<BTreeMap<String, Value>> {
        let (found, _) = runs.record(id).ok_or_else(|| Refusal::unknown("there is no such run"))?;
        let record = found.as_ref().as_ref().map_err(Refusal::impossible)?;
        let mut flat = BTreeMap::new();
        flatten("", &serde_json::to_value(&record.config).map_err(Refusal::impossible)?, &mut flat);
        Ok(flat)
    };
    let (a, b) = (config(a)?, config(b)?);
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let (same, differ): (Vec<&String>, Vec<&String>) = keys.into_iter().partition(|k| a.get(*k) == b.get(*k));
    let rows: Vec<Value> =
        differ.iter().map(|k| json!({ "key": k, "a": a.get(*k), "b": b.get(*k) })).collect();
    Ok(json!({ "differ": rows, "same": same.len() }))
}

fn flatten(name: &str, value: &Value, flat: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, flat);
            }
        }
        value => {
            flat.insert(name.into(), value.clone());
        }
    }
}
