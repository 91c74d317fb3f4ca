//! A sweep file: which runs to make. Any setting may be a list, and every combination becomes a run.
//!
//! ```toml
//! name = "quick"
//! preset = "paper"             # what the settings start from
//! kept = "../docs/results"     # optional: finished runs are kept here, and not made again
//! seed_by_seed = true          # optional: all blocks with the first seed, then all with the next; else block by block
//!
//! [settings]                   # of all runs
//! evaluate_every = 0
//!
//! [[grid]]                     # one block or several
//! method = ["equivariant", "plain"]
//! learning_rate = [3e-4, 1e-3]
//! seed = "1-10"                # the same as [1, 2, ..., 10]
//! steps = 20000
//! world = { name = "wildlife", drones = 3 }
//! ```

use crate::error::{Error, Result};
use equimarl_learn::{Method, TrainConfig};
use equimarl_worlds::{Registry, WorldConfig};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// More runs than anybody means.
const MOST: usize = 1_000_000;

/// A sweep: its name and its runs in a fixed order.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The name, which its kept results have, too.
    pub name: String,
    /// Where finished runs are kept, if anywhere.
    pub kept: Option<PathBuf>,
    /// The runs; a run's index is its place.
    pub runs: Vec<Planned>,
    /// The file's content with `kept` made absolute.
    pub text: String,
}

/// A run to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Its name, and its folder's.
    pub name: String,
    /// Its settings.
    pub config: TrainConfig,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default = "paper")]
    preset: String,
    kept: Option<PathBuf>,
    #[serde(default)]
    seed_by_seed: bool,
    #[serde(default)]
    settings: Table,
    grid: Vec<Table>,
}

fn paper() -> String {
    "paper".into()
}

impl Sweep {
    /// Reads a sweep file.
    ///
    /// # Errors
    /// If it cannot be read, a setting is wrong, or two runs would be the same.
    pub fn read(registry: &Registry, path: &Path) -> Result<Sweep> {
        let text = fs::read_to_string(path).map_err(|e| Error::file(path, e))?;
        let home = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Sweep::parse(registry, &text, home).map_err(|e| Error::Bad(format!("{}: {e}", path.display())))
    }

    /// Reads the text of a sweep file that lies in the folder `home`.
    ///
    /// # Errors
    /// As [`Sweep::read`].
    pub fn parse(registry: &Registry, text: &str, home: &Path) -> Result<Sweep> {
        let bad = |e: toml::de::Error| Error::Bad(one_line(e.message()));
        let mut table: Table = text.parse().map_err(bad)?;
        if table.get("grid").is_some_and(Value::is_table) {
            return Err(Error::Bad("[grid] is one table where a list is meant; write [[grid]]".into()));
        }
        let file: File = table.clone().try_into().map_err(bad)?;
        if !file.name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !file.name.chars().all(plain_letter)
        {
            return Err(Error::Bad(format!(
                "`name` is `{}`; letters, digits, `-`, `_` and `.` make a name, and it begins with a letter or digit",
                file.name
            )));
        }
        let kept = match &file.kept {
            None => None,
            Some(kept) => {
                let kept = std::path::absolute(home.join(kept)).map_err(|e| Error::file(kept, e))?;
                table.insert("kept".into(), Value::String(kept.display().to_string()));
                Some(kept)
            }
        };
        if file.grid.is_empty() {
            return Err(Error::Bad("there is no [[grid]], so there is nothing to run".into()));
        }
        let mut runs = vec![];
        for (i, block) in file.grid.iter().enumerate() {
            let found = expand(registry, &file.preset, &file.settings, block);
            runs.extend(found.map_err(|e| Error::Bad(format!("[[grid]] {}: {e}", i + 1)))?);
        }
        if file.seed_by_seed {
            // A stable sort: with each seed the blocks stay in their order.
            runs.sort_by_key(|config| config.seed);
        }
        let runs = named(registry, runs)?;
        Ok(Sweep { name: file.name, kept, runs, text: table.to_string() })
    }

