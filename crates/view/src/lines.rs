//! Which runs make one curve: those that differ in nothing but their seed, and of each seed one.
//!
//! Runs that chose learning rates are curves of their own. They were made on other seeds, with rates that nobody would
//! report, and say nothing about how a team learns with its own.

use equimarl_lab::{Record, Setting, one_per_seed};
use equimarl_learn::Method;

/// A run to draw.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub record: &'a Record,
    pub for_choosing: bool,
}

/// A curve: a run, or several of different seeds.
pub(crate) struct Line<'a> {
    pub name: String,
    pub method: Method,
    pub records: Vec<&'a Record>,
}

/// A curve for every run.
pub(crate) fn single<'a>(runs: &[Run<'a>]) -> Vec<Line<'a>> {
    let line = |run: &Run<'a>| {
        let record = run.record;
        Line { name: record.name.clone(), method: record.config.method, records: vec![record] }
    };
    runs.iter().map(line).collect()
}

/// A curve for every team in its setting, and the runs that are left out because another one has their seed.
pub(crate) fn grouped<'a>(runs: &[Run<'a>]) -> (Vec<Line<'a>>, Vec<&'a str>) {
    let (mut lines, mut repeated) = (vec![], vec![]);
    for choosing in [false, true] {
        let records = runs.iter().filter(|run| run.for_choosing == choosing).map(|run| run.record);
        let settings = Setting::all(records);
        let several = settings.len() > 1;
        for setting in &settings {
            // What tells it from others stands after the world's title.
            let own = setting.name.strip_prefix(&setting.world.title).filter(|_| several).unwrap_or_default();
            for team in setting.teams() {
                for (rate, records) in by_rate(&setting.runs_of(&team)) {
                    let shown = one_per_seed(&records);
                    let left = records.iter().filter(|r| !shown.iter().any(|s| std::ptr::eq(*s, **r)));
                    repeated.extend(left.map(|r| r.name.as_str()));
                    let why = if choosing { ", to choose the rate" } else { "" };
                    let name = format!("{}{own}{rate}{why}", team.name());
                    lines.push(Line { name, method: team.method, records: shown });
                }
            }
        }
    }
    (lines, repeated)
}

/// The runs of a team by their learning rate, with its name if there are several.
fn by_rate<'a>(records: &[&'a Record]) -> Vec<(String, Vec<&'a Record>)> {
    let mut rates: Vec<f64> = records.iter().map(|r| r.config.learning_rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let of = |rate: f64| records.iter().copied().filter(move |r| r.config.learning_rate == rate).collect();
    match rates.as_slice() {
        [_] => vec![(String::new(), records.to_vec())],
        many => many.iter().map(|rate| (format!(", rate {rate}"), of(*rate))).collect(),
    }
}
