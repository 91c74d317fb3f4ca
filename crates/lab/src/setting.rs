//! What runs have in common: the setting that they were made in, and the team that was trained.

use crate::brief::Brief;
use crate::figure::Colour;
use crate::record::{Record, State};
use equimarl_learn::{AugmentRatio, Augmentation, Method, TrainConfig};
use equimarl_worlds::WorldConfig;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Settings that do not make a run another kind of run: what is compared, and how often files are written.
const FREE: [&str; 11] = [
    "method",
    "group",
    "augment_ratio",
    "penalty",
    "seed",
    "steps",
    "learning_rate",
    "evaluate_every",
    "evaluate_episodes",
    "checkpoint_every",
    "log_every",
];

/// Runs that can be compared: the same world, and the same settings but for method, learning rate, seed and budget.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// Its name, as in "wildlife, 3 drones".
    pub name: String,
    /// The world.
    pub world: Brief,
    /// Its settings.
    pub config: WorldConfig,
    /// What its runs share besides the world, as TOML.
    pub rules: String,
    /// The runs.
    pub runs: Vec<&'a Record>,
}

impl<'a> Setting<'a> {
    /// Sorts runs into settings, by the order of their names.
    pub fn all(records: impl IntoIterator<Item = &'a Record>) -> Vec<Setting<'a>> {
        let mut kinds: BTreeMap<(String, String), Vec<&Record>> = BTreeMap::new();
        for record in records {
            kinds
                .entry((record.world.title.clone(), fixed(&record.config).to_string()))
                .or_default()
                .push(record);
        }
        let tables: Vec<(String, Table)> =
            kinds.iter().map(|((name, _), runs)| (name.clone(), fixed(&runs[0].config))).collect();
        let named = |(i, ((name, _), runs)): (usize, ((String, String), Vec<&'a Record>))| {
            let alike: Vec<&Table> = tables.iter().filter(|t| t.0 == name).map(|t| &t.1).collect();
            let name = name + &differences(runs[0], &tables[i].1, &alike);
            let (world, config) = (runs[0].world.clone(), runs[0].config.world.clone());
            let mut rules = tables[i].1.clone();
            rules.remove("world");
            Setting { name, world, config, rules: rules.to_string(), runs }
        };
        kinds.into_iter().enumerate().map(named).collect()
    }

    /// The teams that were trained in it, in the order of methods.
    pub fn teams(&self) -> Vec<Team> {
        Team::all(self.runs.iter().copied())
    }

    /// The runs of one team.
    pub fn runs_of(&self, team: &Team) -> Vec<&'a Record> {
        self.runs.iter().copied().filter(|r| r.team() == *team).collect()
    }

    /// A name for files: letters, digits and dashes.
    pub fn slug(&self) -> String {
        slug(&self.name)
    }
}

/// A name for files: letters, digits and dashes.
pub(crate) fn slug(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let dashed: String = name.chars().map(letter).collect();
    dashed.split('-').filter(|p| !p.is_empty()).collect::<Vec<_>>().join("-")
}

/// Of runs that share everything that matters but the budget, one of each seed: one that has ended before others, the longest
/// before others. A run and its shorter twin are the same numbers twice.
pub fn one_per_seed<'a>(runs: &[&'a Record]) -> Vec<&'a Record> {
    let mut order: Vec<(usize, &Record)> = runs.iter().copied().enumerate().collect();
    let worth = |r: &Record| (r.state != State::Unfinished, r.config.steps);
    order.sort_by_key(|(_, r)| Reverse(worth(r)));
    let mut seen = BTreeSet::new();
    order.retain(|(_, r)| seen.insert(r.config.seed));
    order.sort_by_key(|(i, _)| *i);
    order.into_iter().map(|(_, r)| r).collect()
}

/// What full augmentation is called that is weighted as it should be.
const ROLLOUT: &str = "rollout ratio";

/// What was trained: a method, and the symmetry that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// How it learns.
    pub method: Method,
    /// What it is called besides its method, if it is not the usual one: its group, its way of augmentation.
    pub variant: String,
}

impl Team {
    /// The team that these settings train; `usual` is the symmetry that teams of this world usually get.
    pub fn of(config: &TrainConfig, usual: &str) -> Team {
        let mut variant: Vec<String> = vec![];
        if config.method.uses_symmetry() && config.group != usual {
            variant.push(config.group.clone());
        }
        if config.method == Method::Relaxed {
            variant.push(format!("penalty {}", config.penalty));
        }
        if config.method.augmentation() == Augmentation::Full && config.augment_ratio == AugmentRatio::Rollout
        {
            variant.push(ROLLOUT.into());
        }
        Team { method: config.method, variant: variant.join(", ") }
    }

