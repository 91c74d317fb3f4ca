//! Curves of chosen runs, and what sets two runs apart.

use crate::error::{Answer, Refusal};
use crate::runs::Runs;
use equimarl_lab::Record;
use equimarl_lab::figure::{Chart, Colour, Measure, Reference, Series};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most runs in one figure.
const MOST: usize = 200;
/// Places along a curve of several seeds.
const PLACES: usize = 160;
const MAX_SMOOTH: usize = 100;

/// Which curves to draw, and how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    runs: Vec<String>,
    /// One curve per setting: the median of its seeds, with quartiles.
    #[serde(default)]
    group: bool,
    /// How many points are averaged.
    #[serde(default)]
    smooth: usize,
    /// The width of the picture.
    #[serde(default)]
    width: Option<f64>,
}

/// One figure per world, as SVG for the page. Runs that vanished meanwhile are left out.
pub(crate) fn draw(runs: &Runs, ask: &Ask) -> Answer<Value> {
    if ask.runs.len() > MOST {
        return Err(Refusal::bad(format!(
            "at most {MOST} runs fit into a figure, and {} are asked for",
            ask.runs.len()
        )));
    }
    let width = ask.width.filter(|w| w.is_finite()).unwrap_or(640.0).clamp(280.0, 1600.0);
    let (mut worlds, mut missing) = (BTreeMap::<String, Vec<Arc<_>>>::new(), vec![]);
    for id in &ask.runs {
        match runs.record(id) {
            Some(found) => match &*found {
                Ok(record) => worlds.entry(record.world.label.clone()).or_default().push(found.clone()),
                Err(_) => missing.push(id),
            },
            None => missing.push(id),
        }
    }
    let figure = |(world, found): (&String, &Vec<Arc<std::result::Result<Record, String>>>)| {
        let records: Vec<&Record> = found.iter().filter_map(|r| r.as_ref().as_ref().ok()).collect();
        let chart = chart(world, &records, ask, width);
        json!({ "world": world, "svg": chart.inline(), "description": chart.description })
    };
    let figures: Vec<Value> = worlds.iter().map(figure).collect();
    Ok(json!({ "figures": figures, "missing": missing }))
}

fn chart(world: &str, records: &[&Record], ask: &Ask, width: f64) -> Chart {
    let measure = records.first().map_or(Measure::RETURN, |r| Measure::of(&r.world));
    let mut groups: Vec<(String, Vec<&Record>)> = vec![];
    for record in records {
        let name = if ask.group { interface(record, records) } else { record.name.clone() };
        match groups.iter_mut().find(|g| g.0 == name) {
            Some(group) => group.1.push(record),
            None => groups.push((name, vec![record])),
        }
    }
    let methods: Vec<_> = groups.iter().map(|g| g.1[0].config.method).collect();
    let distinct = (0..methods.len()).all(|i| !methods[..i].contains(&methods[i]));
    let series = groups.iter().enumerate().map(|(i, (name, group))| {
        let runs: Vec<Vec<(f64, f64)>> = group.iter().map(|r| measure.points(&r.curve)).collect();
        // A method keeps its colour where colours can tell methods apart.
        let colour = if distinct { Colour::of(methods[i]) } else { Colour::new(i) };
        let seeds = if runs.len() > 1 { format!(" ({} seeds)", runs.len()) } else { String::new() };
        let series = match runs.as_slice() {
            [one] => Series::line(name.clone(), colour, one.iter().copied()),
            many => Series::quartiles(format!("{name}{seeds}"), colour, many, PLACES),
        };
        series.smoothed(ask.smooth.clamp(1, MAX_SMOOTH))
    });
    let series: Vec<Series> = series.collect();
    let best = records.iter().find_map(|r| r.optimum());
    let ends =
        series.iter().filter_map(|s| Some(format!("{} ends at {:.3}", s.name, s.points.last()?.middle)));
    Chart {
        title: world.into(),
        description: ends.collect::<Vec<_>>().join("; "),
        x_label: "environment steps".into(),
        y_label: measure.label(),
        lines: best.map(|b| Reference::new("best possible", b)).into_iter().collect(),
        series,
        size: [width, (width * 0.42).clamp(180.0, 340.0)],
        ..Chart::default()
    }
}

/// What runs that differ only in their seed have in common: the method, and what else sets it apart from the others.
fn interface(record: &Record, all: &[&Record]) -> String {
    let config = &record.config;
    let mut name = config.method.to_string();
    let differs = |of: &dyn Fn(&Record) -> String| all.iter().any(|r| of(r) != of(record));
    if differs(&|r| r.config.group.clone()) {
        name += &format!(", {}", config.group);
    }
    if differs(&|r| r.config.learning_rate.to_string()) {
        name += &format!(", rate {}", config.learning_rate);
    }
    if differs(&|r| r.config.preset.clone()) {
        name += &format!(", {} preset", config.preset);
    }
    name
}

/// The settings of two runs side by side: those that differ, and how many are the same.
pub(crate) fn difference(runs: &Runs, a: &str, b: &str) -> Answer<Value> {
    let config = |id: &str| -> Answer<BTreeMap<String, Value>> {
        let found = runs.record(id).ok_or_else(|| Refusal::unknown("there is no such run"))?;
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