    /// The same sweep without a folder for results: nothing counts as made before, and nothing is kept.
    pub fn without_kept(mut self) -> Sweep {
        self.kept = None;
        if let Ok(mut table) = self.text.parse::<Table>() {
            table.remove("kept");
            self.text = table.to_string();
        }
        self
    }
}

fn plain_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Messages of the TOML reader may have several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All combinations of a block. Seeds change last, so that a sweep that stops early has all methods.
fn expand(registry: &Registry, preset: &str, settings: &Table, block: &Table) -> Result<Vec<TrainConfig>> {
    let mut all = settings.clone();
    all.extend(block.clone());
    let mut axes: Vec<(String, Vec<Value>)> = vec![];
    for (key, value) in all {
        let values = match value {
            Value::String(text) if key == "seed" => {
                seeds(&text)?.into_iter().map(|seed| Value::Integer(seed.cast_signed())).collect()
            }
            Value::Array(values) => values,
            value => vec![value],
        };
        if values.is_empty() {
            return Err(Error::Bad(format!("`{key}` is an empty list")));
        }
        axes.push((key, values));
    }
    // A stable sort: other axes stay in the order of their names.
    axes.sort_by_key(|(key, _)| match key.as_str() {
        "seed" => 0,
        "world" => 1,
        "method" => 3,
        _ => 2,
    });
    let count = axes.iter().try_fold(1usize, |n, (_, values)| n.checked_mul(values.len()));
    let Some(count) = count.filter(|n| *n <= MOST) else {
        return Err(Error::Bad(format!("this makes more than {MOST} runs")));
    };
    (0..count).map(|index| resolve(registry, preset, &pick(&axes, index))).collect()
}

/// The combination with this number; the last axis changes fastest.
fn pick(axes: &[(String, Vec<Value>)], mut index: usize) -> Table {
    let mut chosen = Table::new();
    for (key, values) in axes.iter().rev() {
        chosen.insert(key.clone(), values[index % values.len()].clone());
        index /= values.len();
    }
    chosen
}

/// Reads `1-10`, `7` or `1-3, 8, 10-12`.
///
/// # Errors
/// If that is no list of seeds, or one of more than a sweep may have.
pub fn seeds(text: &str) -> Result<Vec<u64>> {
    let wrong = || Error::Bad(format!("cannot read the seeds `{text}`; write for example 1-10 or 1,5,9"));
    let mut seeds = vec![];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number =
            |t: &str| t.trim().parse::<i64>().ok().and_then(|n| u64::try_from(n).ok()).ok_or_else(wrong);
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last - first >= MOST as u64 {
            return Err(wrong());
        }
        seeds.extend(first..=last);
    }
    Ok(seeds)
}

/// Settings of one run: the preset for its world and method, then everything else.
fn resolve(registry: &Registry, preset: &str, chosen: &Table) -> Result<TrainConfig> {
    let mut rest = chosen.clone();
    let method: Method = match rest.remove("method") {
        None => Method::Equivariant,
        Some(Value::String(name)) => name.parse().map_err(|e| Error::Bad(format!("{e}")))?,
        Some(other) => return Err(Error::Bad(format!("`method` must be a name, not {other}"))),
    };
    let world = world(registry, rest.get("world"))?;
    let base = TrainConfig::preset(registry, preset, world, method)?;
    let mut config = TrainConfig::overlay(registry, &base, &rest.to_string())?;
    if !rest.contains_key("group") {
        // The size may have changed what symmetry there is.
        config.group = equimarl_learn::usual_group(registry, &config.world, method)?;
    }
    Ok(config)
}

fn world(registry: &Registry, value: Option<&Value>) -> Result<WorldConfig> {
    // The first world is the one that is meant where none is named.
    let first = registry.names().first().copied().unwrap_or_default();
    let name = match value {
        None => first,
        Some(Value::Table(table)) => table.get("name").and_then(Value::as_str).unwrap_or(first),
        Some(other) => {
            return Err(Error::Bad(format!(
                "`world` is {other}; write a table such as {{ name = \"{first}\" }}"
            )));
        }
    };
    Ok(registry.usual(name).map_err(equimarl_learn::Error::from)?)
}