    /// The teams of some runs, in the order of methods; the usual one of a method first.
    pub fn all<'a>(runs: impl IntoIterator<Item = &'a Record>) -> Vec<Team> {
        let mut teams: Vec<Team> = vec![];
        for record in runs {
            let team = record.team();
            if !teams.contains(&team) {
                teams.push(team);
            }
        }
        Team::sort(&mut teams);
        teams
    }

    /// Puts teams in the order of methods; the usual one of a method first.
    pub(crate) fn sort(teams: &mut [Team]) {
        teams.sort_by_key(|t| (Method::ALL.iter().position(|m| *m == t.method), t.variant.clone()));
    }

    /// The method, and what is unusual about it.
    pub fn name(&self) -> String {
        match self.variant.as_str() {
            "" => self.method.to_string(),
            variant => format!("{} ({variant})", self.method),
        }
    }

    /// The method's colour; variants take others.
    pub fn colour(&self) -> Colour {
        match (self.method, self.variant.as_str()) {
            // These are never without a variant.
            (Method::Subgroup | Method::Relaxed, _) | (_, "") => Colour::of(self.method),
            (_, ROLLOUT) => Colour::new(7),
            (method, group) => Colour::of_group(method, group),
        }
    }
}

impl Record {
    /// The team that was trained.
    pub fn team(&self) -> Team {
        Team::of(&self.config, &self.world.usual_group)
    }
}

fn fixed(config: &TrainConfig) -> Table {
    free_of(Table::try_from(config).unwrap_or_default())
}

fn free_of(mut table: Table) -> Table {
    table.retain(|key, _| !FREE.contains(&key));
    table
}

/// What tells this setting from others in the same world: its preset, if there are several; and what differs from that preset, or
/// from others of the same.
fn differences(record: &Record, own: &Table, alike: &[&Table]) -> String {
    let preset = |t: &&&Table| t.get("preset") == own.get("preset");
    let mut same: Vec<Table> = alike.iter().filter(preset).map(|t| (*t).clone()).collect();
    let several = same.len() < alike.len();
    same.extend(record.preset.iter().map(|preset| free_of((**preset).clone())));
    let differs = |key: &&String| same.iter().any(|t| t.get(*key) != own.get(*key));
    let value = |key: &String| match &own[key] {
        Value::String(text) => format!(", {key} {text}"),
        value => format!(", {key} {value}"),
    };
    let first = own.keys().filter(|key| several && *key == "preset");
    first.chain(own.keys().filter(differs)).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{of, record};
    use equimarl_worlds::builtin;

    #[test]
    fn runs_are_sorted_by_what_they_share() {
        let records =
            ["seed = 1", "seed = 2\nsteps = 50", "method = 'plain'", "[world]\ndrones = 4", "clip = 0.2"]
                .map(record);
        let settings = Setting::all(&records);
        let names: Vec<(&str, usize)> = settings.iter().map(|s| (s.name.as_str(), s.runs.len())).collect();
        assert_eq!(
            names,
            [
                ("wildlife, 3 drones, clip 0.1", 3),
                ("wildlife, 3 drones, clip 0.2", 1),
                ("wildlife, 4 drones", 1)
            ]
        );
        assert_eq!(settings[0].slug(), "wildlife-3-drones-clip-0-1");
        let alone = Setting::all(&records[4..]).remove(0);
        assert_eq!(alone.name, "wildlife, 3 drones, clip 0.2"); // not as the preset says
        let records = ["seed = 1", "clip = 0.2", "seed = 3"].map(record);
        let mut records = records.to_vec();
        let registry = builtin();
        let usual = registry.usual("wildlife").unwrap();
        let base = TrainConfig::preset(&registry, "default", usual, Method::Plain).unwrap();
        records[2] = of("another preset", TrainConfig { clip: 0.3, ..base });
        let names: Vec<String> = Setting::all(&records).into_iter().map(|s| s.name).collect();
        assert_eq!(
            names,
            [
                "wildlife, 3 drones, preset paper, clip 0.1",
                "wildlife, 3 drones, preset paper, clip 0.2",
                "wildlife, 3 drones, preset default, clip 0.3"
            ]
        );
        let teams: Vec<String> = settings[0].teams().iter().map(Team::name).collect();
        assert_eq!(teams, ["equivariant", "plain"]);
    }

    #[test]
    fn another_group_is_another_team() {
        let records = ["seed = 1", "group = 'D4'", "group = 'D4'\nmethod = 'plain'"].map(record);
        let settings = Setting::all(&records);
        let teams: Vec<String> = settings[0].teams().iter().map(Team::name).collect();
        assert_eq!(teams, ["equivariant", "equivariant (D4)", "plain"]);
        let full =
            ["method = 'augment-full'", "method = 'augment-full'\naugment_ratio = 'rollout'"].map(record);
        let settings = Setting::all(&full);
        let teams: Vec<String> = settings[0].teams().iter().map(Team::name).collect();
        assert_eq!(teams, ["augment-full", "augment-full (rollout ratio)"]);
        // A penalty is part of what `relaxed` is, and nothing to all others.
        let penalties =
            ["penalty = 1.0", "method = 'relaxed'\npenalty = 1.0", "method = 'relaxed'"].map(record);
        let settings = Setting::all(&penalties);
        assert_eq!(settings.len(), 1);
        let teams: Vec<String> = settings[0].teams().iter().map(Team::name).collect();
        assert_eq!(teams, ["equivariant", "relaxed (penalty 1)", "relaxed (penalty 10)"]);
    }
}