/// Names that tell runs apart: world, method, learning rate and seed, and whatever else differs within the sweep and is
/// not the preset's.
fn named(registry: &Registry, configs: Vec<TrainConfig>) -> Result<Vec<Planned>> {
    let table = |config: &TrainConfig| Table::try_from(config).unwrap_or_default();
    let usual = ["method", "learning_rate", "seed", "world", "preset", "group"];
    let tables: Vec<Table> = configs.iter().map(table).collect();
    let first = tables.first().cloned().unwrap_or_default();
    let varying: Vec<&String> = first
        .iter()
        .filter(|(key, value)| {
            !usual.contains(&key.as_str()) && tables.iter().any(|t| t.get(*key) != Some(value))
        })
        .map(|(key, _)| key)
        .collect();
    let mut runs = vec![];
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, (config, chosen)) in configs.into_iter().zip(&tables).enumerate() {
        let mut name =
            format!("{}-{}-{}", registry.label(&config.world), config.method, config.learning_rate);
        let preset =
            table(&TrainConfig::preset(registry, &config.preset, config.world.clone(), config.method)?);
        if preset.get("group").and_then(Value::as_str) != Some(&config.group) {
            name += &format!("-{}", config.group);
        }
        for key in &varying {
            if let Some(value) = chosen.get(*key).filter(|value| preset.get(*key) != Some(value)) {
                name += &format!("-{key}-{}", value.to_string().replace('"', ""));
            }
        }
        name += &format!("-{}", config.seed);
        let name: String = name.chars().map(|c| if plain_letter(c) { c } else { '_' }).collect();
        if let Some(before) = seen.insert(name.clone(), index) {
            return Err(Error::Bad(format!(
                "runs {before} and {index} are both called `{name}`: the grid names the same run twice"
            )));
        }
        runs.push(Planned { name, config });
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_worlds::builtin;

    fn parse(text: &str) -> Result<Sweep> {
        Sweep::parse(&builtin(), text, Path::new("."))
    }

    #[test]
    fn every_combination_is_a_run_and_seeds_change_last() {
        let sweep = parse(
            "name = 'a'\n[settings]\nevaluate_every = 0\n[[grid]]\nmethod = ['equivariant', 'plain']\n\
             learning_rate = [3e-4, 1e-3]\nseed = '1-2'\nsteps = 400\nworld = { name = 'wildlife', drones = 4 }",
        )
        .unwrap();
        let names: Vec<&str> = sweep.runs.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names.len(), 8);
        assert_eq!(names[0], "wildlife-4-equivariant-0.0003-1");
        assert_eq!(names[1], "wildlife-4-plain-0.0003-1");
        assert_eq!(names[2], "wildlife-4-equivariant-0.001-1");
        assert_eq!(names[7], "wildlife-4-plain-0.001-2");
        let config = &sweep.runs[7].config;
        assert_eq!((config.steps, config.evaluate_every, config.seed), (400, 0, 2));
        assert_eq!(config.preset, "paper");
    }

    #[test]
    fn a_sweep_goes_seed_by_seed_if_it_is_asked_to() {
        let text = "name = 'a'\nseed_by_seed = true\n[[grid]]\nmethod = 'plain'\nseed = '1-2'\n\
                    [[grid]]\nlearning_rate = 3e-4\nseed = '1-2'";
        let sweep = parse(text).unwrap();
        let order = |sweep: &Sweep| -> Vec<(u64, String)> {
            sweep.runs.iter().map(|run| (run.config.seed, run.config.method.to_string())).collect()
        };
        let expected = [(1, "plain"), (1, "equivariant"), (2, "plain"), (2, "equivariant")];
        assert_eq!(order(&sweep), expected.map(|(seed, method)| (seed, method.to_string())));
        assert_eq!(order(&parse(&sweep.text).unwrap()), order(&sweep));
        let blocks = parse(&text.replace("seed_by_seed = true", "")).unwrap();
        assert_eq!(blocks.runs.iter().map(|run| run.config.seed).collect::<Vec<_>>(), [1, 2, 1, 2]);
    }

    #[test]
    fn other_settings_that_differ_stand_in_the_name() {
        let sweep = parse("name = 'a'\n[[grid]]\nlambda = [0.9, 1.0]\nworld = {name = 'traffic'}").unwrap();
        assert_eq!(sweep.runs[0].name, "traffic-2x2-equivariant-0.0001-lambda-0.9-0");
    }

    #[test]
    fn worlds_of_other_sizes_are_other_runs() {
        let text = "name = 'a'\n[[grid]]\nworld = [{name = 'wildlife', grid = 5}, {name = 'wildlife'}]";
        let names: Vec<String> = parse(text).unwrap().runs.into_iter().map(|r| r.name).collect();
        assert_eq!(names, ["wildlife-3-5x5-equivariant-0.001-0", "wildlife-3-equivariant-0.001-0"]);
    }

    #[test]
    fn a_subgroup_is_what_is_left_in_each_world() {
        let sweep = parse(
            "name = 'a'\n[[grid]]\nmethod = 'subgroup'\n\
             world = [{name = 'wildlife', wind = 0.4}, {name = 'traffic', tilt = 0.4}, {name = 'wildlife'}]",
        );
        let groups: Vec<String> = sweep.unwrap().runs.into_iter().map(|run| run.config.group).collect();
        assert_eq!(groups, ["matrix[-1 0, 0 1]", "C2", "C4"]);
    }

    #[test]
    fn a_sweep_reads_its_own_copy() {
        let text = "name = 'a'\nkept = 'x'\n[[grid]]\nseed = '1-3'";
        let sweep = Sweep::parse(&builtin(), text, Path::new("/tmp/there")).unwrap();
        assert_eq!(sweep.kept.as_deref(), Some(Path::new("/tmp/there/x")));
        let again = Sweep::parse(&builtin(), &sweep.text, Path::new("/elsewhere")).unwrap();
        assert_eq!((&again.kept, &again.runs), (&sweep.kept, &sweep.runs));
        let without = again.without_kept();
        assert_eq!(
            (without.kept, Sweep::parse(&builtin(), &without.text, Path::new(".")).unwrap().kept),
            (None, None)
        );
        assert_eq!(without.runs, sweep.runs);
    }

    #[test]
    fn bad_sweeps_say_what_is_wrong() {
        for (text, part) in [
            ("", "missing field `name`"),
            ("name = 'a/b'\n[[grid]]\n", "`name` is `a/b`"),
            ("name = '..'\n[[grid]]\n", "`name` is `..`"),
            ("name = 'a'\n[grid]\nseed = 1", "write [[grid]]"),
            ("name = 'a'\ngrid = []", "nothing to run"),
            ("name = 'a'\ngrdi = 1\n[[grid]]\n", "unknown field `grdi`"),
            ("name = 'a'\n[[grid]]\nmethod = 'magic'", "magic"),
            ("name = 'a'\n[[grid]]\nmethod = 3", "`method` must be a name"),
            ("name = 'a'\n[[grid]]\nlearning_rte = 3", "did you mean `learning_rate`?"),
            ("name = 'a'\n[[grid]]\nseed = [1, 1]", "runs 0 and 1 are both called"),
            ("name = 'a'\n[[grid]]\nseed = '5-1'", "cannot read the seeds `5-1`"),
            ("name = 'a'\n[[grid]]\nseed = []", "`seed` is an empty list"),
            ("name = 'a'\n[[grid]]\nseed = '1-1000000'\nclip = [0.1, 0.2]", "more than 1000000 runs"),
            ("name = 'a'\n[[grid]]\nworld = 'wildlife'", "write a table"),
            ("name = 'a'\n[[grid]]\nworld = {name = 'chess'}", "chess"),
            ("name = 'a'\npreset = 'fast'\n[[grid]]\n", "no preset is called `fast`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
